//! `toolglot doctor` before each kind of backend: what it says of it, and what it makes of a trial.

use serde_json::{Value, json};

use crate::{
    cli::{run, text},
    fake::{Fake, Script, Seen, Step},
};

/// What doctor says as JSON, and its exit code.
async fn doctor(arguments: &[&str]) -> (Value, Option<i32>) {
    let (output, code) = said(&[arguments, &["--json"]].concat()).await;
    (serde_json::from_str(&output).unwrap_or_else(|_| panic!("no JSON: {output}")), code)
}

async fn said(arguments: &[&str]) -> (String, Option<i32>) {
    let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:9"] };
    let arguments: Vec<String> = [&["doctor"], listen, arguments].concat().into_iter().map(str::to_owned).collect();
    let output = tokio::task::spawn_blocking(move || {
        let directory = tempfile::tempdir().unwrap();
        run(directory.path(), &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    })
    .await
    .unwrap();
    (text(&output.stdout), output.status.code())
}

fn event(delta: Value, finish: Value) -> Step {
    Step::Send(format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})))
}

/// An Ollama whose model has no native tools and answers as such models do.
fn ollama(seen: &Seen) -> Script {
    match seen.line.as_str() {
        "GET /api/version" => Script::json(200, r#"{"version":"0.13.0"}"#),
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"gemma3:4b"},{"name":"mine:latest"}]}"#),
        "POST /api/show" if seen.body.contains("gemma3") => Script::json(
            200,
            r#"{"capabilities":["completion","vision"],"template":"<start_of_turn>","model_info":{"general.architecture":"g","g.context_length":131072}}"#,
        ),
        "POST /api/show" => Script::json(
            200,
            r#"{"capabilities":["completion","tools","thinking"],"template":"{{ .Prompt }}","model_info":{"general.architecture":"g","g.context_length":8192}}"#,
        ),
        "GET /api/ps" => Script::json(200, r#"{"models":[]}"#),
        "POST /api/chat" => {
            let answer = if seen.body.contains("src/main.rs") {
                "```json\n{\"name\": \"read_file\", \"parameters\": {\"path\": \"src/main.rs\", \"first_line\": \"10\", \"last_line\": 20}}\n```"
            } else if seen.body.contains("hello.py") {
                "I would write a file with two lines."
            } else if seen.body.contains("Say hello") || seen.body.contains("degrees") {
                "Hello."
            } else {
                "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}"
            };
            let line = |message: Value, done: bool| {
                Step::Send(format!("{}\n", json!({"message": message, "done": done, "done_reason": "stop"})))
            };
            Script::lines(vec![line(json!({"role": "assistant", "content": answer}), false), line(json!({"content": ""}), true)])
        }
        _ => Script::json(404, "{}"),
    }
}

fn openai(owner: &'static str) -> impl Fn(&Seen) -> Script {
    move |seen| match seen.line.as_str() {
        "GET /v1/models" => {
            Script::json(200, json!({"data": [{"id": "qwen3-8b", "owned_by": owner, "max_model_len": 32768}]}).to_string())
        }
        "GET /props" if owner == "llamacpp" => Script::json(
            200,
            r#"{"build_info":"b7000","default_generation_settings":{"n_ctx":4096},"chat_template":"{% if tools %}<tool_call>{% endif %}","chat_template_caps":{"supports_tools":true}}"#,
        ),
        "GET /version" if owner == "vllm" => Script::json(200, r#"{"version":"0.33.0"}"#),
        "GET /get_server_info" if owner == "sglang" => Script::json(200, r#"{"version":"0.5.23"}"#),
        "GET /api/v0/models" if owner == "organization_owner" => Script::json(
            200,
            r#"{"data":[{"id":"qwen3-8b","type":"llm","capabilities":["tool_use"],"loaded_context_length":4096}]}"#,
        ),
        "POST /v1/chat/completions" if seen.body.contains("\"tools\"") && owner == "vllm" => Script::json(
            400,
            r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}"#,
        ),
        "POST /v1/chat/completions" => {
            let call = json!({"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}}]});
            let text = json!({"content": "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}"});
            let native = seen.body.contains("\"tools\"");
            Script::events(vec![
                event(if native { call } else { text }, Value::Null),
                event(json!({}), json!("stop")),
                Step::Send("data: [DONE]\n\n".into()),
            ])
        }
        _ => Script::json(404, r#"{"error":"not here"}"#),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_backend_is_named_with_what_it_tells() {
    for (owner, kind, version, context, tools) in [
        ("llamacpp", "llama.cpp", Some("b7000"), Some(4096), "native"),
        ("vllm", "vLLM", Some("0.33.0"), Some(32768), "native"),
        ("sglang", "SGLang", Some("0.5.23"), Some(32768), "native"),
        ("organization_owner", "LM Studio", None, Some(4096), "native"),
        ("somebody", "OpenAI's API", None, Some(32768), "native"),
    ] {
        let fake = Fake::start(openai(owner)).await;
        // The URL alone: kind and profile are found out.
        let (report, code) = doctor(&["--backend", &fake.url]).await;
        let backend = &report["backends"][0];
        let model = &backend["models"][0];
        assert_eq!((backend["kind"].as_str(), backend["version"].as_str()), (Some(kind), version), "{report:#}");
        assert_eq!((model["context"].as_u64(), model["tools"].as_str()), (context, Some(tools)), "{report:#}");
        assert_eq!((model["adapter"].as_str(), model["proof"].as_str()), (Some("hermes"), Some("recorded")));
        assert_eq!((code, report["problems"].as_array().map(Vec::len)), (Some(0), Some(0)), "{report:#}");
    }
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /v1beta/models" => Script::json(200, r#"{"models":[{"name":"models/gemma-3-27b-it","inputTokenLimit":32768}]}"#),
        _ => Script::json(404, "{}"),
    })
    .await;
    let (report, _) = doctor(&["--backend", &format!("{}/v1beta", fake.url)]).await;
    assert_eq!(report["backends"][0]["kind"], "Google", "{report:#}");
    assert_eq!(report["backends"][0]["models"][0]["adapter"], "gemma3");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_tools_is_shown_with_the_reason() {
    let fake = Fake::start(ollama).await;
    let directory = tempfile::tempdir().unwrap();
    let tools = directory.path().join("tools.json");
    let tool =
        json!({"type": "function", "function": {"name": "f", "description": "d".repeat(800), "parameters": {"type": "object"}}});
    std::fs::write(&tools, json!([tool]).to_string()).unwrap();
    let (report, code) = doctor(&["--backend", &fake.url, "--tools", tools.to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{report:#}");
    let models = report["backends"][0]["models"].as_array().unwrap();
    assert_eq!((models[0]["tools"].as_str(), models[0]["context"].as_u64()), (Some("prompt"), Some(131_072)));
    assert_eq!(models[0]["tools_why"], "the backend says that it takes no tools");
    assert_eq!(models[0]["capabilities"], json!(["vision"]));
    assert!(report["tools_cost"].as_u64().unwrap() > 200, "{report:#}");
    assert_eq!((models[1]["adapter"].as_str(), models[1]["tools"].as_str()), (Some("generic"), Some("native")));
    assert!(models[1]["notes"][0].as_str().unwrap().contains("no place for tools"), "{report:#}");
    let (table, _) = said(&["--backend", &fake.url]).await;
    for expected in ["Ollama 0.13.0", "gemma3:4b", "no problem found", "nothing runs there: start `toolglot serve`"] {
        assert!(table.contains(expected), "{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_says_what_came_what_was_fixed_and_what_to_do() {
    let fake = Fake::start(ollama).await;
    let (report, code) = doctor(&["--backend", &fake.url, "--model", "gemma3:4b", "--try"]).await;
    let attempts = report["tried"]["attempts"].as_array().unwrap();
    let good: Vec<bool> = attempts.iter().map(|attempt| attempt["good"].as_bool().unwrap()).collect();
    assert_eq!(good, [true, true, false, true, true], "{report:#}");
    assert_eq!((code, report["problems"].as_array().map(Vec::len)), (Some(1), Some(1)));
    assert_eq!(report["tried"]["tools"], "prompt");
    assert!(attempts[0]["form"].as_str().unwrap().starts_with("text: "), "{report:#}");
    assert!(attempts[1]["form"].as_str().unwrap().contains("code fence"), "{report:#}");
    assert!(attempts[1]["fixed"].to_string().contains("first_line"), "{report:#}");
    assert!(attempts[2]["remedy"].as_str().unwrap().contains("did not call"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_trial_learns_is_told() {
    let vllm = Fake::start(openai("vllm")).await;
    let (report, _) = doctor(&["--backend", &vllm.url, "--model", "qwen3-8b", "--try"]).await;
    assert_eq!(
        (report["tried"]["tools"].as_str(), report["tried"]["attempts"][0]["good"].as_bool()),
        (Some("prompt"), Some(true)),
        "{report:#}"
    );
    let llama = Fake::start(openai("llamacpp")).await;
    let (report, _) = doctor(&["--backend", &llama.url, "--model", "qwen3-8b", "--try"]).await;
    assert_eq!(report["tried"]["tools"], "native");
    assert!(report["tried"]["attempts"][0]["form"].as_str().unwrap().contains("backend itself"), "{report:#}");
}

/// Google with a model that takes neither tools nor system text.
fn google(seen: &Seen) -> Script {
    match seen.line.as_str() {
        "GET /v1beta/models" => Script::json(200, r#"{"models":[{"name":"models/gemma-3-27b-it","inputTokenLimit":32768}]}"#),
        "POST /v1beta/models/gemma-3-27b-it:streamGenerateContent?alt=sse" if seen.body.contains("\"tools\":") => Script::json(
            400,
            r#"{"error":{"code":400,"message":"Function calling is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}"#,
        ),
        "POST /v1beta/models/gemma-3-27b-it:streamGenerateContent?alt=sse" => {
            let part = json!({"text": "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}"});
            let event = json!({"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}]});
            Script::events(vec![Step::Send(format!("data: {event}\n\n"))])
        }
        _ => Script::json(404, "{}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trial_shows_how_each_backend_is_asked() {
    let all: [(&str, Fake, &str); 3] = [
        ("sglang", Fake::start(openai("sglang")).await, "native"),
        ("LM Studio", Fake::start(openai("organization_owner")).await, "native"),
        ("somebody", Fake::start(openai("somebody")).await, "native"),
    ];
    for (name, fake, tools) in &all {
        let (report, _) = doctor(&["--backend", &fake.url, "--model", "qwen3-8b", "--try"]).await;
        let first = &report["tried"]["attempts"][0];
        assert_eq!(
            (report["tried"]["tools"].as_str(), first["good"].as_bool()),
            (Some(*tools), Some(true)),
            "{name}: {report:#}"
        );
    }
    let fake = Fake::start(google).await;
    let backend = format!("google={}/v1beta", fake.url);
    let (report, _) = doctor(&["--backend", &backend, "--model", "gemma-3-27b-it", "--try"]).await;
    let first = &report["tried"]["attempts"][0];
    assert_eq!((report["tried"]["tools"].as_str(), first["good"].as_bool()), (Some("prompt"), Some(true)), "{report:#}");
    assert!(first["form"].as_str().unwrap().contains("bare JSON"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_nobody_knows_is_named() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "GET /api/version" => Script::json(200, r#"{"version":"0.13.0"}"#),
        "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"qwen3-coder:30b"},{"name":"llama3.1:8b"}]}"#),
        "POST /api/show" => {
            let own = seen.body.contains("qwen3-coder");
            let template = if own { "{{ .Tools }} somebody's own" } else { "{{ .Tools }} <tool_call> <function= <parameter=" };
            Script::json(200, json!({"capabilities": ["completion", "tools"], "template": template}).to_string())
        }
        _ => Script::json(404, "{}"),
    })
    .await;
    let (report, code) = doctor(&["--backend", &fake.url]).await;
    let notes = |at: usize| report["backends"][0]["models"][at]["notes"].to_string();
    assert_eq!(code, Some(0), "a note is no problem");
    assert!(notes(0).contains("differs from every known one of its family: it lacks <tool_call>"), "{report:#}");
    assert!(notes(1).contains("its name is that of `llama3`, its chat template that of `qwen3-coder`"), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_said_with_its_remedy() {
    let locked = Fake::start(|_| Script::json(401, r#"{"error":{"message":"no api key given"}}"#)).await;
    let empty = Fake::start(|seen| match seen.line.as_str() {
        "GET /api/version" => Script::json(200, r#"{"version":"0.13.0"}"#),
        _ => Script::json(200, r#"{"models":[]}"#),
    })
    .await;
    for (backends, expected) in [
        (vec!["ollama=http://127.0.0.1:1".to_owned()], "start it, or correct its `url`"),
        (vec!["http://127.0.0.1:1".to_owned()], "nothing that is known answers"),
        (vec![format!("openai={}/v1", locked.url)], "api_key_env"),
        (vec![empty.url.clone()], "has no models"),
        (vec![], "no backend: looked for lm-studio at"),
    ] {
        let arguments: Vec<&str> = backends.iter().flat_map(|backend| ["--backend", backend.as_str()]).collect();
        let (table, code) = said(&arguments).await;
        assert!(code == Some(1) && table.contains(expected), "{expected}: {table}");
    }
    let (table, _) = said(&["--backend", &empty.url, "--model", "other"]).await;
    assert!(table.contains("no backend that answers lists the model other"), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whether_a_client_has_found_the_proxy_is_seen() {
    let fake = Fake::start(ollama).await;
    let proxy = crate::proxy::Proxy::start(&format!("[[backend]]\nurl = \"{}\"\n", fake.url)).await;
    let address = proxy.url.trim_start_matches("http://").to_owned();
    let verdict = || async {
        let (report, _) = doctor(&["--backend", &fake.url, "--listen", &address]).await;
        report["proxy"]["verdict"].as_str().unwrap().to_owned()
    };
    let first = verdict().await;
    assert!(first.contains("no client has asked"), "{first}");
    proxy.get("/v1/models").send().await.unwrap();
    let listed = verdict().await;
    assert!(listed.contains("in Void choose the entry under vLLM"), "{listed}");
    let chat = json!({"model": "gemma3:4b", "messages": [{"role": "user", "content": "Say hello"}]});
    proxy.post("/v1/chat/completions", chat).send().await.unwrap();
    let asked = verdict().await;
    assert!(asked.contains("1 answer"), "{asked}");
}

/// source: mistral-common's words; llama.cpp lists its models at `/models` too, beside an API of its own.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_refuses_and_a_url_without_its_path_are_named() {
    let fake = Fake::start(|seen| match seen.line.as_str() {
        "POST /v1/chat/completions" if seen.body.contains("call_1") => {
            let says = "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.";
            Script::json(400, json!({"message": says}).to_string())
        }
        _ => openai("somebody")(seen),
    })
    .await;
    let (told, _) = said(&["--backend", &format!("openai={}", fake.url), "--model", "qwen3-8b", "--try"]).await;
    for line in [
        "learned: ids of calls are sent as nine letters and digits".to_owned(),
        format!("note: its API is at {0}/v1: correct `url = \"{0}\"`", fake.url),
    ] {
        assert!(told.contains(&line), "{line} is not in:\n{told}");
    }
}
