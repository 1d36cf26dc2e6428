//! Each kind of backend as it really behaves, quirks and refusals included: what its user sees in the end.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use super::{
    chat::{done, message, request, stream, stream_of, text},
    *,
};

/// An event of a stream.
pub(super) fn event(data: &Value) -> Step {
    Step::Send(format!("data: {data}\n\n"))
}

/// A chunk of OpenAI's stream with this delta.
pub(super) fn delta(delta: Value) -> Step {
    event(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

/// The end of OpenAI's stream.
pub(super) fn finish(reason: &str) -> Step {
    let chunk = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    Step::Send(format!("data: {chunk}\n\ndata: [DONE]\n\n"))
}

/// A proxy before a server of OpenAI's API that answers lists with `models`, `/props` with what llama.cpp says there, and
/// chats with `script`, which gets the number of the chat.
async fn with_server(models: Value, script: impl Fn(usize, &Seen) -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let chats = AtomicUsize::new(0);
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, json!({"data": [models]}).to_string()),
        "GET /props" => {
            Script::json(200, r#"{"default_generation_settings":{"n_ctx":4096},"chat_template":"{%- for m in messages %}"}"#)
        }
        "GET /api/v0/models" if models["owned_by"] == "organization_owner" => Script::json(200, r#"{"data":[]}"#),
        "POST /v1/chat/completions" => script(chats.fetch_add(1, Ordering::SeqCst), seen),
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await;
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
    (proxy, fake)
}

/// A proxy before Google, with the key `s3cret-key`.
async fn with_google(script: impl Fn(&Value) -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| match seen.line.as_str() {
        _ if !seen.head.contains("x-goog-api-key: s3cret-key") => {
            Script::json(403, r#"{"error":{"code":403,"message":"no key"}}"#)
        }
        "GET /v1beta/models" => Script::json(200, r#"{"models":[{"name":"models/m","inputTokenLimit":32768}]}"#),
        "POST /v1beta/models/m:streamGenerateContent?alt=sse" => script(&serde_json::from_str(&seen.body).unwrap()),
        _ => Script::json(404, r#"{"error":{"code":404,"message":"not here"}}"#),
    })
    .await;
    let config = format!("[[backend]]\nkind = \"google\"\nurl = \"{}/v1beta\"\napi_key_env = \"A_KEY\"\n", fake.url);
    (Proxy::start(&config).await, fake)
}

fn with_system() -> String {
    let mut request: Value = serde_json::from_str(&request(true)).unwrap();
    request["messages"].as_array_mut().unwrap().insert(0, json!({"role": "system", "content": "Be brief."}));
    request.to_string()
}

#[tokio::test]
async fn google_refuses_a_model_s_tools_and_system_role_and_the_call_still_arrives() {
    let (proxy, fake) = with_google(|body| {
        let refused =
            |what| Script::json(400, json!({"error": {"code": 400, "message": what, "status": "INVALID_ARGUMENT"}}).to_string());
        if body.get("tools").is_some() {
            return refused("Function calling is not enabled for models/m");
        }
        if body.get("systemInstruction").is_some() {
            return refused("Developer instruction is not enabled for models/m");
        }
        let part = |text: &str| event(&json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}));
        let end = json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}});
        Script::events(vec![
            part("```json\n{\"name\": \"read_file\","),
            part(" \"arguments\": {\"uri\": \"a\"}}\n```"),
            event(&end),
        ])
    })
    .await;
    let saw = stream_of(&proxy, with_system()).await;
    assert_eq!((saw.calls.len(), saw.finish.as_slice()), (1, ["tool_calls".to_owned()].as_slice()), "{}", saw.raw);
    let chats = fake.seen("alt=sse");
    assert_eq!(chats.len(), 3, "each refusal once");
    let last: Value = serde_json::from_str(&chats[2].body).unwrap();
    let first_turn = last["contents"][0]["parts"][0]["text"].as_str().unwrap();
    assert!(first_turn.starts_with("Be brief.") && first_turn.contains("read_file"), "{first_turn}");
    assert_eq!(stream_of(&proxy, with_system()).await.calls.len(), 1);
    assert_eq!(fake.seen("alt=sse").len(), 4, "remembered");
}

#[tokio::test]
async fn google_s_own_calls_arrive_each_in_its_place() {
    let (proxy, fake) = with_google(|_| {
        let call = |uri: &str, finish: Value| {
            let part = json!({"functionCall": {"name": "read_file", "args": {"uri": uri}}, "thoughtSignature": "c2ln"});
            event(&json!({"candidates": [{"content": {"parts": [part]}, "finishReason": finish}]}))
        };
        let end = json!({"candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}]});
        Script::events(vec![call("a", Value::Null), call("b", json!("STOP")), event(&end)])
    })
    .await;
    let saw = stream(&proxy).await;
    let arguments: Vec<&str> = saw.calls.iter().map(|(_, arguments)| arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"uri":"a"}"#, r#"{"uri":"b"}"#], "{}", saw.raw);
    assert_eq!(saw.finish, ["tool_calls"]);
    assert!(fake.seen("alt=sse")[0].body.contains("functionDeclarations"));
}

#[tokio::test]
async fn a_parser_that_dies_in_the_stream_is_kept_out_from_then_on() {
    let (proxy, fake) = with_server(json!({"id": "m", "owned_by": "llamacpp"}), |_, seen| {
        if seen.body.contains("\"tools\"") {
            let error =
                json!({"error": {"code": 500, "message": "Failed to parse input at pos 17: {\"na", "type": "server_error"}});
            return Script::events(vec![delta(json!({"role": "assistant", "content": null})), event(&error)]);
        }
        Script::events(vec![
            delta(json!({"content": "{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}"})),
            finish("stop"),
        ])
    })
    .await;
    let saw = stream(&proxy).await;
    assert_eq!((saw.calls.len(), saw.finish.as_slice()), (1, ["tool_calls".to_owned()].as_slice()), "{}", saw.raw);
    assert_eq!(stream(&proxy).await.calls.len(), 1);
    assert_eq!(fake.seen("/v1/chat/completions").len(), 3, "died once, then raw");
}

#[tokio::test]
async fn a_server_without_a_parser_is_asked_in_its_prompt() {
    for refusal in [
        r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}"#,
        r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#,
        r#"{"error":{"message":"No endpoints found that support tool use","code":404}}"#,
    ] {
        let (proxy, _fake) = with_server(json!({"id": "m", "owned_by": "vllm", "max_model_len": 4096}), move |_, seen| {
            if seen.body.contains("\"tools\"") {
                return Script::json(400, refusal);
            }
            Script::events(vec![
                delta(json!({"content": "{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}"})),
                finish("stop"),
            ])
        })
        .await;
        let saw = stream(&proxy).await;
        assert_eq!(saw.calls.len(), 1, "{refusal}: {}", saw.raw);
    }
}

#[tokio::test]
async fn names_come_back_as_the_client_offered_them() {
    let (proxy, fake) = with_server(json!({"id": "m", "owned_by": "organization_owner"}), |_, _| {
        let head = json!({"tool_calls": [{"index": 0, "id": "814890118", "type": "function", "function": {"name": "read_my_file", "arguments": ""}}]});
        let rest = json!({"tool_calls": [{"index": 0, "id": null, "type": null, "function": {"name": null, "arguments": "{\"uri\":\"a\"}"}}]});
        Script::events(vec![delta(head), delta(rest), finish("tool_calls")])
    })
    .await;
    let saw = stream_of(&proxy, request(true).replace("read_file", "readMyFile")).await;
    assert_eq!(saw.calls, [("readMyFile".to_owned(), r#"{"uri":"a"}"#.to_owned())], "{}", saw.raw);
    let sent = &fake.seen("/v1/chat/completions")[0].body;
    assert!(sent.contains("read_my_file") && !sent.contains("readMyFile"), "{sent}");
}

#[tokio::test]
async fn a_conversation_that_cannot_fit_is_refused_at_once() {
    let (proxy, fake) =
        with_server(json!({"id": "m", "owned_by": "llamacpp"}), |_, _| Script::events(vec![finish("stop")])).await;
    let saw = stream_of(&proxy, request(true).replace("go", &"word ".repeat(20_000))).await;
    assert_eq!(
        (saw.status, saw.error.as_ref().map(|error| &error["error"]["code"])),
        (400, Some(&json!("context_length_exceeded")))
    );
    assert!(message(&saw.error).contains("4096"), "{}", saw.raw);
    assert!(fake.seen("/v1/chat/completions").is_empty());
}

#[tokio::test]
async fn an_ollama_gets_the_context_that_the_conversation_needs() {
    // What is loaded: as little as Ollama likes, then what was asked for, which does not fit into the GPU.
    let loaded = Mutex::new((4096_u64, true));
    let (proxy, fake) = before_ollama(move |seen| match seen.line.as_str() {
        "POST /api/show" => Script::json(
            200,
            r#"{"capabilities":["completion","tools"],"model_info":{"general.architecture":"a","a.context_length":131072}}"#,
        ),
        "GET /api/ps" => {
            let (context, fits) = *loaded.lock().unwrap();
            let vram = if fits { 4000 } else { 3000 };
            let model = json!({"name": "m", "size": 4000, "size_vram": vram, "context_length": context});
            Script::json(200, json!({"models": [model]}).to_string())
        }
        "POST /api/chat" => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            let asked = body["options"]["num_ctx"].as_u64().unwrap_or(4096);
            *loaded.lock().unwrap() = (asked, asked < 16384);
            Script::lines(vec![text("hello"), done("stop")])
        }
        _ => Script::json(404, "{}"),
    })
    .await;
    let long = || request(true).replace("go", &"word ".repeat(4_000));
    let asked = || {
        let body: Value = serde_json::from_str(&fake.seen("/api/chat").pop().unwrap().body).unwrap();
        body["options"]["num_ctx"].as_u64()
    };
    stream(&proxy).await;
    assert_eq!(asked(), Some(4096), "a short one: as it is loaded");
    let saw = stream_of(&proxy, long()).await;
    assert_eq!(asked(), Some(16384), "grown");
    // The fake counts 7 tokens of a prompt of thousands: it was cut.
    assert!(saw.raw.contains("it cut off the rest"), "{}", saw.raw);
    let response = proxy.post("/v1/chat/completions", long()).send().await.unwrap();
    let warned =
        response.headers().get("x-toolglot-warning").map(|warning| warning.to_str().unwrap().to_owned()).unwrap_or_default();
    let raw = warned + &response.text().await.unwrap();
    assert!(raw.contains("does not fit into the GPU"), "{raw}");
    assert_eq!(asked(), Some(8192), "stepped back, although more is loaded");
    stream(&proxy).await;
    assert_eq!(asked(), Some(8192), "and it stays so");
}

#[tokio::test]
async fn a_model_that_does_not_think_is_asked_without() {
    let (proxy, fake) = before_ollama(|seen| match seen.line.as_str() {
        "POST /api/chat" if seen.body.contains("\"think\"") => {
            Script::json(400, r#"{"error":"\"m\" does not support thinking"}"#)
        }
        "POST /api/chat" => Script::lines(vec![text("hello"), done("stop")]),
        _ => Script::json(404, "{}"),
    })
    .await;
    let saw = stream_of(&proxy, request(true).replace("\"stream\"", "\"reasoning_effort\":\"low\",\"stream\"")).await;
    assert_eq!((saw.text.as_str(), fake.seen("/api/chat").len()), ("hello", 2), "{}", saw.raw);
}

#[tokio::test]
async fn a_level_of_thinking_that_a_model_does_not_know_is_left_out() {
    let (proxy, fake) = before_ollama(|seen| match seen.line.as_str() {
        "POST /api/chat" if seen.body.contains("\"think\":\"") => {
            Script::json(400, r#"{"error":"think value \"high\" is not supported for this model"}"#)
        }
        "POST /api/chat" => Script::lines(vec![text("hello"), done("stop")]),
        _ => Script::json(404, "{}"),
    })
    .await;
    let asked = |effort: &str| request(true).replace("\"stream\"", &format!("\"reasoning_effort\":\"{effort}\",\"stream\""));
    assert_eq!((stream_of(&proxy, asked("high")).await.text.as_str(), fake.seen("/api/chat").len()), ("hello", 2));
    // Remembered; what the model does know is still said.
    assert_eq!((stream_of(&proxy, asked("low")).await.text.as_str(), fake.seen("/api/chat").len()), ("hello", 3));
    stream_of(&proxy, asked("none")).await;
    assert!(fake.seen("/api/chat").pop().unwrap().body.contains("\"think\":false"));
}

#[tokio::test]
async fn a_parser_of_ollamas_own_that_fails_is_gone_around() {
    // As Ollama 0.17.4 does it: the parser reads the answer whether tools were sent or not.
    let prompt = "<|im_start|>user\ngo<|im_end|>\n<|im_start|>assistant\n";
    let (proxy, fake) = before_ollama(move |seen| match seen.line.as_str() {
        "POST /api/chat" if seen.body.contains("_debug_render_only") => Script::json(
            200,
            json!({"model": "m", "message": {"role": "assistant", "content": ""}, "_debug_info": {"rendered_template": prompt}})
                .to_string(),
        ),
        "POST /api/chat" => Script::json(500, r#"{"error":"failed to parse JSON: unexpected end of JSON input"}"#),
        "POST /api/generate" if seen.body.contains("keep_alive") => Script::json(200, r#"{"done":true,"done_reason":"unload"}"#),
        "POST /api/generate" => {
            let line = |text: &str, done: bool| {
                Step::Send(format!(
                    "{}\n",
                    json!({"response": text, "done": done, "done_reason": "stop", "prompt_eval_count": 9, "eval_count": 5})
                ))
            };
            Script::lines(vec![
                line("<tool_call>\n{\"name\": \"read_file\", \"argum", false),
                line("ents\": {\"path\": \"/a\"}\n</tool_call>", false),
                line("", true),
            ])
        }
        _ => Script::json(404, "{}"),
    })
    .await;
    for expected in [1, 2] {
        let saw = stream(&proxy).await;
        assert_eq!((saw.calls.len(), saw.finish.join("")), (1, "tool_calls".to_owned()), "{}", saw.raw);
        let sent: Vec<Value> = fake.seen("/api/generate").iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect();
        let (unloads, sent): (Vec<Value>, Vec<Value>) = sent.into_iter().partition(|body| body["keep_alive"] == 0);
        assert_eq!(unloads.len(), 1, "the request that failed may hold up all others");
        assert_eq!(sent.len(), expected);
        assert_eq!((&sent[0]["prompt"], &sent[0]["raw"], &sent[0]["messages"]), (&json!(prompt), &json!(true), &Value::Null));
    }
}

/// A fake Ollama whose model has this template and these parameters, and which renders the tools as `rendered`.
async fn ollama_with(template: &'static str, parameters: &'static str, rendered: &'static str) -> (Proxy, Fake) {
    before_ollama(move |seen| match seen.line.as_str() {
        "POST /api/show" => {
            let facts = json!({"capabilities": ["completion", "tools"], "template": template, "parameters": parameters});
            Script::json(200, facts.to_string())
        }
        "POST /api/chat" if seen.body.contains("_debug_render_only") => {
            Script::json(200, json!({"_debug_info": {"rendered_template": rendered}}).to_string())
        }
        "POST /api/chat" => Script::lines(vec![text("hello"), done("stop")]),
        _ => Script::json(404, "{}"),
    })
    .await
}

#[tokio::test]
async fn tools_that_ollama_prints_as_go_structs_are_described_in_the_prompt() {
    const WHOLE: &str = "{{- range .Tools }}{\"type\": \"function\", \"function\": {{ .Function }}}{{- end }}";
    const GARBLED: &str =
        r#"{"type": "function", "function": {read_file Reads {object <nil> <nil> [uri] {"uri":{"type":"string"}}}}}"#;
    const INTACT: &str = r#"{"type": "function", "function": {"name":"read_file","parameters":{"type":"object"}}}"#;
    for (template, rendered, looked, native) in [
        (WHOLE, GARBLED, 1, false),
        (WHOLE, INTACT, 1, true),
        ("{{ range .Tools }}{{.}}{{ end }}", GARBLED, 1, false),
        ("{{ range .Tools }}{{ .Function.Name }}({{ .Function.Parameters.Properties }}){{ end }}", GARBLED, 0, true),
        ("{{ .Tools }}", GARBLED, 0, true),
    ] {
        let (proxy, fake) = ollama_with(template, "", rendered).await;
        for _ in 0..2 {
            let saw = stream(&proxy).await;
            assert_eq!(saw.text, "hello", "{}", saw.raw);
        }
        let bodies: Vec<Value> = fake.seen("/api/chat").iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect();
        let (looks, asked): (Vec<Value>, Vec<Value>) = bodies.into_iter().partition(|body| body["_debug_render_only"] == true);
        assert_eq!((looks.len(), asked.len()), (looked, 2), "{template}: it is looked at once");
        for body in asked {
            assert_eq!(body["tools"].is_array(), native, "{template} {rendered}");
            assert!(native || body["messages"].to_string().contains("read_file"), "{body}");
        }
    }
}

#[tokio::test]
async fn a_call_may_repeat_what_its_prompt_says() {
    for (parameters, field, expected) in [
        ("num_ctx 4096", "", json!(1.0)),
        ("repeat_penalty 1.2", "", Value::Null),
        ("", "\"repeat_penalty\":1.3,", json!(1.3)),
        ("", "\"options\":{\"repeat_penalty\":1.4},", json!(1.4)),
    ] {
        let (proxy, fake) = ollama_with("", parameters, "").await;
        stream_of(&proxy, request(true).replace("\"stream\"", &format!("{field}\"stream\""))).await;
        let body: Value = serde_json::from_str(&fake.seen("/api/chat")[0].body).unwrap();
        assert_eq!(body["options"]["repeat_penalty"], expected, "{parameters} {field}: {body}");
    }
    let (proxy, fake) = ollama_with("", "", "").await;
    stream_of(&proxy, json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}]}).to_string()).await;
    assert!(!fake.seen("/api/chat")[0].body.contains("repeat_penalty"), "nothing is called");
}

#[tokio::test]
async fn a_backend_with_a_quota_is_waited_for_and_a_queue_has_an_end() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /v1/models" => Script::json(200, r#"{"data":[{"id":"m"}]}"#),
        _ => Script::events(vec![delta(json!({"content": "hello"})), finish("stop")]),
    })
    .await;
    let config = format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\nrequests_per_minute = 1\n", fake.url);
    let proxy = Proxy::start(&config).await;
    assert_eq!(stream(&proxy).await.text, "hello");
    // Two may wait, a minute each; the third would wait for three.
    let waiting: Vec<_> = (0..2)
        .map(|_| {
            let send = proxy.post("/v1/chat/completions", request(true)).send();
            tokio::spawn(async move { send.await.unwrap().text().await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let saw = stream(&proxy).await;
    assert_eq!((saw.status, saw.error.as_ref().map(|error| &error["error"]["code"])), (429, Some(&json!("rate_limit_exceeded"))));
    // Those that give up make room.
    waiting.iter().for_each(|waiting| waiting.abort());
    assert_eq!(fake.seen("/v1/chat/completions").len(), 1);
}

#[tokio::test]
async fn a_url_alone_is_enough_and_models_have_further_names() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /api/version" => Script::json(200, r#"{"version":"0.13.0"}"#),
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"coder:30b"},{"name":"other:1b"}]}"#),
        "POST /api/chat" => Script::lines(vec![text("hello"), done("stop")]),
        "POST /v1/chat/completions" => Script::json(200, r#"{"passed":true}"#),
        _ => Script::json(404, "{}"),
    })
    .await;
    let config = format!("[[backend]]\nurl = \"{}\"\n[[alias]]\nname = \"grok/*\"\nmodel = \"*\"\n", fake.url);
    let proxy = Proxy::start(&config).await;
    let (_, list) = answer(proxy.get("/v1/models")).await;
    let names: Vec<&str> = list["data"].as_array().unwrap().iter().map(|model| model["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["coder:30b", "grok/coder:30b", "other:1b", "grok/other:1b"]);
    let asked = request(false).replace("\"m\"", "\"grok/coder:30b\"");
    let (status, completion) = answer(proxy.post("/v1/chat/completions", &asked)).await;
    assert_eq!((status, &completion["model"]), (200, &json!("grok/coder:30b")), "the client reads the name that it wrote");
    assert!(fake.seen("/api/chat")[0].body.contains("\"coder:30b\""), "the backend its own");
    answer(proxy.post("/off/v1/chat/completions", &asked)).await;
    assert!(fake.seen("/v1/chat/completions")[0].body.contains("\"coder:30b\""));
}

#[tokio::test]
async fn what_google_wants_back_survives_a_client_that_drops_it() {
    let (proxy, fake) = with_google(|body| {
        let part = json!({"functionCall": {"name": "read_file", "args": {"uri": "a"}}, "thoughtSignature": "c2lnbmVk"});
        let answer = if body["contents"].as_array().unwrap().len() == 1 { part } else { json!({"text": "done"}) };
        Script::events(vec![event(&json!({"candidates": [{"content": {"parts": [answer]}, "finishReason": "STOP"}]}))])
    })
    .await;
    let (_, first) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    let mut call = first["choices"][0]["message"]["tool_calls"][0].clone();
    assert_eq!(call["extra_content"]["google"]["thought_signature"], "c2lnbmVk");
    call.as_object_mut().unwrap().remove("extra_content");
    let mut second: Value = serde_json::from_str(&request(false)).unwrap();
    let id = call["id"].clone();
    second["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "tool", "tool_call_id": id, "content": "text of a"}),
    ]);
    answer(proxy.post("/v1/chat/completions", second)).await;
    let sent: Value = serde_json::from_str(&fake.seen("alt=sse")[1].body).unwrap();
    assert_eq!(sent["contents"][1]["parts"][0]["thoughtSignature"], "c2lnbmVk", "{sent:#}");
}

#[tokio::test]
async fn only_what_has_not_run_is_asked_again() {
    // A server that loads its model says so twice.
    let (proxy, fake) = with_server(json!({"id": "m", "owned_by": "llamacpp"}), |number, _| match number {
        0 | 1 => Script::json(503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#),
        _ => Script::events(vec![delta(json!({"content": "hello"})), finish("stop")]),
    })
    .await;
    assert_eq!(stream(&proxy).await.text, "hello");
    assert_eq!(fake.seen("/v1/chat/completions").len(), 3);
    // One that takes longer is waited for, and the client is told.
    let (proxy, _fake) = with_server(json!({"id": "m", "owned_by": "llamacpp"}), |number, _| match number {
        0..6 => Script::json(503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#),
        _ => Script::events(vec![delta(json!({"content": "hello"})), finish("stop")]),
    })
    .await;
    let saw = stream(&proxy).await;
    assert_eq!((saw.status, saw.text.as_str()), (200, "hello"));
    assert_eq!(saw.raw.matches("the backend is loading the model").count(), 1, "{}", saw.raw);
    // It is not asked all the time, and not before it says.
    let loading = r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#;
    for (pause, most) in [(None, 6), (Some("3"), 2)] {
        let (proxy, fake) = with_server(json!({"id": "m", "owned_by": "llamacpp"}), move |_, _| {
            let script = Script::json(503, loading);
            match pause {
                Some(pause) => script.with_header("retry-after", pause),
                None => script,
            }
        })
        .await;
        let waited = tokio::time::timeout(Duration::from_secs(4), stream(&proxy)).await;
        let asked = fake.seen("/v1/chat/completions").len();
        assert!(waited.is_err() && (2..=most).contains(&asked), "{pause:?}: {asked}");
    }
    for (status, message) in [(500, "out of memory"), (429, "slow down")] {
        let (proxy, fake) = with_server(json!({"id": "m", "owned_by": "llamacpp"}), move |_, _| {
            Script::json(status, json!({"error": {"message": message}}).to_string())
        })
        .await;
        let saw = stream(&proxy).await;
        assert_eq!((saw.status, fake.seen("/v1/chat/completions").len()), (status, 1), "{}", saw.raw);
    }
    let (proxy, fake) = with_server(json!({"id": "m", "owned_by": "llamacpp"}), |_, _| Script::events(vec![Step::Break])).await;
    stream(&proxy).await;
    assert_eq!(fake.seen("/v1/chat/completions").len(), 1, "it may have run");
}

#[tokio::test]
async fn a_refusal_that_comes_after_prose_is_gone_around_and_remembered() {
    let (proxy, fake) = with_server(json!({"id": "m", "owned_by": "llamacpp"}), |_, seen| {
        if seen.body.contains("\"tools\"") {
            let error = json!({"error": {"code": 500, "message": "got exception: Unexpected empty grammar stack after accepting piece: >  (274)"}});
            return Script::events(vec![delta(json!({"content": "Look, this is how: "})), event(&error)]);
        }
        Script::events(vec![delta(json!({"content": "{\"name\": \"read_file\", \"arguments\": {\"uri\": \"a\"}}"})), finish("stop")])
    })
    .await;
    let first = stream(&proxy).await;
    assert!(first.text.starts_with("Look") && first.error.is_none() && first.calls.len() == 1, "{}", first.raw);
    assert_eq!(stream(&proxy).await.calls.len(), 1);
    assert_eq!(fake.seen("/v1/chat/completions").len(), 3);
}
