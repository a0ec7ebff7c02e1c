//! Requests and answers over HTTP as whole values, and the codes of refusals.

use std::net::IpAddr;
use std::num::NonZeroU32;

use muster_domain::{Error, ErrorKind};
use muster_wire::code::{Code, error_body};
use muster_wire::operations::{Match, RouteError};

use crate::failure::Failure;
use crate::game::{Headers, RequestOrigin};

/// The content type of all answers except unwrapped results of game functions.
pub const JSON: &str = "application/json";

/// A request that [`muster_wire::operations::route`] found an operation for.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// The operation and the parameters in the path.
    pub matched: Match<'a>,
    /// The text behind the question mark; empty if there is none.
    pub query: &'a str,
    /// The whole body, decompressed.
    pub body: &'a [u8],
    /// The `authorization` header.
    pub authorization: Option<&'a str>,
    /// The address of the client itself, also behind trusted proxies.
    pub address: Option<IpAddr>,
    /// The port of the client; `None` behind a proxy.
    pub port: Option<u16>,
    /// All headers.
    pub headers: &'a dyn Headers,
}

impl<'a> HttpRequest<'a> {
    pub(crate) fn origin(&self) -> RequestOrigin<'a> {
        RequestOrigin { address: self.address, port: self.port, query: self.query, headers: self.headers }
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
    /// Seconds after which the caller may ask again, where a limit of the caller says so; the connection closes then.
    pub retry_after_sec: Option<NonZeroU32>,
}

impl HttpResponse {
    /// An answer in JSON.
    pub fn ok(body: Vec<u8>) -> Self {
        Self { status: 200, content_type: JSON, body, retry_after_sec: None }
    }

    /// A refusal of the server.
    pub fn refusal(error: &Error) -> Self {
        Self { retry_after_sec: error.retry_after_sec, ..Self::error(code(error.kind), &error.message) }
    }

    /// An error in the protocol's form: `{"code":5,"message":"…"}`.
    pub fn error(code: Code, message: &str) -> Self {
        let body = error_body(code.number().into(), message);
        Self { status: code.http_status(), ..Self::ok(body) }
    }

    /// A failure of game code in the same form.
    pub fn failure(failure: &Failure) -> Self {
        let body = error_body(failure.number(), &failure.message);
        Self { status: failure.code.http_status(), ..Self::ok(body) }
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
