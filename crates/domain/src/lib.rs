//! Durable rules of Muster by feature, and the ports they need.
//!
//! Nothing here knows of sockets, SQL, scripts, the wire or a runtime: the
//! clock, randomness, persistence and password hashing come in through
//! [`ports`], so that the same rules run under tests and simulation.

pub mod error;
pub mod ids;
pub mod ports;
pub mod time;

pub use error::{Error, ErrorKind, Result};
pub use ids::{SessionId, Subject, TokenId, UserId};
pub use time::Timestamp;
