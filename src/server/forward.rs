//! Forwards requests unchanged: mode `off`, text completions and embeddings, in OpenAI's API and in Ollama's. toolglot reads
//! only the model's name, which selects the backend. The backend's key is masked where the backend repeats it: in the headers of
//! an answer, and in its body, line by line.

use std::borrow::Cow;

use axum::{body::Body, response::Response, routing::MethodRouter};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use super::{
    answer::in_form,
    received::Received,
    state::{App, Live},
};
use crate::{
    backend::{self, Backend, Kind},
    client::front,
    error::Error,
    redact,
    upstream::{self, HttpRequest, Outgoing},
};

/// The headers of W3C Trace Context.
const TRACE_CONTEXT: [HeaderName; 2] = [HeaderName::from_static("traceparent"), HeaderName::from_static("tracestate")];

/// An endpoint of a backend's own, by the API that it belongs to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Endpoint {
    /// The path after `/v1`.
    OpenAi(&'static str),
    /// The whole path.
    Ollama(&'static str),
}

/// Whether a request with these headers has passed through this process already, whose name in `Via` is `own`.
pub(super) fn has_come_back(own: &str, headers: &HeaderMap) -> bool {
    hops(headers).flat_map(|value| value.split(',')).any(|hop| hop.split_whitespace().nth(1) == Some(own))
}

/// The headers that say, in what this process sends because of a request with these headers, which way it came and to which trace
/// it belongs (`traceparent`, `tracestate`: <https://www.w3.org/TR/trace-context/>).
pub(super) fn onward(own: &str, headers: &HeaderMap) -> HeaderMap {
    let given = |name: &HeaderName| headers.get(name).filter(|value| !value.is_empty()).cloned();
    let traced = TRACE_CONTEXT.into_iter().filter_map(|name| given(&name).map(|value| (name, value)));
    let own = format!("1.1 {own}");
    let hops: Vec<&str> = hops(headers).chain([own.as_str()]).collect();
    let via = HeaderValue::from_str(&hops.join(", ")).ok();
    traced.chain(via.map(|via| (header::VIA, via))).collect()
}

fn hops(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok())
}

/// Headers that belong to one connection (RFC 9110, section 7.6.1), or that we write ourselves.
const OURS: &[&str] = &[
    "connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length", "te", "trailer", "upgrade",
    "proxy-authenticate", "proxy-authorization",
];
/// Whom a backend would let read its answers is not whom we let.
const ACCESS: &str = "access-control-allow-";

/// The longest error of a backend that is passed on, in bytes.
const ERROR_BYTES: usize = 1024 * 1024;

/// A longer line leaves in pieces, in bytes: a list of embeddings is one line.
const LINE_BYTES: usize = 64 * 1024;

pub(super) fn route(endpoint: Endpoint) -> MethodRouter<Live> {
    in_form(endpoint.front(), move |app, request| async move {
        let (received, target) = Received::with_target(&app, request, endpoint.front()).await?;
        forward(&app, &target.backend, endpoint, received).await
    })
}

/// Sends the body to the backend's own endpoint and passes on what it answers.
pub(super) async fn forward(app: &App, backend: &Backend, endpoint: Endpoint, received: Received) -> Result<Response, Error> {
    let mut answer = send(app, backend, endpoint, &received.headers, received.body).await?;
    let body = if answer.status.is_client_error() || answer.status.is_server_error() {
        let said = answer.collect(ERROR_BYTES).await.unwrap_or_default();
        Body::from(masked(backend, &said).unwrap_or(said))
    } else {
        Body::from_stream(stream(answer.body, backend.secrets().map(str::to_owned).collect()))
    };
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    // `Connection` may name further headers of its own connection.
    let named = answer.headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<String> = named.flat_map(|list| list.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    let is_own = |name: &str| OURS.contains(&name) || name.starts_with(ACCESS) || named.iter().any(|own| own == name);
    let passed = answer.headers.iter().filter(|(name, _)| !is_own(name.as_str()));
    response.headers_mut().extend(passed.filter_map(|(name, value)| {
        let value = match masked(backend, value.as_bytes()) {
            Some(masked) => HeaderValue::from_bytes(&masked).ok()?,
            None => value.clone(),
        };
        Some((name.clone(), value))
    }));
    Ok(response)
}

/// Sends the body to the backend's own endpoint; gives its answer.
pub(super) async fn send(
    app: &App,
    backend: &Backend,
    endpoint: Endpoint,
    headers: &HeaderMap,
    body: Bytes,
) -> Result<upstream::Response, Error> {
    let url = endpoint.at(backend)?;
    let given = |name: HeaderName| headers.get(&name).map(|value| (name, value.clone()));
    let mut sent: HeaderMap = [header::CONTENT_TYPE, header::ACCEPT].into_iter().filter_map(given).collect();
    sent.extend(backend.authorization(headers.get(header::AUTHORIZATION)).map(|value| (header::AUTHORIZATION, value)));
    sent.extend(backend.extra_headers.clone());
    sent.extend(onward(&app.process.instance, headers));
    backend.wait_for_quota(&*app.turns.store).await?;
    app.turns.client.send(&Outgoing::Http(HttpRequest { method: Method::POST, url, headers: sent, body })).await
}

/// The answer, if it is no error.
///
/// # Errors
/// What the backend said.
pub(super) async fn accepted(backend: &Backend, mut answer: upstream::Response) -> Result<upstream::Response, Error> {
    if answer.status.is_success() {
        return Ok(answer);
    }
    let said = answer.collect(ERROR_BYTES).await.unwrap_or_default();
    Err(backend::refusal_of(backend, answer.status.as_u16(), &said).without(backend.secrets()))
}

impl Endpoint {
    /// The protocol of its clients.
    fn front(self) -> front::Kind {
        match self {
            Endpoint::OpenAi(_) => front::Kind::OpenAi,
            Endpoint::Ollama(_) => front::Kind::Ollama,
        }
    }

    /// Its URL at a backend, if that has it.
    fn at(self, backend: &Backend) -> Result<String, Error> {
        let (api, path) = match (self, backend.kind) {
            (Endpoint::OpenAi(path), Kind::OpenAi) | (Endpoint::Ollama(path), Kind::Ollama) => {
                return Ok(format!("{}{path}", backend.url));
            }
            (Endpoint::OpenAi(path), Kind::Ollama) => return Ok(format!("{}/v1{path}", backend.url)),
            (Endpoint::OpenAi(path), _) => ("OpenAI", path),
            (Endpoint::Ollama(path), _) => ("Ollama", path),
        };
        let name = &backend.name;
        Err(Error::client(format!("the backend `{name}` has no {path} in {api}'s API to pass this on to"))
            .with_status(501)
            .with_code("not_supported"))
    }
}

/// The bytes with the secrets of this backend masked, if they hold any.
fn masked(backend: &Backend, bytes: &[u8]) -> Option<Bytes> {
    let text = String::from_utf8_lossy(bytes);
    let masked = redact::known(&redact::without(&text, backend.secrets())).into_owned();
    (masked != text).then(|| masked.into())
}

/// The bytes as they come, but for these secrets: then whole lines. If the backend's connection breaks, so does the client's.
fn stream(mut body: upstream::Body, secrets: Vec<String>) -> impl futures_util::Stream<Item = Result<Bytes, Error>> + Send {
    let keeps_back = !secrets.is_empty();
    let clean = move |piece: BytesMut| {
        let masked = match redact::without(&String::from_utf8_lossy(&piece), secrets.iter().map(String::as_str)) {
            Cow::Owned(masked) => Some(Bytes::from(masked)),
            Cow::Borrowed(_) => None,
        };
        masked.unwrap_or_else(|| piece.freeze())
    };
    async_stream::try_stream! {
        let mut buffer = BytesMut::new();
        while body.read(&mut buffer).await? > 0 {
            let ready = if keeps_back { whole(&buffer) } else { buffer.len() };
            if ready > 0 {
                yield clean(buffer.split_to(ready));
            }
        }
        if !buffer.is_empty() {
            yield clean(buffer);
        }
    }
}

/// How many bytes can leave without cutting a secret: whole lines; of a long line, up to a comma; of one without commas, all.
fn whole(bytes: &[u8]) -> usize {
    let up_to = |byte: u8| memchr::memrchr(byte, bytes).map(|at| at + 1);
    match bytes.len() {
        ..LINE_BYTES => up_to(b'\n').or(up_to(b'\r')).unwrap_or(0),
        LINE_BYTES..ERROR_BYTES => up_to(b'\n').or(up_to(b',')).unwrap_or(0),
        all => up_to(b'\n').or(up_to(b',')).unwrap_or(all),
    }
}
