use super::*;

fn said(text: &str) -> Content {
    Content::Text(text.into())
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "ls".into(), arguments: "{}".into(), extra: None }
}

fn shown(conversation: Conversation) -> Vec<String> {
    let messages = conversation.messages;
    messages.iter().map(|message| format!("{}: {}", message.role, message.content.to_text())).collect()
}

#[test]
fn leading_system_text_is_one_message() {
    let mut talk = Conversation::default();
    talk.system("a");
    talk.system(" ");
    talk.system("b");
    talk.user(said("hi"));
    assert_eq!(shown(talk), ["system: a\n\nb", "user: hi"]);
}

#[test]
fn later_system_text_is_a_message_in_its_place() {
    let mut talk = Conversation::default();
    talk.user(said("hi"));
    talk.assistant("hello");
    talk.system("one");
    talk.assistant("again");
    assert_eq!(shown(talk), ["user: hi", "assistant: hello", "system: one", "assistant: again"]);
}

#[test]
fn text_reasoning_and_calls_of_one_answer_are_one_message() {
    let mut talk = Conversation::default();
    talk.reasoning("hm");
    talk.assistant("Let me look.");
    talk.call(call("1"));
    talk.reasoning("lost: nothing follows");
    talk.user(said("stop"));
    let messages = talk.messages;
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0].rest[REASONING], "hm");
    assert_eq!((messages[0].content.to_text().as_str(), messages[0].tool_calls.len()), ("Let me look.", 1));
}

#[test]
fn a_result_without_an_id_answers_the_newest_message_with_calls() {
    let call = |path: &str| json!({"function": {"name": "read", "arguments": {"path": path}}});
    let result = |text: &str| json!({"role": "tool", "tool_name": "read", "content": text});
    let messages = json!([
        {"role": "user", "content": "a and b"}, {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b")]},
        result("of a"), {"role": "user", "content": "only c"},
        {"role": "assistant", "content": "", "tool_calls": [call("c")]}, result("of c"),
    ]);
    let mut request = ChatRequest::from_value(json!({"model": "m", "messages": messages})).unwrap();
    name_calls(&mut request);
    let [.., called, result] = request.messages.as_slice() else { panic!() };
    assert_eq!(result.tool_call_id.as_deref(), Some(called.tool_calls[0].id.as_str()));
}
