//! Matches that game code runs: their players, the calls of their handlers, in which order and when, and the effects of
//! the
//! answers.
//!
//! Nothing here runs game code. [`Matches`] asks for calls of handlers ([`Call`]), one call of a match at a time, and
//! is given
//! their returns ([`Return`]), at once or much later. The acts of a callback take effect when it has returned: all of
//! them, or
//! none if the callback has failed.
//!
//! An accepted attempt is followed by its join, before the handler is called with anything else. In a durable match no
//! effect of
//! the attempt leaves before the join has returned, so an engine may answer the attempt before it is in the log.

mod call;
mod carried;
mod durable;
mod effect;
mod listing;
mod log;
mod message;
mod owner;
mod running;
#[cfg(test)]
mod tests;
mod timers;

pub use call::{Act, Broadcast, Call, CallRef, Callback, Input, LeaveReason, Left, Outcome, Return, Sender};
pub use carried::{CarriedMatch, CarriedWaiting};
pub use durable::{Outline, Said, Seated};
pub use effect::{Answer, Effect, Entered, Event, MatchEnd};
pub use listing::{ListQuery, Listed};
pub use log::{LogError, LogFuture, MatchLog, RECORD_BYTES_MAX, RecordNumber};
pub use message::{Attempt, CHAIN_MAX, Chain, MatchAsk, MatchPart, MatchesAnswer, MatchesAsk};
pub use owner::{Creation, MatchId, MatchStats, Matches, MatchesConfig};
pub(crate) use running::ended;
pub use timers::{TIMER_DATA_BYTES_MAX, TIMER_MS_MAX, TIMER_NAME_BYTES_MAX, TIMERS_MAX, Timer, Timers};

/// Tick rates that a match may have, in loops per second.
pub const TICK_RATES: std::ops::RangeInclusive<u32> = 1..=128;

/// Most bytes of a label.
pub const LABEL_BYTES_MAX: usize = 2048;
