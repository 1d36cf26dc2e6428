//! What follows a call or an answer and belongs to neither.

use super::{read, text, written};

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
