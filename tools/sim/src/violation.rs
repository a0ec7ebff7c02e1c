//! The promises that checkers check, and violations of them.

use std::fmt;

/// A promise that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Check {
    /// An owner's list of presences agrees with the actions of sessions, and is empty when all have gone.
    Presences,
    /// Everything in a partition is at the partition's owner, and nowhere else.
    Owners,
    /// The presences that a listener derives from its snapshot and the events since agree with the owner's list.
    Conclusions,
    /// All sessions that hear a stream hear the same messages in the same order.
    Order,
    /// No session receives anything twice.
    Twice,
    /// A session that hears a stream and stays receives every message that is meant for it.
    Lost,
    /// No session receives anything that is not meant for it: after leaving or closing, when left out, in another
    /// encoding, or from a session that is not on the stream.
    Stray,
    /// Hidden presences are shown to nobody.
    Hidden,
    /// Every request is answered truly and once.
    Answers,
    /// No more messages are on the way or kept than credits and limits allow.
    Limits,
    /// Once sessions and clients do nothing more, everything comes to rest: no shard waits for another forever.
    Rest,
    /// Timers run at the first turn after they are due.
    Timers,
    /// A broadcast is encoded once per encoding.
    Encoding,
    /// A session that is closed by another shard is told to close.
    Closes,
    /// No room has more players than seats, no two players share a seat, and a held seat is kept for as long as was
    /// promised.
    Seats,
    /// Nobody joins a room without its password, or while kept out.
    Entry,
    /// The rooms of a template are filled one after the other.
    Filling,
    /// The state that a member derives from its join and the events since agrees with the room's owner.
    Mirror,
    /// A room's variables agree with the answers to those who changed them.
    Variables,
    /// Listings show the rooms that exist. A watched lobby shows the same in the end, and keeps to its budget.
    Lobby,
    /// No room, view or seat remains when all have gone.
    Leaks,
    /// The tickets that wait are exactly those of players who are there and still search.
    Tickets,
    /// A session that may be in one match or one party is in no second one.
    Single,
    /// Things with recovery data go on, in the state that was kept, when their owner has died.
    Recovery,
    /// A durable match goes on as its players saw it and without losing any of them, and gets their messages once and
    /// in order.
    Matches,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 25] = [
        Self::Presences,
        Self::Owners,
        Self::Conclusions,
        Self::Order,
        Self::Twice,
        Self::Lost,
        Self::Stray,
        Self::Hidden,
        Self::Answers,
        Self::Limits,
        Self::Rest,
        Self::Timers,
        Self::Encoding,
        Self::Closes,
        Self::Seats,
        Self::Entry,
        Self::Filling,
        Self::Mirror,
        Self::Variables,
        Self::Lobby,
        Self::Leaks,
        Self::Tickets,
        Self::Single,
        Self::Recovery,
        Self::Matches,
    ];
}

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation<C = Check> {
    /// The promise.
    pub check: C,
    /// A sentence that says how the promise was broken.
    pub detail: String,
}

impl<C: fmt::Debug> fmt::Display for Violation<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.check, self.detail)
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome<C = Check> {
    /// The first violation, if there was one.
    pub violation: Option<Violation<C>>,
    /// Number of steps: each simulation says what a step is.
    pub steps: u64,
    /// A hash of everything that happened; equal hashes mean equal runs.
    pub hash: u64,
}

/// The result of checked work.
pub type Checked<T = (), C = Check> = Result<T, Violation<C>>;

/// Fails with a violation unless the condition holds. The sentence is made only when it is needed.
pub fn ensure<C>(check: C, holds: bool, detail: impl FnOnce() -> String) -> Checked<(), C> {
    if holds { Ok(()) } else { Err(Violation { check, detail: detail() }) }
}
