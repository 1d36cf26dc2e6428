use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::openai::ChatRequest;

fn messages(messages: Value) -> Vec<Message> {
    ChatRequest::from_value(json!({"model": "m", "messages": messages})).unwrap().messages
}

/// Roles and texts.
fn shown(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| format!("{}: {}", message.role, message.content.to_text())).collect()
}

fn joined(list: &[(&str, &str)]) -> Vec<String> {
    let mut messages: Vec<Message> = list.iter().map(|(role, text)| Message::text(*role, *text)).collect();
    join_system(&mut messages);
    shown(&messages)
}

/// The messages after the rewrite.
fn rewritten(rewrite: Rewrite, list: Value) -> Value {
    let mut messages = messages(list);
    let row = ROWS.iter().find(|row| row.rewrite == rewrite).unwrap();
    match row.change {
        Change::Messages(change) => change(&mut messages),
        Change::Message(change) => messages.iter_mut().for_each(change),
        _ => panic!("no rewrite of messages"),
    }
    json!(messages)
}

/// System text as a part of a message.
fn element(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>")
}

#[test]
fn leading_system_text_is_one_message() {
    let leading = joined(&[("system", "a"), ("system", " "), ("developer", "b"), ("user", "hi")]);
    assert_eq!(leading, ["system: a\n\nb", "user: hi"]);
    assert_eq!(joined(&[("system", ""), ("user", "hi")]), ["system: ", "user: hi"], "there is nothing to join");
}

#[test]
fn later_system_text_stays_where_it_was_said() {
    let [one, two, three, four] = ["one", "two", "three", "four"].map(element);
    let all = joined(&[
        ("user", "hi"),
        ("system", "one"),
        ("developer", "two"),
        ("assistant", "hello"),
        ("system", "three"),
        ("user", "more"),
        ("system", "four"),
    ]);
    let (first, last) = (format!("user: hi\n\n{one}\n\n{two}"), format!("user: {three}\n\nmore\n\n{four}"));
    assert_eq!(all, [first.as_str(), "assistant: hello", last.as_str()]);
    let between = joined(&[("user", "hi"), ("assistant", "hello"), ("system", "one"), ("assistant", "again")]);
    assert_eq!(between, ["user: hi", "assistant: hello", &format!("user: {one}"), "assistant: again"]);
}

#[test]
fn system_text_never_comes_between_calls_and_their_results() {
    let all =
        joined(&[("user", "hi"), ("assistant", ""), ("system", "aside"), ("tool", "a"), ("tool", "b"), ("assistant", "done")]);
    let last = format!("tool: b\n\n{}", element("aside"));
    assert_eq!(all, ["user: hi", "assistant: ", "tool: a", last.as_str(), "assistant: done"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A client asks when the user has spoken or results are there, and answers in between.
    #[test]
    fn the_past_never_changes(steps in prop::collection::vec(prop_oneof![
        Just("system"), Just("user"), Just("assistant"), Just("tool")
    ], 1..24)) {
        let mut before: Vec<Value> = Vec::new();
        for end in 1..=steps.len() {
            // The answer begins a message of its own.
            let asks = steps[end - 1] != "assistant" && matches!(steps.get(end), Some(&"assistant") | None);
            if !asks {
                continue;
            }
            let mut now: Vec<Message> = steps[..end].iter().enumerate().map(|(at, role)| Message::text(*role, format!("{role} {at}"))).collect();
            join_system(&mut now);
            let said = |message: &Message| message.content.to_text();
            let all: String = now.iter().map(said).collect();
            prop_assert!((0..end).all(|at| all.contains(&format!("{} {at}", steps[at]))), "nothing is lost: {now:#?}");
            prop_assert!(now.iter().skip(1).all(|message| message.role != "system"));
            let now: Vec<Value> = now.iter().map(|message| json!(message)).collect();
            prop_assert!(now.starts_with(&before), "{steps:?}\n{before:#?}\n{now:#?}");
            before = now;
        }
    }
}

fn call(id: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": "ls", "arguments": "{\"path\":\".\"}"}})
}

#[test]
fn ids_keep_calls_and_results_together() {
    let list = json!([
        {"role": "assistant", "content": null, "tool_calls": [call("call_1"), call("aB3dE6gH9")]},
        {"role": "tool", "content": "a", "tool_call_id": "call_1"},
        {"role": "tool", "content": "b", "tool_call_id": "aB3dE6gH9"},
    ]);
    let sent = rewritten(Rewrite::ShortIds, list);
    let id = sent[1]["tool_call_id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(sent[0]["tool_calls"][0]["id"], id);
    assert_eq!((&sent[0]["tool_calls"][1]["id"], &sent[2]["tool_call_id"]), (&json!("aB3dE6gH9"), &json!("aB3dE6gH9")));
}

#[test]
fn a_rewrite_changes_only_what_its_refusal_is_about() {
    let user = json!({"role": "user", "content": "hi"});
    let result = json!({"role": "tool", "content": "a", "tool_call_id": "1"});
    let said = |text: &str| json!({"role": "assistant", "content": text});
    let called = json!({"role": "assistant", "content": "Let me look.", "tool_calls": [call("1")], "reasoning_content": "Hm."});
    // A bridge, and none where the assistant speaks anyway.
    let bridged = rewritten(Rewrite::Bridge, json!([user, called, result, user, said("b"), user]));
    assert_eq!(bridged, json!([user, called, result, said("Done."), user, said("b"), user]));
    // Thinking and text apart: both stay, the text first.
    let apart = rewritten(Rewrite::Apart, json!([user, called, result]));
    assert_eq!(apart[1], said("Let me look."));
    assert_eq!(
        (&apart[2]["reasoning_content"], &apart[2]["content"], &apart[2]["tool_calls"][0]["id"]),
        (&json!("Hm."), &Value::Null, &json!("1"))
    );
    // Turns at the end.
    assert_eq!(rewritten(Rewrite::OneAnswer, json!([user, said("a"), said("b")])), json!([user, said("a\n\nb")]));
    let on = rewritten(Rewrite::GoOn, json!([user, said("Once upon")]));
    assert_eq!((&on[1], &on[2]["role"]), (&said("Once upon"), &json!("user")));
    assert_eq!(rewritten(Rewrite::GoOn, json!([user])), json!([user]));
    // A turn of the user after the system text.
    let system = json!({"role": "system", "content": "s"});
    assert_eq!(rewritten(Rewrite::UserTurn, json!([system, called, result]))[1]["role"], "user");
    assert_eq!(rewritten(Rewrite::UserTurn, json!([system, user])), json!([system, user]));
    // Arguments as objects, the message otherwise the same.
    let objects = rewritten(Rewrite::Objects, json!([called]));
    assert_eq!(
        objects[0]["tool_calls"],
        json!([{"id": "1", "type": "function", "function": {"name": "ls", "arguments": {"path": "."}}}])
    );
    // Reasoning: what is known stays, what nobody has kept is not empty.
    let thinking = rewritten(
        Rewrite::Reasoning,
        json!([user, called, said("b"), {"role": "assistant", "content": "c", "reasoning": "So."}]),
    );
    assert_eq!((&thinking[1]["reasoning_content"], &thinking[2]["reasoning_content"]), (&json!("Hm."), &json!(" ")));
    assert_eq!((&thinking[3]["reasoning_content"], thinking[3].get("reasoning")), (&json!("So."), None));
    assert_eq!(thinking[0], user);
}

#[test]
fn schemas_lose_what_a_grammar_cannot_take_and_nothing_else() {
    let mut schema = json!({"type": "object", "required": ["pattern"], "properties": {
        "pattern": {"type": "string", "pattern": "\\S", "maxLength": 50},
        "at": {"type": "string", "format": "date-time", "maxLength": 100000, "enum": [{"pattern": "x"}]},
        "list": {"type": "array", "maxItems": 5, "items": {"anyOf": [{"type": "string", "pattern": "a"}, {"type": "null"}]}},
    }});
    let plain = super::schema::plain(&schema);
    super::schema::without_patterns(&mut schema);
    assert_eq!(
        schema,
        json!({"type": "object", "required": ["pattern"], "properties": {
            "pattern": {"type": "string", "maxLength": 50},
            "at": {"type": "string", "enum": [{"pattern": "x"}]},
            "list": {"type": "array", "maxItems": 5, "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
        }})
    );
    assert_eq!(
        plain,
        json!({"type": "object", "required": ["pattern"], "properties": {
            "pattern": {"type": "string"}, "at": {"type": "string", "enum": [{"pattern": "x"}]}, "list": {"type": "array", "items": {"type": "string"}},
        }})
    );
}

#[test]
fn every_row_has_words_for_people() {
    let learned: Vec<Rewrite> = serde_json::from_str(r#"["short_ids", "plain_schemas"]"#).unwrap();
    assert!(learned.iter().all(|rewrite| !rewrite.title().is_empty()));
    assert_eq!(ROWS.iter().filter(|row| row.says.is_empty()).count(), 1, "only the last resort has no words");
}
