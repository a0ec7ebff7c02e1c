//! Operations over HTTP: decodes a routed request, runs it, measures it, and encodes the answer or the error.
//! No sockets: bodies come whole and leave whole.

use std::net::IpAddr;

use muster_domain::{Error, ErrorKind, Result};
use muster_wire::code::{Code, error_body};
use muster_wire::json;
use muster_wire::operations::{Match, Operation, RouteError, TypedOperation, decode_http};

use crate::context::App;
use crate::dispatch::dispatch;
use crate::game::{Headers, Origin};
use crate::metrics::Measured;
use crate::pipeline::{Call, Codec, Refusal};
use crate::rpc;

/// The content type of all answers but unwrapped results of game functions.
pub const JSON: &str = "application/json";

/// A request that [`muster_wire::operations::route`] found an operation for.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// Its operation and path parameters.
    pub matched: Match<'a>,
    /// What follows the question mark; empty if nothing does.
    pub query: &'a str,
    /// The whole body, decompressed.
    pub body: &'a [u8],
    /// The `authorization` header.
    pub authorization: Option<&'a str>,
    /// The client's address, behind trusted proxies its own.
    pub address: Option<IpAddr>,
    /// The port behind that address, where nobody stands between.
    pub port: Option<u16>,
    /// All headers.
    pub headers: &'a dyn Headers,
}

impl<'a> HttpRequest<'a> {
    pub(crate) fn origin(&self) -> Origin<'a> {
        Origin { address: self.address, port: self.port, query: self.query, headers: self.headers }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// HTTP status.
    pub status: u16,
    /// Content type.
    pub content_type: &'static str,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Answers a request.
pub async fn call(app: &App, request: HttpRequest<'_>) -> HttpResponse {
    let operation = request.matched.operation;
    let now = app.clock.now();
    let response = if operation == Operation::RpcFunc {
        rpc::call(app, &request, now).await
    } else {
        let (authorization, origin) = (request.authorization, request.origin());
        let call = Call { operation, authorization, origin, now, codec: HttpCodec(request) };
        // On its own: it is as large as the largest operation, which calls of functions need not carry about.
        match Box::pin(dispatch(app, &call)).await {
            Ok(body) => HttpResponse { status: 200, content_type: JSON, body },
            Err(Refusal::BuiltIn(error)) => {
                report(operation, &error);
                HttpResponse::error(code(error.kind), &error.message)
            }
            Err(Refusal::Runtime(failure)) => HttpResponse::error(failure.code, &failure.message),
        }
    };
    let measured = Measured {
        is_error: response.status >= 400,
        recv_bytes: request.body.len(),
        sent_bytes: response.body.len(),
        latency_us: u64::try_from(app.clock.now().0.saturating_sub(now.0)).unwrap_or(0),
    };
    app.metrics.request(operation, measured);
    response
}

impl HttpResponse {
    /// An error in the protocol's form: `{"code":5,"message":"…"}`.
    pub fn error(code: Code, message: &str) -> Self {
        Self { status: code.http_status(), content_type: JSON, body: error_body(code, message) }
    }

    /// The answer to a path or method that does not exist.
    pub fn not_routed(error: RouteError) -> Self {
        match error {
            RouteError::NotFound => Self::error(Code::NotFound, "There is nothing at this path."),
            RouteError::WrongMethod => {
                Self::error(Code::Unimplemented, "This path does not take requests of this method.")
            }
        }
    }
}

/// JSON by path, query and body.
struct HttpCodec<'a>(HttpRequest<'a>);

impl Codec for HttpCodec<'_> {
    fn request<T: TypedOperation>(&self) -> Result<T::Request> {
        let HttpRequest { matched, query, body, .. } = &self.0;
        decode_http(matched, query, body).map_err(|error| Error::invalid(error.to_string()))
    }

    fn response<T: TypedOperation>(&self, response: &T::Response) -> Vec<u8> {
        json::to_json(response)
    }
}

/// Logs what is not the caller's fault. A database that is away is reported where it is watched, not per request.
fn report(operation: Operation, error: &Error) {
    let (operation, cause) = (operation.name(), error.cause.as_deref().unwrap_or_default());
    match error.kind {
        ErrorKind::Internal => tracing::error!(operation, cause, told = %error.message, "request failed"),
        ErrorKind::Unavailable => tracing::debug!(operation, cause, "request refused for now"),
        _ => {}
    }
}

/// The protocol's code of a refusal.
pub fn code(kind: ErrorKind) -> Code {
    match kind {
        ErrorKind::InvalidArgument => Code::InvalidArgument,
        ErrorKind::NotFound => Code::NotFound,
        ErrorKind::AlreadyExists => Code::AlreadyExists,
        ErrorKind::PermissionDenied => Code::PermissionDenied,
        ErrorKind::Unauthenticated => Code::Unauthenticated,
        ErrorKind::FailedPrecondition => Code::FailedPrecondition,
        ErrorKind::ResourceExhausted => Code::ResourceExhausted,
        ErrorKind::Unavailable => Code::Unavailable,
        ErrorKind::Unimplemented => Code::Unimplemented,
        ErrorKind::Internal => Code::Internal,
    }
}
