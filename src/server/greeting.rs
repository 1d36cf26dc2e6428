//! What a user needs to know at the start, on standard error: the address, the models, what to enter in Void.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use super::{App, catalog::Found, listen::Bound};
use crate::backend::Kind;

/// Names at most this many models of a backend.
const SHOWN: usize = 8;

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
        let names: Vec<&str> = models.iter().take(SHOWN).map(|model| model.id.as_str()).collect();
        let what = match (error, models.len().saturating_sub(SHOWN)) {
            (Some(error), _) => error.clone(),
            (None, _) if models.is_empty() => "no models".into(),
            (None, 0) => names.join(", "),
            (None, more) => format!("{} and {more} more", names.join(", ")),
        };
        let _ = writeln!(text, "  {} at {}: {what}", backend.name, backend.url);
    }
    if !app.catalog.has_backend() {
        let places: Vec<String> = app.catalog.places().map(|backend| format!("{} at {}", backend.name, backend.url)).collect();
        let _ = writeln!(text, "  no backend yet: looked for {}; looking again every few seconds", places.join(", "));
    }
    if let Some(replay) = found.iter().find(|found| found.backend.kind == Kind::Replay) {
        let names: Vec<&str> = replay.models.iter().map(|model| model.id.as_str()).collect();
        let _ = writeln!(text, "  recorded models to try it with: {}", names.join(", "));
        if let Some(example) = replay.backend.replay.example() {
            let body = example.to_value().to_string().replace('\'', r"'\''");
            let _ = writeln!(text, "\ncurl -N {address}/v1/chat/completions -H 'content-type: application/json' -d '{body}'\n");
        }
    }
    say(&text);
}

fn say(text: &str) {
    // Without a reader of standard error there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
