//! Counts the tokens of a prepared request's prompt with the tokenizer of the server that would answer it.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{Backend, Kind, Profile, models::ask};
use crate::upstream::{Client, HttpRequest, Outgoing};

/// The number of tokens of the prompt; `None` if the backend has no tokenizer to ask (only llama.cpp and vLLM do), or does not
/// answer as expected.
pub async fn tokens(client: &Client, backend: &Backend, outgoing: &Outgoing) -> Option<u64> {
    let Outgoing::Http(request) = outgoing else { return None };
    let ask = |path: &str, body: Bytes| {
        let request = HttpRequest { url: format!("{}{path}", backend.origin()), body, ..request.clone() };
        async move { ask(client, backend, request).await.ok() }
    };
    match (backend.kind, backend.profile) {
        (Kind::OpenAi, Profile::LlamaCpp) => {
            let prompt = ask("/apply-template", request.body.clone()).await?.get("prompt")?.clone();
            let text = json!({"content": prompt, "add_special": true, "parse_special": true});
            ask("/tokenize", text.to_string().into()).await?.get("tokens")?.as_array().map(|tokens| tokens.len() as u64)
        }
        (Kind::OpenAi, Profile::Vllm) => {
            let mut chat: Map<String, Value> = serde_json::from_slice(&request.body).ok()?;
            chat.retain(|name, _| ["model", "messages", "tools", "chat_template_kwargs"].contains(&name.as_str()));
            ask("/tokenize", Value::Object(chat).to_string().into()).await?.get("count")?.as_u64()
        }
        _ => None,
    }
}
