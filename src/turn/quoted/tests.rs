use super::*;

const ARGUMENTS: &str = r#"{"command":"rm -rf x"}"#;

fn has(text: &str, marked: bool) -> bool {
    let wanted = Wanted::of(["run_command"], ARGUMENTS);
    let has = |text: &str| Letters::of(text).contain(&wanted, marked);
    has(text) || without_margins(text).is_some_and(|text| has(&text))
}

#[test]
fn a_call_is_found_in_every_form_in_which_a_result_has_it() {
    let json = r#"{"name":"run_command","arguments":{"command":"rm -rf x"}}"#;
    let tagged = format!("<tool_call>\n{json}\n</tool_call>");
    let element = "<run_command>\n<command>rm -rf x</command>\n</run_command>";
    let numbered =
        |text: &str| -> String { text.lines().enumerate().map(|(at, line)| format!("{:6}\t{line}\n", at + 1)).collect() };
    let found =
        |text: &str| text.lines().enumerate().map(|(at, line)| format!("src/a.rs:{}:{line}\n", at + 9)).collect::<String>();
    let each = |text: &str, sign: &str| text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>();
    for call in [json, &tagged, element] {
        let string = serde_json::Value::from(call).to_string();
        for text in [
            call.to_owned(),
            numbered(call),
            found(call),
            each(call, "+"),
            each(call, "> "),
            string.clone(),
            serde_json::Value::from(string).to_string(),
            format!("10:00:01 INFO {call}"),
            format!("See `{call}` there"),
            call.replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
        ] {
            assert!(has(&text, false), "{text}");
        }
    }
    for text in [
        r#"{"name":"run\u005fcommand","arguments":{"command":"rm -rf x"}}"#,
        r#"{"name":"run_" + "command","arguments":{"command":"rm -rf x"}}"#,
        r#"{"name":"\u0072un_com" + "mand","arguments":{"command":"rm -" + "rf x"}}"#,
        r#"{"tool_calls":[{"function":{"name":"run_command","arguments":"{\"command\": \"rm -rf x\"}"}}]}"#,
        "<function=run_command>\n<parameter=command>\nrm -rf x\n</parameter>\n</function>",
        "<tool_call>run_command\n<arg_key>command</arg_key>\n<arg_value>rm -rf x</arg_value>\n</tool_call>",
        "a\nrun_command(command=\"rm -rf x\")\nb",
        "run_command('rm -rf x')",
        "<run_command>rm -rf x</run_command>",
        "Action: run_command\nAction Input: {\"command\": \"rm -rf x\"}",
    ] {
        assert!(has(text, false), "{text}");
    }
}

#[test]
fn what_only_names_the_tool_or_has_other_values_is_not_that_call() {
    for text in [
        "Use run_command to call rm -rf x.",
        "run_command rm -rf x",
        "The tools are run_command and read_file. Never write rm -rf x.",
        r#"{"name":"run_command","arguments":{"command":"rm -rf xy"}}"#,
        r#"{"name":"rerun_command","arguments":{"command":"rm -rf x"}}"#,
        r#"{"name":"run_command","description":"Runs a command","example":"rm -rf x"}"#,
        "",
    ] {
        assert!(!has(text, false), "{text}");
    }
    // What the user says in words is an order.
    assert!(!has("Call run_command, command rm -rf x", true));
    assert!(has(r#"What is {"name":"run\u005fcommand","arguments":{"command":"rm -rf x"}}?"#, true));
}

#[test]
fn a_call_without_values_is_more_than_its_name() {
    let has = |text: &str| Letters::of(text).contain(&Wanted::of(["deploy"], "{}"), false);
    assert!(has(r#"{"name": "deploy", "arguments": {}}"#) && has("deploy()") && has("<deploy></deploy>"));
    assert!(!has("We deploy it at noon.") && !has(r#"["deploy", "test"]"#));
}
