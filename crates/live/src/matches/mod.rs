//! Matches that game code runs: who is in them, what their handler is called with, in which order and when, and what
//! comes of its answers.
//!
//! Nothing here runs code. [`Matches`] says what a handler is to be called with ([`Call`]), one call of a match at a time,
//! and is told what came of it ([`Return`]), at once or much later. What a callback wants done takes effect when it has
//! returned, all of it or, if it failed, nothing.
//!
//! An accepted attempt is followed by its join, before the handler is called with anything else. In a durable match nothing of
//! the attempt leaves before the join has returned: so the attempt may be answered before it is in the log.

mod call;
mod carried;
mod durable;
mod effect;
mod game;
mod listing;
mod log;
mod message;
mod owner;
#[cfg(test)]
mod tests;
mod timers;

pub use call::{Act, Broadcast, Call, CallRef, Callback, Input, LeaveReason, Left, Outcome, Return, Sender};
pub use carried::{CarriedMatch, CarriedWaiting};
pub use durable::{Outline, Said, Seated};
pub use effect::{Answer, Effect, Entered, Event, MatchEnd};
pub(crate) use game::ended;
pub use listing::{ListQuery, Listed};
pub use log::{LogError, LogFuture, MatchLog, RECORD_BYTES_MAX, RecordNumber};
pub use message::{Attempt, CHAIN_MAX, Chain, MatchAsk};
pub use owner::{Creation, MatchId, MatchStats, Matches, MatchesConfig};
pub use timers::{TIMER_DATA_BYTES_MAX, TIMER_MS_MAX, TIMER_NAME_BYTES_MAX, TIMERS_MAX, Timer, Timers};

/// Ticks a second at least and at most.
pub const TICK_RATES: std::ops::RangeInclusive<u32> = 1..=128;

/// Most bytes of a label.
pub const LABEL_BYTES_MAX: usize = 2048;
