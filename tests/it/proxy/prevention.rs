//! A llama.cpp server that can hold a model to its tools is asked to; one that cannot is asked as before, and that is remembered.

use serde_json::{Value, json};

use super::{
    Proxy,
    backends::{delta, event, finish},
    chat::{request, stream, stream_of},
};
use crate::fake::{Fake, Script};

const PROPS: &str = r#"{"default_generation_settings":{"n_ctx":4096},"chat_template":"<tool_call>","chat_template_caps":{"supports_tools":true}}"#;

/// A proxy before a llama.cpp server of which the text completions answer so.
async fn with_llama(completions: impl Fn() -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"m","owned_by":"llamacpp"}]}"#),
        "GET /props" => Script::json(200, PROPS),
        "POST /apply-template" => Script::json(200, r#"{"prompt":"<user>go<assistant>"}"#),
        "POST /v1/completions" => completions(),
        "POST /v1/chat/completions" => Script::events(vec![delta(json!({"content": "from the chat"})), finish("stop")]),
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
    (proxy, fake)
}

#[tokio::test]
async fn the_model_goes_on_with_its_template_s_prompt_and_is_held_from_a_call_on() {
    let (proxy, fake) = with_llama(|| {
        let text = |text: &str| event(&json!({"choices": [{"index": 0, "text": text, "finish_reason": null}]}));
        let end = json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}], "usage": {"prompt_tokens": 5, "completion_tokens": 9}});
        Script::events(vec![
            text("I look.\n<tool_call>\n{\"name\": \"read_file\","),
            text(" \"arguments\": {\"uri\": \"a\"}}\n</tool_call>"),
            event(&end),
            finish("stop"),
        ])
    })
    .await;
    let mut asked: Value = serde_json::from_str(&request(true)).unwrap();
    asked["max_tokens"] = json!(77);
    asked["temperature"] = json!(0.5);
    let saw = stream_of(&proxy, &asked).await;
    assert_eq!(
        (saw.text.trim(), saw.calls.len(), saw.finish.as_slice()),
        ("I look.", 1, ["tool_calls".to_owned()].as_slice()),
        "{}",
        saw.raw
    );
    let template: Value = serde_json::from_str(&fake.seen("/apply-template")[0].body).unwrap();
    assert!(template["messages"].is_array() && template["tools"].is_array(), "{template}");
    let sent: Value = serde_json::from_str(&fake.seen("/v1/completions")[0].body).unwrap();
    assert_eq!(
        json!([
            sent["prompt"], sent["max_tokens"], sent["n_predict"], sent["temperature"], sent["grammar_lazy"], sent["messages"],
            sent["tools"]
        ]),
        json!(["<user>go<assistant>", null, 77, 0.5, true, null, null])
    );
    assert!(sent["grammar"].as_str().unwrap().contains("read_file"), "{sent}");
    assert!(sent["grammar_triggers"].to_string().contains("<tool_call>"), "{sent}");
    assert!(fake.seen("/chat/completions").is_empty());
    // A call that must be made, and a chat without tools, are the server's own affair. No call comes, so it is asked for once more.
    for (field, value) in [("tool_choice", json!("required")), ("tools", json!([]))] {
        let mut other = asked.clone();
        other[field] = value;
        assert_eq!(stream_of(&proxy, other).await.status, 200);
    }
    assert_eq!((fake.seen("/v1/completions").len(), fake.seen("/chat/completions").len()), (1, 3));
}

#[tokio::test]
async fn a_server_that_takes_no_grammar_is_asked_without_and_that_is_remembered() {
    let (proxy, fake) = with_llama(|| {
        Script::json(400, r#"{"error":{"code":400,"message":"Failed to initialize samplers: failed to parse grammar"}}"#)
    })
    .await;
    for _ in 0..2 {
        let saw = stream(&proxy).await;
        assert_eq!((saw.text.as_str(), saw.status), ("from the chat", 200), "{}", saw.raw);
    }
    assert_eq!((fake.seen("/v1/completions").len(), fake.seen("/chat/completions").len()), (1, 2));
}
