//! A client that keeps its connection and treats errors as answers, since the server may go away at any moment.

use std::io::{Error, ErrorKind, Read as _, Result, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;

use super::http::{self, Response};

/// One connection, opened at the first call.
pub struct Client {
    address: SocketAddr,
    stream: Option<TcpStream>,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, stream: None }
    }

    /// A call with an `Authorization` header and a JSON body.
    ///
    /// # Errors
    /// When the connection cannot be made or ends before the whole answer.
    pub fn call(&mut self, method: &str, path: &str, authorization: &str, body: &Value) -> Result<Response> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [format!("Authorization: {authorization}"), format!("Content-Length: {}", body.len())];
        let mut request = http::head(method, path, &[&headers[0], &headers[1]]);
        request.extend_from_slice(body.as_bytes());
        let stream = match &mut self.stream {
            Some(stream) => stream,
            none => none.insert(connect(self.address)?),
        };
        stream.write_all(&request)?;
        read_response(stream)
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, super::DEADLINE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(super::DEADLINE))?;
    Ok(stream)
}

fn read_response(stream: &mut TcpStream) -> Result<Response> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        match stream.read(&mut chunk) {
            Ok(0) => return Err(Error::from(ErrorKind::UnexpectedEof)),
            Ok(length) => bytes.extend_from_slice(&chunk[..length]),
            Err(error) if http::is_interruption(&error) => continue,
            Err(error) => return Err(error),
        }
        if let Some((response, rest)) = Response::first(&bytes) {
            assert!(rest.is_empty(), "more than one answer to one request");
            return Ok(response);
        }
    }
}
