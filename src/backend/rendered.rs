//! The prompt that Ollama makes from a chat (`_debug_render_only` of `/api/chat`), and what it shows about Ollama's template.

use http::Method;
use serde_json::{Map, Value, json};

use super::{Backend, Kind, Model, Prepared, Round, models::send};
use crate::upstream::{Client, Outgoing};

/// How a template prints a tool, or the parameters of one, as a whole.
const WHOLE: [&str; 3] = [".", ".Function", ".Function.Parameters"];
/// The beginning of a tool's parameters as Go prints a struct that has no form of its own.
const STRUCT: &str = "{object <nil>";

/// Whether this Ollama may print the tools as Go structs instead of JSON: the model's template prints whole tools. Templates that
/// print all tools at once, or that name each field, are not affected.
pub fn may_garble_tools(backend: &Backend, model: &Model) -> bool {
    let Some(template) = model.template.as_deref().filter(|_| backend.kind == Kind::Ollama) else { return false };
    let mut actions = template.split("{{").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0));
    template.contains(".Tools") && actions.any(|action| WHOLE.contains(&action.trim_matches('-').trim()))
}

/// Whether Ollama prints the tools of a request as Go structs, which models read badly: `{"function": {get_weather Get the weather
/// {object <nil> <nil> [city] ..}}}`. Ollama has done so since 0.14.0 (ollama/ollama#14601). `None`: that is known
/// already, or the request has no tools.
pub async fn garbles_tools(client: &Client, round: &Round<'_>, prepared: &Prepared) -> Option<bool> {
    let Outgoing::Http(request) = &prepared.outgoing else { return None };
    if !round.learned.tools_unseen {
        return None;
    }
    let body: Map<String, Value> = serde_json::from_slice(&request.body).ok()?;
    body.get("tools")?;
    Some(prompt(client, round, &body).await.is_some_and(|prompt| prompt.contains(STRUCT)))
}

/// The prompt for the body of a chat. `None`: this Ollama does not report it; a version that does not know the field generates one
/// token instead.
pub(super) async fn prompt(client: &Client, round: &Round<'_>, body: &Map<String, Value>) -> Option<String> {
    let mut body = body.clone();
    body.insert("_debug_render_only".into(), true.into());
    body.insert("stream".into(), false.into());
    let options = body.entry("options").or_insert_with(|| json!({}));
    if let Value::Object(options) = options {
        options.insert("num_predict".into(), 1.into());
    }
    let url = format!("{}/api/chat", round.backend.url);
    let told = send(client, round.backend, Method::POST, url, Some(&Value::Object(body))).await;
    let told = told.inspect_err(|error| tracing::debug!(model = round.chat.model, "no prompt: {error}")).ok()?;
    told.get("_debug_info")?.get("rendered_template")?.as_str().map(str::to_owned)
}
