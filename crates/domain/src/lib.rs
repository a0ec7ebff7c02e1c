//! Durable rules of Muster by feature, and the ports they need.
//!
//! Nothing here knows of sockets, SQL, scripts, the wire or a runtime: the
//! clock, randomness, persistence and password hashing come in through
//! [`ports`], so that the same rules run under tests and simulation.

pub mod account;
pub mod address;
pub mod admission;
pub mod answers;
pub mod auth;
pub mod barred;
pub mod budget;
mod channel;
pub mod chat;
mod claims;
pub mod cron;
pub mod error;
pub mod friends;
#[cfg(test)]
mod fuzz;
pub mod guessing;
pub mod identifiers;
pub mod ids;
pub mod json;
pub mod ladder;
pub mod limits;
pub mod link;
pub mod multi_update;
pub mod near;
pub mod notifications;
pub mod ports;
pub mod query;
pub mod quotas;
pub mod ranks;
pub mod rates;
mod refusals;
pub mod revocations;
pub mod sessions;
pub mod sql;
pub mod storage;
pub mod time;
pub mod wallet;

pub use error::{Error, ErrorKind, Result};
pub use ids::{GroupId, LedgerItemId, MessageId, NotificationId, SessionId, Subject, TokenId, UserId};
pub use time::Timestamp;
