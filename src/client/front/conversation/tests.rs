use proptest::prelude::*;

use super::*;

fn said(text: &str) -> Content {
    Content::Text(text.into())
}

fn call(id: &str) -> ToolCall {
    ToolCall { id: id.into(), name: "ls".into(), arguments: "{}".into(), extra: None }
}

/// System text as a part of a message.
fn added(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

fn shown(conversation: Conversation) -> Vec<String> {
    let messages = conversation.finish();
    messages.iter().map(|message| format!("{}: {}", message.role, message.content.to_text())).collect()
}

#[test]
fn leading_system_text_is_one_message() {
    let mut talk = Conversation::default();
    talk.system("a".into());
    talk.system(" ".into());
    talk.system("b".into());
    talk.user(said("hi"));
    assert_eq!(shown(talk), ["system: a\n\nb", "user: hi"]);
}

#[test]
fn later_system_text_stays_where_it_was_said() {
    let mut talk = Conversation::default();
    talk.user(said("hi"));
    talk.system("one".into());
    talk.system("two".into());
    talk.assistant("hello");
    talk.system("three".into());
    talk.user(said("more"));
    talk.system("four".into());
    let [one, two, three, four] = ["one", "two", "three", "four"].map(added);
    let (first, last) = (format!("user: hi\n\n{one}\n\n{two}"), format!("user: {three}\n\nmore\n\n{four}"));
    assert_eq!(shown(talk), [first.as_str(), "assistant: hello", last.as_str()]);
}

#[test]
fn system_text_never_comes_between_calls_and_their_results() {
    let mut talk = Conversation::default();
    talk.user(said("hi"));
    talk.call(call("1"));
    talk.call(call("2"));
    talk.system("aside".into());
    talk.result("1", said("a"));
    talk.result("2", said("b"));
    talk.assistant("done");
    let last = format!("tool: b\n\n{}", added("aside"));
    assert_eq!(shown(talk), ["user: hi", "assistant: ", "tool: a", last.as_str(), "assistant: done"]);
}

#[test]
fn system_text_between_two_answers_is_a_message() {
    let mut talk = Conversation::default();
    talk.user(said("hi"));
    talk.assistant("hello");
    talk.system("aside".into());
    talk.assistant("again");
    let aside = format!("user: {}", added("aside"));
    assert_eq!(shown(talk), ["user: hi", "assistant: hello", aside.as_str(), "assistant: again"]);
}

#[test]
fn text_reasoning_and_calls_of_one_answer_are_one_message() {
    let mut talk = Conversation::default();
    talk.reasoning("hm");
    talk.assistant("Let me look.");
    talk.call(call("1"));
    talk.reasoning("lost: nothing follows");
    talk.user(said("stop"));
    let messages = talk.finish();
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0].rest[REASONING], "hm");
    assert_eq!((messages[0].content.to_text().as_str(), messages[0].tool_calls.len()), ("Let me look.", 1));
}

/// One step of a conversation as clients write it.
#[derive(Debug, Clone)]
enum Step {
    System,
    User,
    Parts,
    Assistant,
    Calls(usize),
}

fn play(steps: &[Step]) -> Vec<Value> {
    let mut talk = Conversation::default();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::System => talk.system(format!("system {at}")),
            Step::User => talk.user(said(&format!("user {at}"))),
            Step::Parts => talk.user(content(vec![text(format!("see {at}")), image("data:image/png;base64,AA")])),
            Step::Assistant => talk.assistant(&format!("assistant {at}")),
            Step::Calls(count) => {
                (0..*count).for_each(|n| talk.call(call(&format!("{at} {n}"))));
                (0..*count).for_each(|n| talk.result(&format!("{at} {n}"), said("result")));
            }
        }
    }
    talk.finish().iter().map(|message| json!(message)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A client asks when the user has spoken or results are there, and answers in between.
    #[test]
    fn the_past_never_changes(steps in prop::collection::vec(prop_oneof![
        Just(Step::System), Just(Step::User), Just(Step::Parts), Just(Step::Assistant), (1..3usize).prop_map(Step::Calls)
    ], 1..24)) {
        let mut before: Vec<Value> = Vec::new();
        for end in 1..=steps.len() {
            // The answer begins a message of its own.
            let asks = !matches!(steps[end - 1], Step::Assistant) && matches!(steps.get(end), Some(Step::Assistant) | None);
            if !asks {
                continue;
            }
            let now = play(&steps[..end]);
            prop_assert!(now.starts_with(&before), "{steps:?}\n{before:#?}\n{now:#?}");
            before = now;
        }
    }
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
