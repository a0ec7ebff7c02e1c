//! Parties as plain data, for another shard that is to own them.

use muster_domain::Timestamp;

use super::message::{Member, PartyId, Settings};
use super::parties::Parties;
use super::state::Party;
use crate::stream::Presence;

/// A party as its owner keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct CarriedParty {
    /// Which.
    pub party: PartyId,
    /// What its leader may change.
    pub settings: Settings,
    /// Seats.
    pub max_size: u16,
    /// Its age in listings.
    pub created_at: Timestamp,
    /// Oldest first.
    pub members: Vec<Member>,
    /// Who leads.
    pub leader: Presence,
    /// Who asks to be let in, longest waiting first.
    pub requests: Vec<Member>,
    /// Counts the changes of membership.
    pub membership: u64,
    /// Whether a ticket was issued since membership last changed.
    pub has_tickets: bool,
}

impl Parties {
    /// Takes out parties, oldest first. Nobody is told, and nothing is left of them here.
    pub fn carry_out(&mut self, is_one: impl Fn(PartyId) -> bool) -> Vec<CarriedParty> {
        let ids: Vec<PartyId> = self.ids().filter(|id| is_one(*id)).collect();
        let mut carried: Vec<CarriedParty> = ids.into_iter().filter_map(|id| self.take(id)).collect();
        carried.sort_unstable_by_key(|party| (party.created_at, party.party));
        carried
    }

    /// Goes on with a party that another owned. Nobody is told.
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

    /// None of a party without members.
    fn of_carried(carried: CarriedParty) -> Option<Self> {
        let CarriedParty { settings, max_size, members, leader, requests, membership, has_tickets, .. } = carried;
        let party = Self { settings, max_size, members, leader, requests, membership, has_tickets };
        (!party.members.is_empty()).then_some(party)
    }
}
