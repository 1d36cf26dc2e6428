//! What models write beside the form of their family.

use super::{Seen, only_call, read, text, written};

/// Whether the answer is a call of the lamp and nothing else.
fn is_lamp(seen: &Seen) -> bool {
    only_call(seen).is_some_and(|(call, whole)| whole && call.replace("\": ", "\":") == "lamp {\"on\":true}")
}

#[test]
fn a_fence_inside_of_the_tags_is_framing() {
    let object = r#"{"name": "lamp", "arguments": {"on": true}}"#;
    for text in [
        format!("<tool_call>```json\n{object}\n```</tool_call>"),
        format!("<tool_call>\n```\n{object}\n```\n</tool_call>\n"),
        format!("<tool_call>\n```json\n{object}\n```"),
    ] {
        assert!(is_lamp(&read("hermes", false, &text)), "{text}");
    }
}

#[test]
fn characters_that_are_not_seen_are_blanks() {
    let object = r#"{"name": "lamp", "arguments": {"on": true}}"#;
    for text in [
        format!("<tool_call>\u{200b}\n{object}\n</tool_call>\u{200b}"),
        format!("<tool_call>\u{feff}{object}</tool_call>"),
        format!("```json\n\u{200b}{object}\n```"),
    ] {
        assert!(is_lamp(&read("hermes", false, &text)), "{text:?}");
    }
}

#[test]
fn a_fence_may_be_named_after_what_it_holds() {
    for language in ["toolcall", "tool-call", "tool_json", "function", "action"] {
        let text = format!("```{language}\n{{\"name\": \"lamp\", \"arguments\": {{\"on\": true}}}}\n```");
        assert!(is_lamp(&read("gemma3", false, &text)), "{text}");
    }
}

#[test]
fn arguments_may_stand_in_the_tag_of_the_name() {
    for text in [
        "<function=lamp{\"on\": true}></function>",
        "<function=lamp {\"on\": true}></function>",
        "<function=lamp({\"on\": true})</function>",
        "<function=lamp({\"on\": true})></function>",
        "<function=lamp[]{\"on\": true}</function>",
        "<function>lamp({\"on\": true})</function>",
        "<function>{\"name\": \"lamp\", \"arguments\": {\"on\": true}}</function>",
        "[TOOL_CALL: lamp({\"on\": true})]",
        "**Tool Call: lamp**\n```json\n{\"on\": true}\n```",
        "lamp{\"on\": true}",
        "<tool_call>\n{\"toolName\": \"lamp\", \"args\": {\"on\": true}}\n</tool_call>",
        "{\"role\": \"assistant\", \"tool_calls\": [{\"name\": \"lamp\", \"arguments\": {\"on\": true}}]}",
    ] {
        assert!(is_lamp(&read("hermes", false, text)), "{text}");
    }
    assert!(written(&read("hermes", false, "Lamp{on}")).is_empty());
}

#[test]
fn a_call_that_takes_the_result_of_another_is_left_out() {
    let text = "```tool_code\nstate = lamp(on=True)\nlamp(on=state)\n```";
    assert_eq!(written(&read("gemma3", false, text)), [("lamp {\"on\":true}".to_owned(), true)]);
    let both = "```tool_code\nstate = lamp(on=True)\nlamp(on=False)\n```";
    assert_eq!(written(&read("gemma3", false, both)).len(), 2);
}

#[test]
fn names_may_stand_in_attributes() {
    for text in [
        "<function name=\"lamp\">\n{\"on\": true}\n</function>",
        "<tool_call>\n<function name=\"lamp\">\n{\"on\": true}\n</function>\n</tool_call>",
    ] {
        assert!(is_lamp(&read("hermes", false, text)), "{text}");
    }
    let seen = read(
        "generic",
        false,
        "<tool_call><function name=\"lamp\"><parameter name=\"on\">true</parameter></function></tool_call>",
    );
    assert_eq!(written(&seen), [("lamp {\"on\":true}".to_owned(), true)]);
}

#[test]
fn the_marker_of_the_first_call_in_a_section_may_be_missing() {
    let text =
        "<｜tool▁calls▁begin｜>function<｜tool▁sep｜>lamp\n```json\n{\"on\": true}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
    assert!(is_lamp(&read("deepseek-v3", false, text)));
}

#[test]
fn special_tokens_that_a_backend_removed_are_not_missed() {
    for (adapter, text) in [
        ("deepseek-v3", "lamp{\"on\": true}"),
        ("deepseek-v3", "functionlamp\n```json\n{\"on\": true}\n```"),
        ("gpt-oss", "to=functions.lampcommentary json{\"on\": true}"),
        ("gpt-oss", "assistant to=functions.lampcommentary json{\"on\": true}"),
    ] {
        assert!(is_lamp(&read(adapter, false, text)), "{text}");
    }
    let tags =
        "< calls>\n< invoke name=\"lamp\">\n< parameter name=\"on\" string=\"false\">true</ parameter>\n</ invoke>\n</ calls>";
    assert_eq!(written(&read("deepseek-dsml", false, tags)), [("lamp {\"on\":true}".to_owned(), true)]);
    // A word in a sentence stays one.
    for prose in ["function lamp is documented below.", "A function is a rule: function(x) { return {\"on\": true} }"] {
        assert_eq!(read("deepseek-v3", false, prose), text(prose));
    }
}

#[test]
fn a_key_that_never_ends_is_decided_alike_however_it_is_cut() {
    // `read` compares the text whole with the text in single characters.
    for (adapter, close) in [("no-tools", "\">"), ("minimax-m2", ">"), ("qwen3-coder", "</parameter>"), ("glm", "</arg_key>")] {
        for length in [200, 245, 250, 254, 256, 258, 300, 500, 600] {
            let key = "k".repeat(length);
            for open in [
                "<function name=\"lamp\"><param name=\"",
                "<function=lamp><parameter=",
                "<tool_call>lamp<arg_key>",
                "<invoke name=\"lamp\"><parameter name=\"",
            ] {
                read(adapter, false, &format!("{open}{key}{close}true</parameter></function>"));
            }
        }
    }
}

#[test]
fn calls_in_the_objects_of_other_protocols() {
    for text in [
        "{\"functionCall\": {\"name\": \"lamp\", \"args\": {\"on\": true}}}",
        "{\"toolUse\": {\"toolUseId\": \"t1\", \"name\": \"lamp\", \"input\": {\"on\": true}}}",
    ] {
        assert!(is_lamp(&read("generic", false, text)), "{text}");
    }
    for text in [
        "{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"tools/list\", \"params\": {\"name\": \"lamp\"}}",
        "{\"jsonrpc\": \"2.0\", \"id\": 3, \"result\": {\"name\": \"lamp\", \"arguments\": {\"on\": true}}}",
    ] {
        assert!(written(&read("generic", false, text)).is_empty(), "{text}");
    }
}

#[test]
fn the_same_name_twice_is_one_name() {
    let twice = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}, \"name\": \"lamp\"}";
    assert!(is_lamp(&read("generic", false, twice)));
}

#[test]
fn an_array_between_tokens_counts_wherever_it_is() {
    let around = "On.\n<|tool_call|>[{\"name\": \"lamp\", \"arguments\": {\"on\": true}}]<|/tool_call|>\nDone.";
    assert_eq!(written(&read("phi4-mini", false, around)).len(), 1);
}

#[test]
fn the_header_of_the_models_own_turn_is_no_text() {
    let call = "<tool_call>\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n</tool_call>";
    for (adapter, header) in [
        ("generic", "<|im_start|>assistant\n"),
        ("llama3", "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        ("gemma3", "<start_of_turn>model\n"),
    ] {
        assert!(is_lamp(&read(adapter, false, &format!("{header}{call}"))), "{adapter}");
        assert_eq!(read(adapter, false, &format!("{header}Hello.")), text("Hello."), "{adapter}");
    }
}

#[test]
fn what_is_addressed_to_a_tool_is_no_text() {
    let to_lamp = "<|channel|>commentary to=functions.lamp <|constrain|>json<|message|>";
    for (body, calls) in [("[{\"on\": true}]", 1), ("We switch it on: {\"on\": true}", 1), ("the light, please", 1)] {
        let seen = read("gpt-oss", false, &format!("{to_lamp}{body}<|call|>"));
        assert_eq!((written(&seen).len(), seen.text()), (calls, String::new()), "{body}");
    }
}

#[test]
fn a_word_between_markers_in_a_line_is_no_call() {
    for text in ["Wrap it in <|tool_call> and <tool_call|> tags.", "The form is <|tool_call>...<tool_call|>, as you see."] {
        assert!(written(&read("gemma4", false, text)).is_empty(), "{text}");
    }
    assert_eq!(written(&read("gemma4", false, "On: <|tool_call>call:lamp{on:true}<tool_call|>")).len(), 1);
}

#[test]
fn frames_of_other_clients() {
    let call = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    for text in [
        format!("```tool_use\n{call}\n```"),
        format!("```homeassistant\n{call}\n```"),
        format!("<TOOL_CALL>{call}</TOOL_CALL>"),
        "✿FUNCTION✿: lamp\n✿ARGS✿: {\"on\": true}\n✿RESULT✿: on".to_owned(),
    ] {
        assert_eq!(written(&read("hermes", false, &text)), [("lamp {\"on\": true}".to_owned(), true)], "{text}");
    }
}

#[test]
fn an_object_inside_of_data_is_no_call_however_the_data_end() {
    let lamp = r#"{"name": "lamp", "arguments": {"on": true}}"#;
    for text in [
        format!(r#"{{"plan": [{lamp}"#),
        format!(r#"{{"plan": [{lamp}]"#),
        format!(r#"{{"plan": [{{"step": 1}}, {lamp}"#),
        format!(r#"{{"ready": false, "next": {lamp}"#),
        format!("Data:\n[1, {lamp}"),
    ] {
        assert_eq!(read("generic", false, &text), self::text(&text), "{text}");
    }
    for text in [format!("Now: {lamp}"), format!("Sure, {lamp}"), format!("{lamp}, {lamp}")] {
        assert!(!written(&read("generic", false, &text)).is_empty(), "{text}");
    }
}

#[test]
fn tags_of_a_neighbour_are_read_inside_of_a_familys_form() {
    for (adapter, text) in [
        ("qwen3-coder", "<tool_call>\n<function=lamp>\n<param=on>\ntrue\n</param>\n</function>\n</tool_call>"),
        ("glm", "<tool_call></think>lamp\n<arg_key>on</arg_key>\n<arg_value>true</arg_value>\n</tool_call>"),
        (
            "kimi-k2",
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.lamp:0<|tool_call_argument_begin|>```json\n{\"on\":true}\n```<|tool_call_end|><|tool_calls_section_end|>",
        ),
    ] {
        let calls = written(&read(adapter, false, text));
        assert_eq!(calls, [("lamp {\"on\":true}".to_owned(), true)], "{adapter}");
    }
}

#[test]
fn functionarys_call_follows_its_text_in_the_same_line() {
    let seen = read("functionary-v3.2", false, "all\nSure.>>>lamp\n{\"on\": true}");
    assert_eq!((seen.text().as_str(), written(&seen).len()), ("Sure.", 1));
    for text in ["all\nWrite >>>all\nto answer.", "all\nSee >>>lamp for it.", "all\nIt is >>>other\n{\"on\": true}"] {
        assert_eq!(written(&read("functionary-v3.2", false, text)).len(), 0, "{text}");
    }
}

#[test]
fn any_family_reads_markers_that_only_one_has_and_slips_of_all() {
    for (adapter, text) in [
        (
            "generic",
            "<function_calls>\n<invoke name = \"lamp\">\n<parameter name = \"on\">true</parameter>\n</invoke>\n</function_calls>",
        ),
        (
            "deepseek-v3",
            "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"lamp\">\n<｜DSML｜parameter name=\"on\" string=\"false\">true</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        ),
        ("llama3", "functools[{\"name\": \"lamp\", \"arguments\": {\"on\":true}}]"),
    ] {
        let seen = read(adapter, false, text);
        assert_eq!(written(&seen), [("lamp {\"on\":true}".to_owned(), true)], "{adapter}");
        assert_eq!(seen.text(), "", "{adapter}");
    }
}

#[test]
fn tags_of_qwens_coder_in_other_spellings_are_read() {
    for (open, argument, close) in [
        ("<function=lamp>", "<parameter name=\"on\">", "</parameter>"),
        ("<function name=\"lamp\">", "<parameter=on>", "</parameter>"),
        ("<function=lamp>", "<argument=on>", "</argument>"),
    ] {
        let text = format!("<tool_call>\n{open}\n{argument}\ntrue\n{close}\n</function>\n</tool_call>");
        let calls = written(&read("qwen3-coder", false, &text));
        assert_eq!(calls, [("lamp {\"on\":true}".to_owned(), true)], "{text}");
    }
}

#[test]
fn after_any_marker_the_call_may_be_python_or_a_name_with_json() {
    let json = "{\"on\": true}";
    for (family, open, close) in [
        ("mistral", "[TOOL_CALLS]", ""),
        ("lfm2", "<|tool_call_start|>", "<|tool_call_end|>"),
        ("granite", "<|tool_call|>", ""),
        ("internlm", "<|action_start|><|plugin|>", "<|action_end|>"),
        ("deepseek-v3.1", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>", "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ] {
        for body in [
            format!("lamp {json}"),
            format!("lamp({json})"),
            format!("`lamp`{json}"),
            format!("lamp\n{json}"),
            format!("lamp\n```json\n{json}\n```\n"),
            "lamp(on=True)".to_owned(),
        ] {
            let text = format!("{open}{body}{close}");
            let calls = written(&read(family, false, &text));
            assert!(
                matches!(calls.as_slice(), [(call, true)] if call.replace(' ', "") == "lamp{\"on\":true}"),
                "{text}: {calls:?}"
            );
        }
        // Nothing that is not offered is called so.
        let seen = read(family, false, &format!("{open}is the marker (of=calls){close}"));
        assert!(written(&seen).is_empty(), "{family}: {seen:?}");
    }
}

#[test]
fn other_frames_around_a_call_are_passed_over() {
    let object = r#"{"name": "lamp", "arguments": {"on": true}}"#;
    for (adapter, text) in [
        ("hermes", format!("<tool_call>\n`{object}`\n</tool_call>")),
        ("generic", format!("<tool_code>\n{object}\n</tool_code>")),
        ("gemma3", "```json\n{\"tool_code\": \"lamp(on=True)\"}\n```".to_owned()),
        ("gemma3", "```xml\n<lamp>\n<on>true</on>\n</lamp>\n```".to_owned()),
        ("generic", "<xai:function_call name=\"lamp\"><parameter name=\"on\">true</parameter></xai:function_call>".to_owned()),
        ("llama3", format!("<|start_header_id|>ipython<|end_header_id|>\n\n{object}")),
        (
            "qwen3-coder",
            "<tool_call>\n<function = lamp>\n<parameter = on>\ntrue\n</parameter>\n</function\n</tool_call>".to_owned(),
        ),
    ] {
        let seen = read(adapter, false, &text);
        assert!(is_lamp(&seen) && seen.text().is_empty(), "{adapter}: {text}: {seen:?}");
    }
    let others = ["```xml\n<house>\n<lamp>\n<on>true</on>\n</lamp>\n</house>\n```", r#"{"tool_code": "hello"}"#];
    for answer in others {
        assert_eq!(read("gemma3", false, answer), text(answer));
    }
}

#[test]
fn labels_of_a_transcript_may_be_in_capitals() {
    let seen = read("llama3", false, "THOUGHT: it is dark\nACTION: lamp\nACTION INPUT: {\"on\": true}\nOBSERVATION: it is on");
    let calls = written(&seen);
    assert_eq!(
        (seen.text().as_str(), calls.as_slice()),
        ("THOUGHT: it is dark", [("lamp {\"on\": true}".to_owned(), true)].as_slice())
    );
}
