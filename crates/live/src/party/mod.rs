//! Parties: groups of players that stay together between matches, led by one of them.
//!
//! [`Parties`] is the state machine of all parties that one shard owns. A request goes in, a reply and effects come
//! out; effects also say which sessions get which messages. The plane owns the party's stream: it puts members on the
//! stream and takes them off as the effects say, and reports sessions that left. Nothing here knows of wire formats.

mod carry;
mod listing;
mod message;
mod parties;
mod recovery;
mod state;
#[cfg(test)]
mod tests;

pub use carry::CarriedParty;
pub use listing::{LISTING_SCAN_MAX, ListQuery, Listed, ListingPosition, Page};
pub use message::{
    Label, Member, PartyAnswer, PartyAsk, PartyEffect, PartyEvent, PartyId, PartyPart, PartyRefusal, PartyReply,
    PartyRequest, Person, Settings, Snapshot,
};
pub use parties::Parties;

/// The largest number of members of a party.
pub const PARTY_SIZE_MAX: u16 = 256;

/// The largest number of bytes of a party's label.
pub const LABEL_BYTES_MAX: usize = 2048;
