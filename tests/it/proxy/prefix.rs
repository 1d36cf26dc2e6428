//! Rule 10 from outside: in a conversation that only grows, the messages that a backend gets begin with those that it got
//! before, byte for byte, so that its cache holds. Each form in which clients write, each way in which models are asked, each
//! backend.

use std::sync::Mutex;

use super::{
    backends::{delta, event, finish},
    chat::{done, text},
    *,
};
use crate::void;

const TURNS: usize = 10;

/// How the client writes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Client {
    OpenAi,
    /// Void with the tools in its system text, and calls as XML.
    Void,
    Ollama,
}

/// The requests of a conversation: in each turn a question, calls, their results, an answer.
fn requests(client: Client) -> Vec<Value> {
    let user = |text: String| json!({"role": "user", "content": text});
    let system = if client == Client::Void { void::system_text() } else { "Be brief.".to_owned() };
    let mut messages = vec![json!({"role": "system", "content": system})];
    let mut requests = Vec::new();
    let mut ask = |messages: &[Value]| {
        let mut request = json!({"model": "m", "stream": false, "messages": messages});
        if client != Client::Void {
            let parameters = json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]});
            request["tools"] = json!([{"type": "function", "function": {"name": "read_file", "description": "Reads.", "parameters": parameters}}]);
        }
        requests.push(request);
    };
    for turn in 0..TURNS {
        messages.push(user(format!("Question {turn}?")));
        ask(&messages);
        match client {
            Client::OpenAi => {
                // Void's placeholder, a lost id, arguments that a model broke: mended alike each time.
                let call = |at: usize, arguments: &str| {
                    let id = if at == 1 { String::new() } else { format!("call_{turn}_{at}") };
                    json!({"id": id, "type": "function", "function": {"name": "read_file", "arguments": arguments}})
                };
                let calls = [call(0, "{\"uri\": \"a\"}"), call(1, "{\"uri\":\"b\"}"), call(2, "{\"uri\":\"c\"}{\"uri\":")];
                messages.push(
                    json!({"role": "assistant", "content": "(empty message)", "anthropicReasoning": null, "tool_calls": calls}),
                );
                messages.push(json!({"role": "tool", "tool_call_id": format!("call_{turn}_0"), "content": "text of a"}));
                messages.push(json!({"role": "tool", "tool_call_id": "", "content": "text of b"}));
                messages.push(json!({"role": "tool", "tool_call_id": format!("call_{turn}_2"), "content": [
                    {"type": "text", "text": "a picture"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                ]}));
                // Of a call that was compacted away.
                messages.push(json!({"role": "tool", "tool_call_id": "gone", "content": "orphan"}));
            }
            Client::Void => {
                let values = [("uri".to_owned(), format!("/work/{turn}.rs"))];
                messages.push(json!({"role": "assistant", "content": void::remembered("Looking.", "read_file", &values)}));
                messages.push(user(void::result("read_file", "fn main() {}")));
            }
            Client::Ollama => {
                let call = json!({"function": {"name": "read_file", "arguments": {"uri": "a"}}});
                messages.push(json!({"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [call, call]}));
                messages.push(json!({"role": "tool", "tool_name": "read_file", "content": "text of a"}));
                messages.push(json!({"role": "tool", "tool_name": "read_file", "content": "text of a"}));
            }
        }
        ask(&messages);
        messages.push(json!({"role": "assistant", "content": format!("Answer {turn}.")}));
    }
    requests
}

#[tokio::test]
async fn a_conversation_only_grows_whoever_writes_it_and_whoever_reads_it() {
    let clients = [Client::OpenAi, Client::Void, Client::Ollama];
    for (kind, owner) in
        [("ollama", ""), ("google", ""), ("openai", "llamacpp"), ("openai", "vllm"), ("openai", "organization_owner")]
    {
        let bodies = std::sync::Arc::new(Mutex::new(Vec::<String>::new()));
        let list = bodies.clone();
        let fake = Fake::start(move |seen| match seen.line.as_str() {
            "GET /api/tags" => Script::json(200, r#"{"models":[{"name":"m"}]}"#),
            "GET /v1/models" => Script::json(200, json!({"data": [{"id": "m", "owned_by": owner}]}).to_string()),
            "GET /v1beta/models" => Script::json(200, r#"{"models":[{"name":"models/m"}]}"#),
            "GET /api/v0/models" if owner == "organization_owner" => Script::json(200, r#"{"data":[]}"#),
            "POST /api/chat" | "POST /v1/chat/completions" | "POST /v1beta/models/m:streamGenerateContent?alt=sse" => {
                list.lock().unwrap().push(seen.body.clone());
                match kind {
                    "ollama" => Script::lines(vec![text("Fine."), done("stop")]),
                    "google" => {
                        let part = json!({"parts": [{"text": "Fine."}]});
                        Script::events(vec![event(&json!({"candidates": [{"content": part, "finishReason": "STOP"}]}))])
                    }
                    _ => Script::events(vec![delta(json!({"content": "Fine."})), finish("stop")]),
                }
            }
            _ => Script::json(404, r#"{"error":"not here"}"#),
        })
        .await;
        let path = match kind {
            "openai" => "/v1",
            "google" => "/v1beta",
            _ => "",
        };
        for mode in ["native", "prompt", "raw", "client"] {
            let config = format!(
                "[[backend]]\nkind = \"{kind}\"\nurl = \"{}{path}\"\n[[route]]\nmodel = \"*\"\ntools = \"{mode}\"\n",
                fake.url
            );
            let proxy = Proxy::start(&config).await;
            for client in clients {
                bodies.lock().unwrap().clear();
                let endpoint = if client == Client::Ollama { "/api/chat" } else { "/v1/chat/completions" };
                for request in requests(client) {
                    let (status, said) = answer(proxy.post(endpoint, request)).await;
                    assert_eq!(status, 200, "{said}");
                }
                let sent = bodies.lock().unwrap().clone();
                assert_eq!(sent.len(), 2 * TURNS);
                let mut before: Vec<String> = Vec::new();
                for body in sent {
                    let mut body: Value = serde_json::from_str(&body).unwrap();
                    let field = if kind == "google" { "contents" } else { "messages" };
                    let now: Vec<String> = body[field].take().as_array().unwrap().iter().map(Value::to_string).collect();
                    assert!(
                        now.starts_with(&before) && now.len() > before.len(),
                        "{kind} {owner} {mode} {client:?}: the past changed:\n{before:#?}\n{now:#?}"
                    );
                    before = now;
                }
                assert!(before.len() >= 2 * TURNS, "{kind} {owner} {mode} {client:?}: {before:#?}");
            }
        }
    }
}
