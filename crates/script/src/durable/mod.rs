//! Durable matches and recordings. The log holds the calls of a match, so that a reader of the log can make the same
//! calls again and has the same match.
//!
//! The outcome of a callback follows from the state, its arguments, and the answers of the host. The [`journal`] writes
//! the arguments and the answers before anything of the callback leaves. Within a callback the clock stands still, and
//! randomness, ids included, follows from the secret seed of the match and the number of the call ([`recorded_call`]).
//! Now and then the state is written as a snapshot. The match itself then goes on with a state read from the snapshot,
//! so that its tables have the same order as in a match that is restored.

pub mod backup;
pub(crate) mod comparison;
pub(crate) mod forgetting;
#[cfg(test)]
mod fuzz;
pub(crate) mod history;
pub(crate) mod journal;
pub(crate) mod latest_write;
pub mod listing;
pub mod logs;
pub mod open_log;
pub mod parts;
pub(crate) mod record;
pub mod recorded_call;
pub mod recorded_match;
pub mod recording;
pub(crate) mod seed;
pub mod transcript;
