//! Password hashing: slow on purpose, so it runs on a bounded pool outside the shards.

use std::future::Future;
use std::pin::Pin;

use crate::error::{Error, ErrorKind};

/// The pool's queue is full; the caller may try again soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the password queue is full")]
pub struct PasswordQueueFull;

impl From<PasswordQueueFull> for Error {
    fn from(PasswordQueueFull: PasswordQueueFull) -> Self {
        Self::new(ErrorKind::Unavailable, "Too many passwords are being checked right now. Please try again.")
    }
}

/// Result of checking a password against a stored hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordCheck {
    /// Whether the password is the one that was hashed.
    pub matches: bool,
    /// Whether the hash should be replaced, its scheme or cost not being the current one.
    pub outdated: bool,
}

/// An answer of the pool.
pub type PasswordFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, PasswordQueueFull>> + 'a>>;

/// Hashes and checks passwords on a bounded pool.
pub trait Passwords {
    /// The hash to store, self-describing (scheme, cost and salt included).
    fn hash<'a>(&'a self, password: &'a str) -> PasswordFuture<'a, Vec<u8>>;

    /// Checks `password` against `hash`, or against a dummy of the current cost when there is none, so that
    /// an unknown account answers no sooner than a wrong password.
    fn check<'a>(&'a self, password: &'a str, hash: Option<&'a [u8]>) -> PasswordFuture<'a, PasswordCheck>;
}
