//! Functions of game code, which clients call by their ids. Declared here, implemented by the script ring.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use muster_domain::sessions::Claims;
use muster_wire::code::Code;

/// A call of a function.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// What the caller passes.
    pub payload: String,
    /// The player; none for a server of the studio.
    pub user: Option<Claims>,
    /// The public id of the player's session, over a socket.
    pub session_id: Option<String>,
    /// The client's address, behind trusted proxies its own.
    pub address: Option<IpAddr>,
    /// The parameters of the request, over HTTP, without the key.
    pub query: Vec<(String, Vec<String>)>,
}

/// What a function failed with: what its author raised, or what the server says of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Which kind of failure.
    pub code: Code,
    /// A sentence for the caller.
    pub message: String,
}

impl Failure {
    /// A failure.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// The result of a call; `None` when the function returned nothing.
pub type FunctionFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<String>, Failure>> + 'a>>;

/// Functions of game code.
pub trait GameFunctions {
    /// Whether there is a function of this id, which is in lower case.
    fn has(&self, id: &str) -> bool;

    /// Calls one.
    fn call<'a>(&'a self, id: &'a str, invocation: Invocation) -> FunctionFuture<'a>;
}

/// No game code.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFunctions;

impl GameFunctions for NoFunctions {
    fn has(&self, _id: &str) -> bool {
        false
    }

    fn call<'a>(&'a self, _id: &'a str, _invocation: Invocation) -> FunctionFuture<'a> {
        Box::pin(std::future::ready(Err(Failure::new(Code::NotFound, "The game has no function of this id."))))
    }
}
