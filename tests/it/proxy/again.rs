//! A call that the model got wrong is answered to it, once, hidden from the client: every way in which that ends, for calls
//! in the text and for the backend's own, streamed and not.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    chat::{Saw, request, stream},
    *,
};

/// An answer of the model: prose, the arguments of its call, and why it ended.
#[derive(Clone, Copy)]
struct Answer {
    said: &'static str,
    arguments: &'static str,
    finish: &'static str,
}

/// How the model calls.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Text,
    Native,
}

const RIGHT: Answer = Answer { said: "", arguments: "{\"uri\":\"a\"}", finish: "stop" };
const MALFORMED: Answer = Answer { said: "", arguments: "{\"uri\": , \"lines\": 3}", finish: "stop" };
const TWO_READINGS: Answer = Answer { said: "", arguments: "{\"uri\":\"a\",\"uri\":\"b\"}", finish: "stop" };
const NO_KEY: Answer = Answer { said: "", arguments: "{\"lines\":3}", finish: "stop" };
const UNCLOSED: Answer = Answer { said: "", arguments: "{\"uri\":\"a\"", finish: "stop" };
const IN_A_STRING: Answer = Answer { said: "", arguments: "{\"uri\":\"a", finish: "stop" };
const IN_A_NUMBER: Answer = Answer { said: "", arguments: "{\"uri\":\"a\",\"lines\":3", finish: "stop" };
const CUT: Answer = Answer { said: "", arguments: "{\"uri\":\"a", finish: "length" };

fn chunk(delta: Value, finish: Value) -> String {
    format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}))
}

fn script(answer: Answer, form: Form) -> Script {
    let Answer { said, arguments, finish } = answer;
    let whole = arguments.ends_with('}') && finish != "length";
    let end = if whole { "}</tool_call>" } else { "" };
    let delta = match form {
        Form::Text => {
            json!({"content": format!("{said}<tool_call>{{\"name\":\"read_file\",\"arguments\":{arguments}{end}")})
        }
        Form::Native => json!({"content": said, "tool_calls": [
            {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": arguments}},
        ]}),
    };
    let finish = if form == Form::Native && finish == "stop" { "tool_calls" } else { finish };
    Script::events(
        [chunk(delta, Value::Null), chunk(json!({}), json!(finish)), "data: [DONE]\n\n".to_owned()].map(Step::Send).into(),
    )
}

/// A proxy before a backend that gives these answers, the last one again and again; after them it says nothing at all if
/// `silent`.
async fn before(answers: &'static [Answer], form: Form, silent: bool) -> (Proxy, Fake) {
    let chats = AtomicUsize::new(0);
    with_openai(move |seen| {
        if !seen.line.ends_with("/chat/completions") {
            return Script::json(404, "{}");
        }
        match (answers.get(chats.fetch_add(1, Ordering::SeqCst)), silent) {
            (Some(answer), _) => script(*answer, form),
            (None, true) => Script::events(vec![Step::Hang]),
            (None, false) => script(answers[answers.len() - 1], form),
        }
    })
    .await
}

/// Text, calls and finish of an answer that was not streamed.
async fn collected(proxy: &Proxy) -> Saw {
    let (status, body) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    let choice = &body["choices"][0];
    let calls = choice["message"]["tool_calls"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Saw {
        status,
        text: text(&choice["message"]["content"]),
        calls: calls.iter().map(|call| (text(&call["function"]["name"]), text(&call["function"]["arguments"]))).collect(),
        finish: vec![text(&choice["finish_reason"])],
        raw: body.to_string(),
        ..Saw::default()
    }
}

/// What is shown; what the model answers, one after the other; how often it is asked; and what the client sees: its text begins
/// with this, the arguments of its call, the finish reason.
type Case<'c> = (&'c str, &'static [Answer], usize, &'c str, Option<&'c str>, &'c str);

#[tokio::test]
async fn every_way_in_which_it_ends() {
    const NOTICE: &str = "[toolglot] call of read_file was not run: ";
    let cases: &[Case<'_>] = &[
        ("malformed, then right", &[MALFORMED, RIGHT], 2, "", Some(RIGHT.arguments), "tool_calls"),
        ("malformed twice", &[MALFORMED, MALFORMED], 2, NOTICE, None, "stop"),
        ("two readings, then right", &[TWO_READINGS, RIGHT], 2, "", Some(RIGHT.arguments), "tool_calls"),
        (
            "prose that is said again",
            &[Answer { said: "Let me look.\n", ..MALFORMED }, Answer { said: "Let me look.\n", ..RIGHT }],
            2,
            "Let me look.",
            Some(RIGHT.arguments),
            "tool_calls",
        ),
        (
            "prose that is not said again",
            &[Answer { said: "Let me look.", ..MALFORMED }, RIGHT],
            2,
            "Let me look.",
            Some(RIGHT.arguments),
            "tool_calls",
        ),
        ("truncated", &[CUT], 1, NOTICE, None, "length"),
        ("a key is missing, then right", &[NO_KEY, RIGHT], 2, "", Some(RIGHT.arguments), "tool_calls"),
        ("a key is missing twice", &[NO_KEY, NO_KEY], 2, "", Some(NO_KEY.arguments), "tool_calls"),
        ("left unclosed, then right", &[UNCLOSED, RIGHT], 2, "", Some(RIGHT.arguments), "tool_calls"),
        ("left unclosed twice", &[UNCLOSED, UNCLOSED], 2, "", Some(RIGHT.arguments), "tool_calls"),
        ("left unclosed in a string twice", &[IN_A_STRING, IN_A_STRING], 2, NOTICE, None, "stop"),
        ("left unclosed in a number twice", &[IN_A_NUMBER, IN_A_NUMBER], 2, NOTICE, None, "stop"),
        ("malformed, then left unclosed", &[MALFORMED, UNCLOSED], 2, NOTICE, None, "stop"),
        ("malformed, then truncated", &[MALFORMED, CUT], 2, NOTICE, None, "length"),
    ];
    for (what, answers, chats, text, call, finish) in cases {
        for form in [Form::Text, Form::Native] {
            for streamed in [true, false] {
                let (proxy, fake) = before(answers, form, false).await;
                let saw = if streamed { stream(&proxy).await } else { collected(&proxy).await };
                let place = format!("{what}, {form:?}, streamed: {streamed}\n{}", saw.raw);
                assert_eq!(fake.seen("/v1/chat/completions").len(), *chats, "{place}");
                let calls: Vec<&str> = saw.calls.iter().map(|(_, arguments)| arguments.as_str()).collect();
                assert_eq!(calls, call.iter().copied().collect::<Vec<_>>(), "{place}");
                assert_eq!(saw.finish, [*finish], "{place}");
                match *text {
                    NOTICE => assert!(saw.text.trim_start().starts_with(NOTICE), "{place}"),
                    text => assert_eq!(saw.text.trim(), text, "{place}"),
                }
            }
        }
    }
}

/// What comes after the answers of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Then {
    /// The backend fails.
    Fails,
    /// An empty answer.
    Empty,
    /// Reasoning alone.
    Thinks,
}

/// The answers, one after the other, and what comes after them.
async fn before_a_fault(answers: &'static [&'static str], then: Then) -> (Proxy, Fake) {
    let chats = AtomicUsize::new(0);
    with_openai(move |seen| {
        if !seen.line.ends_with("/chat/completions") {
            return Script::json(404, "{}");
        }
        let delta = match (answers.get(chats.fetch_add(1, Ordering::SeqCst)), then) {
            (Some(said), _) => json!({"content": said}),
            (None, Then::Empty) => json!({"content": ""}),
            (None, Then::Thinks) => json!({"reasoning_content": "Hm."}),
            (None, Then::Fails) => return Script::json(500, r#"{"error":{"message":"out of memory"}}"#),
        };
        let chunks = [chunk(delta, Value::Null), chunk(json!({}), json!("stop")), "data: [DONE]\n\n".to_owned()];
        Script::events(chunks.map(Step::Send).into())
    })
    .await
}

#[tokio::test]
async fn the_client_keeps_the_first_answer_if_asking_again_fails() {
    const BAD: &str = r#"Let me look.<tool_call>{"name":"read_file","arguments":{"lines":3}}</tool_call>"#;
    const TWO: &str = concat!(
        r#"<tool_call>{"name":"read_file","arguments":{"lines":3}}</tool_call>"#,
        r#"<tool_call>{"name":"read_file","arguments":{"uri":"b"}}</tool_call>"#
    );
    for then in [Then::Fails, Then::Empty, Then::Thinks] {
        let cases: [(&'static [&'static str], &str, &[&str], &str); 2] = [
            (&[BAD], "Let me look.\n[toolglot] call of read_file was not run: ", &[], "stop"),
            (&[TWO], "[toolglot] call of read_file was not run: ", &[r#"{"uri":"b"}"#], "tool_calls"),
        ];
        for (answers, text, calls, finish) in cases {
            let (proxy, fake) = before_a_fault(answers, then).await;
            let saw = stream(&proxy).await;
            assert_eq!(fake.seen("/v1/chat/completions").len(), 2, "{}", saw.raw);
            assert!(saw.text.starts_with(text) && saw.text.matches("[toolglot]").count() < 2, "{then:?}: {}", saw.raw);
            let came: Vec<&str> = saw.calls.iter().map(|(_, arguments)| arguments.as_str()).collect();
            assert_eq!((came.as_slice(), saw.finish.as_slice()), (calls, [finish.to_owned()].as_slice()), "{}", saw.raw);
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_when_the_model_is_asked_again_adds_nothing() {
    const BAD: &str = r#"Look.<tool_call>{"name":"read_file","arguments":{"lines":3}}</tool_call>"#;
    let chats = AtomicUsize::new(0);
    let (proxy, fake) = with_openai(move |seen| {
        if !seen.line.ends_with("/chat/completions") {
            return Script::json(404, "{}");
        }
        Script::events(match chats.fetch_add(1, Ordering::SeqCst) {
            0 => [chunk(json!({"content": BAD}), json!("stop")), "data: [DONE]\n\n".to_owned()].map(Step::Send).into(),
            _ => vec![Step::Send(chunk(json!({"content": "<tool_call>{\"name\":\"read_f"}), Value::Null)), Step::Break],
        })
    })
    .await;
    let saw = stream(&proxy).await;
    assert_eq!(fake.seen("/v1/chat/completions").len(), 2);
    assert!(saw.text.starts_with("Look.\n[toolglot] call of read_file was not run: its arguments do not fit"), "{}", saw.raw);
    assert_eq!((saw.text.matches("[toolglot]").count(), saw.finish), (1, vec!["stop".to_owned()]), "{}", saw.raw);
}

#[tokio::test]
async fn a_valid_call_after_a_refused_one_is_kept() {
    let answers: &'static [&'static str] = &[
        concat!(
            r#"<tool_call>{"name":"read_file","arguments":{"lines":3}}</tool_call>"#,
            r#"<tool_call>{"name":"read_file","arguments":{"uri":"b"}}</tool_call>"#
        ),
        r#"<tool_call>{"name":"read_file","arguments":{"uri":"a"}}</tool_call>"#,
    ];
    let (proxy, fake) = before_a_fault(answers, Then::Fails).await;
    let saw = stream(&proxy).await;
    let came: Vec<&str> = saw.calls.iter().map(|(_, arguments)| arguments.as_str()).collect();
    assert_eq!(came, [r#"{"uri":"a"}"#, r#"{"uri":"b"}"#], "{}", saw.raw);
    assert!(fake.seen("/v1/chat/completions")[1].body.contains("Do not repeat your other calls (read_file)."));
}

/// source: suite smg (`test_json_extraction_from_text`, `test_boundary_cases_for_extraction#3`), with another tool
#[tokio::test]
async fn a_call_between_text_is_asked_about_and_counts_in_the_reply() {
    const REMARK: &str = r#"{"name": "read_file", "arguments": {"uri": "a"}} Let me search for that."#;
    const TWICE: &str = concat!(
        r#"Text {"name": "read_file", "arguments": {"uri": "a"}} more {"name": "read_file", "arguments": {"uri": "b"}}"#,
        " and more"
    );
    let cases: [(&'static [&'static str], &[&str], &str); 4] = [
        (&[REMARK, REMARK], &["a"], ""),
        (&[REMARK, "I only show its form."], &[], "I only show its form."),
        (&[TWICE, "I only show their form."], &[], "I only show their form."),
        (&[TWICE, TWICE], &["a", "b"], "Text"),
    ];
    for (answers, calls, text) in cases {
        let (proxy, fake) = before_a_fault(answers, Then::Fails).await;
        let saw = stream(&proxy).await;
        let came: Vec<Value> = saw.calls.iter().map(|(_, arguments)| serde_json::from_str(arguments).unwrap()).collect();
        let expected: Vec<Value> = calls.iter().map(|uri| json!({"uri": uri})).collect();
        assert_eq!((came, fake.seen("/v1/chat/completions").len()), (expected, 2), "{}", saw.raw);
        assert!(saw.text.contains(text), "{}", saw.raw);
    }
}

#[tokio::test]
async fn the_model_is_told_what_was_wrong_and_it_is_counted() {
    let (proxy, fake) = before(&[MALFORMED, RIGHT], Form::Native, false).await;
    assert_eq!(stream(&proxy).await.calls.len(), 1);
    let second = &fake.seen("/v1/chat/completions")[1].body;
    for part in ["was not run", "not valid JSON", "required", "Write the whole call again"] {
        assert!(second.contains(part), "{part}: {second}");
    }
    let (_, health) = answer(proxy.get("/healthz")).await;
    assert_eq!(health["asked_again"], 1, "{health}");
    assert_eq!((&health["calls"]["refused"], &health["calls"]["clean"]), (&json!(1), &json!(1)), "{health}");
    let (proxy, _fake) = before(&[Answer { arguments: "{'URI': 'a', 'lines': '3'}", ..RIGHT }], Form::Native, false).await;
    assert_eq!(stream(&proxy).await.calls.len(), 1);
    let (_, health) = answer(proxy.get("/healthz")).await;
    assert_eq!(health["calls"]["coerced"], 1, "{health}");
    assert_eq!((&health["repairs"]["N1"], &health["repairs"]["K1"]), (&json!(1), &json!(1)), "{health}");
    assert!(health["repairs"]["S5"].as_u64() > Some(1), "{health}");
    assert_eq!(health["repairs"].get("T3"), None, "{health}");
}

#[tokio::test]
async fn a_client_that_goes_while_the_model_is_asked_again_ends_that_too() {
    for form in [Form::Text, Form::Native] {
        for streamed in [true, false] {
            let (proxy, mut fake) = before(&[MALFORMED], form, true).await;
            let request = proxy.post("/v1/chat/completions", request(streamed)).send();
            let waiting = tokio::spawn(async move { request.await.unwrap().bytes().await.map(|_| ()) });
            for _ in 0..500 {
                if fake.seen("/v1/chat/completions").len() == 2 {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            assert_eq!(fake.seen("/v1/chat/completions").len(), 2, "{form:?}");
            fake.forget_closed();
            waiting.abort();
            fake.closed().await;
        }
    }
}
