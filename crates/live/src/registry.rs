//! The sessions of one shard, found by key, by public id, and by user. Keeps nothing of a session but its identity and
//! a handle.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, Subject, TokenId, UserId};
use muster_domain::ports::revocations::Revocation;

/// A session's slot on its shard. The generation tells a closed session from a later one in the same slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey {
    index: u32,
    generation: u32,
}

/// Identity of a connected session.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// Public id of the session.
    pub session_id: SessionId,
    /// The user whose socket it is.
    pub user_id: UserId,
    /// The sign-in whose token opened the socket.
    pub token_id: TokenId,
    /// The time at which the token that opened the socket was issued, in Unix seconds.
    pub issued_at_sec: i64,
    /// The time at which the session opened, if it is to be its user's only one: the sessions that opened before it
    /// end.
    pub only_session_since: Option<Timestamp>,
}

struct Slot<T> {
    generation: u32,
    session: Option<(SessionInfo, T)>,
}

/// Open sessions, with a handle for each, for example to its socket.
pub struct Registry<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    by_subject: HashMap<Subject, Vec<SessionKey>>,
    by_id: HashMap<SessionId, SessionKey, foldhash::fast::RandomState>,
}

impl SessionKey {
    /// A key that no session ever has.
    pub const NONE: Self = Self { index: u32::MAX, generation: u32::MAX };

    /// The key with this [`SessionKey::number`]; used for sessions of other nodes.
    pub const fn from_number(number: u64) -> Self {
        // The lower half is the index, the higher half the generation.
        Self { index: number as u32, generation: (number >> 32) as u32 }
    }

    /// Index and generation packed into 64 bits.
    pub const fn number(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The slot's index. It is lower than the highest number of sessions that were open at once.
    pub fn index(self) -> usize {
        self.index as usize
    }
}

#[cfg(test)]
impl SessionKey {
    /// A key by its number, for tests without a registry.
    pub(crate) fn of_test(number: u32) -> Self {
        Self { index: number, generation: 0 }
    }

    /// The number given to [`SessionKey::of_test`].
    pub(crate) fn test_number(self) -> u32 {
        self.index
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), by_subject: HashMap::new(), by_id: HashMap::default() }
    }
}

impl<T> Registry<T> {
    /// Adds a session that opened.
    pub fn open(&mut self, info: SessionInfo, handle: T) -> SessionKey {
        let subject = Subject::from(info.user_id);
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, session: None });
            // The index fits: a shard holds fewer sessions than a process has file descriptors.
            (self.slots.len() - 1) as u32
        });
        let slot = &mut self.slots[index as usize];
        let key = SessionKey { index, generation: slot.generation };
        self.by_id.insert(info.session_id, key);
        slot.session = Some((info, handle));
        self.by_subject.entry(subject).or_default().push(key);
        key
    }

    /// Removes a session that closed, and returns its handle; `None` if it was removed before.
    pub fn close(&mut self, key: SessionKey) -> Option<T> {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        let (info, handle) = slot.session.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(key.index);
        if let Entry::Occupied(known) = self.by_id.entry(info.session_id)
            && *known.get() == key
        {
            known.remove();
        }
        let subject = Subject::from(info.user_id);
        if let Some(keys) = self.by_subject.get_mut(&subject) {
            keys.retain(|other| *other != key);
            if keys.is_empty() {
                self.by_subject.remove(&subject);
            }
        }
        Some(handle)
    }

    /// The handle of an open session.
    pub fn get(&self, key: SessionKey) -> Option<&T> {
        let slot = self.slots.get(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        slot.session.as_ref().map(|(_, handle)| handle)
    }

    /// The handle of an open session, to be changed.
    pub fn get_mut(&mut self, key: SessionKey) -> Option<&mut T> {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        slot.session.as_mut().map(|(_, handle)| handle)
    }

    /// The session with a public id. A session that came over from another shard keeps the id that it had there.
    pub fn of_id(&self, id: SessionId) -> Option<SessionKey> {
        self.by_id.get(&id).copied()
    }

    /// The identity of an open session.
    pub fn info(&self, key: SessionKey) -> Option<&SessionInfo> {
        let slot = self.slots.get(key.index as usize).filter(|slot| slot.generation == key.generation)?;
        slot.session.as_ref().map(|(info, _)| info)
    }

    /// Replaces the identity of a session that goes on with another token of the same user.
    pub fn renew(&mut self, key: SessionKey, info: SessionInfo) {
        let slot = self.slots.get_mut(key.index as usize).filter(|slot| slot.generation == key.generation);
        if let Some((known, _)) = slot.and_then(|slot| slot.session.as_mut())
            && known.user_id == info.user_id
        {
            *known = info;
        }
    }

    /// The sessions that a revocation ends.
    pub fn revoked(&self, revocation: &Revocation) -> Vec<SessionKey> {
        let keys = self.by_subject.get(&revocation.subject).map_or(&[][..], Vec::as_slice);
        keys.iter().copied().filter(|key| self.is_ended_by(*key, revocation)).collect()
    }

    fn is_ended_by(&self, key: SessionKey, revocation: &Revocation) -> bool {
        let Some((info, _)) = self.slots.get(key.index as usize).and_then(|slot| slot.session.as_ref()) else {
            return false;
        };
        revocation.voids(info.token_id, info.issued_at_sec)
    }

    /// The keys of all open sessions, in the order of their slots.
    pub fn keys(&self) -> impl Iterator<Item = SessionKey> {
        let places = self.slots.iter().zip(0..);
        places
            .filter(|(slot, _)| slot.session.is_some())
            .map(|(slot, index)| SessionKey { index, generation: slot.generation })
    }

    /// Every open session's handle.
    pub fn handles(&self) -> impl Iterator<Item = &T> {
        self.slots.iter().filter_map(|slot| slot.session.as_ref().map(|(_, handle)| handle))
    }

    /// Number of open sessions.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no session is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use muster_domain::Timestamp;
    use muster_domain::ids::Uuid;
    use muster_domain::ports::revocations::{RevocationReason, RevokedTokens};

    use super::*;

    /// The id of a sign-in at `second`.
    fn token(second: i64) -> TokenId {
        TokenId::issued(Timestamp::from_seconds(second), [0; 8])
    }

    fn info(user: u128, second: i64) -> SessionInfo {
        SessionInfo {
            session_id: SessionId(Uuid::from_u128(user << 64 | second as u128)),
            user_id: UserId(Uuid::from_u128(user)),
            token_id: token(second),
            issued_at_sec: second,
            only_session_since: None,
        }
    }

    fn revocation(user: u128, tokens: RevokedTokens) -> Revocation {
        Revocation {
            subject: Subject::from(UserId(Uuid::from_u128(user))),
            tokens,
            revoked_at: Timestamp::from_seconds(100),
            expires_at: Timestamp::from_seconds(1_000),
            reason: RevocationReason::SignedOut,
        }
    }

    #[test]
    fn a_revocation_ends_the_sessions_it_concerns_and_no_others() {
        let mut registry = Registry::default();
        let old = registry.open(info(1, 50), "old");
        let kept = registry.open(info(1, 60), "kept");
        let newer = registry.open(info(1, 101), "newer");
        registry.open(info(2, 50), "another user");

        assert_eq!(registry.revoked(&revocation(1, RevokedTokens::Token(token(101)))), [newer]);
        assert_eq!(registry.revoked(&revocation(1, RevokedTokens::AllBut(Some(token(60))))), [old]);
        assert_eq!(registry.revoked(&revocation(1, RevokedTokens::AllBut(None))), [old, kept]);
        assert_eq!(registry.revoked(&revocation(3, RevokedTokens::AllBut(None))), []);
    }

    #[test]
    fn a_key_of_a_closed_session_never_reaches_a_later_one() {
        let mut registry = Registry::default();
        let first = registry.open(info(1, 11), 1);
        assert_eq!(registry.close(first), Some(1));
        assert_eq!(registry.close(first), None);
        let second = registry.open(info(1, 12), 2);
        assert_eq!(registry.get(first), None);
        assert_eq!(registry.get(second), Some(&2));
        assert_eq!(registry.len(), 1);
        assert_eq!(registry.revoked(&revocation(1, RevokedTokens::AllBut(None))), [second]);
    }
}
