//! Raw HTTP: bytes to send, and parsing of the answers.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::DEADLINE;

/// An answer of the server.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    /// Reads all answers that a connection gave before it ended.
    pub fn all(mut bytes: &[u8]) -> Vec<Self> {
        let mut responses = Vec::new();
        while let Some((response, rest)) = Self::first(bytes) {
            responses.push(response);
            bytes = rest;
        }
        assert!(bytes.is_empty(), "no answer: {:?}", String::from_utf8_lossy(bytes));
        responses
    }

    /// The one answer that a connection gave.
    pub fn only(bytes: &[u8]) -> Self {
        let mut responses = Self::all(bytes);
        assert_eq!(responses.len(), 1, "{responses:?}");
        responses.remove(0)
    }

    /// The first answer and the bytes after it; `None` if it is not complete.
    pub fn first(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let head_len = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let head = String::from_utf8(bytes[..head_len].to_vec()).unwrap();
        let status = head.strip_prefix("HTTP/1.")?.get(2..5)?.parse().unwrap();
        let response = Self { status, head, body: Vec::new() };
        let body_len = response.header("content-length").map_or(0, |length| length.parse().unwrap());
        let body = bytes.get(head_len..head_len + body_len)?.to_vec();
        Some((Self { body, ..response }, &bytes[head_len + body_len..]))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(':'))
            .find_map(|(known, value)| known.eq_ignore_ascii_case(name).then(|| value.trim()))
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The protocol's error code, if the body is one of its errors.
    pub fn code(&self) -> Option<u64> {
        serde_json::from_slice::<Value>(&self.body).ok()?["code"].as_u64()
    }
}

/// A connection that gives up after the deadline.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&address, DEADLINE).unwrap();
    stream.set_nodelay(true).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    stream.set_write_timeout(Some(DEADLINE)).unwrap();
    stream
}

/// Sends `bytes` and reads until the server ends the connection. It may do so before it has read everything.
pub fn exchange(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    converse(address, bytes, false)
}

/// Same as [`exchange`], by a client that closes its sending side first.
pub fn exchange_half_closed(address: SocketAddr, bytes: &[u8]) -> Vec<u8> {
    converse(address, bytes, true)
}

fn converse(address: SocketAddr, bytes: &[u8], is_half_closed: bool) -> Vec<u8> {
    let mut stream = connect(address);
    let sent = stream.write_all(bytes);
    if is_half_closed && sent.is_ok() {
        // The server may have ended the connection meanwhile.
        let _ = stream.shutdown(Shutdown::Write);
    }
    read_to_end(&mut stream)
}

/// Reads one answer of a connection that may stay open.
pub fn read_response(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => panic!("ended before the answer: {:?}", String::from_utf8_lossy(&bytes)),
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if is_interruption(&error) => continue,
            Err(error) => panic!("{error}"),
        }
        if let Some((response, _)) = Response::first(&bytes) {
            return response;
        }
    }
}

/// Reads until the other side ends the connection, properly or by a reset. A connection that stays open fails the test.
pub fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return bytes,
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if is_end(&error) => return bytes,
            Err(error) if is_interruption(&error) => {}
            Err(error) => panic!("{error} after {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
}

/// Whether an error only means that the read has to be repeated. A system that pauses the process interrupts reads that
/// have a time limit.
pub fn is_interruption(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Interrupted
}

/// Whether an error means that the other side is gone.
pub fn is_end(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected)
}

/// A request after which the connection ends.
pub fn request(method: &str, path: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let length = format!("Content-Length: {}", body.len());
    let mut bytes = head(method, path, &[headers, &[&length, "Connection: close"]].concat());
    bytes.extend_from_slice(body);
    bytes
}

/// The head of a request with no other headers than these and `Host`.
pub fn head(method: &str, path: &str, headers: &[&str]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.into_bytes()
}

/// The value of an `Authorization` header with a server key.
pub fn basic(key: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{key}:")))
}

/// The value of an `Authorization` header with a token.
pub fn bearer(token: &str) -> String {
    format!("Bearer {token}")
}
