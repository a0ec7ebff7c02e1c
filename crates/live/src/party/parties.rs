//! All parties of one shard, by id.

use super::PARTY_SIZE_MAX;
use super::message::{Effect, PartyId, Refusal, Reply, Request};
use super::state::{Fate, Party};
use crate::plane::Map;
use crate::stream::SessionRef;

/// The parties that one shard owns. A party without members is gone at once.
#[derive(Debug, Default)]
pub struct Parties {
    parties: Map<PartyId, Party>,
}

impl Parties {
    /// Carries out a request about a party. What it caused is appended to `effects`, in the order in which it must be
    /// carried out.
    ///
    /// # Errors
    /// When the request is refused; nothing has changed then, and there are no effects.
    pub fn handle(&mut self, id: PartyId, request: Request, effects: &mut Vec<Effect>) -> Result<Reply, Refusal> {
        let Some(party) = self.parties.get_mut(&id) else {
            return self.handle_unknown(id, request, effects);
        };
        let (reply, fate) = party.handle(request, effects)?;
        if fate == Fate::Ends {
            self.parties.remove(&id);
        }
        Ok(reply)
    }

    fn handle_unknown(&mut self, id: PartyId, request: Request, effects: &mut Vec<Effect>) -> Result<Reply, Refusal> {
        match request {
            Request::Create { leader, settings, max_size } => {
                if max_size > PARTY_SIZE_MAX {
                    return Err(Refusal::BadSize);
                }
                effects.push(Effect::Enter(leader.clone(), None));
                self.parties.insert(id, Party::new(leader, settings, max_size));
                Ok(Reply::Done)
            }
            // Late news of a party that ended.
            Request::Leave(_) => Ok(Reply::Done),
            _ => Err(Refusal::NotFound),
        }
    }

    /// Whether a session is a member of a party, or waits to be.
    pub fn knows(&self, id: PartyId, session: SessionRef) -> bool {
        self.parties.get(&id).is_some_and(|party| party.knows(session))
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
