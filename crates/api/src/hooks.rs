//! What game code may put before and after an operation. Declared here, implemented by the script ring.

use std::future::Future;
use std::pin::Pin;

use muster_domain::Result;
use muster_wire::operations::Operation;

use crate::context::Context;

/// What every hook returns.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// Hooks of game code. Messages pass as their JSON text, which every script engine reads; nothing is encoded for an
/// operation that has no hook.
pub trait Hooks {
    /// Whether anything runs before `operation`.
    fn has_before(&self, operation: Operation) -> bool;

    /// Whether anything runs after `operation`.
    fn has_after(&self, operation: Operation) -> bool;

    /// Runs before an operation; answers the request to go on with. `None` switches the operation off: the client
    /// gets «not found».
    fn before<'a>(
        &'a self,
        context: &'a Context<'_>,
        operation: Operation,
        request: Vec<u8>,
    ) -> HookFuture<'a, Option<Vec<u8>>>;

    /// Runs after an operation succeeded. What it answers changes nothing any more.
    fn after<'a>(
        &'a self,
        context: &'a Context<'_>,
        operation: Operation,
        request: Vec<u8>,
        response: Vec<u8>,
    ) -> HookFuture<'a, ()>;
}

/// No game code: two calls that answer `false`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn has_before(&self, _operation: Operation) -> bool {
        false
    }

    fn has_after(&self, _operation: Operation) -> bool {
        false
    }

    fn before<'a>(
        &'a self,
        _context: &'a Context<'_>,
        _operation: Operation,
        request: Vec<u8>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        Box::pin(std::future::ready(Ok(Some(request))))
    }

    fn after<'a>(
        &'a self,
        _context: &'a Context<'_>,
        _operation: Operation,
        _request: Vec<u8>,
        _response: Vec<u8>,
    ) -> HookFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}
