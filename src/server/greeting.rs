//! What toolglot prints at the start: its address, the models and how it asks each of them, what to enter in which client,
//! and where the page is, in a dozen lines.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
};

use serde_json::json;

use super::{
    backends::Found,
    listen::Bound,
    state::App,
    survey::{self, ModelReport},
};
use crate::{
    backend::{Kind, Model, ToolMode},
    redact,
};

/// Names at most this many models of a backend.
const SHOWN: usize = 8;
/// Lines for backends and models; what comes before them makes it a dozen.
const LINES: usize = 5;
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
    let address = addresses.first().cloned().unwrap_or_default();
    let _ = writeln!(text, "  page: {address}/");
    if let Some(file) = &app.config.file {
        let _ = writeln!(text, "  configuration: {}", file.display());
    }
    if let Some(file) = &app.config.passed_over {
        let _ = writeln!(text, "  not read: {}, which belongs to another program", file.display());
    }
    if let Some(directory) = &app.process.settings.record {
        let _ = writeln!(text, "  recording every chat into {}", directory.display());
    }
    match address.rsplit(':').next().unwrap_or_default() {
        "8000" => text.push_str("  Void: nothing to set; its vLLM provider finds the models by itself within seconds\n"),
        port => _ = writeln!(text, "  Void: Settings > Models > Providers > vLLM > Endpoint: http://localhost:{port}"),
    }
    text.push_str("  Claude Code: toolglot run claude\n  Codex: toolglot run codex\n");
    let _ = writeln!(text, "  other clients: OpenAI base URL {address}/v1, Ollama {address}; `toolglot setup CLIENT` says more");
    say(&text);
    address
}

/// Which models there are, or where it looked for them; and what to try if there are recordings.
pub(super) async fn found(app: &App, address: &str) {
    let found = app.backends.current().await;
    let mut text = String::new();
    let real: Vec<&Found> = found.iter().filter(|found| found.backend.kind != Kind::Replay).collect();
    // The last line is for those that are not described.
    let mut room = LINES.saturating_sub(real.len() + 1);
    let mut untold = 0;
    for Found { backend, models, error } in real {
        let what = error.clone().unwrap_or_else(|| names(models));
        let _ = writeln!(text, "  {} at {}: {what}", redact::line(&backend.name), redact::line(&backend.url));
        for model in models.iter().take(room) {
            let _ = writeln!(text, "    {}", asked(&survey::look(app, backend, model).await));
        }
        untold += models.len().saturating_sub(room);
        room = room.saturating_sub(models.len());
    }
    if untold > 0 {
        let _ = writeln!(text, "    and {untold} more: `toolglot models`");
    }
    if !app.backends.has_backend() {
        let places = survey::places(app);
        let _ = writeln!(text, "  no backend yet: looked for {places}; looking again every few seconds");
    }
    if let Some(replay) = found.iter().find(|found| found.backend.kind == Kind::Replay) {
        let _ = writeln!(text, "  recorded models to try it with: {}", names(&replay.models));
        if let Some(example) = replay.backend.replay.example() {
            let body = json!(example).to_string().replace('\'', r"'\''");
            let _ = writeln!(text, "\ncurl -N {address}/v1/chat/completions -H 'content-type: application/json' -d '{body}'\n");
        }
    }
    say(&text);
}

/// How a model is read and asked, and why.
fn asked(spoken: &ModelReport) -> String {
    let tools = match spoken.tools {
        ToolMode::Native => "native tools",
        ToolMode::Prompt => "tools in the prompt",
        ToolMode::Raw => "tools in the prompt, in the model's own form",
        ToolMode::Client => "the client's own tool prompt",
    };
    format!("{}: {tools} ({}); read as {}", redact::line(&spoken.name), spoken.tools_why, spoken.adapter.name)
}

fn names(models: &[Model]) -> String {
    let names: Vec<String> = models.iter().take(SHOWN).map(|model| redact::line(&model.id)).collect();
    match models.len().saturating_sub(SHOWN) {
        _ if models.is_empty() => "no models".into(),
        0 => names.join(", "),
        more => format!("{} and {more} more (GET /v1/models has them all)", names.join(", ")),
    }
}

fn say(text: &str) {
    // Without a reader of standard error there is nobody to tell.
    let _ = io::stderr().write_all(text.as_bytes());
}
