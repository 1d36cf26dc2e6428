//! Asks a backend about its models: the list, and the facts about one model (whether it takes tools, its context, its chat
//! template).

use http::Method;
use serde_json::{Value, json};

use super::{Backend, Kind, Loaded, Profile, pace_headers, refusal_of, unusable};
use crate::{
    error::Error,
    json,
    upstream::{Client, HttpRequest, Outgoing},
};

#[cfg(test)]
mod tests;

/// A model as its backend describes it. Facts that the backend does not report are `None`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Model {
    /// The name that requests use.
    pub id: String,
    /// The model it was made from, if that says more than its name. It selects the adapter like the name does.
    pub base: Option<String>,
    /// What it can do.
    pub capabilities: Option<Capabilities>,
    /// The loaded context if known, otherwise the largest possible one, in tokens.
    pub context: Option<u64>,
    /// The context that its Modelfile sets (`num_ctx`, Ollama only), in tokens.
    pub context_set: Option<u64>,
    /// Its Modelfile sets a `repeat_penalty` (Ollama only).
    pub repeat_penalty_set: bool,
    /// The chat template.
    pub template: Option<String>,
    /// The model's entry in Ollama's list, unchanged.
    pub entry: Option<Value>,
}

/// What a model can do at its backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Capabilities {
    /// Takes native tools.
    pub tools: bool,
    /// Reasons on request.
    pub thinking: bool,
    /// Sees images.
    pub vision: bool,
}

/// Longest answer that is read, in bytes, and maximum number of JSON values in it.
const ANSWER_BYTES: usize = 16 * 1024 * 1024;
const ANSWER_VALUES: usize = 250_000;
/// What reads an entry of a list of models.
type Entry = fn(&Value) -> Option<Model>;

/// Maximum number of models of one backend.
const MODELS: usize = 10_000;

/// The models of a backend, with the facts in the list itself; [`describe`] asks for the others.
///
/// # Errors
/// The backend cannot be reached, answers with an error, or sends no list.
pub async fn models(client: &Client, backend: &Backend) -> Result<Vec<Model>, Error> {
    let (path, field, read): (_, _, Entry) = match backend.kind {
        Kind::Replay => return Ok(backend.replay.models()),
        Kind::Ollama => ("/api/tags", "models", ollama_model),
        Kind::OpenAi => ("/models", "data", openai_model),
        Kind::Google => ("/models", "models", google_model),
    };
    let models = list(client, backend, &backend.url, path, field).await?;
    if models.len() > MODELS {
        tracing::warn!(backend = backend.name, listed = models.len(), "only the first {MODELS} models are used");
    }
    Ok(models.iter().take(MODELS).filter_map(read).collect())
}

/// The entries of a list of models at `base` and `path`.
pub(super) async fn list(client: &Client, backend: &Backend, base: &str, path: &str, field: &str) -> Result<Vec<Value>, Error> {
    let mut answer = get(client, backend, base, path).await?;
    let found = if answer.is_array() { answer } else { answer.get_mut(field).map(Value::take).unwrap_or_default() };
    match found {
        Value::Array(models) => Ok(models),
        _ => Err(Error::backend(format!("the backend `{}` did not answer with a list of models", backend.name))),
    }
}

/// All facts that the backend reports about one model. Costs one or two requests. `server::backends`
/// keeps the answer for five minutes.
///
/// # Errors
/// As [`models`].
pub async fn describe(client: &Client, backend: &Backend, id: &str) -> Result<Model, Error> {
    match (backend.kind, backend.profile) {
        (Kind::Ollama, _) => {
            let shown = show(client, backend, &json!({"model": id})).await?;
            Ok(ollama_facts(id, &shown))
        }
        (Kind::OpenAi, Profile::LlamaCpp) => {
            let listed = listed(client, backend, id).await?;
            Ok(llama_facts(listed, &get(client, backend, backend.origin(), "/props").await?))
        }
        (Kind::OpenAi, Profile::LmStudio) => {
            let models = list(client, backend, backend.origin(), "/api/v0/models", "data").await?;
            let found = models.iter().find(|model| model.get("id").is_some_and(|own| own == id));
            Ok(found.map_or_else(|| Model::named(id), |model| lm_studio_facts(id, model)))
        }
        _ => listed(client, backend, id).await,
    }
}

/// Ollama's answer to `/api/show`, unchanged; `question` is the body of the request.
///
/// # Errors
/// As [`models`]. The backend must be an Ollama.
pub async fn show(client: &Client, backend: &Backend, question: &Value) -> Result<Value, Error> {
    send(client, backend, Method::POST, format!("{}/api/show", backend.url), Some(question)).await
}

/// The models in Ollama's memory: the entries of `models` in `/api/ps`, unchanged.
///
/// # Errors
/// As [`models`]. The backend must be an Ollama.
pub async fn running(client: &Client, backend: &Backend) -> Result<Vec<Value>, Error> {
    list(client, backend, &backend.url, "/api/ps", "models").await
}

/// How a model is loaded in Ollama's memory; `None` if it is not loaded, and for other backends.
///
/// # Errors
/// As [`models`].
pub async fn loaded(client: &Client, backend: &Backend, id: &str) -> Result<Option<Loaded>, Error> {
    if backend.kind != Kind::Ollama {
        return Ok(None);
    }
    let models = running(client, backend).await?;
    let is = |name: &str| name == id || name.strip_suffix(":latest") == Some(id);
    let found = models.iter().find(|model| ["name", "model"].iter().any(|key| text(model, key).is_some_and(|name| is(&name))));
    Ok(found.map(|model| Loaded {
        context: number(model, "context_length"),
        size: number(model, "size").unwrap_or_default(),
        vram: number(model, "size_vram").unwrap_or_default(),
    }))
}

impl Model {
    /// A model with nothing known but its name.
    pub fn named(id: &str) -> Model {
        Model { id: id.to_owned(), ..Model::default() }
    }
}

/// The model as the backend's list describes it.
async fn listed(client: &Client, backend: &Backend, id: &str) -> Result<Model, Error> {
    let models = models(client, backend).await?;
    Ok(models.into_iter().find(|model| model.id == id).unwrap_or_else(|| Model::named(id)))
}

/// The JSON answer to a GET of `base` and `path`.
pub(super) async fn get(client: &Client, backend: &Backend, base: &str, path: &str) -> Result<Value, Error> {
    send(client, backend, Method::GET, format!("{base}{path}"), None).await
}

/// Sends a request with the backend's headers and parses its JSON answer. An error status is an `Err` with the backend's message.
pub(super) async fn send(
    client: &Client,
    backend: &Backend,
    method: Method,
    url: String,
    body: Option<&Value>,
) -> Result<Value, Error> {
    let body = body.map(Value::to_string).unwrap_or_default().into();
    let request = HttpRequest { method, url, headers: backend.headers(None), body };
    ask(client, backend, request).await.map_err(|error| error.without(backend.secrets()))
}

/// Sends a request and parses its JSON answer. An error still has the secrets that the backend repeats in it.
pub(super) async fn ask(client: &Client, backend: &Backend, request: HttpRequest) -> Result<Value, Error> {
    let mut response = client.send(&Outgoing::Http(request)).await?;
    if let Some(error) = unusable(response.status, &response.headers) {
        return Err(error);
    }
    let answer = response.collect(ANSWER_BYTES).await?;
    if answer.len() == ANSWER_BYTES || json::values(&answer) > ANSWER_VALUES {
        let what = format!("an answer of the backend `{}` is too large ({} bytes so far)", backend.name, answer.len());
        return Err(Error::backend(what));
    }
    if !response.status.is_success() {
        let headers = pace_headers(&response.headers);
        return Err(Error { headers, ..refusal_of(backend, response.status.as_u16(), &answer) });
    }
    serde_json::from_slice(&answer)
        .map_err(|error| Error::backend(format!("the backend `{}` did not answer with JSON: {error}", backend.name)))
}

/// The non-empty string at this key.
fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The positive integer at this key.
fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64).filter(|number| *number > 0)
}

/// The capabilities in a list of words. `tools` is the word for tools.
fn capabilities(list: Option<&Value>, tools: &str) -> Option<Capabilities> {
    let list = list?.as_array()?;
    let has = |name: &str| list.iter().any(|capability| capability == name);
    Some(Capabilities { tools: has(tools), thinking: has("thinking"), vision: has("vision") })
}

fn ollama_model(model: &Value) -> Option<Model> {
    let id = text(model, "name").or_else(|| text(model, "model"))?;
    let capabilities = capabilities(model.get("capabilities"), "tools");
    Some(Model { capabilities, entry: Some(model.clone()), ..Model::named(&id) })
}

fn ollama_facts(id: &str, shown: &Value) -> Model {
    let info = shown.get("model_info").unwrap_or(&Value::Null);
    let architecture = text(info, "general.architecture").unwrap_or_default();
    Model {
        id: id.to_owned(),
        // A parent that was a file is a path, which says nothing about the family.
        base: shown
            .get("details")
            .and_then(|details| text(details, "parent_model"))
            .filter(|parent| !parent.starts_with(['/', '.']) && !parent.contains('\\'))
            .or_else(|| text(info, "general.basename")),
        capabilities: capabilities(shown.get("capabilities"), "tools"),
        context: number(info, &format!("{architecture}.context_length")),
        context_set: parameter(shown, "num_ctx").and_then(|size| size.parse().ok()),
        repeat_penalty_set: parameter(shown, "repeat_penalty").is_some(),
        template: text(shown, "template"),
        entry: None,
    }
}

/// The value of a parameter that the Modelfile sets. `parameters` is a text with one name and value per line.
fn parameter<'a>(shown: &'a Value, name: &str) -> Option<&'a str> {
    let lines = shown.get("parameters")?.as_str()?.lines();
    let mut values = lines.filter_map(|line| line.split_once(char::is_whitespace)).filter(|(own, _)| *own == name);
    Some(values.next()?.1.trim())
}

fn openai_model(model: &Value) -> Option<Model> {
    let id = text(model, "id")?;
    let meta = model.get("meta").unwrap_or(&Value::Null);
    Some(Model {
        // vLLM: `id` may be an alias, and `root` is what was loaded.
        base: text(model, "root").filter(|root| *root != id),
        // In this order: vLLM and SGLang, LM Studio, OpenRouter, llama.cpp.
        context: ["max_model_len", "loaded_context_length", "context_length"]
            .iter()
            .find_map(|key| number(model, key))
            .or_else(|| number(meta, "n_ctx"))
            .or_else(|| number(meta, "n_ctx_train")),
        ..Model::named(&id)
    })
}

fn google_model(model: &Value) -> Option<Model> {
    let name = text(model, "name")?;
    let methods = model.get("supportedGenerationMethods").and_then(Value::as_array);
    let chats = methods.is_none_or(|methods| methods.iter().any(|method| method == "generateContent"));
    let id = name.strip_prefix("models/").unwrap_or(&name);
    chats.then(|| Model { context: number(model, "inputTokenLimit"), ..Model::named(id) })
}

fn llama_facts(listed: Model, props: &Value) -> Model {
    let settings = props.get("default_generation_settings").unwrap_or(&Value::Null);
    let file = text(props, "model_path").map(|path| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned());
    let vision = props.get("modalities").and_then(|modalities| modalities.get("vision")?.as_bool());
    // Newer servers report what the template supports; older ones accept tools with every template.
    let told = props.get("chat_template_caps").and_then(|caps| caps.get("supports_tools")?.as_bool());
    Model {
        base: file.filter(|file| *file != listed.id).or_else(|| listed.base.clone()),
        capabilities: Some(Capabilities { tools: told.unwrap_or(true), thinking: false, vision: vision.unwrap_or(false) }),
        context: number(settings, "n_ctx").or_else(|| number(props, "n_ctx")).or(listed.context),
        template: text(props, "chat_template"),
        ..listed
    }
}

fn lm_studio_facts(id: &str, model: &Value) -> Model {
    let mut known = capabilities(model.get("capabilities"), "tool_use");
    if let Some(known) = &mut known {
        known.vision |= model.get("type").and_then(Value::as_str) == Some("vlm");
    }
    Model {
        capabilities: known,
        context: number(model, "loaded_context_length").or_else(|| number(model, "max_context_length")),
        ..Model::named(id)
    }
}
