//! What a user needs to know at the start, on standard error: the address, the models, what to enter in Void.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use super::{App, catalog::Found, listen::Bound};
use crate::{backend::Kind, config::DEFAULT_PORT};

/// Names at most this many models of a backend.
const SHOWN: usize = 8;

/// Where it listens and how to use it.
pub(super) fn listening(app: &App, bound: &Bound) {
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
    let port =
        bound.listeners.first().and_then(|listener| listener.local_addr().ok()).map_or(DEFAULT_PORT, |address| address.port());
    if let Some(address) = addresses.first() {
        let _ = writeln!(text, "  OpenAI base URL: {address}/v1");
    }
    match port {
        DEFAULT_PORT => text.push_str("  Void: nothing to set; its vLLM provider finds the models by itself within seconds\n"),
        port => _ = writeln!(text, "  Void: Settings > Models > Providers > vLLM > Endpoint: http://localhost:{port}"),
    }
    say(&text);
}

/// Which models there are, or where it looked for them.
pub(super) fn found(app: &App, found: &[Found]) {
    let mut text = String::new();
    for Found { backend, models, error } in found {
        let place = if backend.url.is_empty() { "recorded".into() } else { format!("at {}", backend.url) };
        match error {
            Some(error) => _ = writeln!(text, "  {} {place}: {error}", backend.name),
            None if models.is_empty() => _ = writeln!(text, "  {} {place}: no models", backend.name),
            None => {
                let names: Vec<&str> = models.iter().take(SHOWN).map(|model| model.id.as_str()).collect();
                let more = models.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                let _ = writeln!(text, "  {} {place}: {}{more}", backend.name, names.join(", "));
            }
        }
    }
    if found.iter().all(|found| found.backend.kind == Kind::Replay) {
        let places: Vec<String> =
            app.catalog.places().iter().map(|backend| format!("{} at {}", backend.name, backend.url)).collect();
        if !places.is_empty() {
            let _ = writeln!(text, "  no backend found yet: looked for {}; looking again every few seconds", places.join(", "));
        }
    }
    say(&text);
}

fn say(text: &str) {
    // Without a reader of standard error there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
