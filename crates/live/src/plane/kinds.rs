//! The list of kinds of things that have owners: one line each. Streams and added kinds are not in the list.
//!
//! A line holds the kind's name; the file in `owners/` and the type that keeps the kind's things at their owner; and
//! the module of the kind's rules, with the types of its questions, its answers, and its parts on the way to the next
//! owner. Three macros make everything of the list that differs by kind: `asks!` (`message/asks.rs`) questions and
//! answers, `parts!` (`message/parts.rs`) parts, `things!` (`owners/things.rs`) the things of a place.

/// Hands the list to a macro.
macro_rules! kinds {
    ($make:ident) => {
        $make! {
            /// Parties.
            Party: parties::OwnedParties, party::{PartyAsk => PartyAnswer, PartyPart};
            /// Rooms, desks and the directory.
            Room: rooms::OwnedRooms, rooms::{RoomsAsk => RoomsAnswer, CarriedRooms};
            /// The matchmaker's pool.
            Pool: pool::OwnedPool, matchmaker::{PoolAsk => PoolAnswer, CarriedPool};
            /// Matches of game code.
            Match: matches::OwnedMatches, matches::{MatchesAsk => MatchesAnswer, MatchPart};
        }
    };
}
pub(crate) use kinds;
