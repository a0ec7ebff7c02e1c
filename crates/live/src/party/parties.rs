//! All parties of one shard, by id.

use std::collections::HashMap;

use super::PARTY_SIZE_MAX;
use super::message::{Effect, PartyId, Refusal, Reply, Request};
use super::state::{Fate, Party};
use crate::session::Millis;

/// The parties that one shard owns. A party without members is gone at once.
#[derive(Debug)]
pub struct Parties<K> {
    parties: HashMap<PartyId, Party<K>>,
}

impl<K> Default for Parties<K> {
    fn default() -> Self {
        Self { parties: HashMap::new() }
    }
}

impl<K: Copy + Eq> Parties<K> {
    /// Carries out a request about a party. What it caused is appended to `effects`, in the order in which it must be
    /// carried out.
    ///
    /// # Errors
    /// When the request is refused; nothing has changed then, and there are no effects.
    pub fn handle(
        &mut self,
        id: PartyId,
        request: Request<K>,
        now: Millis,
        effects: &mut Vec<Effect<K>>,
    ) -> Result<Reply<K>, Refusal> {
        let Some(party) = self.parties.get_mut(&id) else {
            return self.handle_unknown(id, request, now, effects);
        };
        let (reply, fate) = party.handle(request, effects)?;
        if fate == Fate::Ends {
            self.parties.remove(&id);
        }
        Ok(reply)
    }

    fn handle_unknown(
        &mut self,
        id: PartyId,
        request: Request<K>,
        now: Millis,
        effects: &mut Vec<Effect<K>>,
    ) -> Result<Reply<K>, Refusal> {
        match request {
            Request::Create { leader, settings, max_size } => {
                if max_size > PARTY_SIZE_MAX {
                    return Err(Refusal::BadSize);
                }
                effects.push(Effect::JoinStream(leader.clone()));
                self.parties.insert(id, Party::new(leader, settings, max_size, now));
                Ok(Reply::Done)
            }
            // Late news of a party that ended.
            Request::Left(_) | Request::Withdraw(_) => Ok(Reply::Done),
            _ => Err(Refusal::NotFound),
        }
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
