//! Finds out which server answers at a URL: its API, its kind, its version. It sends a few requests for lists and nothing else.
//! `server::backends` decides where to look for backends on this machine.

use serde_json::Value;

use super::{
    Backend, Kind, Profile,
    models::{get, list},
};
use crate::{error::Error, upstream::Client};

#[cfg(test)]
mod tests;

/// Identifies the server of a backend of kind `openai` by its list of models.
///
/// # Errors
/// The backend cannot be reached, or sends no list of models.
pub async fn profile(client: &Client, backend: &Backend) -> Result<Profile, Error> {
    let models = list(client, backend, &backend.url, "/models", "data").await?;
    let owner = models.first().and_then(|model| model.get("owned_by")?.as_str()).unwrap_or_default();
    Ok(match owner {
        "llamacpp" => Profile::LlamaCpp,
        "vllm" => Profile::Vllm,
        "sglang" => Profile::Sglang,
        _ if get(client, backend, backend.origin(), "/api/v0/models").await.is_ok() => Profile::LmStudio,
        _ => Profile::Generic,
    })
}

/// The same backend with the kind, profile and base URL that it really has. `None` if no known server answers there.
pub async fn detect(client: &Client, backend: &Backend) -> Option<Backend> {
    let (base, origin) = (backend.url.as_str(), backend.origin());
    let ollama = Backend { kind: Kind::Ollama, url: origin.to_owned(), ..backend.clone() };
    if version(client, &ollama).await.is_some() {
        return Some(ollama);
    }
    let google = Backend { kind: Kind::Google, ..backend.clone() };
    if get(client, &google, base, "/models").await.is_ok_and(|list| is_google(&list)) {
        return Some(google);
    }
    for url in [format!("{origin}/v1"), base.to_owned()] {
        let openai = Backend { kind: Kind::OpenAi, url, ..backend.clone() };
        if let Ok(profile) = profile(client, &openai).await {
            return Some(Backend { profile, ..openai });
        }
    }
    None
}

/// The version of the server, if it reports one.
pub async fn version(client: &Client, backend: &Backend) -> Option<String> {
    let (path, key) = backend.traits().version?;
    let told = get(client, backend, backend.origin(), path).await.ok()?;
    told.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Whether a list of models is Google's, which names models by their paths.
fn is_google(list: &Value) -> bool {
    let first = list.get("models").and_then(|models| models.get(0)?.get("name")?.as_str());
    first.is_some_and(|name| name.starts_with("models/"))
}
