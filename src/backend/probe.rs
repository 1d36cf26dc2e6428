//! A URL -> who answers there: the API it speaks, who serves it, in which version. Nothing but a few requests for lists.
//! Where backends are looked for on this machine is in `server::backends`.

use serde_json::Value;

use super::{Backend, Kind, Profile, models::get};
use crate::{error::Error, upstream::Client};

#[cfg(test)]
mod tests;

/// Who serves this backend of kind `openai`: the list of models tells.
pub async fn profile(client: &Client, backend: &Backend) -> Result<Profile, Error> {
    let list = get(client, backend, &backend.url, "/models").await?;
    let Some(models) = list.get("data").and_then(Value::as_array).or(list.as_array()) else {
        return Err(Error::backend(format!("the backend `{}` did not answer with a list of models", backend.name)));
    };
    let owner = models.first().and_then(|model| model.get("owned_by")?.as_str()).unwrap_or_default();
    Ok(match owner {
        "llamacpp" => Profile::LlamaCpp,
        "vllm" => Profile::Vllm,
        "sglang" => Profile::Sglang,
        _ if get(client, backend, backend.origin(), "/api/v0/models").await.is_ok() => Profile::LmStudio,
        _ => Profile::Generic,
    })
}

/// The backend with the kind, profile and base URL that it turns out to have, whatever was assumed of it. `None` if
/// nothing answers there, or nothing that is known.
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

/// The version of the server, where it tells one.
pub async fn version(client: &Client, backend: &Backend) -> Option<String> {
    let (path, key) = backend.traits().version?;
    let told = get(client, backend, backend.origin(), path).await.ok()?;
    told.get(key).and_then(Value::as_str).map(str::to_owned)
}

/// Google's list names its models by their paths.
fn is_google(list: &Value) -> bool {
    let first = list.get("models").and_then(|models| models.get(0)?.get("name")?.as_str());
    first.is_some_and(|name| name.starts_with("models/"))
}
