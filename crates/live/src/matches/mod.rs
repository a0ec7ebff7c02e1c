//! Matches that game code runs: their players, the order and the times of the calls of their handlers, and the effects
//! of the returns.
//!
//! Nothing here runs game code. [`Matches`] asks for calls of handlers ([`Call`]), and is given their returns
//! ([`Return`]) at once or much later. Of a match at most one call is under way. The acts of a callback take effect
//! when the callback has returned: all of them, or none if the callback has failed.
//!
//! An accepted join attempt is followed by its join, before any other call of the handler. In a durable match the
//! effects of the attempt leave only when the join has returned. An engine may therefore return from the attempt at
//! once, and sync the records of attempt and join together.

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

pub use call::{Act, Broadcast, Call, CallRef, Callback, Input, Joiner, LeaveReason, Left, Outcome, Return, Sender};
pub use carried::{CarriedMatch, CarriedWaiting};
pub use durable::{Outline, ReplayedBroadcasts, Seated};
pub use effect::{Entered, MatchAnswer, MatchEffect, MatchEnd, MatchEvent};
pub use listing::{ListQuery, Listed};
pub use log::{LogError, LogFuture, MatchLog, RECORD_BYTES_MAX, RecordNumber};
pub use message::{Attempt, CHAIN_MAX, Chain, MatchAsk, MatchPart, MatchesAnswer, MatchesAsk};
pub use owner::{Creation, MatchId, MatchStats, Matches, MatchesConfig};
pub(crate) use running::ended_error;
pub use timers::{TIMER_DATA_BYTES_MAX, TIMER_MS_MAX, TIMER_NAME_BYTES_MAX, TIMERS_MAX, Timer, Timers};

/// Tick rates that a match may have, in loops per second.
pub const TICK_RATES: std::ops::RangeInclusive<u32> = 1..=128;

/// Limit on the bytes of a label.
pub const LABEL_BYTES_MAX: usize = 2048;
