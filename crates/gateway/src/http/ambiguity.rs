//! Requests that two servers on the way may read differently. A proxy and this server must see the same requests, the
//! same host and the same credentials, or one of them guards what the other does not get.

use http::header::{AUTHORIZATION, HOST, HeaderName, TRANSFER_ENCODING};
use http::{HeaderMap, Version};

/// Why a request is refused; its connection ends with the answer. `None`: it has one meaning.
pub fn refusal(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    // Only HTTP/1.1 asks for a host; probes of load balancers often speak 1.0.
    if version == Version::HTTP_11 && count(headers, HOST) != 1 {
        return Some("A request of HTTP/1.1 has exactly one Host header.");
    }
    if count(headers, AUTHORIZATION) > 1 {
        return Some("A request has at most one Authorization header.");
    }
    None
}

/// Whether nothing may follow the request on its connection. The server library drops a `Content-Length` that stands
/// beside a `Transfer-Encoding`, so that the pair, which must end the connection, cannot be told from the encoding.
pub fn ends_connection(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING)
}

fn count(headers: &HeaderMap, name: HeaderName) -> usize {
    headers.get_all(name).iter().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(version: Version, pairs: &[(&'static str, &'static str)], is_refused: bool) {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        assert_eq!(refusal(version, &headers).is_some(), is_refused, "{version:?} {pairs:?}");
    }

    #[test]
    fn what_has_two_meanings_is_refused() {
        check(Version::HTTP_11, &[("host", "a")], false);
        check(Version::HTTP_11, &[], true);
        check(Version::HTTP_10, &[], false);
        check(Version::HTTP_11, &[("host", "a"), ("host", "a")], true);
        check(Version::HTTP_11, &[("host", "a"), ("content-length", "3")], false);
        check(Version::HTTP_11, &[("host", "a"), ("authorization", "b"), ("authorization", "b")], true);
    }
}
