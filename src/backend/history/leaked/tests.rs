use serde_json::{Value, json};

use super::*;
use crate::{
    event::{Tool, ToolChoice},
    openai::ChatRequest,
};

/// The contents of the assistant's messages that are left.
fn cleaned_by(model: &str, contents: &[Value]) -> Vec<Value> {
    let library = crate::seen::library();
    let schema = r#"{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}"#;
    let tools = Arc::new(Tools::new([Tool::new("read_file", "", schema)], ToolChoice::Auto));
    let messages: Vec<Value> = contents.iter().map(|content| json!({"role": "assistant", "content": content})).collect();
    let mut chat = ChatRequest::from_value(json!({"model": model, "messages": messages})).expect("a request");
    clean(&mut chat.messages, &library.find(model, None).adapter, &tools);
    chat.messages.into_iter().map(|message| json!(message.content)).collect()
}

#[test]
fn markup_that_leaked_into_an_answer_does_not_go_back() {
    for (model, leaked, left) in [
        (
            "qwen3:8b",
            "I look.\n<tool_call>\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>",
            "I look.",
        ),
        (
            "qwen3-coder:30b",
            "I look.\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>",
            "I look.",
        ),
        ("mistral-nemo", "I look.[TOOL_CALLS][{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}]", "I look."),
        ("gemma4:e4b", "I look.<|tool_call>call:read_file{path:<|\"|>a<|\"|>}<tool_call|>", "I look."),
        (
            "kimi-k2",
            "I look.<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\": \"a\"}<|tool_call_end|>",
            "I look.",
        ),
        ("llama3.1:8b", "I look.\n[Calling tool: read_file({\"path\": \"a\"})]", "I look."),
        ("qwen3:8b", "Done.<|im_end|>", "Done."),
    ] {
        assert_eq!(cleaned_by(model, &[json!(leaked)]), [json!(left)], "{model}: {leaked}");
        let parts = json!([{"type": "text", "text": leaked}]);
        assert_eq!(cleaned_by(model, &[parts]), [json!([{"type": "text", "text": left}])], "{model}, parts");
    }
    // Of one that was nothing else nothing is left.
    let call = "<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tool_call>";
    assert_eq!(cleaned_by("qwen3:8b", &[json!(call), json!("Yes.")]), [json!("Yes.")]);
}

#[test]
fn as_much_is_read_again_as_a_context_holds() {
    let call = "Yes.<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tool_call>";
    let long = format!("<tool_call>{}", "x".repeat(READ_BYTES));
    let left = cleaned_by("qwen3:8b", &[json!(call), json!(long), json!(call)]);
    assert_eq!(left, [json!("Yes."), json!(long), json!(call)]);
}

#[test]
fn what_an_answer_said_stays_as_it_was() {
    for text in [
        "Plain text, {\"a\": 1} and `code`.",
        "  spaces stay \n\n",
        "A call is written so:\n```\n<tool_call>{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}</tool_call>\n```\nas the manual says.",
        "Turns end with `<|im_end|>` there.",
        "```\n<|im_end|>\n```\n",
        "<think>I should look.</think>Looked.",
        "The tag <tool_call> opens a call.",
        "{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}",
    ] {
        assert_eq!(cleaned_by("qwen3:8b", &[json!(text)]), [json!(text)], "{text}");
    }
}
