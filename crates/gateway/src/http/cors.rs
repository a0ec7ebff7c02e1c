//! Cross-origin rules: pages of every origin may call, with the headers and methods of the protocol.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_MAX_AGE,
    HeaderMap, HeaderValue,
};

/// Seconds for which browsers may keep the answer to a preflight: one day.
const MAX_AGE_SEC: &str = "86400";

/// Adds the header that every response has.
pub fn allow_origin(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
}

/// Adds the headers for the answer to a preflight.
pub fn allow_preflight(headers: &mut HeaderMap) {
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Authorization, Content-Type, Content-Encoding, User-Agent"),
    );
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE_SEC));
}
