use serde_json::Value;

use super::*;

const LOOK: &str = r#"# a conversation with one call
=== request
{"model":"m","messages":[{"role":"user","content":"What is in a.txt?"}]}
=== stream openai
data: call

@5ms
data: end
=== request
{"model":"m","messages":[{"role":"user","content":"What is in a.txt?"},{"role":"assistant","content":"","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"7"}]}
=== stream text
Seven.
"#;

const GREET: &str = "=== request\n{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}\n=== stream ollama\n{\"greeting\":1}\n";
const OTHER: &str =
    "=== request\n{\"model\":\"other\",\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}\n=== stream google\ndata: x\n";

fn replay() -> Replay {
    Replay::new([LOOK, GREET, OTHER].map(|text| Fixture::parse(text).expect("a fixture")))
}

/// Dialect and text of the answer in a conversation of (role, content).
fn answer(model: &str, turns: &[(&str, &str)]) -> (Dialect, String) {
    let messages: Vec<Value> = turns.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
    let chat = ChatRequest::from_value(json!({"model": model, "messages": messages})).expect("a request");
    let prepared = replay().answer(&chat).expect("recorded");
    let Outgoing::Recorded(recording) = prepared.outgoing else { panic!("from memory") };
    let bytes: Vec<u8> = recording.reads.iter().flat_map(|(_, bytes)| bytes.to_vec()).collect();
    (prepared.dialect, String::from_utf8(bytes).expect("text"))
}

#[test]
fn the_recorded_answer_is_found_by_the_place_in_the_conversation() {
    let ask = ("user", "What is in a.txt?");
    assert_eq!(answer("m", &[ask]), (Dialect::OpenAi, "data: call\ndata: end".into()));
    let (dialect, text) = answer("m", &[ask, ("assistant", ""), ("tool", "7")]);
    assert!(dialect == Dialect::Ollama && text.contains("\"content\":\"Seven.\"") && text.contains("\"done\":true"), "{text}");
    // The same question again: the first answer.
    assert_eq!(answer("m", &[ask, ("assistant", ""), ("tool", "7"), ("assistant", "Seven."), ask]).1, "data: call\ndata: end");
    assert_eq!(answer("m", &[("system", "Be brief."), ("user", " Hello\n")]).1, "{\"greeting\":1}");
    assert_eq!(answer("other", &[("user", "Hello")]), (Dialect::Google, "data: x".into()));
}

#[test]
fn what_was_not_recorded_gets_one_line_that_says_so_and_never_a_call() {
    let ask = ("user", "What is in a.txt?");
    let ended = answer("m", &[ask, ("assistant", ""), ("tool", "7"), ("tool", "8")]).1;
    assert!(ended.contains("The recording ends here"), "{ended}");
    for other in ["Something else", "what is in a.txt?", ""] {
        let said = answer("m", &[("user", other)]).1;
        assert!(said.contains("not a model") && said.contains("What is in a.txt?") && said.contains("Hello"), "{said}");
    }
}

#[test]
fn models_are_those_that_were_recorded() {
    let names: Vec<String> = replay().models().into_iter().map(|model| model.id).collect();
    assert_eq!(names, ["m", "other"]);
    let chat = ChatRequest::from_value(json!({"model": "unknown", "messages": []})).expect("a request");
    assert_eq!(replay().answer(&chat).expect_err("not recorded").code.as_deref(), Some("model_not_found"));
}

#[test]
fn the_demo_is_named_as_such() {
    let models = Replay::demo().models();
    assert!(!models.is_empty() && models.iter().all(|model| model.id.starts_with("demo/")), "{models:?}");
    assert_eq!(Replay::demo().rounds().count(), 2 * EMBEDDED.len(), "every file can be read, and has an answer after the tool");
}
