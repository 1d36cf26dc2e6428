//! What each server does wrong, scripted as it really does it, and what a client gets of that, whether it streams or waits:
//! the call after all, or one error that says what happened. Never half a call, never a silent end.

use super::{
    backends::{delta, event, finish},
    chat::{done, message, request, stream_of, text},
    *,
};

/// Who is played.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Server {
    Ollama,
    Google,
    /// A server of OpenAI's API that names itself so.
    OpenAi(&'static str),
}

/// How it has to end.
#[derive(Debug, Clone, Copy)]
enum End {
    /// With the call.
    Call,
    /// With this text.
    Text(&'static str),
    /// With an error: its status where no byte has left yet, and a part of its message.
    Fault(u16, &'static str),
    /// The same, after this text.
    Broken(&'static str, u16, &'static str),
}

const CALL: &str = r#"{"name": "read_file", "arguments": {"uri": "a"}}"#;

/// A proxy before such a server; chats are answered by `script`.
async fn before(server: Server, script: impl Fn(&Value) -> Script + Send + Sync + 'static) -> (Proxy, Fake) {
    let fake = Fake::start(move |seen| match (server, seen.line.as_str()) {
        (Server::Ollama, "GET /api/tags") => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
        (Server::Google, "GET /v1beta/models") => Script::json(200, r#"{"models":[{"name":"models/m"}]}"#),
        (Server::OpenAi(owner), "GET /v1/models") => {
            Script::json(200, json!({"data": [{"id": "m", "owned_by": owner}]}).to_string())
        }
        (Server::OpenAi("organization_owner"), "GET /api/v0/models") => Script::json(200, r#"{"data":[]}"#),
        (_, line) if line.starts_with("POST ") && !line.ends_with("/api/show") => {
            script(&serde_json::from_str(&seen.body).unwrap())
        }
        _ => Script::json(404, r#"{"error":"not here"}"#),
    })
    .await;
    let (kind, path) = match server {
        Server::Ollama => ("ollama", ""),
        Server::Google => ("google", "/v1beta"),
        Server::OpenAi(_) => ("openai", "/v1"),
    };
    let proxy = Proxy::start(&format!("[[backend]]\nkind = \"{kind}\"\nurl = \"{}{path}\"\n", fake.url)).await;
    (proxy, fake)
}

/// Both kinds of client before such a server; where something can be learned of it, each before a proxy that has not yet.
async fn check(server: Server, what: &str, end: End, script: impl Fn(&Value) -> Script + Send + Sync + Clone + 'static) {
    let place = format!("{server:?}, {what}");
    let (proxy, fake) = before(server, script.clone()).await;
    let saw = stream_of(&proxy, request(true)).await;
    let names: Vec<&str> = saw.calls.iter().map(|(name, _)| name.as_str()).collect();
    let ended = saw.done && saw.error.is_none();
    match end {
        End::Call => {
            assert!(ended && names == ["read_file"] && saw.finish == ["tool_calls"], "{place}, streamed: {}", saw.raw);
        }
        End::Text(text) => assert!(ended && names.is_empty() && saw.text.contains(text), "{place}, streamed: {}", saw.raw),
        End::Fault(status, part) => {
            assert!(saw.status == status && message(&saw.error).contains(part), "{place}, streamed: {} {}", saw.status, saw.raw);
        }
        End::Broken(text, _, part) => {
            assert!(names.is_empty() && saw.done && saw.finish.is_empty(), "{place}, streamed: {}", saw.raw);
            assert!(saw.text.starts_with(text) && message(&saw.error).contains(part), "{place}, streamed: {}", saw.raw);
        }
    }
    let (proxy, _fake) = match end {
        End::Call => before(server, script).await,
        _ => (proxy, fake),
    };
    let (status, whole) = answer(proxy.post("/v1/chat/completions", request(false))).await;
    let choice = &whole["choices"][0];
    match end {
        End::Call => assert_eq!(
            (status, &choice["message"]["tool_calls"][0]["function"]["name"], &choice["finish_reason"]),
            (200, &json!("read_file"), &json!("tool_calls")),
            "{place}, whole: {whole}"
        ),
        End::Text(text) => {
            assert!(status == 200 && choice["message"]["content"].as_str().unwrap().contains(text), "{place}, whole: {whole}");
        }
        End::Fault(expected, part) | End::Broken(_, expected, part) => {
            assert!(status == expected && message(&Some(whole.clone())).contains(part), "{place}, whole: {status} {whole}");
        }
    }
}

/// The answer of a model that is asked in its prompt.
fn told(server: Server) -> Script {
    match server {
        Server::Ollama => Script::lines(vec![text(CALL), done("stop")]),
        Server::Google => Script::events(vec![event(
            &json!({"candidates": [{"content": {"role": "model", "parts": [{"text": CALL}]}, "finishReason": "STOP"}]}),
        )]),
        Server::OpenAi(_) => Script::events(vec![delta(json!({"content": CALL})), finish("stop")]),
    }
}

#[tokio::test]
async fn who_refuses_tools_gets_them_in_the_prompt() {
    let google = |what: &str| json!({"error": {"code": 400, "message": what, "status": "INVALID_ARGUMENT"}}).to_string();
    let refusals = [
        (Server::Ollama, 400, r#"{"error":"registry.ollama.ai/library/m does not support tools"}"#.to_owned()),
        (Server::Google, 400, google("Function calling is not enabled for models/m")),
        // Google's endpoint of OpenAI's form wraps its errors in an array.
        (Server::OpenAi("google"), 400, format!("[{}]", google("Function calling is not enabled for models/m"))),
        (
            Server::OpenAi("vllm"),
            400,
            json!({"error": {"message": "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", "type": "BadRequestError", "param": null, "code": 400}}).to_string(),
        ),
        (Server::OpenAi("llamacpp"), 500, r#"{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}"#.to_owned()),
        (Server::OpenAi("openrouter"), 404, r#"{"error":{"message":"No endpoints found that support tool use. Try another.","code":404}}"#.to_owned()),
        // The parser of the server itself dies on what the model wrote.
        (Server::OpenAi("llamacpp"), 500, r#"{"error":{"code":500,"message":"Failed to parse input at pos 0: {\"na","type":"server_error"}}"#.to_owned()),
        (Server::Ollama, 500, r#"{"error":"error parsing tool call: raw='{\"na', err=unexpected end of JSON input"}"#.to_owned()),
    ];
    for (server, status, body) in refusals {
        let what = body.clone();
        check(server, &what, End::Call, move |sent| match sent.get("tools") {
            Some(_) => Script::json(status, body.clone()),
            None => told(server),
        })
        .await;
    }
    // The same under status 200, in the stream.
    for (server, first) in [
        (Server::Ollama, Step::Send("{\"error\":\"m does not support tools\"}\n".to_owned())),
        (
            Server::OpenAi("llamacpp"),
            event(
                &json!({"error": {"code": 500, "message": "The model produced output that does not match the expected peg-native format", "type": "server_error"}}),
            ),
        ),
        (
            Server::OpenAi("google"),
            Step::Send(
                "data: [{\"error\":{\"code\":400,\"message\":\"Function calling is not enabled for models/m\"}}]\n\n".to_owned(),
            ),
        ),
        (Server::Google, event(&json!({"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}))),
    ] {
        let Step::Send(first) = first else { unreachable!() };
        check(server, "in the stream", End::Call, move |sent| match sent.get("tools") {
            Some(_) if server == Server::Ollama => Script::lines(vec![Step::Send(first.clone())]),
            Some(_) => Script::events(vec![Step::Send(first.clone())]),
            None => told(server),
        })
        .await;
    }
}

#[tokio::test]
async fn a_template_of_two_roles_gets_two_roles() {
    // As a template that knows user and assistant alone.
    let strict = |sent: &Value| {
        let roles: Vec<&str> = sent["messages"].as_array().unwrap().iter().map(|turn| turn["role"].as_str().unwrap()).collect();
        let refused =
            |what: &str| Script::json(500, json!({"error": {"code": 500, "message": what, "type": "server_error"}}).to_string());
        if roles[0] == "system" {
            return refused("System role not supported");
        }
        if roles.iter().any(|role| !["user", "assistant"].contains(role)) {
            return refused("Only user and assistant roles are supported!");
        }
        if roles.iter().enumerate().any(|(at, role)| (*role == "user") != (at % 2 == 0)) {
            return refused("Conversation roles must alternate user/assistant/user/assistant/...");
        }
        told(Server::OpenAi("llamacpp"))
    };
    let (proxy, fake) = before(Server::OpenAi("llamacpp"), strict).await;
    let mut asked: Value = serde_json::from_str(&request(true)).unwrap();
    asked["messages"] = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One."},
        {"role": "user", "content": "Two."},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{\"uri\":\"b\"}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "text of b"},
    ]);
    let saw = stream_of(&proxy, &asked).await;
    assert_eq!((saw.calls.len(), saw.finish.as_slice()), (1, ["tool_calls".to_owned()].as_slice()), "{}", saw.raw);
    let before = fake.seen("/v1/chat/completions").len();
    assert_eq!(stream_of(&proxy, &asked).await.calls.len(), 1);
    assert_eq!(fake.seen("/v1/chat/completions").len(), before + 1, "remembered");
}

#[tokio::test]
async fn a_server_that_refuses_a_field_is_asked_without() {
    for refusal in [
        r#"[{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"store\": Cannot find field.","status":"INVALID_ARGUMENT"}}]"#,
        r#"{"error":{"message":"property 'store' is unsupported","type":"invalid_request_error"}}"#,
        r#"{"detail":[{"type":"extra_forbidden","loc":["body","store"],"msg":"Extra inputs are not permitted"}]}"#,
    ] {
        let (proxy, fake) = before(Server::OpenAi("somebody"), move |sent| match sent.get("store") {
            Some(_) => Script::json(400, refusal),
            None => told(Server::OpenAi("somebody")),
        })
        .await;
        let asked = request(true).replace("\"model\"", "\"store\":true,\"model\"");
        assert_eq!(stream_of(&proxy, &asked).await.calls.len(), 1, "{refusal}");
        assert_eq!(stream_of(&proxy, &asked).await.calls.len(), 1, "{refusal}");
        assert_eq!(fake.seen("/v1/chat/completions").len(), 3, "remembered");
    }
}

#[tokio::test]
async fn probabilities_of_tokens_are_the_servers_own_bytes_where_no_tools_are() {
    let (proxy, fake) =
        before(Server::OpenAi("somebody"), |_| Script::json(200, r#"{"choices":[{"logprobs":{"content":[]}}]}"#)).await;
    let plain = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "logprobs": true});
    let (_, body) = answer(proxy.post("/v1/chat/completions", plain)).await;
    assert_eq!(body, json!({"choices": [{"logprobs": {"content": []}}]}));
    assert!(fake.seen("/v1/chat/completions")[0].body.contains("\"logprobs\":true"));
}

#[tokio::test]
async fn a_fault_is_said_in_the_servers_words_and_with_its_status() {
    let fault = |status, body: &'static str| move |_: &Value| Script::json(status, body);
    for (server, status, body, part) in [
        (Server::Ollama, 404, r#"{"error":"model 'm' not found"}"#, "not found"),
        (Server::Ollama, 400, r#"{"error":"prompt too long; exceeded max context length by 5 tokens"}"#, "context length"),
        (
            Server::Google,
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED"}}]"#,
            "quota",
        ),
        (
            Server::OpenAi("llamacpp"),
            400,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
            "context size",
        ),
        (
            Server::OpenAi("vllm"),
            400,
            r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
            "maximum context length",
        ),
        (
            Server::OpenAi("sglang"),
            400,
            r#"{"object":"error","message":"The input (9000 tokens) is longer than the model's context length (4096 tokens).","type":"BadRequestError","code":400}"#,
            "longer than",
        ),
        (Server::OpenAi("organization_owner"), 400, r#"{"error":"No models loaded. Please load a model."}"#, "No models loaded"),
        (Server::OpenAi("somebody"), 502, "<html><body><h1>Bad Gateway</h1></body></html>", "HTTP status 502"),
        (Server::OpenAi("somebody"), 500, "", "no message"),
    ] {
        check(server, body, End::Fault(status, part), fault(status, body)).await;
    }
}

#[tokio::test]
async fn an_answer_that_is_elsewhere_or_compressed_says_so() {
    let elsewhere = |_: &Value| Script::json(307, "").with_header("location", "https://other.example/v1/chat/completions");
    let packed = |_: &Value| Script::events(vec![Step::Send("\u{1f}".into())]).with_header("content-encoding", "gzip");
    for server in [Server::Ollama, Server::OpenAi("somebody")] {
        check(server, "redirect", End::Fault(502, "redirects to https://other.example/v1/chat/completions"), elsewhere).await;
        check(server, "compressed", End::Fault(502, "`content-encoding: gzip`"), packed).await;
    }
}

#[tokio::test]
async fn a_stream_that_dies_is_an_error_and_never_half_a_call() {
    let half = r#"{"name": "read_file", "arguments": {"uri": "#;
    let ollama = move |last: fn() -> Step| move |_: &Value| Script::lines(vec![text("First.\n"), text(half), last()]);
    let server = move |last: fn() -> Step| {
        move |_: &Value| {
            Script::events(vec![
                delta(json!({"role": "assistant", "content": "First.\n"})),
                delta(json!({"content": half})),
                last(),
            ])
        }
    };
    let native = move |last: fn() -> Step| {
        move |_: &Value| {
            let head = json!({"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{\"uri\":"}}]});
            Script::events(vec![delta(json!({"content": "First.\n"})), delta(head), last()])
        }
    };
    let broke = |part| End::Broken("First.", 502, part);
    check(Server::Ollama, "closed", broke("broke"), ollama(|| Step::Break)).await;
    check(Server::Ollama, "reset", broke("broke"), ollama(|| Step::Reset)).await;
    check(Server::Ollama, "ended", broke("before it was finished"), ollama(|| Step::Wait(Duration::ZERO))).await;
    check(Server::Ollama, "a line", broke("out of memory"), ollama(|| Step::Send("{\"error\":\"out of memory\"}\n".into())))
        .await;
    check(Server::Ollama, "half a line", broke("in the middle"), ollama(|| Step::Send("{\"message\":{\"con".into()))).await;
    for owner in ["llamacpp", "vllm", "sglang", "organization_owner", "somebody"] {
        check(Server::OpenAi(owner), "reset", broke("broke"), server(|| Step::Reset)).await;
        check(Server::OpenAi(owner), "reset in a native call", broke("broke"), native(|| Step::Reset)).await;
    }
    let said = |part| End::Broken("First.", 502, part);
    check(
        Server::OpenAi("somebody"),
        "only a text",
        said("gone"),
        server(|| Step::Send("data: {\"error\":\"upstream is gone\"}\n\n".into())),
    )
    .await;
    check(
        Server::OpenAi("organization_owner"),
        "an event of its own kind",
        said("crashed"),
        server(|| Step::Send("event: error\ndata: {\"error\":{\"message\":\"The model has crashed\"}}\n\n".into())),
    )
    .await;
    check(
        Server::OpenAi("vllm"),
        "an error, then the end mark",
        End::Broken("First.", 500, "EngineCore"),
        native(|| {
            Step::Send(
                "data: {\"error\":{\"message\":\"EngineCore encountered an issue\",\"code\":500}}\n\ndata: [DONE]\n\n".into(),
            )
        }),
    )
    .await;
    check(
        Server::OpenAi("sglang"),
        "an abort",
        End::Broken("First.", 503, "Abort"),
        server(|| {
            Step::Send("data: {\"error\":{\"object\":\"error\",\"message\":\"Abort in waiting queue\",\"code\":503}}\n\n".into())
        }),
    )
    .await;
    check(
        Server::OpenAi("google"),
        "in an array",
        End::Broken("First.", 429, "quota"),
        server(|| Step::Send("data: [{\"error\":{\"code\":429,\"message\":\"You exceeded your current quota.\"}}]\n\n".into())),
    )
    .await;
    check(
        Server::OpenAi("ollama"),
        "no end and no finish",
        said("before it was finished"),
        server(|| Step::Wait(Duration::ZERO)),
    )
    .await;
    let google = |_: &Value| {
        let first = json!({"candidates": [{"content": {"parts": [{"text": "First.\n"}]}}]});
        Script::events(vec![event(&first), event(&json!({"error": {"code": 503, "message": "The model is overloaded."}}))])
    };
    check(Server::Google, "overloaded", End::Broken("First.", 503, "overloaded"), google).await;
    let google = |_: &Value| {
        Script::events(vec![event(&json!({"candidates": [{"content": {"parts": [{"text": "First.\n"}]}}]})), Step::Reset])
    };
    check(Server::Google, "reset", broke("broke"), google).await;
    // Before anything was said, the error is the whole answer.
    check(Server::OpenAi("somebody"), "reset at once", End::Fault(502, "broke"), |_| Script::events(vec![Step::Reset])).await;
    check(Server::Google, "blocked", End::Text("filter"), |_| {
        Script::events(vec![event(&json!({"promptFeedback": {"blockReason": "SAFETY"}}))])
    })
    .await;
}

#[tokio::test]
async fn an_answer_whose_end_was_seen_survives_the_connection() {
    for server in [Server::Ollama, Server::OpenAi("somebody")] {
        check(server, "reset behind the finish", End::Call, move |_| match server {
            Server::Ollama => Script::lines(vec![text(CALL), done("stop"), Step::Reset]),
            _ => {
                let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
                Script::events(vec![delta(json!({"content": CALL})), event(&end), Step::Reset])
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_prompt_that_was_cut_is_told_to_everybody() {
    // Ollama cuts to half of its context: 1024 of about 5000 tokens are read.
    let cut = |_: &Value| {
        let end =
            json!({"message": {"content": ""}, "done": true, "done_reason": "stop", "prompt_eval_count": 1024, "eval_count": 3});
        Script::lines(vec![text("Hello."), Step::Send(format!("{end}\n"))])
    };
    let long = |stream| {
        request(stream).replace("go", &"word ".repeat(4_000)).replace("\"model\"", "\"options\":{\"num_ctx\":2048},\"model\"")
    };
    let (proxy, fake) = before(Server::Ollama, cut).await;
    let saw = stream_of(&proxy, long(true)).await;
    assert!(saw.raw.contains(": warning: the backend read 1024 tokens") && saw.text == "Hello.", "{}", saw.raw);
    let response = proxy.post("/v1/chat/completions", long(false)).send().await.unwrap();
    let warning = response.headers()["x-toolglot-warning"].to_str().unwrap().to_owned();
    assert!(warning.starts_with("prompt_cut: the backend read 1024 tokens"), "{warning}");
    let config = format!("show_warnings = true\n[[backend]]\nkind = \"ollama\"\nurl = \"{}\"\n", fake.url);
    let saw = stream_of(&Proxy::start(&config).await, long(true)).await;
    assert!(saw.text.starts_with("Hello.\n[toolglot] the backend read 1024 tokens") && saw.done, "{}", saw.raw);
}

#[tokio::test]
async fn the_guard_of_the_context_speaks_before_a_server_with_a_fixed_one_is_asked() {
    for owner in ["vllm", "sglang", "llamacpp"] {
        let fake = Fake::start(move |seen| match seen.line.as_str() {
            "GET /v1/models" => Script::json(
                200,
                json!({"data": [{"id": "m", "owned_by": owner, "max_model_len": 2048, "meta": {"n_ctx": 2048}}]}).to_string(),
            ),
            "GET /props" => Script::json(200, r#"{"default_generation_settings":{"n_ctx":2048}}"#),
            _ => Script::events(vec![delta(json!({"content": "hello"})), finish("stop")]),
        })
        .await;
        let proxy = Proxy::start(&format!("[[backend]]\nkind = \"openai\"\nurl = \"{}/v1\"\n", fake.url)).await;
        for streamed in [true, false] {
            let asked = request(streamed).replace("go", &"word ".repeat(4_000));
            let (status, body) = answer(proxy.post("/v1/chat/completions", asked)).await;
            assert_eq!((status, body["error"]["code"].as_str()), (400, Some("context_length_exceeded")), "{owner}: {body}");
        }
        assert!(fake.seen("/chat/completions").is_empty(), "{owner}: nothing was sent");
        assert_eq!(stream_of(&proxy, request(true)).await.text, "hello");
    }
}

#[tokio::test]
async fn a_server_that_is_silent_before_its_head_keeps_nobody_waiting_in_silence() {
    let slow = |_: &Value| Script::lines(vec![text(CALL), done("stop")]).after(Duration::from_millis(1500));
    let (proxy, _fake) = before(Server::Ollama, slow).await;
    let saw = stream_of(&proxy, request(true)).await;
    assert!(saw.raw.starts_with(": keep-alive\n\n") && saw.calls.len() == 1 && saw.done, "{}", saw.raw);
}
