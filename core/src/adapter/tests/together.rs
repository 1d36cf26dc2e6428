//! Marked calls that directly follow each other, or something that is only mentioned: they count together or not at all.

use super::{read, text, written};

/// A call that switches the lamp, in these families' own form.
fn calls(adapter: &str) -> [String; 2] {
    [true, false].map(|on| match adapter {
        "gemma4" => format!("<|tool_call>call:lamp{{on:{on}}}<tool_call|>"),
        "qwen3-coder" => {
            format!("<tool_call>\n<function=lamp>\n<parameter=on>\n{on}\n</parameter>\n</function>\n</tool_call>")
        }
        _ => format!("<tool_call>{{\"name\": \"lamp\", \"arguments\": {{\"on\": {on}}}}}</tool_call>"),
    })
}

const FAMILIES: [&str; 3] = ["hermes", "qwen3-coder", "gemma4"];

#[test]
fn calls_in_one_quotation_are_quoted_together() {
    for adapter in FAMILIES {
        let [on, off] = calls(adapter);
        for answer in [
            format!("She sent \"{on}{off}\" to the chat."),
            format!("return {on} {off}"),
            format!("reply: |\n  {on}\n  {off}"),
            format!("> {on}\n> {off}"),
        ] {
            assert!(written(&read(adapter, false, &answer)).is_empty(), "{adapter}: {answer}");
        }
    }
}

#[test]
fn a_form_inside_of_a_marker_that_is_data_is_data() {
    for (adapter, inner) in [
        ("qwen3-coder", "<function=lamp>\n<parameter=on>\ntrue\n</parameter>\n</function>"),
        ("hermes", "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}"),
    ] {
        for gap in ["", "\n"] {
            let call = format!("<tool_call>{gap}{inner}{gap}</tool_call>");
            for before in ["text = '''\n", "cat > call.txt <<END\n", "value: |\n  ", "10:20:31 INFO ", "return ", "$ echo "] {
                let answer = format!("{before}{call}");
                assert!(written(&read(adapter, false, &answer)).is_empty(), "{adapter}: {answer}");
            }
        }
    }
}

#[test]
fn a_token_that_ends_a_turn_in_any_family_is_no_text_at_the_end() {
    for token in ["<|im_end|>", "</s>", "<end_of_turn>", "<|eot_id|>", "<|endoftext|>", "<|end|>", "<|im_end|><|endoftext|>"] {
        for adapter in ["generic", "llama3", "gemma3", "hermes"] {
            let seen = read(adapter, false, &format!("It is lit.{token}"));
            assert_eq!(seen, text("It is lit."), "{adapter} {token}");
            for call in ["lamp(on=True)", "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}"] {
                for answer in [format!("{call}{token}"), format!("{call}\n{token}\n")] {
                    let seen = read(adapter, false, &answer);
                    assert_eq!(written(&seen).len(), 1, "{adapter}: {answer} became {seen:?}");
                }
            }
            let below = format!("I switch it on.\n{{\"name\": \"lamp\", \"arguments\": {{\"on\": true}}}}{token}");
            assert_eq!(written(&read(adapter, false, &below)).len(), 1, "{adapter}: {below}");
        }
    }
    for spoken_of in ["The turn ends with <|im_end|> here.", "A turn ends with <|im_end|>", "Write `</s>`"] {
        assert_eq!(read("generic", false, spoken_of), text(spoken_of));
    }
}

#[test]
fn a_result_after_a_call_ends_the_answer_in_any_form() {
    let call = |on: bool| format!("<tool_call>{{\"name\": \"lamp\", \"arguments\": {{\"on\": {on}}}}}</tool_call>");
    for result in [
        "<|START_TOOL_RESULT|>[]<|END_TOOL_RESULT|>",
        "<｜tool▁output▁begin｜>ok<｜tool▁output▁end｜>",
        "<response>lit</response>",
        "<observation>\nlit\n</observation>",
        "```tool_output\nlit\n```",
        "```tool_response\nlit\n```",
        "```output\nlit\n```",
        "Result: lit",
        "Observation: lit",
        "**Tool output:** lit",
        "FUNCTION RESPONSE: {\"lit\": true}",
    ] {
        let answer = format!("{}\n{result}\n{}", call(true), call(false));
        assert_eq!(written(&read("hermes", false, &answer)).len(), 1, "{answer}");
        let fenced = format!("```tool_code\nlamp(on=True)\n```\n{result}\n```tool_code\nlamp(on=False)\n```");
        assert_eq!(written(&read("gemma3", false, &fenced)).len(), 1, "{fenced}");
    }
    // Without a call before it, such a tag is the model's own.
    let answer = format!("<response>I switch it on.</response>\n{}", call(true));
    assert_eq!(written(&read("hermes", false, &answer)).len(), 1, "{answer}");
}

#[test]
fn code_that_reasoning_leaves_open_does_not_hide_the_call_after_it() {
    for adapter in ["gemma4", "cohere", "hermes"] {
        let [on, _] = calls(adapter);
        let answer = format!("<think>\nLike this:\n```\nlight(\n</think>\n{on}");
        assert_eq!(written(&read(adapter, false, &answer)).len(), 1, "{adapter}: {answer}");
    }
}
