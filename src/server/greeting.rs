//! What a user needs to know: at the start, on standard error, the address, the models, what to enter in Void; at `/` what
//! this is.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use axum::{body::Body, response::Response};
use http::{HeaderMap, header};

use super::{catalog::Found, listen::Bound, reply, state::App};
use crate::{
    backend::{Kind, Model},
    redact,
};

/// Names at most this many models of a backend.
const SHOWN: usize = 8;
const SHOWN_CHARS: usize = 200;

/// What a person sees who opens the address in a browser.
const PAGE: &str = "<!doctype html>
<html lang=\"en\"><meta charset=\"utf-8\"><title>toolglot</title>
<h1>toolglot is running</h1>
<p>It stands between your editor and your local models, and turns the tool calls that models write into the form that the
editor executes. There is nothing to do on this page.</p>
<ul>
<li>OpenAI's API: base URL <code>/v1</code> of this address, any API key (<a href=\"/v1/models\">models</a>)</li>
<li>Ollama's API: this address (<a href=\"/api/tags\">models</a>)</li>
<li><a href=\"/healthz\">state of the backends</a></li>
</ul>
</html>
";

/// `GET /`: clients of Ollama look for its words here, people for an explanation.
pub(super) async fn root(headers: HeaderMap) -> Response {
    let accepts =
        |kind: &str| headers.get(header::ACCEPT).and_then(|list| list.to_str().ok()).is_some_and(|list| list.contains(kind));
    if accepts("text/html") {
        reply::bytes("text/html; charset=utf-8", Body::from(PAGE))
    } else {
        reply::bytes("text/plain; charset=utf-8", Body::from("Ollama is running"))
    }
}

/// Where it listens and how to use it; gives the address to be used.
pub(super) fn listening(app: &App, bound: &Bound) -> String {
    let addresses: Vec<String> = bound
        .listeners
        .iter()
        .filter_map(|listener| listener.local_addr().ok())
        .map(|address| format!("http://{address}"))
        .collect();
    let mut text = format!("toolglot {} listens on {}\n", env!("CARGO_PKG_VERSION"), addresses.join(" and "));
    for note in &bound.notes {
        let _ = writeln!(text, "  {note}");
    }
    if app.config.access.insecure && app.config.listen.is_beyond_loopback() {
        text.push_str(
            "  INSECURE: whoever reaches this address may use your models and tools without a key (`insecure = true`)\n",
        );
    }
    if let Some(file) = &app.config.file {
        let _ = writeln!(text, "  configuration: {}", file.display());
    }
    if let Some(recorder) = &app.recorder {
        let _ = writeln!(text, "  recording every chat into {}", recorder.directory().display());
    }
    let address = addresses.first().cloned().unwrap_or_default();
    let _ = writeln!(text, "  OpenAI base URL: {address}/v1");
    match address.rsplit(':').next().unwrap_or_default() {
        "8000" => text.push_str("  Void: nothing to set; its vLLM provider finds the models by itself within seconds\n"),
        port => _ = writeln!(text, "  Void: Settings > Models > Providers > vLLM > Endpoint: http://localhost:{port}"),
    }
    say(&text);
    address
}

/// Which models there are, or where it looked for them; and what to try if there are recordings.
pub(super) fn found(app: &App, found: &[Found], address: &str) {
    let mut text = String::new();
    for Found { backend, models, error } in found.iter().filter(|found| found.backend.kind != Kind::Replay) {
        let what = error.clone().unwrap_or_else(|| names(models));
        let _ = writeln!(text, "  {} at {}: {what}", shown(&backend.name), shown(&backend.url));
    }
    if !app.catalog.has_backend() {
        let places: Vec<String> =
            app.catalog.places().map(|backend| format!("{} at {}", backend.name, shown(&backend.url))).collect();
        let _ = writeln!(text, "  no backend yet: looked for {}; looking again every few seconds", places.join(", "));
    }
    if let Some(replay) = found.iter().find(|found| found.backend.kind == Kind::Replay) {
        let _ = writeln!(text, "  recorded models to try it with: {}", names(&replay.models));
        if let Some(example) = replay.backend.replay.example() {
            let body = example.to_value().to_string().replace('\'', r"'\''");
            let _ = writeln!(text, "\ncurl -N {address}/v1/chat/completions -H 'content-type: application/json' -d '{body}'\n");
        }
    }
    say(&text);
}

fn names(models: &[Model]) -> String {
    let names: Vec<String> = models.iter().take(SHOWN).map(|model| shown(&model.id)).collect();
    match models.len().saturating_sub(SHOWN) {
        _ if models.is_empty() => "no models".into(),
        0 => names.join(", "),
        more => format!("{} and {more} more (GET /v1/models has them all)", names.join(", ")),
    }
}

/// Text of a backend as one line.
fn shown(text: &str) -> String {
    redact::shown(text, SHOWN_CHARS)
}

fn say(text: &str) {
    // Without a reader of standard error there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
