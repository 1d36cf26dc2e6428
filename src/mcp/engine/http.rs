//! The MCP routes: streamable HTTP at `/mcp`, the older SSE transport at `/sse`, the registry under `/mcp/`. Clients may be
//! given either address, so both accept both transports if the request shows which one it means.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    response::{IntoResponse, Response},
    routing::{any, delete, get, post},
};
use http::{HeaderMap, HeaderValue, Method, header};
use rmcp::transport::streamable_http_server::{StreamableHttpService, session::never::NeverSessionManager};

use super::{Engine, REQUEST_BYTES, edits, requests::Requests, sessions::Sessions, sse};

#[derive(Clone)]
struct Routes {
    engine: Engine,
    sessions: StreamableHttpService<Requests, Sessions>,
    /// For callers that post a single request and read a single answer.
    direct: StreamableHttpService<Requests, NeverSessionManager>,
}

impl Engine {
    /// All routes of our MCP server and of the registry. Checks of Host, Origin and key belong in front of them
    /// (`server::guard`).
    pub fn routes<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        let make = |engine: &Engine| {
            let shared = Arc::clone(&engine.shared);
            move || Ok(Requests::new(Arc::clone(&shared)))
        };
        let config = self.shared.http.clone();
        let direct = config.clone().with_legacy_session_mode(false).with_json_response(true);
        let sessions = Sessions::new(self.shared.options.sessions);
        let routes = Routes {
            engine: self.clone(),
            sessions: StreamableHttpService::new(make(self), Arc::new(sessions), config),
            direct: StreamableHttpService::new(make(self), Arc::default(), direct),
        };
        Router::new()
            .route("/mcp", any(streamable))
            .route("/sse", any(either))
            .with_state(routes)
            .merge(
                Router::new()
                    .route("/sse/message", post(sse::message))
                    .route("/mcp/add", post(edits::add))
                    .route("/mcp/remove", delete(edits::remove))
                    .route("/mcp/list", get(edits::list))
                    .with_state(self.clone()),
            )
            .layer(DefaultBodyLimit::max(REQUEST_BYTES))
    }
}

/// `/mcp`.
async fn streamable(State(routes): State<Routes>, request: Request) -> Response {
    routes.streamable(request).await
}

/// `/sse`: a GET without a session is of the old dialect, everything else of the new one.
async fn either(State(routes): State<Routes>, request: Request) -> Response {
    if request.method() == Method::GET && !request.headers().contains_key(SESSION) {
        return sse::open(&routes.engine);
    }
    routes.streamable(request).await
}

impl Routes {
    async fn streamable(&self, mut request: Request) -> Response {
        if request.method() == Method::POST && !request.headers().contains_key(SESSION) && !takes_events(request.headers()) {
            request.headers_mut().insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
            return self.direct.handle(request).await.map(Body::new).into_response();
        }
        self.sessions.handle(request).await.map(Body::new).into_response()
    }
}

const SESSION: &str = "mcp-session-id";

fn takes_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.into_iter().any(|value| value.contains("text/event-stream"))
}
