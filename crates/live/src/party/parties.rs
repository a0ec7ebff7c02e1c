//! All parties of one shard, by id.

use muster_domain::Timestamp;

use super::PARTY_SIZE_MAX;
use super::listing::{Directory, ListQuery, Listed};
use super::message::{Effect, PartyId, Refusal, Reply, Request};
use super::state::{Fate, Party};
use crate::plane::Map;
use crate::stream::SessionRef;

struct Known {
    party: Party,
    created_at: Timestamp,
    /// In the directory.
    slot: Option<u32>,
}

/// The parties that one shard owns. A party without members is gone at once.
#[derive(Default)]
pub struct Parties {
    parties: Map<PartyId, Known>,
    directory: Directory,
}

impl Parties {
    /// Carries out a request about a party. What it caused is appended to `effects`, in the order in which it must be
    /// carried out.
    ///
    /// # Errors
    /// When the request is refused; nobody is concerned then, and there are no effects.
    pub fn handle(&mut self, id: PartyId, request: Request, effects: &mut Vec<Effect>) -> Result<Reply, Refusal> {
        let Some(known) = self.parties.get_mut(&id) else {
            return self.handle_unknown(id, request, effects);
        };
        let changes = matches!(request, Request::Update { .. });
        let (reply, fate) = known.party.handle(request, effects)?;
        if fate == Fate::Ends {
            self.directory.hide(known.slot);
            self.parties.remove(&id);
        } else if changes {
            known.show(&mut self.directory, id);
        }
        Ok(reply)
    }

    fn handle_unknown(&mut self, id: PartyId, request: Request, effects: &mut Vec<Effect>) -> Result<Reply, Refusal> {
        match request {
            Request::Create { leader, settings, max_size, created_at } => {
                if max_size > PARTY_SIZE_MAX {
                    return Err(Refusal::BadSize);
                }
                effects.push(Effect::Enter(leader.clone(), None));
                let party = Party::new(leader, settings, max_size);
                let mut known = Known { party, created_at, slot: None };
                known.show(&mut self.directory, id);
                self.parties.insert(id, known);
                Ok(Reply::Done)
            }
            // Late news of a party that ended.
            Request::Leave(_) => Ok(Reply::Done),
            _ => Err(Refusal::NotFound),
        }
    }

    /// Parties that were asked for, hidden ones left out.
    pub fn list(&self, asked: &ListQuery) -> Vec<Listed> {
        self.directory.list(asked)
    }

    /// Whether a session is a member of a party, or waits to be.
    pub fn knows(&self, id: PartyId, session: SessionRef) -> bool {
        self.parties.get(&id).is_some_and(|known| known.party.knows(session))
    }

    /// Number of parties.
    pub fn len(&self) -> usize {
        self.parties.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.parties.is_empty()
    }
}

impl Known {
    fn show(&mut self, directory: &mut Directory, id: PartyId) {
        let Party { settings, max_size, .. } = &self.party;
        self.slot = directory.show(self.slot, id, settings, *max_size, self.created_at);
    }
}
