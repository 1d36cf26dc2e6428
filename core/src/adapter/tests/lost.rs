//! Forms that lack a part, and answers that end in a call without a marker.

use super::{Seen, read, read_with, text, written};
use crate::event::{Tool, ToolChoice, Tools};

const LAMP: &str = "lamp {\"on\":true}";

/// The calls as `name arguments`, without blanks in the arguments.
fn calls(seen: &Seen) -> Vec<String> {
    let compact = |call: String| call.replace("\": ", "\":").replace(", \"", ",\"");
    written(seen).into_iter().map(|(call, _)| compact(call)).collect()
}

fn ports(adapter: &str, text: &str) -> Seen {
    let schema = r#"{"type":"object","properties":{"host_name":{"type":"string"},"ports":{"type":"array","items":{"type":"string"}}},"required":["host_name"]}"#;
    let scan = Tool::new("scan_ports", "", schema);
    read_with(Tools::new([scan, Tool::new("list_hosts", "", "{}")], ToolChoice::Auto), adapter, false, text)
}

#[test]
fn a_line_in_python_at_the_end_is_a_call() {
    for adapter in ["gemma3", "hermes", "generic"] {
        for (answer, said, count) in [
            ("It is dark.\n\nlamp(on=True)", "It is dark.", 1),
            ("Ich mache Licht:\nlamp(on=True)\n", "Ich mache Licht:", 1),
            ("It is dark.\nlamp(on=True)\nlamp(on=False)", "It is dark.", 2),
        ] {
            let seen = read(adapter, false, answer);
            assert_eq!((seen.text().trim_end(), calls(&seen).len()), (said, count), "{adapter}: {answer}");
        }
        for answer in [
            "In a block of code:\n\n    lamp(on=True)",
            "- lamp(on=True)",
            "> lamp(on=True)",
            "The signature:\nlamp(on)",
            "It is done.\nlamp(on=state)",
            "The lamp.\nlamp.on = True",
            "Dark.\nlamps(on=True)",
        ] {
            assert_eq!(read(adapter, false, answer), text(answer), "{adapter}");
        }
    }
}

#[test]
fn a_call_in_a_fence_of_python_is_the_whole_answer_or_code() {
    for answer in [
        "```python\nlamp(on=True)\n```",
        "```\nlamp(on=True)\n```\n",
        "```py\n# Light.\nlamp(on=True)\n```",
        "print(lamp(on=True))",
    ] {
        assert_eq!(calls(&read("hermes", false, answer)), [LAMP], "{answer}");
    }
    for answer in [
        "```python\nlamp(on=True)\n```\n\nThis switches it on.",
        "```python\nimport house\n\nlamp(on=True)\n```",
        "```python\nlamp(on=True)\nfor room in rooms:\n    lamp(on=False)\n```",
        "```bash\nlamp(on=True)\n```",
        "It prints this:\nprint(lamp(on=True))",
    ] {
        assert_eq!(read("hermes", false, answer), text(answer));
    }
}

#[test]
fn code_that_calls_a_method_is_none() {
    for answer in ["house.scan_ports(host_name=\"a\")", "```python\nhouse.scan_ports(host_name=\"a\")\n```"] {
        assert_eq!(ports("hermes", answer), text(answer));
    }
    for (adapter, answer) in [
        ("hermes", "<tool_call>\n{\"name\": \"net.scan_ports\", \"arguments\": {\"host_name\": \"a\"}}\n</tool_call>"),
        (
            "qwen3-coder",
            "<tool_call>\n<function=net/scan_ports>\n<parameter=host_name>\na\n</parameter>\n</function>\n</tool_call>",
        ),
    ] {
        assert_eq!(ports(adapter, answer).all_calls().count(), 1, "{answer}");
    }
}

#[test]
fn a_part_of_a_form_may_be_missing() {
    for (adapter, answer) in [
        // The last value is closed by the call's tag.
        ("glm", "<tool_call>lamp<arg_key>on</arg_key><arg_value>true</tool_call>"),
        ("generic", "<lamp><on>true</lamp>"),
        // The key's tag lost its opening half.
        ("glm", "<tool_call>lamp\non</arg_key>\n<arg_value>true</arg_value>\n</tool_call>"),
        // The section and the call lost their opening tokens.
        ("kimi-k2", "functions.lamp:0<|tool_call_argument_begin|>{\"on\":true}<|tool_call_end|><|tool_calls_section_end|>"),
        // The wrapper in another spelling.
        ("hermes", "{\"toolcalls\": [{\"name\": \"lamp\", \"arguments\": {\"on\":true}}]}"),
        ("hermes", "<|python_tag|>{\"name\": \"lamp\", \"arguments\": {\"on\":true}}"),
        ("gpt-oss", "commentary to=functions.lamp <|constrain|>json<|message|>{\"on\":true}<|call|>"),
    ] {
        let seen = read(adapter, false, answer);
        assert_eq!((calls(&seen), seen.text().as_str()), (vec![LAMP.to_owned()], ""), "{adapter}: {answer}");
    }
    for answer in [
        "scan_ports\nhost_name: which host\nports: which of its ports",
        "scan_ports\nhost_name=\"a",
        "scan_ports\nhost_name: a",
        "scan_ports\nhost_name=\"a\"\nis the form.",
    ] {
        assert_eq!(ports("generic", answer), text(answer));
    }
}

#[test]
fn headers_without_their_tokens_divide_an_answer() {
    for (answer, reasoning, content, count) in [
        ("analysisThe user greets.assistantfinalHello!", "The user greets.", "Hello!", 0),
        ("analysisIt is dark.assistantcommentary to=functions.lamp json{\"on\": true}", "It is dark.", "", 1),
        ("analysisIt is dark.commentary to=functions.lamp json{\"on\": true}", "It is dark.", "", 1),
        (
            "analysisDark.assistantcommentaryI switch it on.assistantcommentary to=functions.lamp json{\"on\": true}",
            "Dark.",
            "I switch it on.",
            1,
        ),
        (
            "analysisI might write commentary to=functions.lamp json{\"on\": true} here.assistantfinalNo.",
            "I might write commentary to=functions.lamp json{\"on\": true} here.",
            "No.",
            0,
        ),
        ("analysis of the lamp: it is dark.", "", "analysis of the lamp: it is dark.", 0),
        ("finalValue = 3", "", "finalValue = 3", 0),
        ("Final words are finalThis.", "", "Final words are finalThis.", 0),
    ] {
        let seen = read("gpt-oss", false, answer);
        assert_eq!(
            (seen.reasoning().as_str(), seen.text().trim_end(), seen.all_calls().count()),
            (reasoning, content, count),
            "{answer}"
        );
    }
    let draft = "<|channel|>analysis<|message|>Dark.commentary to=functions.lamp json{\"on\": true}<|end|><|start|>assistant<|channel|>final<|message|>No.<|return|>";
    assert_eq!(read("gpt-oss", false, draft).all_calls().count(), 0);
    // After the end of a message, the first token of the next one's header may be missing.
    let seen = read("muse", false, " to=self<|message|>Dark.<|eom|> to=user<|message|>It is dark.<|eot|>");
    assert_eq!((seen.reasoning().as_str(), seen.text().as_str()), ("Dark.", "It is dark."));
}

#[test]
fn framing_beside_text_is_no_text() {
    let fence = "<think>It asks.</think>\n<response>Use it:\n\n```bash\nlamp on\n```</response>";
    assert_eq!(read("granite", false, fence).text(), "Use it:\n\n```bash\nlamp on\n```");
    let seen = read(
        "hermes",
        false,
        "I look.<think>It is dark.</think><tool_call>{\"name\": \"lamp\", \"arguments\": {\"on\": true}}</tool_call>",
    );
    assert_eq!((seen.text().as_str(), seen.reasoning().as_str(), seen.all_calls().count()), ("I look.", "It is dark.", 1));
    let mentions = "The tag <think> opens it.";
    assert_eq!(read("hermes", false, mentions), text(mentions));
    // Another's turn does not begin before anything was said.
    let sentence = "[INST] is a token of another family.";
    assert_eq!(read("kimi-k2", false, sentence), text(sentence));
    // A word between the tags is no call.
    assert_eq!(read("gemma4", false, "<|tool_call>nothing_to_do<tool_call|>").all_calls().count(), 0);
}

#[test]
fn a_value_that_begins_as_its_own_tag() {
    let page = |value: &str| {
        let tool = Tool::new("set_page", "", r#"{"type":"object","properties":{"html":{"type":"string"}},"required":["html"]}"#);
        let answer = format!("<set_page>\n<html>{value}</html>\n</set_page>");
        calls(&read_with(Tools::new([tool], ToolChoice::Auto), "generic", false, &answer))
    };
    assert_eq!(page("<html><p>x</p></html>"), ["set_page {\"html\":\"<html><p>x</p></html>\"}"]);
}

#[test]
fn arguments_may_follow_the_tag_around_the_name() {
    let seen = ports("generic", "<function>scan_ports</function>{\"host_name\": \"a\"}");
    assert_eq!(calls(&seen), ["scan_ports {\"host_name\":\"a\"}"], "{seen:?}");
}

#[test]
fn the_name_in_a_react_line_may_be_decorated_and_the_input_have_another_label() {
    for name in
        ["lamp", "**lamp**", "*lamp*", "`lamp`", "**`lamp`**", "\"lamp\"", "<lamp>", "(lamp)", "lamp()", "[lamp]", "lamp."]
    {
        for label in ["Action Input:", "**Action Input:**", "Input:", "Arguments:", "Parameters:"] {
            for input in ["{\"on\": true}", "```json\n{\"on\": true}\n```"] {
                let answer = format!("Thought: it is dark\nAction: {name}\n{label} {input}");
                let seen = read("generic", false, &answer);
                // The fixer drops the full stop.
                let calls: Vec<_> = calls(&seen).into_iter().map(|call| call.replace("lamp. ", "lamp ")).collect();
                assert_eq!(calls, [LAMP], "{answer}: {seen:?}");
            }
        }
    }
}

#[test]
fn forms_that_lost_a_piece_or_have_one_too_many() {
    for (adapter, answer) in [
        // Kimi: neither the marker before the id nor the id's prefix.
        ("kimi-k2", "lamp:0<|tool_call_argument_begin|>{\"on\": true}<|tool_calls_section_end|>"),
        // GLM: a closing tag after the name.
        ("glm", "<tool_call>lamp</arg_value><arg_key>on</arg_key><arg_value>true</arg_value></tool_call>"),
        ("glm", "<tool_call>lamp\n</arg_value>\n<arg_key>on</arg_key>\n<arg_value>true</arg_value>\n</tool_call>"),
        // A message that is an object, and a wrapper without braces. Source: toolcall-repair-bench 45 and 147.
        ("generic", r#"{"content": "{\"lamp\": {\"on\": true}}"}"#),
        ("generic", r#"{"tool_call":"lamp":{"on": true}}"#),
        // Tags of other vendors around forms that are known.
        (
            "generic",
            "<seed:tool_call>\n<function name=\"lamp\">\n<parameter name=\"on\">true</parameter>\n</function>\n</seed:tool_call>",
        ),
        (
            "seed-oss",
            "<seed:tool_call>\n<invoke name=\"lamp\">\n<parameter name=\"on\">true</parameter>\n</invoke>\n</seed:tool_call>",
        ),
        (
            "hermes",
            "<function_invocation>\n<function=lamp>\n<parameter=on>\ntrue\n</parameter>\n</function>\n</function_invocation>",
        ),
        ("generic", "<tool_invocation>{\"name\": \"lamp\", \"arguments\": {\"on\": true}}</tool_invocation>"),
        ("generic", "<call_record tool=\"lamp\">\n<parameter name=\"on\">true</parameter>\n</call_record>"),
    ] {
        let seen = read(adapter, false, answer);
        assert_eq!((seen.text().trim(), calls(&seen)), ("", vec![LAMP.to_owned()]), "{adapter}: {answer}");
    }
}

#[test]
fn two_objects_in_one_message_are_two_calls_and_an_object_written_twice_is_one() {
    let message = |bodies: &str| format!("<|channel|>commentary to=functions.lamp <|constrain|>json<|message|>{bodies}<|call|>");
    let seen = read("gpt-oss", false, &message("{\"on\": true}{\"on\": false}"));
    assert_eq!(calls(&seen), [LAMP, "lamp {\"on\":false}"]);
    let seen = read("gpt-oss", false, &message("{\"on\": true}\n{\"on\": true}"));
    assert_eq!(calls(&seen), [LAMP]);
    let seen = read("gpt-oss", false, &message("{\"on\": true}{\"on\": fal").replace("<|call|>", ""));
    assert_eq!(calls(&seen).first().map(String::as_str), Some(LAMP));
}

/// `source: spec core, sections 2 and 4`: a call inside reasoning that closes is a draft, and where a value ends is not decided silently.
#[test]
fn drafts_and_lost_braces_run_nothing() {
    let object = r#"{"name": "lamp", "arguments": {"on": true}}"#;
    let drafts = format!("I call <tool_call>{object}</tool_call> no, wait.\n</think>\nSure, here it is.");
    assert!(written(&read("hermes", false, &drafts)).is_empty());
    let schema = r#"{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}"#;
    let arguments = |adapter: &str, answer: &str| {
        let tools = Tools::new([Tool::new("run", "Runs.", schema)], ToolChoice::Auto);
        read_with(tools, adapter, false, answer).all_calls().map(|call| call.arguments.clone()).collect::<Vec<_>>()
    };
    // The opening brace was lost: this is no value of the parameter.
    let headed = "<|channel|>commentary to=functions.run <|constrain|>json<|message|>\"command\": \"ls\"}<|call|>";
    assert_eq!(arguments("gpt-oss", headed), [r#""command": "ls"}"#]);
}
