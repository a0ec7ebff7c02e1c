//! Parties: groups of players that stay together between matches, led by one of them.
//!
//! [`Parties`] is the state machine of all parties that one shard owns. A request goes in, a reply and effects come
//! out; who is told what is an effect. The party's stream carries its presence events and broadcasts, and is the
//! kernel's: it joins and leaves members as the effects say, and reports whoever left it. Nothing here knows of formats.

mod carry;
mod listing;
mod message;
mod parties;
mod recovery;
mod state;
#[cfg(test)]
mod tests;

pub use carry::CarriedParty;
pub use listing::{LISTING_SCAN_MAX, ListQuery, Listed, Page, Place};
pub use message::{Effect, Event, Label, Member, PartyId, Person, Refusal, Reply, Request, Settings, Snapshot};
pub use parties::Parties;

/// Most members of a party.
pub const PARTY_SIZE_MAX: u16 = 256;

/// Most bytes of a party's label.
pub const LABEL_BYTES_MAX: usize = 2048;
