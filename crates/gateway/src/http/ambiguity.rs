//! Requests that two servers on the way may understand differently. A proxy and this server must see the same requests,
//! hosts and credentials. Otherwise the proxy checks another request than the one that this server carries out.

use http::header::{AUTHORIZATION, HOST, HeaderName, TRANSFER_ENCODING};
use http::{HeaderMap, Version};

/// The reason why a request is refused; its connection ends after the answer. `None` if the request has only one
/// meaning.
pub fn refusal(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    // Only HTTP/1.1 requires a host. Health checks of load balancers often speak HTTP/1.0.
    if version == Version::HTTP_11 && count(headers, HOST) != 1 {
        return Some("A request of HTTP/1.1 has exactly one Host header.");
    }
    if count(headers, AUTHORIZATION) > 1 {
        return Some("A request has at most one Authorization header.");
    }
    None
}

/// Whether the connection must end after the request. A request with both `Content-Length` and `Transfer-Encoding` must
/// end it. The server library drops the `Content-Length`, so every request with a `Transfer-Encoding` ends it.
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
