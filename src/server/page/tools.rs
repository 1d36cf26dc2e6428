//! `GET /ui/tools` and `POST /ui/tool`: list the tools of the MCP servers, and run one for the person at the page. For
//! operators only, because a tool may change things on this machine.

use std::time::{Duration, Instant};

use axum::{
    Extension,
    extract::{Request, State},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    error::Error,
    mcp::{
        catalogue::{Catalogue, Offered},
        pool::{Call, PATIENCE},
        registry::Permission,
    },
    redact,
    server::{facts::milliseconds, received::Received, reply, sender::Sender, state::App},
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

/// The tools as models see them, and why others are not there.
pub(super) async fn list(State(app): State<App>, Extension(sender): Extension<Sender>) -> Response {
    let Catalogue { tools, problems, .. } = offered(&app, &sender).await;
    let problems: Vec<Value> =
        problems.iter().map(|problem| json!({"server": problem.server, "message": redact::line(&problem.message)})).collect();
    reply::json(&json!({"tools": tools.iter().map(tool).collect::<Vec<_>>(), "problems": problems}))
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

fn tool(offered: &Offered) -> Value {
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
