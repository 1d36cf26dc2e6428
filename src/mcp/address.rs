//! Addresses that no MCP server may have: link-local addresses, and those where clouds serve a machine's credentials. They
//! are checked when an address is read and again when its name is resolved, because a name may point anywhere.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use url::{Host, Url};

/// Where clouds serve a machine's credentials, beside link-local addresses: Alibaba, Oracle, Azure (its wire server).
const METADATA_V4: &[[u8; 4]] = &[[100, 100, 100, 200], [192, 0, 0, 192], [168, 63, 129, 16]];
/// Amazon (machines, pods), Google, Scaleway.
const METADATA_V6: &[[u16; 8]] = &[
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23],
    [0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254],
    [0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42],
];
const METADATA_NAMES: &[&str] =
    &["metadata", "metadata.goog", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"];

/// Parses the URL of a server. The error is for people.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|_| format!("`{text}` is not a URL; write it as http://host:port/path"))?;
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
        IpAddr::V4(ip) => ip.is_link_local() || METADATA_V4.contains(&ip.octets()),
        IpAddr::V6(ip) => match embedded(ip) {
            Some(inner) => is_refused(inner.into()),
            None => ip.is_unicast_link_local() || METADATA_V6.contains(&ip.segments()),
        },
    }
}

/// The address that a router or the system takes out of this one.
fn embedded(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let all = ip.segments();
    let last = Ipv4Addr::from_bits(u32::from(all[6]) << 16 | u32::from(all[7]));
    match all {
        // Compatible and mapped (RFC 4291), translated (RFC 2765).
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => Some(last),
        // NAT64 (RFC 6052, RFC 8215).
        [0x64, 0xff9b, 0, 0, 0, 0, ..] | [0x64, 0xff9b, 1, ..] => Some(last),
        // 6to4 (RFC 3056).
        [0x2002, high, low, ..] => Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low))),
        // Teredo (RFC 4380) has it inverted.
        [0x2001, 0, ..] => Some(Ipv4Addr::from_bits(!last.to_bits())),
        // ISATAP (RFC 5214).
        [.., 0 | 0x200, 0x5efe, _, _] => Some(last),
        _ => None,
    }
}

fn is_metadata(name: &str) -> bool {
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    METADATA_NAMES.contains(&name.as_str())
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
