//! All parties that one shard owns, by id. Messages to members leave as effects.

use muster_domain::{Error, Timestamp};

use super::PARTY_SIZE_MAX;
use super::carry::CarriedParty;
use super::listing::{Finding, ListQuery, Page, PartyIndex};
use super::message::{PartyEffect, PartyId, PartyRefusal, PartyReply, PartyRequest};
use super::state::{Party, PartyOutcome};
use crate::listings::{ListingStats, Listings};
use crate::plane::{Map, RequestRef};
use crate::stream::SessionRef;

/// The parties that one shard owns. A party ends when its last member leaves.
#[derive(Default)]
pub struct Parties {
    parties: Map<PartyId, Party>,
    index: PartyIndex,
    listings: Listings<Finding>,
}

impl Parties {
    /// Carries out a request about a party, and appends the effects to `effects` in the order in which they must be
    /// carried out.
    ///
    /// # Errors
    /// A refusal; there are no effects.
    pub fn handle(
        &mut self,
        id: PartyId,
        request: PartyRequest,
        effects: &mut Vec<PartyEffect>,
    ) -> Result<PartyReply, PartyRefusal> {
        let Some(party) = self.parties.get_mut(&id) else {
            return self.handle_unknown(id, request, effects);
        };
        let changes = matches!(request, PartyRequest::Update { .. });
        let (reply, outcome) = party.handle(request, effects)?;
        if outcome == PartyOutcome::Ends {
            self.end(id);
        } else if changes {
            self.index.change(id, &party.settings);
        }
        Ok(reply)
    }

    fn handle_unknown(
        &mut self,
        id: PartyId,
        request: PartyRequest,
        effects: &mut Vec<PartyEffect>,
    ) -> Result<PartyReply, PartyRefusal> {
        match request {
            PartyRequest::Create { leader, settings, max_size, created_at } => {
                if max_size > PARTY_SIZE_MAX {
                    return Err(PartyRefusal::BadSize);
                }
                effects.push(PartyEffect::Enter(leader.clone(), None));
                self.index.add(id, &settings, max_size, created_at);
                self.parties.insert(id, Party::new(leader, settings, max_size));
                Ok(PartyReply::Done)
            }
            // The party ended before the plane reported that this session left.
            PartyRequest::Leave(_) => Ok(PartyReply::Done),
            _ => Err(PartyRefusal::NotFound),
        }
    }

    /// Begins a page of the parties that a query finds, without hidden ones. `None` if the page comes from a later
    /// slice.
    pub(crate) fn begin_listing(
        &mut self,
        request: Option<RequestRef>,
        asked: ListQuery,
    ) -> Option<Result<Page, Error>> {
        self.listings.begin(request, Finding::new(asked), &mut self.index)
    }

    /// Goes on with listings, one slice. Returns the pages of those that are over.
    pub(crate) fn run_slice(&mut self) -> Vec<(Option<RequestRef>, Page)> {
        self.listings.run_slice(&mut self.index)
    }

    /// Whether listings need a slice.
    pub(crate) fn is_listing(&self) -> bool {
        self.listings.is_busy()
    }

    /// Counts of listings.
    pub(crate) fn listing_stats(&self) -> ListingStats {
        self.listings.stats()
    }

    /// The ids of all parties, in no order.
    pub fn ids(&self) -> impl Iterator<Item = PartyId> {
        self.parties.keys().copied()
    }

    /// Whether this shard owns the party.
    pub fn contains(&self, id: PartyId) -> bool {
        self.parties.contains_key(&id)
    }

    /// A copy of a party's state as plain data.
    pub fn carried(&self, id: PartyId) -> Option<CarriedParty> {
        let created_at = self.index.created_at(id)?;
        self.parties.get(&id).map(|party| party.clone().carried(id, created_at))
    }

    pub(super) fn get_mut(&mut self, id: PartyId) -> Option<&mut Party> {
        self.parties.get_mut(&id)
    }

    pub(super) fn end(&mut self, id: PartyId) {
        self.index.remove(id);
        self.parties.remove(&id);
    }

    /// Removes a party and returns its state.
    pub(super) fn take(&mut self, id: PartyId) -> Option<CarriedParty> {
        let created_at = self.index.created_at(id)?;
        self.index.remove(id);
        self.parties.remove(&id).map(|party| party.carried(id, created_at))
    }

    /// Adds a party from another owner.
    pub(super) fn put(&mut self, id: PartyId, party: Party, max_size: u16, created_at: Timestamp) {
        self.index.adopt(id, &party.settings, max_size, created_at);
        self.parties.insert(id, party);
    }

    /// Whether a session is a member of a party or asks to be let in.
    pub fn knows(&self, id: PartyId, session: SessionRef) -> bool {
        self.parties.get(&id).is_some_and(|party| party.knows(session))
    }

    /// Replaces a session that goes on at another place. Returns whether it is a member of the party or asks to be let
    /// in.
    pub fn rebind(&mut self, id: PartyId, from: SessionRef, to: SessionRef) -> bool {
        self.parties.get_mut(&id).is_some_and(|party| party.rebind(from, to))
    }

    /// Drops the chosen parties, because their partition has another owner, or this shard owns it anew. Members are
    /// told nothing.
    pub fn forget(&mut self, is_lost: impl Fn(PartyId) -> bool) {
        let lost: Vec<PartyId> = self.parties.keys().copied().filter(|id| is_lost(*id)).collect();
        lost.into_iter().for_each(|id| self.end(id));
    }

    /// All sessions that are members of a party or ask to be let in, in no order.
    pub fn sessions(&self) -> impl Iterator<Item = (PartyId, SessionRef)> {
        self.parties.iter().flat_map(|(id, party)| party.sessions().map(|session| (*id, session)))
    }

    /// Members of all parties, in no order.
    pub fn members(&self) -> impl Iterator<Item = (PartyId, SessionRef)> {
        self.parties.iter().flat_map(|(id, party)| party.members.iter().map(|member| (*id, member.session())))
    }

    /// Number of parties.
    pub fn len(&self) -> usize {
        self.parties.len()
    }

    /// Whether this shard owns no party.
    pub fn is_empty(&self) -> bool {
        self.parties.is_empty()
    }
}
