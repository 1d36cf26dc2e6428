//! Where the proxy listens: one address, or both families of loopback. `Config::check_exposure` (`access`) decides whether it may
//! listen beyond loopback.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::error::Error;

/// The default port: the one that Void's vLLM provider tries by default.
pub const DEFAULT_PORT: u16 = 8000;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listen {
    /// The addresses, most important first; more than one only for the two families of loopback.
    pub addresses: Vec<SocketAddr>,
}

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

    /// Parses `address:port`. The default port is 8000, and the default address (`:8000`, `8000`) is loopback. `127.0.0.1`,
    /// `[::1]` and `localhost` mean both families of loopback.
    fn from_str(text: &str) -> Result<Listen, Error> {
        let wrong = || {
            Error::proxy(format!(
                "`{text}` is not an address to listen on: write it as 127.0.0.1:{DEFAULT_PORT}, :{DEFAULT_PORT} or 0.0.0.0:{DEFAULT_PORT}"
            ))
        };
        let unbracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        let alone = unbracketed.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DEFAULT_PORT));
        let address = match (alone, text.rsplit_once(':')) {
            (Ok(address), _) => address,
            (_, Some(("" | "localhost", port))) => (Ipv4Addr::LOCALHOST, port.parse().map_err(|_| wrong())?).into(),
            (_, None) if text == "localhost" => (Ipv4Addr::LOCALHOST, DEFAULT_PORT).into(),
            (_, None) => (Ipv4Addr::LOCALHOST, text.parse().map_err(|_| wrong())?).into(),
            (_, Some(_)) => text.parse().map_err(|_| wrong())?,
        };
        match address.ip() {
            IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Ok(Listen::loopback(address.port())),
            _ => Ok(Listen { addresses: vec![address] }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_and_port_may_each_be_missing() {
        for (text, expected) in [
            (":8123", Listen::loopback(8123)),
            ("8123", Listen::loopback(8123)),
            ("127.0.0.1", Listen::default()),
            ("localhost", Listen::default()),
            ("::1", Listen::default()),
            ("[::1]", Listen::default()),
            ("localhost:0", Listen::loopback(0)),
            ("[::1]:81", Listen::loopback(81)),
            ("0.0.0.0", Listen { addresses: vec![([0, 0, 0, 0], DEFAULT_PORT).into()] }),
            ("192.168.1.5:81", Listen { addresses: vec![([192, 168, 1, 5], 81).into()] }),
        ] {
            assert_eq!(text.parse::<Listen>().unwrap(), expected, "{text}");
        }
        for text in ["", ":", "box", "box:80", "127.0.0.1:", "127.0.0.1:70000", "1.2.3", "http://127.0.0.1:80", "-1"] {
            assert!(text.parse::<Listen>().is_err(), "{text}");
        }
    }
}
