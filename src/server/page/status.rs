//! `GET /ui/state`: the state of backends, models and MCP servers, problems with their remedies, and counters.

use axum::{Extension, extract::State, response::Response};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::atomic::Ordering, time::UNIX_EPOCH};

use crate::{
    client::front::Kind,
    mcp::pool::{Called, Status},
    redact,
    server::{counts::only_listed, reply, sender::Sender, state::App, survey},
};

pub(super) async fn status(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let surveyed = match survey::survey(&app, None, &[]).await {
        Ok(surveyed) => surveyed,
        Err(error) => return reply::error(Kind::OpenAi, &error),
    };
    let mut problems = survey::problems(&surveyed, None, &survey::places(&app));
    let (lists, chats) = (app.process.counts.lists.load(Ordering::Relaxed), app.process.counts.chats.load(Ordering::Relaxed));
    if lists > 0 && chats == 0 {
        problems.push(only_listed(lists));
    }
    let settings = &app.process.settings;
    let setup = (settings.setup)(&settings.config.listen).into_iter().map(|(name, text)| (name, Value::from(text)));
    let counts = app.process.page.counts(&sender.tenant.name);
    reply::json(&json!({
        "setup": setup.collect::<Map<_, _>>(),
        "version": env!("CARGO_PKG_VERSION"),
        "backends": surveyed,
        "problems": problems,
        "servers": app.process.mcp.pool().status().iter().map(|status| server(&app, status)).collect::<Vec<_>>(),
        "counts": counts.iter().map(|(model, counts)| json!({"model": model, "counts": counts})).collect::<Vec<_>>(),
        "rules": app.turns.tally.rules().collect::<BTreeMap<_, _>>(),
        "bypass": app.process.bypass.active(&sender.tenant.name).iter().map(|(model, left)| json!({"model": model, "seconds": left})).collect::<Vec<_>>(),
    }))
}

/// A server of the registry, with its latest calls.
fn server(app: &App, status: &Status) -> Value {
    let mut value = status.to_value();
    let calls = app.process.mcp.pool().latest_calls(&status.name);
    let call = |called: &Called| {
        let at = called.at.duration_since(UNIX_EPOCH).map_or(0, |at| at.as_millis() as u64);
        json!({"tool": redact::line(&called.tool), "failed": called.failed, "at": at, "ms": called.took.as_millis() as u64})
    };
    value["calls"] = calls.iter().map(call).collect();
    value
}
