//! Fields that a backend refuses or does not know, and parts of messages that it cannot take: what is left out, what takes their
//! place, and what the client is told.

use super::{
    backends::{delta, finish},
    chat::stream_of,
    *,
};

const CALL: &str = r#"{"name": "read_file", "arguments": {"uri": "a"}}"#;

/// A proxy before a strict server of OpenAI's API, which refuses these fields in these words. The model writes a call as text.
async fn strict(fields: &'static [&'static str], words: fn(&str) -> Value) -> (Proxy, Fake) {
    with_openai(move |seen| {
        let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        match fields.iter().find(|field| body.get(**field).is_some()) {
            Some(field) => Script::json(400, words(field).to_string()),
            None => Script::events(vec![delta(json!({"content": CALL})), finish("stop")]),
        }
    })
    .await
}

fn unrecognized(field: &str) -> Value {
    json!({"error": {"message": format!("Unrecognized request argument supplied: {field}"), "type": "invalid_request_error"}})
}

/// The bodies of the chats that the backend got.
fn bodies(fake: &Fake) -> Vec<Value> {
    fake.seen("/v1/chat/completions").iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect()
}

fn request(more: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]});
    let mut body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Read a."}],
        "tools": [{"type": "function", "function": {"name": "read_file", "parameters": schema}}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The warnings in the head of an answer.
fn warnings(response: &reqwest::Response) -> Vec<String> {
    let all = response.headers().get_all("x-toolglot-warning").iter();
    all.map(|warning| warning.to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn who_does_not_know_the_field_tools_gets_them_in_the_prompt() {
    let refusals: [fn(&str) -> Value; 4] = [
        unrecognized,
        |field| json!({"error": {"message": format!("Unknown parameter: '{field}'.")}}),
        |field| json!({"error": format!("json: unknown field \"{field}\"")}),
        |field| json!({"detail": [{"type": "extra_forbidden", "loc": ["body", field], "msg": "Extra inputs are not permitted"}]}),
    ];
    for words in refusals {
        let (proxy, fake) = strict(&["tools"], words).await;
        for chats in [2, 3] {
            let saw = stream_of(&proxy, request(json!({})).to_string()).await;
            assert_eq!((saw.calls.len(), fake.seen("/v1/chat/completions").len()), (1, chats), "{}: {}", words("tools"), saw.raw);
        }
        let last = bodies(&fake).pop().unwrap();
        assert_eq!(last["stream_options"]["include_usage"], true, "only what was refused is left out");
    }
}

#[tokio::test]
async fn the_field_that_is_refused_is_the_one_that_is_left_out() {
    let (proxy, fake) = strict(&["seed", "user", "response_format"], unrecognized).await;
    let form = json!({"type": "json_object"});
    let asked = json!({"seed": 1, "user": "u", "response_format": form, "store": true, "tool_choice": "auto", "stream": false});
    let response = proxy.post("/v1/chat/completions", request(asked)).send().await.unwrap();
    let warnings = warnings(&response);
    assert!(warnings.len() == 1 && warnings[0].contains("`seed`"), "{warnings:?}");
    let sent = bodies(&fake);
    assert_eq!(sent.len(), 4, "each refusal once");
    let last = &sent[3];
    assert!(["seed", "user", "response_format"].iter().all(|field| last.get(*field).is_none()), "{last}");
    assert!(last["store"] == true && last["stream_options"]["include_usage"] == true && last["tools"].is_array(), "{last}");
    let system = last["messages"][0]["content"].as_str().unwrap();
    assert!(system.ends_with("your whole answer must be one JSON object"), "the prompt asks for the form: {system}");
}

#[tokio::test]
async fn ollamas_own_fields_do_not_reach_other_servers() {
    let (proxy, fake) = strict(&["think", "keep_alive", "options", "truncate"], unrecognized).await;
    let options = json!({"num_ctx": 4096, "num_predict": -1, "temperature": 0.5, "mirostat": 1});
    let body = json!({"model": "m", "stream": false, "messages": [{"role": "user", "content": "hi"}], "think": false,
        "keep_alive": "5m", "truncate": true, "options": options});
    let response = proxy.post("/api/chat", body).send().await.unwrap();
    let warnings = warnings(&response);
    assert!(warnings.len() == 1 && warnings[0].contains("`mirostat`"), "{warnings:?}");
    let sent = bodies(&fake);
    let mut names: Vec<&str> = sent[0].as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["messages", "model", "reasoning_effort", "stream", "stream_options", "temperature"]);
    assert_eq!((sent.len(), &sent[0]["reasoning_effort"]), (1, &json!("none")));
    for (think, effort) in [(json!("low"), json!("low")), (json!(true), Value::Null)] {
        let body =
            json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "think": think, "options": {"num_predict": 7}});
        assert_eq!(proxy.post("/api/chat", body).send().await.unwrap().status(), 200);
        let last = bodies(&fake).pop().unwrap();
        assert_eq!((&last["reasoning_effort"], &last["max_tokens"]), (&effort, &json!(7)));
    }
}

#[tokio::test]
async fn every_part_of_a_result_is_read_or_named() {
    let (proxy, fake) = strict(&[], unrecognized).await;
    let call = json!({"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{\"uri\": \"a\"}"}});
    let asked = |parts: Value| {
        let messages = json!([{"role": "user", "content": "Read a."}, {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": parts}]);
        proxy.post("/v1/chat/completions", request(json!({"messages": messages, "stream": false}))).send()
    };
    for (part, read, warned) in [
        (json!({"type": "refusal", "refusal": "I may not."}), "I may not.", false),
        (json!("bare"), "bare", false),
        (json!({"type": "json", "json": {"a": 1}}), "[a part of type json: not supported]", true),
        (json!({"type": "input_audio", "input_audio": {"data": "AA"}}), "[a part of type input_audio: not supported]", true),
        (json!({"tool_name": "x"}), "[a part of type unknown: not supported]", true),
    ] {
        let response = asked(json!([{"type": "text", "text": "One."}, part])).await.unwrap();
        let warnings = warnings(&response);
        assert!(warnings.iter().any(|warning| warning.contains("messages[2].content")) == warned, "{part}: {warnings:?}");
        let last = bodies(&fake).pop().unwrap();
        assert_eq!(last["messages"][2]["content"], format!("One.\n{read}"), "{part}");
    }
    for (part, wrong) in
        [(json!({"type": "text", "text": 5}), "content[0].text` must be a string"), (json!(5), "content[0]` must be")]
    {
        let response = asked(json!([part])).await.unwrap();
        let (status, said) = (response.status(), response.text().await.unwrap());
        assert!(status == 400 && said.contains(wrong), "{said}");
    }
}
