use serde_json::Value;

use super::*;
use crate::{
    client::shape::{Kind, Shape},
    event::{Tool, ToolChoice},
    openai::Content,
};

fn tools() -> Arc<Tools> {
    let ours =
        |name: &str| Tool { origin: Origin::Registry { server: "db".into(), tool: name.into() }, ..Tool::new(name, "", "{}") };
    let command = r#"{"type": "object", "properties": {"command": {"type": "string"}}}"#;
    Arc::new(Tools::new([ours("read_query"), ours("odd name/é"), Tool::new("run_command", "", command)], ToolChoice::Auto))
}

/// What the client gets: text in quotes, calls, the end; and what is spooled.
fn run(kind: Kind, tools: Arc<Tools>, form: ShellForm, via: ShellVia, calls: &[(&str, &str)]) -> (Vec<String>, Vec<Spooled>) {
    let shell = Shell { answer: "chatcmpl-secret".into(), form, config: None, via };
    let mut shape = Shape::new(kind, tools, false).in_shell(shell);
    let mut seen = Vec::new();
    let mut sink = |event: Event<'_>| {
        seen.push(match event {
            Event::Text(text) => format!("{text:?}"),
            Event::Call(Call { index, name, arguments, .. }) => format!("call {index} {name} {arguments}"),
            Event::Finish { reason, .. } => format!("finish {}", reason.as_str()),
            other => format!("{other:?}"),
        });
    };
    shape.event(Event::Text("Let me ask."), &mut sink);
    for (index, (name, arguments)) in (0..).zip(calls) {
        shape.event(Event::Call(Call::new(index, name, arguments)), &mut sink);
    }
    shape.event(Event::Finish { reason: FinishReason::ToolCalls, usage: None }, &mut sink);
    let spooled = shape.take_spooled();
    assert_eq!(shape.take_spooled(), []);
    (seen, spooled)
}

#[test]
fn a_call_of_ours_becomes_a_block_and_its_arguments_stay_here() {
    let calls = [("read_query", "{\"sql\": \"x\"}"), ("odd name/é", "")];
    for kind in [Kind::Native, Kind::Void] {
        let (seen, spooled) = run(kind, tools(), ShellForm::Id, ShellVia::Block, &calls);
        let [first, second] = spooled.as_slice() else { panic!("{spooled:?}") };
        assert_eq!(
            seen,
            [
                "\"Let me ask.\"".to_owned(),
                format!("{:?}", format!("\n\n```shell\ntoolglot call {}\n```\n", first.id)),
                format!("{:?}", format!("\n```shell\ntoolglot call {}\n```\n", second.id)),
                "finish stop".into(),
            ]
        );
        assert_eq!((first.name.as_str(), first.arguments.as_str()), ("read_query", "{\"sql\": \"x\"}"));
        assert_eq!((second.name.as_str(), second.arguments.as_str()), ("odd name/é", "{}"));
        assert!(first.id.starts_with("read_query-") && second.id.starts_with("odd_name__-"));
        let safe = |id: &str| id.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        assert!(safe(&first.id) && safe(&second.id) && first.id != second.id);
    }
}

#[test]
fn the_clients_own_calls_pass_with_indices_without_holes() {
    let calls = [("read_query", "{}"), ("run_command", "{\"command\":\"ls\"}"), ("read_query", "{}"), ("nobody_knows", "{}")];
    let (seen, spooled) = run(Kind::Native, tools(), ShellForm::Id, ShellVia::Block, &calls);
    let calls: Vec<&String> = seen.iter().filter(|line| !line.starts_with('"')).collect();
    assert_eq!(calls, ["call 0 run_command {\"command\":\"ls\"}", "call 1 nobody_knows {}", "finish tool_calls"]);
    assert_eq!(spooled.len(), 2);
    assert_ne!(spooled[0].id, spooled[1].id);
}

#[test]
fn a_terminal_tool_of_the_client_carries_the_command() {
    let via = ShellVia::RunCommand;
    let (seen, spooled) = run(Kind::Native, tools(), ShellForm::Id, via, &[("read_query", "{}")]);
    let id = &spooled[0].id;
    assert_eq!(seen[1..], [format!("call 0 run_command {{\"command\":\"toolglot call {id}\"}}"), "finish tool_calls".to_owned()]);
    let (seen, spooled) = run(Kind::Void, tools(), ShellForm::Id, via, &[("read_query", "{}")]);
    assert_eq!(seen[1], "\"<run_command>\\n\"");
    assert!(seen[2].contains(&format!("<command>\\ntoolglot call {}\\n</command></run_command>", spooled[0].id)));

    // Nothing in a command can be taken for a tag.
    let (seen, spooled) = run(Kind::Void, tools(), ShellForm::Posix, via, &[("read_query", "{\"sql\": \"</command>\"}")]);
    assert!(seen[2].contains(&spooled[0].id) && !seen[2].contains("sql"), "{seen:?}");

    // A client that does not offer it gets a block.
    let bare = Arc::new(Tools::new(tools().iter().filter(|tool| tool.name != "run_command").cloned(), ToolChoice::Auto));
    let (seen, _) = run(Kind::Native, Arc::clone(&bare), ShellForm::Id, via, &[("read_query", "{}")]);
    assert!(seen[1].contains("```shell"));
    // And no call of a tool that nobody has.
    let (seen, spooled) = run(Kind::Native, bare, ShellForm::Id, ShellVia::Block, &[("nobody_knows", "{}")]);
    assert!(seen[2].contains("[toolglot] call of nobody_knows was not run"), "{seen:?}");
    assert_eq!((seen[3].as_str(), spooled.len()), ("finish stop", 0));
}

const HOSTILE: &[&str] = &[
    "plain",
    "it's 'quoted' \"twice\" `three` times",
    "$(touch pwned) `touch pwned` ${HOME} $HOME",
    "\"; rm -rf x; echo \"",
    "'; rm -rf x; echo '",
    "a\nb\r\nc\td",
    "\\ \\\\ \\' \\\" \\n",
    "%PATH% !! !echo ^ & | < > * ? [a] {b,c} ~ # =",
    "漢字 🙂 \u{7f}\u{9b}31m \u{202e}evil\u{200b} \u{1b}[2J",
    "-n --help",
    "",
];

#[test]
fn the_posix_form_is_short_plain_and_carries_everything() {
    for hostile in HOSTILE {
        let arguments = json!({"sql": hostile, "n": 1.50});
        let pretty = serde_json::to_string_pretty(&arguments).unwrap();
        let command = posix("read_query", &pretty, None).unwrap();
        assert!(!command.chars().any(|c| c.is_control() || matches!(c, '\u{202e}' | '\u{200b}')), "{command:?}");
        let quoted = command.strip_prefix("toolglot call read_query '").unwrap().strip_suffix('\'').unwrap();
        assert!(!quoted.contains(['\'', '`']) && !quoted.contains(r"\\"), "{quoted}");
        assert_eq!(serde_json::from_str::<Value>(quoted).unwrap(), arguments);
    }
    assert_eq!(posix("read_query", &json!({"x": "y".repeat(3000)}).to_string(), None), None);
    for name in ["-x", "/bin/sh", "a b", "a;b", "$x"] {
        assert_eq!(posix(name, "{}", None), None, "{name}");
    }
    // A path that cannot be typed as it is goes with the id.
    assert_eq!(posix("t", "{}", Some(Path::new("/it's"))), None);
    assert_eq!(posix("t", "{}", Some(Path::new("/a\nb"))), None);
    assert_eq!(posix("t", "{}", Some(Path::new("/a b"))).unwrap(), "toolglot call t '{}' --config '/a b'");
    // Numbers keep every digit.
    let exact = "{ \"n\" : 12345678901234567890123, \"f\" : 1.10 }";
    assert_eq!(posix("t", exact, None).unwrap(), "toolglot call t '{\"n\":12345678901234567890123,\"f\":1.10}'");
}

#[cfg(unix)]
#[test]
fn real_shells_hand_over_exactly_the_arguments() {
    use std::process::Command;
    let mut shells = 0;
    for shell in ["sh", "dash", "bash", "zsh", "ksh", "busybox", "fish"] {
        for hostile in HOSTILE {
            let arguments = json!({"sql": hostile});
            let config = PathBuf::from("/its $HOME/ünï --x \"y\"!.toml");
            let command = posix("read_query", &arguments.to_string(), Some(&config)).unwrap();
            // What stands for the program prints its arguments, each ended by a byte that no argument holds.
            let script = match shell {
                "fish" => format!("function toolglot; printf '%s\\001' $argv; end\n{command}\n"),
                _ => format!("toolglot() {{ printf '%s\\001' \"$@\"; }}\n{command}\n"),
            };
            let mut process = Command::new(shell);
            if shell == "busybox" {
                process.arg("sh");
            }
            let folder = tempfile::tempdir().unwrap();
            let Ok(output) = process.arg("-c").arg(script).current_dir(folder.path()).output() else { break };
            let printed = String::from_utf8(output.stdout).unwrap();
            let printed: Vec<&str> = printed.split_terminator('\u{1}').collect();
            assert_eq!(printed[..2], ["call", "read_query"], "{shell}");
            assert_eq!(serde_json::from_str::<Value>(printed[2]).unwrap(), arguments, "{shell}");
            assert_eq!(printed[3..], ["--config", config.to_str().unwrap()], "{shell}");
            assert!(output.stderr.is_empty(), "{shell}");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{shell} ran something else");
            shells += usize::from(*hostile == "plain");
        }
    }
    assert!(shells > 0, "no shell was found");
}

fn chat(messages: Value) -> crate::openai::ChatRequest {
    crate::openai::ChatRequest::from_value(json!({"model": "m", "messages": messages})).unwrap()
}

#[test]
fn commands_of_the_past_become_calls_where_they_are_known() {
    let spooled = |id: &str| Spooled { id: id.into(), name: "read_query".into(), arguments: "{\"sql\":\"x\"}".into() };
    let known: history::Known = ["read_query-A", "read_query-B"].map(|id| (id.to_owned(), spooled(id))).into();
    let mut request = chat(json!([
        {"role": "user", "content": "```shell\ntoolglot call read_query-A\n```"},
        {"role": "assistant", "content": "So:\n\n```shell\ntoolglot call read_query-A\n```\n\n```shell\ntoolglot call read_query-B\n```\n"},
        {"role": "user", "content": "it said 7"},
        {"role": "assistant", "content": "Gone:\n\n```shell\ntoolglot call read_query-C\n```\n"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "t1", "type": "function", "function": {"name": "run_command", "arguments": "{\"command\":\"toolglot call read_query-A\"}"}}]},
        {"role": "tool", "tool_call_id": "t1", "content": "$ ..."},
        {"role": "assistant", "content": "Other:\n```shell\nls -l\n```\nand `toolglot call read_query-A`"},
    ]));
    assert_eq!(history::mentioned(&request), ["read_query-A", "read_query-B", "read_query-C", "read_query-A"]);
    let before = request.clone();
    history::translate(&mut request, &known);
    let [user, called, first, second, said, gone, terminal, result, other] = request.messages.as_slice() else {
        panic!("{:#?}", request.messages)
    };
    assert_eq!((user, said, gone), (&before.messages[0], &before.messages[2], &before.messages[3]));
    assert_eq!((result, other), (&before.messages[5], &before.messages[6]));
    assert_eq!(called.content.to_text(), "So:");
    let calls: Vec<_> = called.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.as_str())).collect();
    assert_eq!(calls, [("read_query", "{\"sql\":\"x\"}"); 2]);
    for (call, result) in called.tool_calls.iter().zip([first, second]) {
        assert_eq!((result.role.as_str(), result.tool_call_id.as_ref()), ("tool", Some(&call.id)));
    }
    assert_ne!(called.tool_calls[0].id, called.tool_calls[1].id);
    let terminal = &terminal.tool_calls[0];
    assert_eq!((terminal.id.as_str(), terminal.name.as_str()), ("t1", "read_query"));
}

#[test]
fn text_between_past_commands_stays_text() {
    let block = "```shell\ntoolglot call x '{}'\n```\n";
    for (said, left) in [
        (format!("First.\n\n{block}Then.\n\n{block}Done.\n"), Content::Text("First.\n\nThen.\n\nDone.".into())),
        (format!("{block}\n{block}"), Content::None),
        (format!("{block}Done."), Content::Text("Done.".into())),
    ] {
        let mut request = chat(json!([{"role": "assistant", "content": said}]));
        history::translate(&mut request, &history::Known::new());
        assert_eq!(request.messages[0].content, left, "{said}");
    }
}

#[test]
fn what_the_posix_form_carries_is_read_back_and_a_changed_command_is_left_alone() {
    let config = PathBuf::from("/its/proxy.toml");
    for (hostile, config) in HOSTILE.iter().flat_map(|hostile| [(hostile, None), (hostile, Some(config.as_path()))]) {
        let arguments = json!({"sql": hostile}).to_string();
        let command = posix("read_query", &arguments, config).unwrap();
        let mut request = chat(json!([{"role": "assistant", "content": format!("```shell\n{command}\n```\n")}]));
        history::translate(&mut request, &history::Known::new());
        let [message, _] = request.messages.as_slice() else { panic!("{:#?}", request.messages) };
        let call = &message.tool_calls[0];
        assert_eq!((message.content.is_empty(), call.name.as_str()), (true, "read_query"));
        assert_eq!(serde_json::from_str::<Value>(&call.arguments).unwrap(), json!({"sql": hostile}));
    }
    for changed in [
        "toolglot call x 'a' ; ls 'b'",
        "toolglot call x '{}' --config 'a' ; ls 'b'",
        "toolglot call x '{}' --json",
        "toolglot call x \"{}\"",
        "toolglot calls x",
        "toolglot call a b",
    ] {
        let mut request = chat(json!([{"role": "assistant", "content": format!("```shell\n{changed}\n```\n")}]));
        let before = request.clone();
        history::translate(&mut request, &history::Known::new());
        assert_eq!(request, before, "{changed}");
    }
}
