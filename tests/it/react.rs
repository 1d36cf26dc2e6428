//! Mode `react` from outside: a scripted model, the built-in tools and MCP servers in shell, a client that sees one answer.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use toolglot::{
    config::{Config, Environment, Overrides},
    server,
};

use crate::{
    fake::{Fake, Script, Step},
    proxy::client,
};

mod consent;
mod families;
mod hostile;
mod leaves;
mod limits;
mod mixed;
mod results;
mod rpc;
mod streams;

/// A proxy between a scripted model and a registry in a folder of its own.
struct Room {
    url: String,
    app: server::App,
    model: Model,
    folder: tempfile::TempDir,
}

/// A model that gives these answers, one after the other; after the last one, the last one again.
struct Model {
    fake: Fake,
    family: Family,
}

/// How a model is spoken to, and how it writes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Family {
    /// No native tools: bare JSON, as the prompt asks.
    Gemma,
    /// Native tools are taken, and bare JSON comes back.
    Coder,
    /// Ollama's own calls.
    Native,
    /// Harmony's headers, as a server that does not parse them passes them on.
    Harmony,
}

/// An answer of the model.
#[derive(Debug, Clone)]
enum Says {
    /// Prose, and calls after it.
    Calls(&'static str, Vec<(String, Value)>),
    /// Text as it stands.
    Text(String),
    /// Nothing, until the other side goes.
    Hangs,
    /// An error of the server.
    Fails,
}

const FAMILIES: [Family; 4] = [Family::Gemma, Family::Coder, Family::Native, Family::Harmony];

fn calls(calls: &[(&str, Value)]) -> Says {
    Says::Calls("", calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect())
}

fn call(name: &str, arguments: Value) -> Says {
    calls(&[(name, arguments)])
}

fn text(text: &str) -> Says {
    Says::Text(text.to_owned())
}

// === impl Family ===

impl Family {
    fn model(self) -> &'static str {
        match self {
            Family::Gemma => "gemma3:12b",
            Family::Coder => "qwen2.5-coder:7b",
            Family::Native => "llama3.1:8b",
            Family::Harmony => "gpt-oss:20b",
        }
    }

    /// The name as the model reads it in its prompt, so that it is written like this.
    fn wire(self, name: &str) -> String {
        if self == Family::Harmony { name.replace('.', "_") } else { name.to_owned() }
    }

    fn answer(self, says: &Says) -> Script {
        let says = match says {
            Says::Fails => return Script::json(500, r#"{"error":{"message":"the model has crashed"}}"#),
            Says::Hangs if self == Family::Harmony => return Script::events(vec![Step::Hang]),
            Says::Hangs => return Script::lines(vec![Step::Hang]),
            Says::Text(text) => (text.clone(), Vec::new()),
            Says::Calls(prose, calls) => ((*prose).to_owned(), calls.clone()),
        };
        let (prose, calls) = says;
        match self {
            Family::Harmony => {
                let mut all = String::new();
                if !prose.is_empty() {
                    let channel = if calls.is_empty() { "final" } else { "commentary" };
                    all += &format!("<|channel|>{channel}<|message|>{prose}<|end|><|start|>assistant");
                }
                for (name, arguments) in &calls {
                    let name = self.wire(name);
                    all += &format!(
                        "<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|><|start|>assistant"
                    );
                }
                let all = all.strip_suffix("<|start|>assistant").unwrap_or(&all);
                let piece = |text: &str| {
                    let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                        "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": null}]});
                    Step::Send(format!("data: {chunk}\n\n"))
                };
                let mut steps: Vec<Step> = pieces(all).iter().map(|text| piece(text)).collect();
                let end = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
                    "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}});
                steps.push(Step::Send(format!("data: {end}\n\ndata: [DONE]\n\n")));
                Script::events(steps)
            }
            Family::Native => {
                let mut steps: Vec<Step> = pieces(&prose).iter().map(|text| line(text)).collect();
                for (name, arguments) in &calls {
                    let message = json!({"role": "assistant", "content": "",
                        "tool_calls": [{"function": {"name": name, "arguments": arguments}}]});
                    steps.push(Step::Send(format!("{}\n", json!({"message": message, "done": false}))));
                }
                steps.push(done());
                Script::lines(steps)
            }
            Family::Gemma | Family::Coder => {
                let calls: Vec<String> =
                    calls.iter().map(|(name, arguments)| json!({"name": name, "arguments": arguments}).to_string()).collect();
                let gap = if prose.is_empty() || calls.is_empty() { "" } else { "\n" };
                let all = format!("{prose}{gap}{}", calls.join("\n"));
                let mut steps: Vec<Step> = pieces(&all).iter().map(|text| line(text)).collect();
                steps.push(done());
                Script::lines(steps)
            }
        }
    }
}

/// A text in pieces of a few characters.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}

fn line(text: &str) -> Step {
    Step::Send(format!("{}\n", json!({"message": {"role": "assistant", "content": text}, "done": false})))
}

fn done() -> Step {
    let end = json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 100, "eval_count": 10});
    Step::Send(format!("{end}\n"))
}

// === impl Model ===

impl Model {
    async fn start(family: Family, answers: Vec<Says>) -> Model {
        let asked = Arc::new(AtomicUsize::new(0));
        let fake = Fake::start(move |seen| {
            let capabilities = match family {
                Family::Gemma => json!(["completion", "vision"]),
                _ => json!(["completion", "tools"]),
            };
            match seen.line.as_str() {
                "GET /api/tags" => Script::json(200, json!({"models": [{"name": family.model()}]}).to_string()),
                "GET /v1/models" => Script::json(200, json!({"data": [{"id": family.model()}]}).to_string()),
                "POST /api/show" => Script::json(
                    200,
                    json!({"capabilities": capabilities, "model_info": {"x.context_length": 32768}}).to_string(),
                ),
                "GET /api/ps" => Script::json(200, r#"{"models":[]}"#),
                "POST /api/chat" | "POST /v1/chat/completions" => {
                    let at = asked.fetch_add(1, Ordering::SeqCst);
                    family.answer(&answers[at.min(answers.len() - 1)])
                }
                _ => Script::json(404, "{}"),
            }
        })
        .await;
        Model { fake, family }
    }

    /// The requests for answers, as they came.
    fn asked(&self) -> Vec<Value> {
        let path = if self.family == Family::Harmony { "/v1/chat/completions" } else { "/api/chat" };
        self.fake.seen(path).iter().map(|seen| serde_json::from_str(&seen.body).unwrap()).collect()
    }

    /// The messages of the last request.
    fn messages(&self) -> Vec<Value> {
        self.asked().last().unwrap()["messages"].as_array().unwrap().clone()
    }
}

// === impl Room ===

impl Room {
    async fn new(family: Family, answers: Vec<Says>) -> Room {
        Room::with(family, answers, json!({}), "").await
    }

    /// With these servers in the registry and more configuration (top-level keys first).
    async fn with(family: Family, answers: Vec<Says>, servers: Value, config: &str) -> Room {
        let folder = tempfile::tempdir().unwrap();
        let model = Model::start(family, answers).await;
        std::fs::write(folder.path().join("mcp.json"), json!({"mcpServers": servers}).to_string()).unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (kind, url) = match family {
            Family::Harmony => ("openai", format!("{}/v1", model.fake.url)),
            _ => ("ollama", model.fake.url.clone()),
        };
        let text = format!(
            "{config}\n[[backend]]\nname = \"b\"\nkind = \"{kind}\"\nurl = \"{url}\"\n[mcp]\nregistry = \"{}\"\ndatabase = \"{}\"\nbuiltin_tools = true\n",
            path("mcp.json"),
            path("d.db")
        );
        let environment = Environment::of_process();
        let mut config = Config::parse(&text, None, &Overrides::default(), &environment).unwrap();
        config.mcp.state = folder.path().join("state");
        let settings = server::Settings { ollama: "http://127.0.0.1:9".into(), ..server::Settings::of(config, &environment) };
        let app = server::app(settings).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = server::router(Arc::clone(&app));
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Room { url, app, model, folder }
    }

    /// Reads the registry again.
    fn reload(&self) {
        self.app.registry().reload().unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        client().post(format!("{}{path}", self.url)).header("content-type", "application/json").body(body.to_string())
    }

    fn chat(&self, more: Value) -> Value {
        let mut body = json!({"model": self.model.family.model(), "messages": [{"role": "user", "content": "go"}],
            "toolglot": {"trace": true}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    }

    /// A whole answer.
    async fn answer(&self, more: Value) -> Value {
        let response = self.post("/react/v1/chat/completions", &self.chat(more)).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{status}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// A streamed answer, put together.
    async fn stream(&self, more: Value) -> Streamed {
        let mut body = self.chat(more);
        body["stream"] = json!(true);
        let response = self.post("/react/v1/chat/completions", &body).send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{status}: {text}");
        Streamed::of(&text)
    }
}

/// What a streaming client has in the end.
#[derive(Debug, Default)]
struct Streamed {
    content: String,
    reasoning: String,
    calls: Vec<Value>,
    finishes: Vec<String>,
    comments: Vec<String>,
    trace: Value,
    raw: String,
}

impl Streamed {
    /// The text in a stream that is not at its end yet.
    fn parts(raw: &str) -> String {
        let lines = raw.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
        lines.map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn of(raw: &str) -> Streamed {
        let mut all = Streamed { raw: raw.to_owned(), ..Streamed::default() };
        for line in raw.lines() {
            if let Some(comment) = line.strip_prefix(':') {
                all.comments.push(comment.trim().to_owned());
            }
            let Some(data) = line.strip_prefix("data: ").filter(|data| *data != "[DONE]") else { continue };
            let chunk: Value = serde_json::from_str(data).unwrap();
            assert!(chunk.get("error").is_none(), "{chunk}");
            if let Some(trace) = chunk.get("toolglot") {
                all.trace = trace.clone();
            }
            let choice = &chunk["choices"][0];
            all.content += choice["delta"]["content"].as_str().unwrap_or_default();
            all.reasoning += choice["delta"]["reasoning_content"].as_str().unwrap_or_default();
            all.calls.extend(choice["delta"]["tool_calls"].as_array().cloned().unwrap_or_default());
            all.finishes.extend(choice["finish_reason"].as_str().map(str::to_owned));
        }
        assert!(raw.ends_with("data: [DONE]\n\n"), "{raw}");
        all
    }
}

/// The text of an answer.
fn said(answer: &Value) -> &str {
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_default()
}

/// The calls that were run or answered: name, whether they went well.
fn traced(trace: &Value) -> Vec<(String, bool)> {
    let calls = trace["calls"].as_array().unwrap_or_else(|| panic!("no trace: {trace}"));
    calls.iter().map(|call| (call["name"].as_str().unwrap().to_owned(), call["ok"].as_bool().unwrap())).collect()
}

/// Every call in the conversation has one result, in the same order, and every result its call.
fn assert_valid(messages: &[Value]) {
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_else(|| panic!("no id: {message}"));
                let at = open.iter().position(|waiting| waiting == id).unwrap_or_else(|| panic!("nobody asked: {message}"));
                open.remove(at);
            }
            _ => assert!(open.is_empty(), "no result for {open:?} before {message}"),
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            open.push(call["id"].as_str().unwrap().to_owned());
        }
    }
    assert!(open.is_empty(), "no result for {open:?}");
}
