//! What checkers find.

use std::fmt;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Check {
    /// An owner's list is what sessions did; nothing remains when all have gone.
    Presences,
    /// What a listener concludes from its snapshot and the events since is what the owner's list shows.
    Conclusions,
    /// All who hear a stream hear the same in the same order.
    Order,
    /// Nobody receives anything twice.
    Twice,
    /// Who hears a stream and stays receives what is meant for it.
    Lost,
    /// Nobody receives what is not meant for it: left, closed, left out, of another encoding, from a stranger.
    Stray,
    /// Hidden presences show nowhere.
    Hidden,
    /// Every question is answered, once, and truly.
    Answers,
    /// No more is under way or kept than there are credits and limits for.
    Limits,
    /// Once nothing is put in, everything comes to rest: no shard waits for another forever.
    Rest,
    /// Timers run at the first turn after they are due.
    Timers,
    /// A broadcast is encoded once per encoding.
    Encoding,
    /// Who is closed from elsewhere is told so.
    Closes,
    /// No room has more players than seats, nobody's seat is another's, and a seat that is held is kept, but no longer.
    Seats,
    /// Nobody comes into a room without the password, or while kept out.
    Entry,
    /// Rooms of a template are filled one after the other.
    Filling,
    /// What a member concludes from coming in and the events since is what the room's owner knows.
    Mirror,
    /// A room's variables are what was answered to those who changed them.
    Variables,
    /// Listings show the rooms that there are; a lobby that is watched shows the same in the end, within its budget.
    Lobby,
    /// Of rooms, views and seats nothing remains.
    Leaks,
    /// Tickets wait for exactly those who are there to play.
    Tickets,
    /// Who may be in one match or one party is in no other.
    Single,
    /// What an owner had kept goes on when it has died, as it was.
    Recovery,
    /// A durable match goes on as its players saw it, with all of them, and hears what they send once and in order.
    Matches,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::Presences,
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

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation<C = Check> {
    /// Which promise.
    pub check: C,
    /// What happened.
    pub detail: String,
}

impl<C: fmt::Debug> fmt::Display for Violation<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}: {}", self.check, self.detail)
    }
}

/// What checked work comes to.
pub type Checked<T = (), C = Check> = Result<T, Violation<C>>;

/// A violation unless the condition holds. The sentence is only made when it is needed.
pub fn ensure<C>(check: C, holds: bool, detail: impl FnOnce() -> String) -> Checked<(), C> {
    if holds { Ok(()) } else { Err(Violation { check, detail: detail() }) }
}
