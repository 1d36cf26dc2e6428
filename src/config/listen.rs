//! Where the proxy listens: one address, or both families of loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::error::Error;

/// The port that Void's vLLM provider looks at by itself.
pub const DEFAULT_PORT: u16 = 8000;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// The addresses, most important first; more than one only for the two families of loopback.
    pub addresses: Vec<SocketAddr>,
}

// === impl Listen ===

impl Default for Listen {
    fn default() -> Listen {
        Listen::loopback(DEFAULT_PORT)
    }
}

impl Listen {
    /// Both loopback addresses.
    pub fn loopback(port: u16) -> Listen {
        Listen { addresses: vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()] }
    }

    /// Whether other machines can reach it.
    pub fn is_beyond_loopback(&self) -> bool {
        self.addresses.iter().any(|address| !address.ip().is_loopback())
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.addresses.first().map_or(DEFAULT_PORT, SocketAddr::port)
    }
}

impl std::str::FromStr for Listen {
    type Err = Error;

    /// `address:port`; `127.0.0.1`, `[::1]` and `localhost` mean both families of loopback.
    fn from_str(text: &str) -> Result<Listen, Error> {
        if let Some(port) = text.strip_prefix("localhost:").and_then(|port| port.parse().ok()) {
            return Ok(Listen::loopback(port));
        }
        let address: SocketAddr = text.parse().map_err(|_| {
            Error::proxy(format!(
                "`{text}` is no address to listen on: write it as 127.0.0.1:{DEFAULT_PORT} or 0.0.0.0:{DEFAULT_PORT}"
            ))
        })?;
        match address.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Ok(Listen::loopback(address.port())),
            _ => Ok(Listen { addresses: vec![address] }),
        }
    }
}
