//! One keep-alive HTTP/1.1 connection that sends prepared bytes and reads whole answers into a buffer of its own.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::{Endpoints, Fault, requests};

/// Longest answer taken, head and body together.
const ANSWER_LEN_MAX: usize = 1 << 20;
const HEADERS_MAX: usize = 32;
const BUFFER_LEN: usize = 4 << 10;

/// A connection with at most one request under way.
pub struct HttpConnection {
    stream: TcpStream,
    /// The answer under way. Bytes after it are a fault, since requests are not pipelined.
    buffer: Vec<u8>,
    body: Vec<u8>,
}

/// An answer with its body complete.
#[derive(Debug)]
pub struct HttpAnswer<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

impl HttpConnection {
    /// Opens connection number `index` of this worker.
    pub async fn open(endpoints: &Endpoints, index: usize) -> Result<Self, Fault> {
        let stream = endpoints.connect(index).await?;
        Ok(Self { stream, buffer: Vec::with_capacity(BUFFER_LEN), body: Vec::new() })
    }

    /// Sends one whole request and waits for the whole answer.
    pub async fn exchange(&mut self, request: &[u8]) -> Result<HttpAnswer<'_>, Fault> {
        self.stream.write_all(request).await.map_err(lost)?;
        self.buffer.clear();
        let head = loop {
            self.read_more(Fault::Closed).await?;
            if let Some(head) = read_head(&self.buffer)? {
                break head;
            }
        };
        match head.length {
            BodyLength::Known(len) => {
                let end = head.len + len;
                while self.buffer.len() < end {
                    self.read_more(Fault::Truncated).await?;
                }
                Ok(HttpAnswer { status: head.status, body: &self.buffer[head.len..end] })
            }
            BodyLength::Chunked => {
                while !join_chunks(&self.buffer[head.len..], &mut self.body)? {
                    self.read_more(Fault::Truncated).await?;
                }
                Ok(HttpAnswer { status: head.status, body: &self.body })
            }
        }
    }

    /// Asks for a WebSocket. Returns the bytes that followed the answer's head.
    pub async fn upgrade(&mut self, request: &[u8]) -> Result<Vec<u8>, Fault> {
        self.stream.write_all(request).await.map_err(lost)?;
        self.buffer.clear();
        loop {
            self.read_more(Fault::Closed).await?;
            if let Some(head) = read_head(&self.buffer)? {
                return match (head.status, head.accepts_socket) {
                    (101, true) => Ok(self.buffer.split_off(head.len)),
                    (101, false) => Err(Fault::Wrong("socket accept key")),
                    (status, _) => Err(Fault::Status(status)),
                };
            }
        }
    }

    async fn read_more(&mut self, at_end: Fault) -> Result<(), Fault> {
        if self.buffer.len() >= ANSWER_LEN_MAX {
            return Err(Fault::Malformed("oversized answer"));
        }
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) if self.buffer.is_empty() => Err(at_end),
            Ok(0) => Err(Fault::Truncated),
            Ok(_) => Ok(()),
            Err(error) => Err(lost(error)),
        }
    }

    /// The bare stream, once the server has agreed to switch protocols.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }
}

fn lost(error: io::Error) -> Fault {
    Fault::Lost(error.kind())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyLength {
    Known(usize),
    Chunked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    status: u16,
    len: usize,
    length: BodyLength,
    /// Whether the key of our upgrade request was answered as RFC 6455 demands.
    accepts_socket: bool,
}

fn read_head(bytes: &[u8]) -> Result<Option<Head>, Fault> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let len = match response.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Fault::Malformed("HTTP head")),
    };
    let status = response.code.unwrap_or_default();
    let has_no_body = status < 200 || status == 204;
    let mut length = has_no_body.then_some(BodyLength::Known(0));
    let mut accepts_socket = false;
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = std::str::from_utf8(header.value).ok().and_then(|value| value.parse().ok());
            length = Some(BodyLength::Known(value.ok_or(Fault::Malformed("content length"))?));
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            length = Some(BodyLength::Chunked);
        } else if header.name.eq_ignore_ascii_case("sec-websocket-accept") {
            accepts_socket = header.value == requests::WEBSOCKET_ACCEPT.as_bytes();
        }
    }
    let length = length.ok_or(Fault::Malformed("neither content length nor chunks"))?;
    Ok(Some(Head { status, len, length, accepts_socket }))
}

/// Collects the chunks of `bytes` into `body`. Answers false if the last chunk has not arrived yet.
fn join_chunks(mut bytes: &[u8], body: &mut Vec<u8>) -> Result<bool, Fault> {
    body.clear();
    loop {
        let (size_end, size) = match httparse::parse_chunk_size(bytes) {
            Ok(httparse::Status::Complete((size_end, size))) => (size_end, usize::try_from(size).unwrap_or(usize::MAX)),
            Ok(httparse::Status::Partial) => return Ok(false),
            Err(_) => return Err(Fault::Malformed("chunk size")),
        };
        if size > ANSWER_LEN_MAX {
            return Err(Fault::Malformed("oversized answer"));
        }
        let Some((chunk, rest)) = bytes[size_end..].split_at_checked(size) else { return Ok(false) };
        let Some(rest) = rest.get(2..) else { return Ok(false) };
        if size == 0 {
            return Ok(true);
        }
        body.extend_from_slice(chunk);
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_how_long_the_body_is() {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 12\r\n\r\n{}";
        assert_eq!(read_head(&head[..20]).unwrap(), None);
        let expected = Head { status: 200, len: head.len() - 2, length: BodyLength::Known(12), accepts_socket: false };
        assert_eq!(read_head(head).unwrap(), Some(expected));
        assert!(read_head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(read_head(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n").is_err());
        assert_eq!(
            read_head(b"HTTP/1.1 101 Switching Protocols\r\n\r\n").unwrap().unwrap().length,
            BodyLength::Known(0)
        );
    }

    #[test]
    fn chunks_are_joined_when_all_are_there() {
        let bytes = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let mut body = Vec::new();
        for cut in 0..bytes.len() {
            assert!(!join_chunks(&bytes[..cut], &mut body).unwrap(), "{cut}");
        }
        assert!(join_chunks(bytes, &mut body).unwrap());
        assert_eq!(body, b"abcde");
    }
}
