//! `GET /ui/state`: the state of backends, models and MCP servers, problems with their remedies, and counters. `GET /ui/tools` and
//! `POST /ui/tool`: list the tools of the MCP servers, and run one for the person at the page. The two are for operators only,
//! because a tool may change things on this machine.

use std::{
    collections::BTreeMap,
    sync::atomic::Ordering,
    time::{Duration, Instant, UNIX_EPOCH},
};

use axum::{
    Extension,
    extract::{Request, State},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    client::front::Kind,
    error::Error,
    mcp::{
        catalogue::{Catalogue, Offered},
        pool::{Call, Called, PATIENCE, Status},
        registry::Permission,
    },
    redact,
    server::{account::milliseconds, guard::Sender, metrics::only_listed, received::Received, reply, state::App, survey},
};

/// How long a tool may take while a person waits.
const LONGEST: Duration = Duration::from_secs(120);
#[derive(Deserialize)]
struct Asked {
    /// The name under which it is offered.
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

pub(super) async fn status(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let surveyed = match survey::survey(&app, None, &[]).await {
        Ok(surveyed) => surveyed,
        Err(error) => return reply::error(Kind::OpenAi, &error),
    };
    let mut problems = survey::problems(&surveyed, None, &survey::places(&app));
    let seen = &app.process.metrics;
    let (lists, chats) = (seen.lists.load(Ordering::Relaxed), seen.chats.load(Ordering::Relaxed));
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
        let at = called.at.duration_since(UNIX_EPOCH).map_or(0, milliseconds);
        json!({"tool": redact::line(&called.tool), "failed": called.failed, "at": at, "ms": milliseconds(called.took)})
    };
    value["calls"] = calls.iter().map(call).collect();
    value
}

/// The tools as models see them, and why others are not there.
pub(super) async fn tools(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let Catalogue { tools, problems, .. } = offered(&app, &sender).await;
    let problems: Vec<Value> =
        problems.iter().map(|problem| json!({"server": problem.server, "message": redact::line(&problem.message)})).collect();
    reply::json(&json!({"tools": tools.iter().map(described).collect::<Vec<_>>(), "problems": problems}))
}

/// Runs a tool. Pressing the button is the consent.
pub(super) async fn run(app: App, request: Request) -> Result<Response, Error> {
    let (received, asked) = Received::json::<Asked>(&app, request, "{\"name\": ..., \"arguments\": {...}}").await?;
    let catalogue = offered(&app, &received.sender).await;
    let tool = catalogue.tools.iter().find(|tool| tool.wire_name == asked.name);
    let tool = tool.ok_or_else(|| Error::client(format!("there is no tool `{}`", redact::line(&asked.name))).with_status(404))?;
    let begun = Instant::now();
    let call = Call { consent: true, timeout: Some(LONGEST), ..Call::default() };
    let response = app.process.mcp.pool().call(&tool.service, asked.arguments, &call).await;
    tracing::info!(server = tool.service.server, tool = tool.service.tool, failed = response.is_error(), "tried on the page");
    let ms = milliseconds(begun.elapsed());
    Ok(reply::json(&json!({"failed": response.is_error(), "ms": ms, "text": response.to_text()})))
}

/// The tools that this sender may use.
async fn offered(app: &App, sender: &Sender) -> Catalogue {
    app.process.mcp.pool().tools(sender.tenant.servers(None).as_deref(), PATIENCE).await
}

fn described(offered: &Offered) -> Value {
    json!({
        "name": offered.wire_name,
        "server": offered.service.server,
        "tool": offered.service.tool,
        "description": offered.description,
        "schema": serde_json::from_str::<Value>(&offered.schema).unwrap_or_default(),
        "effect": offered.effect.as_str(),
        "asks": offered.permission == Permission::Ask,
        "tokens": offered.tokens(),
    })
}
