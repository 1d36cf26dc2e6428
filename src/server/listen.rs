//! Opens the listening sockets. If an address is taken, the error says by whom and what to do. toolglot never takes another
//! port instead, because the client was told this one.

use std::{io, net::SocketAddr, time::Duration};

use http::header;
use serde_json::Value;
use tokio::net::TcpListener;

use crate::{
    backend::{self, Backend, Kind},
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
    let request = HttpRequest::get(format!("http://{address}/healthz"));
    let Ok(mut health) = client.send(&Outgoing::Http(request)).await else {
        return "something that does not speak HTTP".into();
    };
    let body: Value = serde_json::from_slice(&health.collect(ANSWER_BYTES).await.unwrap_or_default()).unwrap_or_default();
    if let Some(version) = body.get("toolglot").and_then(Value::as_str) {
        let file = body.get("configuration").and_then(Value::as_str);
        let file = file.map_or_else(|| "without a configuration file".to_owned(), |file| format!("with {file}"));
        return format!("another toolglot (version {version}, {file})");
    }
    let Some(found) = backend::detect(&client, &Backend::open("", Kind::OpenAi, format!("http://{address}/v1"))).await else {
        let server = health.headers.get(header::SERVER).and_then(|server| server.to_str().ok());
        return server.map_or_else(|| "a web server".into(), |server| format!("a web server ({server})"));
    };
    let version = backend::version(&client, &found).await.map(|version| format!(" (version {version})")).unwrap_or_default();
    format!("{}{version}", found.traits().title)
}
