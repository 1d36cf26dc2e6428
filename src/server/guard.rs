//! The checks before every route: Host (against DNS rebinding), Origin (against foreign web pages), Via (against loops), the
//! client key, and the content type of a body. MCP routes are stricter than the routes of models, because tools act on this
//! machine: a web page must come from this very server, or have the token. The page's own routes admit only the page itself.
//! Origins in `allowed_origins` may use everything. A route that no table here names is for operators only. A server that is
//! about to end lets nothing pass. They find out who sent a request, and what the sender may do.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::Request,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

use super::{account::Account, forward, page, received::text, reply, state::App};
use crate::{
    config::{Config, Mode, Tenant, bearer},
    error::Error,
    mcp::engine,
    store::{Key, Kind},
};

/// The local address that a client has connected to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Local(pub(super) SocketAddr);

/// The sender of a request, as identified by the checks.
#[derive(Debug, Clone, Default)]
pub(super) struct Sender {
    /// The owner of its key; the one local user if no key is required.
    pub(super) tenant: Arc<Tenant>,
    /// Whether it is a page of another server on this machine, which may use models but not tools.
    pub(super) is_neighbour: bool,
}

const MINUTE: Duration = Duration::from_secs(60);
/// Schemes of desktop applications: no web page can have such an origin.
const APPLICATIONS: &[&str] = &["vscode-file://", "vscode-webview://", "app://", "tauri://"];
/// Paths that need no key: the state of the server, for load balancers and clients of Ollama; and the empty page, which asks for
/// the key.
const OPEN: &[&str] = &["/", "/healthz", "/readyz", page::CSS, page::SCRIPT];
/// The headers in which clients send a key, apart from `Authorization: Bearer`: Anthropic's, Azure's and Google's.
const KEY_HEADERS: &[&str] = &["x-api-key", "api-key", "x-goog-api-key"];
/// How far the page of a request is from this server. Browsers send it where they send no `Origin`, too.
const SEC_FETCH_SITE: &str = "sec-fetch-site";
/// Path prefixes of the routes of models.
const PREFIXES: &[&str] = &["off", "shell", "react", "void"];
/// Paths on which tools are used, not managed: open to tenants.
const TOOL_PATHS: &[&str] = &["/generate", "/generate_with_mcp", "/mcp", "/sse", "/sse/message"];
/// The first segments of the MCP routes.
const MCP_ROUTES: &[&str] = &["mcp", "sse"];
/// The first segments of the routes of models, after a path prefix if there is one. Open to tenants and to pages on this machine.
/// A new front needs its segment here.
const MODEL_ROUTES: &[&str] = &["v1", "v1beta", "api", "models", "chat", "completions", "embeddings", "messages", "responses"];

impl Sender {
    /// Counts a request about a model.
    ///
    /// # Errors
    /// 429 if the sender exceeds its `requests_per_minute`, counted over all instances.
    pub(super) async fn count(&self, app: &App) -> Result<(), Error> {
        let Some(most) = self.tenant.requests_per_minute else { return Ok(()) };
        let key = Key { tenant: self.tenant.name.clone(), kind: Kind::Requests, id: String::new() };
        let (count, left) = app.turns.store.count(&key, MINUTE).await;
        if count <= u64::from(most.get()) {
            return Ok(());
        }
        let seconds = left.as_secs() + 1;
        let what = format!("your key is for {most} requests per minute; the next one is possible in {seconds} s");
        let mut error = Error::client(what).with_status(429).with_code("rate_limit_exceeded");
        error.headers.push(("retry-after".into(), seconds.to_string()));
        Err(error)
    }

    /// Checks the mode. `asked`: the mode that the request itself chose.
    ///
    /// # Errors
    /// 403 if the sender may not use the mode, or the request may not choose it.
    pub(super) fn check(&self, config: &Config, asked: Option<Mode>, mode: Mode) -> Result<(), Error> {
        if let (Some(asked), Some(open)) = (asked, &config.access.modes)
            && !open.contains(&asked)
        {
            let open: Vec<&str> = open.iter().map(|mode| mode.name()).collect();
            let what =
                format!("requests may not choose mode `{}` here; `modes` in proxy.toml has: {}", asked.name(), open.join(", "));
            return Err(Error::client(what).with_status(403).with_code("mode_not_allowed"));
        }
        if let Some(own) = self.tenant.modes.as_ref().filter(|own| !own.contains(&mode)) {
            let own: Vec<&str> = own.iter().map(|mode| mode.name()).collect();
            let what = format!("your key is not for mode `{}`; it is for: {}", mode.name(), own.join(", "));
            return Err(Error::client(what).with_status(403).with_code("mode_not_allowed"));
        }
        if self.is_neighbour && matches!(mode, Mode::Shell | Mode::React) {
            let what = "a web page may not use mode `react` or `shell`, which act on this machine; if it is yours, add its origin to \
                        `allowed_origins` in proxy.toml";
            return Err(Error::client(what).with_status(403).with_code("origin_not_allowed"));
        }
        Ok(())
    }
}

/// Runs the checks, answers preflight requests, and adds the CORS headers for an admitted page.
pub(super) async fn guard<R>(app: App, mut request: Request, next: impl FnOnce(Request) -> R) -> Response
where
    R: Future<Output = Response>,
{
    if let Some(refusal) = app.process.ending.refusal(request.uri().path()) {
        return refusal;
    }
    let origin = request.headers().get(header::ORIGIN).cloned();
    let sender = match check(&app, &mut request) {
        Ok(sender) => sender,
        Err(error) => {
            tracing::warn!(path = request.uri().path(), %error, "refused");
            let mut refusal = reply::error_at(request.uri().path(), &error);
            if error.status == 401 {
                refusal.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            return refusal;
        }
    };
    if let Some(account) = request.extensions().get::<Account>() {
        account.facts().tenant.clone_from(&sender.tenant.name);
    }
    let (name, servers) = (sender.tenant.name.as_str().into(), sender.tenant.mcp_servers.clone().map(Arc::from));
    request.extensions_mut().insert(engine::Caller { name, servers });
    request.extensions_mut().insert(sender);
    let mut response = match (request.method(), &origin) {
        (&Method::OPTIONS, Some(_)) => preflight(request.headers()),
        _ => next(request).await,
    };
    if let Some(origin) = origin {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

fn check(app: &App, request: &mut Request) -> Result<Sender, Error> {
    let config = &app.config;
    let local = request.extensions().get::<Local>().map(|local| local.0.ip());
    check_host(config, local, request.uri(), request.headers())?;
    let is_neighbour = check_origin(config, request.uri(), request.headers())?;
    if forward::has_come_back(&app.process.instance, request.headers()) {
        let what = "this request has come back to the toolglot that sent it: a backend points at the proxy itself";
        return Err(Error::proxy(what).with_status(508).with_code("loop_detected"));
    }
    let is_preflight = request.method() == Method::OPTIONS && request.headers().contains_key(header::ORIGIN);
    let tenant = if is_preflight { Arc::default() } else { check_key(config, request)? };
    if !tenant.operator && !is_for_tenants(request.uri().path()) {
        let what =
            format!("the key of `{}` is not an operator's (`operator = true`), and only operators may use this", tenant.name);
        return Err(Error::client(what).with_status(403).with_code("operators_only"));
    }
    if request.method() == Method::POST && !is_json(request.headers()) && !is_plain_tool(request.headers()) {
        return Err(Error::client("the body must be declared as JSON (`content-type: application/json`)").with_status(415));
    }
    if let Some(coding) = text(request.headers(), header::CONTENT_ENCODING).filter(|coding| *coding != "identity") {
        let what = format!("the body is compressed (`content-encoding: {coding}`), which is not supported: send it as it is");
        return Err(Error::client(what).with_status(415));
    }
    Ok(Sender { tenant, is_neighbour })
}

fn check_host(config: &Config, local: Option<IpAddr>, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
    let forbidden = |what: String| Err(Error::client(what).with_status(403).with_code("host_not_allowed"));
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(Error::client("the request has more than one Host header"));
    }
    let Some(authority) = authority(uri, headers) else {
        return forbidden("the request has no Host header".into());
    };
    let host = host_of(authority).to_ascii_lowercase();
    let is_own = |ip: IpAddr| local == Some(ip) || config.listen.addresses.iter().any(|address| address.ip() == ip);
    if is_loopback(&host) || host.parse().is_ok_and(is_own) || config.allowed_hosts.contains(&host) {
        return Ok(());
    }
    forbidden(format!("the host name `{host}` is not allowed; if it is yours, add it to `allowed_hosts` in proxy.toml"))
}

/// The server that the request is for: an absolute target goes before the header (RFC 9112, section 3.2.2).
fn authority<'r>(uri: &'r Uri, headers: &'r HeaderMap) -> Option<&'r str> {
    uri.authority().map(|authority| authority.as_str()).or(text(headers, header::HOST))
}

/// Whether the request comes from a page of another server on this machine. Fails for pages that are not admitted.
fn check_origin(config: &Config, uri: &Uri, headers: &HeaderMap) -> Result<bool, Error> {
    let refused = |what: String| {
        let what = format!("{what}; if it is yours, add it to `allowed_origins` in proxy.toml");
        Err(Error::client(what).with_status(403).with_code("origin_not_allowed"))
    };
    let Some(origin) = headers.get(header::ORIGIN) else {
        // A page loads such an address as an image or a script, or links to it; the page's own files may be linked to.
        let is_foreign = matches!(text(headers, SEC_FETCH_SITE), Some("cross-site" | "same-site"));
        return match is_foreign && !OPEN.contains(&uri.path()) && !has_mcp_token(config, headers) {
            true => refused("other pages may not load this".to_owned()),
            false => Ok(false),
        };
    };
    let origin = origin.to_str().unwrap_or_default().to_ascii_lowercase();
    if config.allowed_origins.contains(&origin) {
        return Ok(false);
    }
    let page = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let is_own = page.is_some_and(|page| Some(page) == authority(uri, headers));
    let is_admitted = is_own || has_mcp_token(config, headers);
    if is_mcp_route(uri.path()) {
        return if is_admitted { Ok(false) } else { refused(format!("pages from `{origin}` may not use MCP here")) };
    }
    if page::is_surface(uri.path()) {
        return if is_own { Ok(false) } else { refused(format!("pages from `{origin}` may not read this one")) };
    }
    match page {
        None if APPLICATIONS.iter().any(|scheme| origin.starts_with(scheme)) => Ok(false),
        Some(authority) if is_loopback(host_of(authority)) && is_model_route(uri.path()) => Ok(!is_admitted),
        _ => refused(format!("requests of pages from `{origin}` are not allowed")),
    }
}

/// The owner of the request's key. Removes the key, and the token of the MCP routes, from the request, so that no backend gets it.
fn check_key(config: &Config, request: &mut Request) -> Result<Arc<Tenant>, Error> {
    let is_token = !is_mcp_route(request.uri().path()) && has_mcp_token(config, request.headers());
    let headers = request.headers();
    let authorization = text(headers, header::AUTHORIZATION).and_then(bearer).map(|key| (header::AUTHORIZATION.as_str(), key));
    let mut given = authorization.into_iter().chain(KEY_HEADERS.iter().filter_map(|name| Some((*name, text(headers, *name)?))));
    let found = given.find_map(|(header, key)| Some((header, Arc::clone(config.access.tenant_of(key)?))));
    if let Some((header, _)) = &found {
        request.headers_mut().remove(*header);
    }
    // A client's key may be the same word.
    if is_token {
        request.headers_mut().remove(header::AUTHORIZATION);
    }
    if config.access.keys.is_empty() {
        return Ok(Arc::default());
    }
    if let Some((_, tenant)) = found {
        return Ok(tenant);
    }
    let path = request.uri().path();
    if OPEN.contains(&path) || is_mcp_route(path) && has_mcp_token(config, request.headers()) {
        return Ok(Arc::default());
    }
    let what = "this server needs a key of its own: send it as `Authorization: Bearer KEY`, `x-api-key` or `api-key`";
    Err(Error::client(what).with_status(401).with_code("invalid_api_key"))
}

/// Whether tenants that are not operators may use this path: models in every API, tools over MCP, the state of the server.
fn is_for_tenants(path: &str) -> bool {
    let bare = without_prefix(path);
    // A prefix alone is the root: clients of Ollama look whether a server is there.
    let is_root = bare != path && matches!(bare, "" | "/");
    OPEN.contains(&path) || TOOL_PATHS.contains(&path) || is_root || is_model_route(path)
}

/// Whether this is a route of models, in any API: open to tenants and to pages on this machine.
fn is_model_route(path: &str) -> bool {
    without_prefix(path).split('/').nth(1).is_some_and(|first| MODEL_ROUTES.contains(&first))
}

/// The path after its prefix (`/react`), if it has one.
fn without_prefix(path: &str) -> &str {
    let first = path.split('/').nth(1).filter(|first| PREFIXES.contains(first));
    first.and_then(|first| path.get(1 + first.len()..)).unwrap_or(path)
}

/// The host of `host`, `host:port`, `[v6]`, `[v6]:port`, without brackets; `""` for anything else.
fn host_of(authority: &str) -> &str {
    let (host, port) = match authority.strip_prefix('[') {
        Some(v6) => v6.split_once(']').unwrap_or_default(),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if port.is_empty() || port.strip_prefix(':').is_some_and(is_port) { host } else { "" }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

fn is_mcp_route(path: &str) -> bool {
    path.split('/').nth(1).is_some_and(|first| MCP_ROUTES.contains(&first))
}

/// Whether a request has the token of the MCP routes (`mcp.token_env`).
fn has_mcp_token(config: &Config, headers: &HeaderMap) -> bool {
    let given = text(headers, header::AUTHORIZATION);
    config.mcp.serving.token.as_ref().zip(given).is_some_and(|(token, given)| token.is_bearer_of(given))
}

/// Whether the request comes from a tool such as `curl -d`, which declares a form. Browsers always add a header about their page.
fn is_plain_tool(headers: &HeaderMap) -> bool {
    let declared = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    let is_page = headers.keys().any(|name| *name == header::ORIGIN || name.as_str().starts_with("sec-fetch-"));
    !is_page && declared.is_none_or(|declared| declared == b"application/x-www-form-urlencoded")
}

fn is_json(headers: &HeaderMap) -> bool {
    let declared = text(headers, header::CONTENT_TYPE).unwrap_or_default();
    let media = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"))
}

fn preflight(headers: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let out = response.headers_mut();
    out.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    let wanted = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.unwrap_or(HeaderValue::from_static("authorization, content-type")));
    out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

#[cfg(test)]
mod tests {
    use http::HeaderName;

    use super::*;
    use crate::config::Secret;

    #[test]
    fn a_page_without_an_origin_loads_nothing_of_another_server() {
        let config = Config::parse("", None, &Default::default(), &Default::default()).unwrap();
        for (path, site, admitted) in [
            ("/sse", "cross-site", false),
            ("/ui/events", "cross-site", false),
            ("/react/v1/chat/completions", "cross-site", false),
            ("/v1/models", "same-site", false),
            ("/ui/events", "same-origin", true),
            ("/v1/models", "none", true),
            ("/", "cross-site", true),
            ("/healthz", "cross-site", true),
            ("/sse", "", true),
        ] {
            let headers = [(HeaderName::from_static(SEC_FETCH_SITE), HeaderValue::from_static(site))];
            let headers = headers.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            assert_eq!(check_origin(&config, &Uri::from_static(path), &headers).is_ok(), admitted, "{path} {site}");
        }
    }

    #[test]
    fn a_page_of_the_host_header_is_not_one_of_the_target() {
        let config = Config::parse("", None, &Default::default(), &Default::default()).unwrap();
        let headers = |host: &'static str| {
            let given = [(header::HOST, host), (header::ORIGIN, "http://evil.example")];
            given.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect()
        };
        let target = Uri::from_static("http://localhost:8000/ui/turns");
        assert!(check_origin(&config, &target, &headers("evil.example")).is_err());
        assert!(check_host(&config, None, &Uri::from_static("http://evil.example/ui/turns"), &headers("localhost")).is_err());
    }

    #[test]
    fn only_pages_of_this_server_and_holders_of_the_token_use_mcp() {
        let mut config = Config::parse("", None, &Default::default(), &Default::default()).unwrap();
        config.mcp.serving.token = Some(Secret::new("t0ken"));
        let (is_admitted, uri) = (Ok(false), Uri::from_static("/mcp"));
        for (origin, authorization, admitted) in [
            ("", "", true),
            ("http://127.0.0.1:8000", "", true),
            ("https://127.0.0.1:8000", "", true),
            ("http://localhost:8000", "", false),
            ("http://127.0.0.1:3000", "", false),
            ("http://evil.example", "", false),
            ("null", "", false),
            ("vscode-webview://x", "", false),
            ("http://evil.example", "Bearer t0ken", true),
            ("http://evil.example", "Bearer wrong", false),
        ] {
            let given = [(header::HOST, "127.0.0.1:8000"), (header::ORIGIN, origin), (header::AUTHORIZATION, authorization)];
            let given = given.into_iter().filter(|(_, value)| !value.is_empty());
            let headers = given.map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
            let checked = check_origin(&config, &uri, &headers).map_err(|error| error.code);
            let refused = Err(Some("origin_not_allowed".to_owned()));
            assert_eq!(checked, if admitted { is_admitted.clone() } else { refused }, "{origin} {authorization}");
        }
        for (path, expected) in
            [("/mcp", true), ("/mcp/add", true), ("/sse", true), ("/sse/message", true), ("/mcpx", false), ("/v1/models", false)]
        {
            assert_eq!(is_mcp_route(path), expected, "{path}");
        }
    }
}
