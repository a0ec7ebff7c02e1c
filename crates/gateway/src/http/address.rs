//! The client's address: the peer's own address, or the one that trusted proxies wrote. The client's own claims do not
//! count.

use std::net::{IpAddr, SocketAddr};

use http::header::{FORWARDED, HeaderMap, HeaderName, VIA};
use muster_domain::address::is_private;

/// The address of the client that made a request.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress {
    /// The IP address.
    pub ip: IpAddr,
    /// The port; `None` for a client behind a proxy, which does not tell it.
    pub port: Option<u16>,
}

/// Headers that proxies add to the requests that they pass on.
static FORWARDING: [HeaderName; 5] = [
    FORWARDED,
    HeaderName::from_static("x-forwarded-for"),
    HeaderName::from_static("x-forwarded-host"),
    HeaderName::from_static("x-real-ip"),
    VIA,
];

impl ClientAddress {
    /// Reads the address of a request's client.
    pub fn read(peer: SocketAddr, headers: &HeaderMap, proxy_count: usize) -> Self {
        let ip = client_address(peer, headers, proxy_count);
        Self { ip, port: (ip == peer.ip()).then_some(peer.port()) }
    }
}

/// The address of the client that made a request.
///
/// With `proxy_count` proxies in front of the server, they wrote that many entries of `X-Forwarded-For`, counted from
/// the right. The leftmost of these names the client. A peer with a public address is not one of the proxies: it is the
/// client, whatever its headers say.
pub fn client_address(peer: SocketAddr, headers: &HeaderMap, proxy_count: usize) -> IpAddr {
    if !is_proxy(peer.ip(), proxy_count) {
        return peer.ip();
    }
    let mut entries: Vec<&str> = headers
        .get_all("x-forwarded-for")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    entries.reverse();
    // If there are fewer entries than proxies, the request passed fewer proxies than configured, and the leftmost entry
    // is the client.
    let entry = entries.get(proxy_count - 1).or(entries.last());
    entry.and_then(|entry| parse_entry(entry)).unwrap_or(peer.ip())
}

/// Whether a peer is one of the proxies in front of the server, which pass requests of many clients on.
pub fn is_proxy(peer: IpAddr, proxy_count: usize) -> bool {
    proxy_count > 0 && is_private(peer)
}

/// Whether the headers show that a proxy passed the request on.
pub fn is_forwarded(headers: &HeaderMap) -> bool {
    FORWARDING.iter().any(|name| headers.contains_key(name))
}

fn parse_entry(entry: &str) -> Option<IpAddr> {
    let bare = entry.strip_prefix('[').and_then(|rest| rest.split(']').next()).unwrap_or(entry);
    bare.parse().ok().or_else(|| entry.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: &str, forwarded: &[&str], proxy_count: usize, expected: &str) {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append("x-forwarded-for", value.parse().unwrap());
        }
        let address = client_address(peer.parse().unwrap(), &headers, proxy_count);
        assert_eq!(address.to_string(), expected, "{peer} {forwarded:?} {proxy_count}");
    }

    #[test]
    fn trusted_proxies_are_believed_and_clients_are_not() {
        check("10.0.0.1:5", &["1.2.3.4"], 1, "1.2.3.4");
        check("10.0.0.1:5", &["6.6.6.6, 1.2.3.4"], 1, "1.2.3.4");
        check("10.0.0.1:5", &["6.6.6.6, 1.2.3.4, 10.0.0.9"], 2, "1.2.3.4");
        check("10.0.0.1:5", &["6.6.6.6", "1.2.3.4"], 1, "1.2.3.4");
        check("10.0.0.1:5", &["1.2.3.4"], 3, "1.2.3.4");
        check("10.0.0.1:5", &[], 1, "10.0.0.1");
        check("10.0.0.1:5", &["nonsense"], 1, "10.0.0.1");
        check("10.0.0.1:5", &["1.2.3.4"], 0, "10.0.0.1");
        check("8.8.8.8:5", &["1.2.3.4"], 1, "8.8.8.8");
        check("[::1]:5", &["[2001:db8::1]:443"], 1, "2001:db8::1");
        check("127.0.0.1:5", &["1.2.3.4:900"], 1, "1.2.3.4");
    }
}
