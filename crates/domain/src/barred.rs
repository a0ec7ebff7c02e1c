//! Users whose sockets are refused for a time because they flooded others.

use std::collections::{BTreeSet, HashMap};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ids::UserId;
use crate::time::Timestamp;

/// Most users that are refused at a time; of more, the one whose time ends first is let in.
const BARRED_MAX: usize = 65_536;

/// Refused users, as all shards share them.
#[derive(Debug, Default)]
#[allow(clippy::disallowed_types, reason = "held for a few map operations, and not at all while nobody is refused")]
pub struct Barred {
    is_anybody: AtomicBool,
    state: std::sync::Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    until: HashMap<UserId, Timestamp>,
    by_time: BTreeSet<(Timestamp, UserId)>,
}

impl Barred {
    /// Refuses a user's sockets until then.
    pub fn bar(&self, user: UserId, until: Timestamp) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = state.until.insert(user, until) {
            state.by_time.remove(&(old, user));
        }
        state.by_time.insert((until, user));
        if state.until.len() > BARRED_MAX {
            state.forget_first();
        }
        self.is_anybody.store(true, Ordering::Relaxed);
    }

    /// The seconds until a user's sockets are let in again, if they are refused.
    pub fn refused_sec(&self, user: UserId, now: Timestamp) -> Option<u32> {
        if !self.is_anybody.load(Ordering::Relaxed) {
            return None;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.by_time.first().is_some_and(|(until, _)| *until <= now) {
            state.forget_first();
        }
        self.is_anybody.store(!state.until.is_empty(), Ordering::Relaxed);
        let until = state.until.get(&user)?;
        Some(u32::try_from((until.0 - now.0 + 999_999) / 1_000_000).unwrap_or(u32::MAX))
    }
}

impl State {
    fn forget_first(&mut self) {
        if let Some((_, user)) = self.by_time.pop_first() {
            self.until.remove(&user);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_refused_until_their_time_is_over() {
        let (ann, bob) = (UserId(uuid::Uuid::from_u128(1)), UserId(uuid::Uuid::from_u128(2)));
        let at = Timestamp::from_seconds;
        let barred = Barred::default();
        assert_eq!(barred.refused_sec(ann, at(0)), None);
        barred.bar(ann, at(10));
        barred.bar(ann, at(20));
        assert_eq!([ann, bob].map(|user| barred.refused_sec(user, at(12))), [Some(8), None]);
        assert_eq!(barred.refused_sec(ann, at(20)), None);
        assert!(!barred.is_anybody.load(Ordering::Relaxed));
    }
}
