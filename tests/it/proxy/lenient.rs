//! Requests that are odd: read as they are meant, or refused in words that help.

use super::*;

/// An answer of OpenAI's API that says this.
fn said(text: &str) -> Script {
    let chunk = |delta: Value, finish: Value| {
        Step::Send(format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})))
    };
    let end = Step::Send("data: [DONE]\n\n".into());
    Script::events(vec![chunk(json!({"content": text}), Value::Null), chunk(json!({}), json!("stop")), end])
}

/// The body of the last request that reached the backend.
fn asked(fake: &Fake) -> Value {
    serde_json::from_str(&fake.seen("/v1/chat/completions").pop().unwrap().body).unwrap()
}

#[tokio::test]
async fn a_text_that_was_cut_within_an_emoji_is_read() {
    let (proxy, fake) = with_openai(|_| said("ok")).await;
    for (path, body) in [
        ("/v1/chat/completions", r#"{"model":"m","messages":[{"role":"user","content":"cut \ud83d"}]}"#),
        ("/v1/messages", r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"cut \ud83d"}]}"#),
        ("/v1/responses", r#"{"model":"m","input":"cut \ud83d"}"#),
        ("/api/chat", r#"{"model":"m","stream":false,"messages":[{"role":"user","content":"cut \ud83d"}]}"#),
        (
            "/generate",
            r#"{"jsonrpc":"2.0","id":1,"method":"generate","params":{"model":"m","messages":[{"role":"user","content":"cut \ud83d"}]}}"#,
        ),
    ] {
        let (status, answer) = answer(proxy.post(path, body)).await;
        assert_eq!(status, 200, "{path}: {answer}");
        let messages = &asked(&fake)["messages"];
        assert_eq!(messages.as_array().unwrap().last().unwrap()["content"], "cut \u{fffd}", "{path}");
    }
    // What is no JSON is refused, whatever else is in it.
    assert_eq!(answer(proxy.post("/v1/chat/completions", r#"{"model":"m","messages":["\ud83d}"#)).await.0, 400);
}
