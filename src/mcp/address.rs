//! Addresses that no MCP server may have: link-local addresses, and those where clouds serve a machine's credentials. They
//! are checked when an address is read and again when its name is resolved, because a name may point anywhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

/// Parses the URL of a server. The error is for people.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("`{text}` is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("`{text}`: only http and https are possible"));
    }
    let refused = match url.host() {
        None => return Err(format!("`{text}` has no host")),
        Some(Host::Ipv4(ip)) => is_refused(ip.into()),
        Some(Host::Ipv6(ip)) => is_refused(ip.into()),
        Some(Host::Domain(name)) => is_metadata(name),
    };
    if refused { Err(format!("`{text}` is a link-local or metadata address, where no MCP server may be")) } else { Ok(url) }
}

/// Whether two addresses are the same scheme, host and port.
pub(super) fn is_same_origin(a: &str, b: &str) -> bool {
    match (Url::parse(a), Url::parse(b)) {
        (Ok(a), Ok(b)) => a.origin() == b.origin(),
        _ => false,
    }
}

fn is_refused(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip == Ipv4Addr::new(100, 100, 100, 200),
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(mapped) => is_refused(mapped.into()),
            None => ip.is_unicast_link_local() || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
        },
    }
}

fn is_metadata(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    matches!(name.as_str(), "metadata" | "metadata.google.internal" | "instance-data" | "instance-data.ec2.internal")
}

/// Resolves names for the pool's HTTP client and drops addresses that are refused.
#[derive(Debug, Clone, Default)]
pub(super) struct Resolver;

impl reqwest::dns::Resolve for Resolver {
    fn resolve(&self, name: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let allowed: Vec<SocketAddr> = found.iter().copied().filter(|address| !is_refused(address.ip())).collect();
            if allowed.is_empty() && !found.is_empty() {
                return Err(format!("`{}` points to a link-local or metadata address", name.as_str()).into());
            }
            Ok(Box::new(allowed.into_iter()) as reqwest::dns::Addrs)
        })
    }
}

#[cfg(test)]
mod tests;
