//! Counts the tokens of a prepared request's prompt with the tokenizer of the server that would answer it.

use http::Method;
use serde_json::{Value, json};

use super::{Backend, Kind, Profile, models::send};
use crate::upstream::{Client, Outgoing};

/// The number of tokens of the prompt; `None` if the backend has no tokenizer to ask (only llama.cpp and vLLM do), or does not
/// answer as expected.
pub async fn tokens(client: &Client, backend: &Backend, outgoing: &Outgoing) -> Option<u64> {
    let Outgoing::Http(request) = outgoing else { return None };
    let ask = |path: &str, question: Value| {
        let url = format!("{}{path}", backend.origin());
        async move { send(client, backend, Method::POST, url, Some(&question)).await.ok() }
    };
    match (backend.kind, backend.profile) {
        (Kind::OpenAi, Profile::LlamaCpp) => {
            let chat = serde_json::from_slice(&request.body).ok()?;
            let prompt = ask("/apply-template", chat).await?.get("prompt")?.clone();
            let told = ask("/tokenize", json!({"content": prompt, "add_special": true, "parse_special": true})).await?;
            told.get("tokens")?.as_array().map(|tokens| tokens.len() as u64)
        }
        (Kind::OpenAi, Profile::Vllm) => {
            let chat: Value = serde_json::from_slice(&request.body).ok()?;
            let fields = ["model", "messages", "tools", "chat_template_kwargs"];
            let kept = fields.iter().filter_map(|name| Some(((*name).to_owned(), chat.get(*name)?.clone())));
            ask("/tokenize", Value::Object(kept.collect())).await?.get("count")?.as_u64()
        }
        _ => None,
    }
}
