//! Parties as plain data, for the shard that will own them next. Nothing here sends them.

use muster_domain::Timestamp;

use super::message::{Member, PartyId, Settings};
use super::parties::Parties;
use super::state::Party;
use crate::stream::Presence;

/// The state of a party.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedParty {
    /// The party's id.
    pub party: PartyId,
    /// Settings that the leader may change.
    pub settings: Settings,
    /// Number of seats.
    pub max_size: u16,
    /// The time at which the party was made; it orders listings.
    pub created_at: Timestamp,
    /// Members in the order of their arrival.
    pub members: Vec<Member>,
    /// The leader's presence.
    pub leader: Presence,
    /// Sessions that ask to be let in, in the order in which they asked.
    pub requests: Vec<Member>,
    /// Number of changes of membership so far.
    pub membership: u64,
    /// Whether a matchmaker ticket was issued since the last change of membership.
    pub has_tickets: bool,
}

impl Parties {
    /// Takes out the chosen parties, oldest first. Members are told nothing.
    pub fn carry_out(&mut self, is_one: impl Fn(PartyId) -> bool) -> Vec<CarriedParty> {
        let ids: Vec<PartyId> = self.ids().filter(|id| is_one(*id)).collect();
        let mut carried: Vec<CarriedParty> = ids.into_iter().filter_map(|id| self.take(id)).collect();
        carried.sort_unstable_by_key(|party| (party.created_at, party.party));
        carried
    }

    /// Adds a party from another owner. Members are told nothing.
    pub fn carry_in(&mut self, carried: CarriedParty) {
        let CarriedParty { party, max_size, created_at, .. } = carried;
        if let Some(carried) = Party::of_carried(carried) {
            self.put(party, carried, max_size, created_at);
        }
    }
}

impl Party {
    pub(super) fn carried(self, party: PartyId, created_at: Timestamp) -> CarriedParty {
        let Self { settings, max_size, members, leader, requests, membership, has_tickets } = self;
        CarriedParty { party, settings, max_size, created_at, members, leader, requests, membership, has_tickets }
    }

    /// A party from its carried state; `None` without members, since such a party cannot exist.
    fn of_carried(carried: CarriedParty) -> Option<Self> {
        let CarriedParty { settings, max_size, members, leader, requests, membership, has_tickets, .. } = carried;
        let party = Self { settings, max_size, members, leader, requests, membership, has_tickets };
        (!party.members.is_empty()).then_some(party)
    }
}
