//! The HTTP clients (reqwest) for connections that toolglot opens, one per kind of destination.

use std::sync::{Arc, OnceLock};

use reqwest::{Client, ClientBuilder};
use url::{Host, Url};

use crate::error::{Error, innermost};

/// HTTP clients, each created on first use: reading the system's certificates takes most of the time of a start, and a daemon
/// whose servers are all on this machine without TLS never needs them. Clones share their connections.
#[derive(Clone)]
pub struct Clients(Arc<Each>);

struct Each {
    configure: Box<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>,
    /// For plain HTTP to loopback, for TLS to loopback, and for everything else.
    kept: [OnceLock<Client>; 3],
}

impl Clients {
    /// Clients that are configured like this.
    pub fn new(configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static) -> Clients {
        // Whoever is first decides for the process; a second provider is refused, and it is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Clients(Arc::new(Each { configure: Box::new(configure), kept: Default::default() }))
    }

    /// The client for this address.
    ///
    /// # Errors
    /// 500 if none can be made, because the system's certificates cannot be used.
    pub fn of(&self, url: &Url) -> Result<&Client, Error> {
        let Each { configure, kept: [here, here_tls, elsewhere] } = &*self.0;
        let (kept, builder) = match (is_loopback(url), url.scheme()) {
            // Without certificates, and without the proxy variables, because a proxy would see the request's headers and reach its
            // own loopback.
            (true, "http") => (here, Client::builder().no_proxy().tls_certs_only([])),
            (true, _) => (here_tls, Client::builder().no_proxy()),
            (false, _) => (elsewhere, Client::builder()),
        };
        if let Some(client) = kept.get() {
            return Ok(client);
        }
        let built = configure(builder).build();
        let client = built.map_err(|error| Error::proxy(format!("no HTTP client: {}", innermost(&error))))?;
        Ok(kept.get_or_init(|| client))
    }
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clients")
    }
}

/// Whether a URL names this machine. `localhost` always does (RFC 6761, section 6.3).
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        None => false,
    }
}
