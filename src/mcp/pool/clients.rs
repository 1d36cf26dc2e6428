//! The HTTP clients of all connections: one for servers on this machine, one for all others.

use std::time::Duration;

use url::Url;

use super::causes;
use crate::{error::Error, mcp::address};

/// Two HTTP clients. Clones share their connections.
#[derive(Debug, Clone)]
pub(super) struct Clients {
    /// For loopback: a proxy of the environment would get the server's headers, and reach another machine's loopback.
    here: reqwest::Client,
    /// For everything else: proxies of the environment apply.
    elsewhere: reqwest::Client,
}

// === impl Clients ===

impl Clients {
    /// Fails only if the system's certificates cannot be used.
    pub(super) fn new() -> Result<Clients, Error> {
        // The process may have a provider already; it is the same one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let build = |builder: reqwest::ClientBuilder| {
            builder
                .dns_resolver(address::resolver())
                .redirect(reqwest::redirect::Policy::none())
                .connect_timeout(Duration::from_secs(5))
                .tcp_keepalive(Duration::from_secs(30))
                .build()
                .map_err(|error| Error::proxy(format!("no HTTP client: {}", causes(&error))))
        };
        let (here, elsewhere) = (reqwest::Client::builder().no_proxy(), reqwest::Client::builder());
        Ok(Clients { here: build(here)?, elsewhere: build(elsewhere)? })
    }

    /// The client for this address.
    pub(super) fn of(&self, url: &Url) -> &reqwest::Client {
        if address::is_loopback(url) { &self.here } else { &self.elsewhere }
    }
}
