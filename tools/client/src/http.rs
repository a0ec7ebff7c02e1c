//! Operations over one HTTP/1.1 keep-alive connection.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use muster_wire::Code;
use muster_wire::json::{Mode, from_json};
use muster_wire::operations::{Audience, Binding, Operation, TypedOperation};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::{ClientError, RequestParts};

/// Credentials of a call.
#[derive(Debug, Clone, Copy)]
pub enum Credentials<'a> {
    None,
    /// The client's server key.
    ServerKey,
    /// A session token.
    Session(&'a str),
    /// The key with which other servers call game functions.
    HttpKey(&'a str),
}

/// A client of one server. Calls of one client go one after the other; players who act at the same time need a client
/// each.
///
/// Calls must be made within a tokio runtime, on which the connection runs.
pub struct Client {
    address: String,
    server_key: String,
    connection: Mutex<Option<SendRequest<Full<Bytes>>>>,
}

/// An answer, undecoded.
#[derive(Debug, Clone)]
pub struct RawAnswer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Client {
    /// A client of the server at `address` (`host:port`). It connects at the first call.
    pub fn new(address: impl Into<String>, server_key: impl Into<String>) -> Self {
        Self { address: address.into(), server_key: server_key.into(), connection: Mutex::default() }
    }

    /// The server's `host:port`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Calls an operation by its preferred binding.
    pub async fn call<O: TypedOperation>(
        &self,
        credentials: Credentials<'_>,
        request: &O::Request,
    ) -> Result<O::Response, ClientError> {
        self.call_by::<O>(&O::OPERATION.row().bindings[0], credentials, request).await
    }

    /// Calls an operation for a player: with the server key if the operation needs no session, otherwise with `token`.
    pub async fn call_as<O: TypedOperation>(
        &self,
        token: &str,
        request: &O::Request,
    ) -> Result<O::Response, ClientError> {
        let credentials = match O::OPERATION.row().audience {
            Audience::Anyone => Credentials::None,
            Audience::ServerKey => Credentials::ServerKey,
            Audience::Session | Audience::HttpKeyOrSession => Credentials::Session(token),
        };
        self.call::<O>(credentials, request).await
    }

    /// Calls an operation by one of its bindings.
    pub async fn call_by<O: TypedOperation>(
        &self,
        binding: &Binding,
        credentials: Credentials<'_>,
        request: &O::Request,
    ) -> Result<O::Response, ClientError> {
        let parts = RequestParts::new(binding, request)?;
        let answer = self.exchange(&parts, credentials, HeaderMap::new()).await?.into_success()?;
        from_json(&answer.body, Mode::Tolerant)
            .map_err(|error| ClientError::Malformed(format!("{}: {error}", O::OPERATION.name())))
    }

    /// Sends a request as given, and answers whatever status comes. `headers` are added to the client's own.
    pub async fn exchange(
        &self,
        parts: &RequestParts,
        credentials: Credentials<'_>,
        headers: HeaderMap,
    ) -> Result<RawAnswer, ClientError> {
        let mut request = Request::builder().method(parts.method.name()).uri(&parts.target);
        request = request.header(header::HOST, &self.address).header(header::ACCEPT, "application/json");
        if !parts.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(authorization) = self.authorization(credentials)? {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let mut request = request
            .body(Full::new(Bytes::copy_from_slice(&parts.body)))
            .map_err(|error| ClientError::Request(error.to_string()))?;
        request.headers_mut().extend(headers);
        self.send(request).await
    }

    /// Sends any request. The connection is opened anew if the server has closed it.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<RawAnswer, ClientError> {
        let mut connection = self.connection.lock().await;
        let mut sender = match connection.take() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        let answer = match sender.try_send_request(request).await {
            Ok(answer) => answer,
            Err(mut error) => match error.take_message() {
                // The connection closed while idle. The request did not reach the server, so it may be sent over a new
                // one.
                Some(request) => {
                    sender = self.connect().await?;
                    sender.send_request(request).await?
                }
                None => return Err(error.into_error().into()),
            },
        };
        let (head, body) = answer.into_parts();
        let body = body.collect().await?.to_bytes();
        *connection = Some(sender);
        Ok(RawAnswer { status: head.status.as_u16(), headers: head.headers, body })
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ClientError> {
        let stream = connect_tcp(&self.address).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // Its error reaches the caller through the sender.
        tokio::spawn(connection);
        Ok(sender)
    }

    fn authorization(&self, credentials: Credentials<'_>) -> Result<Option<HeaderValue>, ClientError> {
        let basic = |key: &str| format!("Basic {}", STANDARD.encode(format!("{key}:")));
        let value = match credentials {
            Credentials::None => return Ok(None),
            Credentials::ServerKey => basic(&self.server_key),
            Credentials::HttpKey(key) => basic(key),
            Credentials::Session(token) => format!("Bearer {token}"),
        };
        HeaderValue::try_from(value).map(Some).map_err(|error| ClientError::Request(error.to_string()))
    }
}

/// Connects without delay for small packets.
pub(crate) async fn connect_tcp(address: &str) -> Result<TcpStream, ClientError> {
    let failed = |source| ClientError::Connect { address: address.to_owned(), source };
    let stream = TcpStream::connect(address).await.map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

impl RawAnswer {
    /// The answer if its status is 200, otherwise the server's error.
    pub fn into_success(self) -> Result<Self, ClientError> {
        if self.status == 200 {
            return Ok(self);
        }
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let code = body["code"].as_u64().and_then(|code| Code::from_number(u8::try_from(code).ok()?));
        let message = match body["message"].as_str() {
            Some(message) => message.to_owned(),
            None => String::from_utf8_lossy(&self.body).into_owned(),
        };
        Err(ClientError::Refused { status: self.status, code, message })
    }
}

impl RequestParts {
    /// A request of an operation with a body written by hand, right or wrong.
    pub fn raw(operation: Operation, body: impl Into<Vec<u8>>) -> Self {
        let binding = &operation.row().bindings[0];
        Self { method: binding.method, target: binding.template.to_owned(), body: body.into() }
    }
}
