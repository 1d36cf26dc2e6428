//! Opens the listening sockets. If an address is taken, the error says by whom and what to do. toolglot never takes another
//! port instead, because the client was told this one.

use std::{io, net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::net::TcpListener;

use crate::{
    config::Listen,
    error::Error,
    upstream::{Client, HttpRequest, Outgoing, Timeouts},
};

/// The sockets, and what could not be had.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) listeners: Vec<TcpListener>,
    /// Families that this machine does not have, as sentences.
    pub(super) notes: Vec<String>,
}

const ANSWER_BYTES: usize = 64 * 1024;

/// Binds all addresses. A family that does not exist here is noted; an address that is taken is an error (code
/// `address_taken`).
pub(super) async fn bind(listen: &Listen) -> Result<Bound, Error> {
    let mut bound = Bound { listeners: Vec::new(), notes: Vec::new() };
    let mut port = listen.port();
    for address in &listen.addresses {
        let address = SocketAddr::new(address.ip(), port);
        match TcpListener::bind(address).await {
            Ok(listener) => {
                port = listener.local_addr().map_or(port, |local| local.port()); // port 0: the second family takes the same one
                bound.listeners.push(listener);
            }
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(taken(address).await),
            Err(error) if listen.addresses.len() > 1 && is_missing_family(&error) => {
                bound.notes.push(format!("not listening on {address}: {error}"));
            }
            Err(error) => return Err(Error::proxy(format!("cannot listen on {address}: {error}"))),
        }
    }
    if bound.listeners.is_empty() { Err(Error::proxy(format!("cannot listen: {}", bound.notes.join("; ")))) } else { Ok(bound) }
}

fn is_missing_family(error: &io::Error) -> bool {
    // Linux and macOS say so with EAFNOSUPPORT, which has no kind of its own.
    matches!(error.kind(), io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported)
        || error.raw_os_error().is_some_and(|code| [97, 47, 10047].contains(&code))
}

async fn taken(address: SocketAddr) -> Error {
    let who = occupant(address).await;
    let next = SocketAddr::new(address.ip(), address.port().checked_add(1).unwrap_or(8001));
    let (address_port, next_port) = (address.port(), next.port());
    Error::proxy(format!(
        "port {address_port} is taken: at {address} answers {who}.\n\
         Stop it, or use another port:\n    toolglot serve --listen {next}\n\
         and tell Void: Settings > Models > Providers > vLLM > Endpoint: http://localhost:{next_port}"
    ))
    .with_code("address_taken")
}

/// Who answers at an address, in words.
async fn occupant(address: SocketAddr) -> String {
    let second = Duration::from_secs(1);
    let client = Client::new(Timeouts { connect: second, idle: second });
    let Some(health) = get(&client, address, "/healthz").await else {
        return "something that does not speak HTTP".into();
    };
    if let Some(version) = health.json.get("toolglot").and_then(Value::as_str) {
        return format!("another toolglot (version {version})");
    }
    if let Some(found) = get(&client, address, "/api/version").await
        && let Some(version) = found.json.get("version").and_then(Value::as_str)
    {
        return format!("Ollama (version {version})");
    }
    let models = get(&client, address, "/v1/models").await;
    let owner = models.as_ref().and_then(|found| found.json.pointer("/data/0/owned_by")).and_then(Value::as_str);
    if let Some(found) = get(&client, address, "/version").await
        && let Some(version) = found.json.get("version").and_then(Value::as_str)
        && owner.is_none_or(|owner| owner == "vllm")
    {
        return format!("a vLLM server (version {version})");
    }
    match (owner, health.server) {
        (Some("vllm"), _) => "a vLLM server".into(),
        (Some("llamacpp"), _) => "a llama.cpp server".into(),
        (Some(owner), _) => format!("a server that speaks OpenAI's API (models of `{owner}`)"),
        (None, Some(server)) => format!("a web server ({server})"),
        (None, None) => "a web server".into(),
    }
}

struct Found {
    server: Option<String>,
    /// `null` where the answer is something else.
    json: Value,
}

async fn get(client: &Client, address: SocketAddr, path: &str) -> Option<Found> {
    let request = HttpRequest::get(format!("http://{address}{path}"));
    let mut response = client.send(&Outgoing::Http(request)).await.ok()?;
    let server = response.headers.get(http::header::SERVER).and_then(|server| server.to_str().ok()).map(str::to_owned);
    let body = response.collect(ANSWER_BYTES).await.unwrap_or_default();
    let json = if response.status.is_success() { serde_json::from_slice(&body).unwrap_or_default() } else { Value::Null };
    Some(Found { server, json })
}
