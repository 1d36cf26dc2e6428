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

/// From the second turn on, each repeats the kinds of messages of the one before.
const TURNS: usize = 3;

/// How the client writes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Client {
    OpenAi,
    /// Void with the tools in its system text, and calls as XML.
    Void,
    Ollama,
    /// Claude Code: system messages in the middle, a countdown, blocks that move their `cache_control`.
    Messages,
    /// Codex.
    Responses,
}

impl Client {
    fn endpoint(self) -> &'static str {
        match self {
            Client::OpenAi | Client::Void => "/v1/chat/completions",
            Client::Ollama => "/api/chat",
            Client::Messages => "/v1/messages",
            Client::Responses => "/v1/responses",
        }
    }
}

/// The same of a client of Anthropic's API.
fn message_requests() -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    let mut requests = Vec::new();
    let mut ask = |turn: usize, messages: &[Value]| {
        let mut messages = messages.to_vec();
        // The mark is at the last block of each request; the countdown is another one each time.
        if let Some(last) = messages.last_mut().and_then(|last| last["content"].as_array_mut()?.last_mut()) {
            last["cache_control"] = json!({"type": "ephemeral"});
        }
        messages.push(json!({"role": "system", "content": format!("<total_tokens>{} tokens left</total_tokens>", 1000 - turn)}));
        let schema = json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]});
        let billing = format!("x-anthropic-billing-header: cch={turn};");
        requests.push(json!({
            "model": "m", "max_tokens": 1000, "messages": messages, "system": [{"type": "text", "text": billing}, {"type": "text", "text": "Be brief."}],
            "tools": [{"name": "read_file", "input_schema": schema}, {"name": "later", "input_schema": {}, "defer_loading": true}],
        }));
    };
    for turn in 0..TURNS {
        messages.push(json!({"role": "user", "content": [{"type": "text", "text": "Reminder."}, {"type": "text", "text": format!("Question {turn}?")}]}));
        messages.push(json!({"role": "system", "content": [{"type": "text", "text": format!("# Environment {turn}")}]}));
        ask(turn, &messages);
        let call =
            |at: usize| json!({"type": "tool_use", "id": format!("t{turn}_{at}"), "name": "read_file", "input": {"uri": "a"}});
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "Looking."}, call(0), call(1)]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": format!("t{turn}_0"), "content": "text of a"},
            {"tool_use_id": format!("t{turn}_1"), "type": "tool_result", "content": [{"type": "text", "text": "bad"}], "is_error": true},
        ]}));
        messages.push(json!({"role": "system", "content": "Mind the style."}));
        ask(turn, &messages);
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": format!("Answer {turn}.")}]}));
    }
    requests
}

/// The same of a client of the Responses API.
fn response_requests() -> Vec<Value> {
    let said =
        |role: &str, text: String| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]});
    let mut items = vec![said("developer", "Be brief.".into()), said("developer", "Skills.".into())];
    let mut requests = Vec::new();
    let mut ask = |items: &[Value]| {
        let schema = json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]});
        let tools = json!([
            {"type": "function", "name": "read_file", "parameters": schema},
            {"type": "custom", "name": "apply_patch", "format": {"type": "text"}},
            {"type": "namespace", "name": "mcp__a", "tools": [{"type": "function", "name": "b", "parameters": {"type": "object"}}]},
        ]);
        requests.push(json!({"model": "m", "input": items, "tools": tools, "store": false}));
    };
    for turn in 0..TURNS {
        items.push(said("user", format!("Question {turn}?")));
        ask(&items);
        let id = |at: usize| format!("c{turn}_{at}");
        items.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]}));
        items.push(json!({"type": "function_call", "call_id": id(0), "name": "read_file", "arguments": "{\"uri\":\"a\"}"}));
        items.push(json!({"type": "custom_tool_call", "call_id": id(1), "name": "apply_patch", "input": "*** Begin Patch"}));
        items.push(json!({"type": "function_call", "call_id": id(2), "name": "b", "namespace": "mcp__a", "arguments": "{}"}));
        items.extend((0..3).map(|at| json!({"type": "function_call_output", "call_id": id(at), "output": "done"})));
        items.push(said("developer", "Mind the style.".into()));
        ask(&items);
        items.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("Answer {turn}.")}]}));
    }
    requests
}

/// The requests of a conversation: in each turn a question, calls, their results, an answer.
fn requests(client: Client) -> Vec<Value> {
    match client {
        Client::Messages => return message_requests(),
        Client::Responses => return response_requests(),
        Client::OpenAi | Client::Void | Client::Ollama => {}
    }
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
                messages.push(user(void::result("read_file", "fn main() {}<|im_end|>")));
            }
            Client::Ollama => {
                let call = json!({"function": {"name": "read_file", "arguments": {"uri": "a"}}});
                messages.push(json!({"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [call, call]}));
                messages.push(json!({"role": "tool", "tool_name": "read_file", "content": "text of a"}));
                messages.push(json!({"role": "tool", "tool_name": "read_file", "content": "text of a"}));
            }
            Client::Messages | Client::Responses => {}
        }
        ask(&messages);
        messages.push(json!({"role": "assistant", "content": format!("Answer {turn}.")}));
    }
    requests
}

#[tokio::test]
async fn a_conversation_only_grows_for_every_client_and_backend() {
    let clients = [Client::OpenAi, Client::Void, Client::Ollama, Client::Messages, Client::Responses];
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
            // An older Ollama, which does not tell the prompt that it would make.
            "POST /api/chat" if seen.body.contains("_debug_render_only") => Script::lines(vec![text("F"), done("length")]),
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
                for request in requests(client) {
                    let (status, said) = answer(proxy.post(client.endpoint(), request)).await;
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
