//! The opening handshake: an HTTP request in, the answering headers out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Version};
use sha1::{Digest, Sha1};

const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The value of `Sec-WebSocket-Accept` for a request with these headers.
///
/// Errors: a sentence for the client that says what is missing.
pub fn accept_key(headers: &HeaderMap) -> Result<String, &'static str> {
    if !has_token(headers, UPGRADE, "websocket") || !has_token(headers, CONNECTION, "upgrade") {
        return Err(
            "This address takes WebSocket connections: send the headers Connection: Upgrade and Upgrade: websocket.",
        );
    }
    if headers.get(SEC_WEBSOCKET_VERSION).is_none_or(|version| version != "13") {
        return Err("Only WebSocket version 13 is spoken here: send Sec-WebSocket-Version: 13.");
    }
    let key = headers.get(SEC_WEBSOCKET_KEY).ok_or("The header Sec-WebSocket-Key is missing.")?;
    let is_nonce = STANDARD.decode(key.as_bytes()).is_ok_and(|nonce| nonce.len() == 16);
    if !is_nonce {
        return Err("The header Sec-WebSocket-Key must be 16 bytes in base64.");
    }
    let digest = Sha1::new().chain_update(key.as_bytes()).chain_update(GUID).finalize();
    Ok(STANDARD.encode(digest))
}

/// Refuses requests that cannot become a socket whatever their headers ask for. A body would be read as frames.
///
/// Errors: a sentence for the client that says what is wrong.
pub fn check_request(method: &Method, version: Version, headers: &HeaderMap) -> Result<(), &'static str> {
    if *method != Method::GET || version != Version::HTTP_11 {
        return Err("A WebSocket connection begins with a GET request of HTTP/1.1.");
    }
    let has_length = headers.get_all(CONTENT_LENGTH).iter().any(|length| length != "0");
    if has_length || headers.contains_key(TRANSFER_ENCODING) {
        return Err("The request that begins a WebSocket connection has no body.");
    }
    Ok(())
}

fn has_token(headers: &HeaderMap, name: http::HeaderName, token: &str) -> bool {
    headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|part| part.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    const GOOD: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    #[test]
    fn answers_the_example_of_the_rfc() {
        assert_eq!(accept_key(&headers(&GOOD)).unwrap(), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn only_a_get_of_http_1_1_without_a_body_becomes_a_socket() {
        let check = |method: Method, version, pair: (&'static str, &'static str), expected| {
            let is_taken = check_request(&method, version, &headers(&[pair])).is_ok();
            assert_eq!(is_taken, expected, "{method} {version:?} {pair:?}");
        };
        check(Method::GET, Version::HTTP_11, ("host", "a"), true);
        check(Method::GET, Version::HTTP_11, ("content-length", "0"), true);
        check(Method::GET, Version::HTTP_11, ("content-length", "6"), false);
        check(Method::GET, Version::HTTP_11, ("transfer-encoding", "chunked"), false);
        check(Method::GET, Version::HTTP_10, ("host", "a"), false);
        check(Method::HEAD, Version::HTTP_11, ("host", "a"), false);
    }

    #[test]
    fn says_what_is_missing() {
        for (missing, _) in GOOD {
            let rest: Vec<_> = GOOD.into_iter().filter(|(name, _)| *name != missing).collect();
            assert!(accept_key(&headers(&rest)).is_err(), "without {missing}");
        }
    }
}
