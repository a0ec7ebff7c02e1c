//! Everything that the rules need from outside, as traits that the outer rings implement.
//!
//! Futures need not be `Send`: each shard calls ports from its own thread.

pub mod accounts;
pub mod chat;
pub mod clock;
pub mod friends;
pub mod job_epochs;
pub mod keyed_writes;
pub mod multi_update;
pub mod notifications;
pub mod passwords;
pub mod revocations;
pub mod sql;
pub mod storage;
pub mod store;
pub mod wallet;

use std::future::Future;
use std::pin::Pin;

/// The future of every asynchronous port method. Boxed so that ports stay usable as trait objects.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, store::StoreError>> + 'a>>;
