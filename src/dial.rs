//! The HTTP clients of connections that the daemon opens: one for servers on this machine, one for all others.

use std::sync::{Arc, OnceLock};

use reqwest::{Client, ClientBuilder};
use url::{Host, Url};

use crate::error::{Error, innermost};

/// Two HTTP clients, each made when it is first needed: reading the system's certificates takes most of the time of a start,
/// and a daemon whose servers are all on this machine without TLS never needs them. Clones share their connections.
#[derive(Clone)]
pub struct Clients(Arc<Pair>);

struct Pair {
    configure: Box<dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync>,
    /// For loopback: a proxy of the environment would get the request's headers, and reach another machine's loopback.
    here: OnceLock<Client>,
    /// For everything else: proxies of the environment apply.
    elsewhere: OnceLock<Client>,
}

// === impl Clients ===

impl Clients {
    /// Clients that are configured like this.
    pub fn new(configure: impl Fn(ClientBuilder) -> ClientBuilder + Send + Sync + 'static) -> Clients {
        // Whoever is first decides for the process; a second provider is refused, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Clients(Arc::new(Pair { configure: Box::new(configure), here: OnceLock::new(), elsewhere: OnceLock::new() }))
    }

    /// The client for this address. Fails only if the system's certificates cannot be used.
    pub fn of(&self, url: &Url) -> Result<&Client, Error> {
        let here = is_loopback(url);
        let kept = if here { &self.0.here } else { &self.0.elsewhere };
        if let Some(client) = kept.get() {
            return Ok(client);
        }
        let builder = if here { Client::builder().no_proxy() } else { Client::builder() };
        let client = (self.0.configure)(builder)
            .build()
            .map_err(|error| Error::proxy(format!("no HTTP client: {}", innermost(&error))))?;
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
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.to_ipv4_mapped().is_some_and(|ip| ip.is_loopback()),
        None => false,
    }
}
