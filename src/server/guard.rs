//! The checks that stand before every route: nobody else's web page may use the models of this machine (Host against DNS
//! rebinding, Origin against foreign pages), no request runs in a circle (Via), a body says that it is JSON.

use std::net::IpAddr;

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};

use super::{reply, state::App};
use crate::{config::Config, error::Error, mcp::engine};

/// Schemes of desktop applications: no web page can have such an origin.
const APPLICATIONS: &[&str] = &["vscode-file://", "vscode-webview://", "app://", "tauri://"];

/// Who sent a request, as far as the checks found out.
#[derive(Debug, Clone, Default)]
pub(super) struct Sender {
    /// The name of the client key that it carried; `""` where none is asked for.
    pub(super) name: String,
}

/// Runs the checks, answers preflight requests, and lets the page read the answer.
pub(super) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    if let Err(error) = check(&app.config, &app.instance, request.method(), request.uri(), request.headers()) {
        tracing::warn!(path = request.uri().path(), %error, "refused");
        return reply::error_at(request.uri().path(), &error);
    }
    let mut response = match (request.method(), &origin) {
        (&Method::OPTIONS, Some(_)) => preflight(request.headers()),
        _ => next.run(request).await,
    };
    if let Some(origin) = origin {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

fn check(config: &Config, instance: &Instance, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
    check_host(config, uri, headers)?;
    check_origin(config, uri, headers)?;
    if instance.made(headers) {
        return Err(Error::proxy(
            "this request has come back to the toolglot that sent it: a backend points at the proxy itself",
        )
        .with_status(508)
        .with_code("loop_detected"));
    }
    if method == Method::POST && !is_json(headers) {
        return Err(Error::client("the body must be declared as JSON (`content-type: application/json`)").with_status(415));
    }
    Ok(())
}

fn check_host(config: &Config, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
    let forbidden = |what: String| Err(Error::client(what).with_status(403).with_code("host_not_allowed"));
    let authority =
        headers.get(header::HOST).and_then(|host| host.to_str().ok()).or(uri.authority().map(|authority| authority.as_str()));
    let Some(authority) = authority else {
        return forbidden("the request has no Host header".into());
    };
    let host = host_of(authority).to_ascii_lowercase();
    let is_own = host.parse::<IpAddr>().is_ok_and(|ip| config.listen.addresses.iter().any(|address| address.ip() == ip));
    match is_loopback(&host) || is_own || config.allowed_hosts.contains(&host) {
        true => Ok(()),
        false => {
            forbidden(format!("the host name `{host}` is not allowed; if it is yours, add it to `allowed_hosts` in proxy.toml"))
        }
    }
}

fn check_origin(config: &Config, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
    if engine::is_surface(uri.path()) {
        return check_mcp_origin(config, &origin, headers);
    }
    let page = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let allowed = match page {
        Some(_) if config.allowed_origins.contains(&origin) => true,
        Some(authority) => is_loopback(host_of(authority)) && speaks_to_models(uri.path()),
        None => APPLICATIONS.iter().any(|scheme| origin.starts_with(scheme)),
    };
    match allowed {
        true => Ok(()),
        false => Err(Error::client(format!(
            "requests of pages from `{origin}` are not allowed; if it is yours, add it to `allowed_origins` in proxy.toml"
        ))
        .with_status(403)
        .with_code("origin_not_allowed")),
    }
}

/// Tools act on this machine: the MCP routes take pages of this very server, configured ones, and whoever has the token.
fn check_mcp_origin(config: &Config, origin: &str, headers: &HeaderMap) -> Result<(), Error> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let caller = engine::Caller { origin: Some(origin), host: text(header::HOST), authorization: text(header::AUTHORIZATION) };
    match engine::admits(&caller, config.mcp.token.as_ref()) || config.allowed_origins.iter().any(|own| own == origin) {
        true => Ok(()),
        false => Err(Error::client(format!(
            "pages from `{origin}` may not use MCP here; if it is yours, add it to `allowed_origins` in proxy.toml"
        ))
        .with_status(403)
        .with_code("origin_not_allowed")),
    }
}

/// The host of `host`, `host:port`, `[v6]`, `[v6]:port`, without brackets.
fn host_of(authority: &str) -> &str {
    match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The routes that pages on this machine may use: the models, in OpenAI's API and in Ollama's.
fn speaks_to_models(path: &str) -> bool {
    const OPENAI: &[&str] = &["/models", "/chat/completions", "/completions", "/embeddings"];
    const OLLAMA: &[&str] =
        &["/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/tags", "/api/show", "/api/version"];
    OPENAI.iter().chain(OLLAMA).any(|route| path.ends_with(route)) || path.contains("/models/")
}

fn is_json(headers: &HeaderMap) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"))
}

fn preflight(headers: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let out = response.headers_mut();
    out.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, OPTIONS"));
    let wanted = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.unwrap_or(HeaderValue::from_static("authorization, content-type")));
    out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if headers.contains_key(HeaderName::from_static("access-control-request-private-network")) {
        out.insert(HeaderName::from_static("access-control-allow-private-network"), HeaderValue::from_static("true"));
    }
    response
}

/// Which process a request has passed through: one name per start, written into `Via`.
#[derive(Debug, Clone)]
pub(super) struct Instance {
    name: String,
}

// === impl Instance ===

impl Instance {
    /// A name that no other start has.
    pub(super) fn new() -> Instance {
        Instance { name: format!("toolglot-{}", uuid::Uuid::new_v4().simple()) }
    }

    /// Whether a request with these headers has passed through this process already.
    fn made(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).any(|hop| hop.split_whitespace().nth(1) == Some(self.name.as_str()))
    }

    /// The `Via` header for what we send because of a request with these headers.
    pub(super) fn via(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let before = headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok());
        let hops: Vec<&str> = before.collect();
        let own = format!("1.1 {}", self.name);
        HeaderValue::from_str(&match hops.is_empty() {
            true => own,
            false => format!("{}, {own}", hops.join(", ")),
        })
        .ok()
    }
}
