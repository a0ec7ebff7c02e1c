//! Asking somebody for a direct conversation: how often one user may, so that nobody floods the others with requests.
//!
//! A user has a number of requests that comes back with time (the generic cell rate algorithm), and one that its
//! receiver has not deleted stands for all further ones to the same receiver for a while. The first is known to one
//! process only, the second to the database.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{MutexGuard, PoisonError};

use crate::error::Result;
use crate::ids::UserId;
use crate::limits::DIRECT_REQUEST_SENDERS_MAX;
use crate::notifications::{self, codes, direct_message_request};
use crate::ports::clock::{Clock, Entropy};
use crate::ports::notifications::Notification;
use crate::ports::store::Store;
use crate::time::Timestamp;

/// How many requests may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Those of one user that may come at once; at least 1.
    pub burst: u32,
    /// After how many seconds one more may come.
    pub refill_sec: i64,
    /// For how many seconds a request that was not deleted stands for further ones of the same two users; 0 for none.
    pub repeat_sec: i64,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self { burst: 50, refill_sec: 30, repeat_sec: 600 }
    }
}

/// Running totals and sizes, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounters {
    /// Requests not sent because the user had sent too many.
    pub unsent_limited: u64,
    /// Requests not sent because an earlier one stood for them.
    pub unsent_pending: u64,
    /// Users forgotten for want of room.
    pub evicted: u64,
    /// Users remembered now.
    pub senders: u64,
}

/// Who has sent requests lately, as all shards share it: the sockets of one user are on any of them.
#[derive(Debug)]
#[allow(
    clippy::disallowed_types,
    reason = "held for a few map operations, twice for a request that the database keeps"
)]
pub struct DirectRequests {
    limits: RequestLimits,
    state: std::sync::Mutex<State>,
}

impl DirectRequests {
    /// Nobody has sent any.
    #[allow(clippy::disallowed_types, reason = "see the type")]
    pub fn new(limits: RequestLimits) -> Self {
        Self { limits, state: std::sync::Mutex::default() }
    }

    /// Asks `receiver` for a direct conversation with a user. Answers what is to be pushed: nothing if a limit says so.
    pub async fn send(
        &self,
        store: &dyn Store,
        clock: &dyn Clock,
        entropy: &dyn Entropy,
        (sender, username): (UserId, &str),
        receiver: UserId,
    ) -> Result<Vec<Notification>> {
        let Some(_asking) = self.begin(sender, receiver, clock.now()) else { return Ok(Vec::new()) };
        if self.limits.repeat_sec > 0 {
            let since = clock.now().plus_seconds(self.limits.repeat_sec.saturating_neg());
            if store.is_notified(receiver, sender, codes::DIRECT_MESSAGE_REQUEST, since).await? {
                self.lock().senders.take_back(sender, &self.limits);
                return Ok(Vec::new());
            }
        }
        let request = direct_message_request(sender, username, receiver);
        notifications::send(store, clock, entropy, vec![request]).await
    }

    /// Running totals and sizes.
    pub fn counters(&self) -> RequestCounters {
        self.lock().senders.counters()
    }

    /// Books a request, unless that is one too many or the same is under way.
    fn begin(&self, sender: UserId, receiver: UserId, now: Timestamp) -> Option<Asking<'_>> {
        let pair = (sender, receiver);
        let mut state = self.lock();
        if self.limits.repeat_sec > 0 && state.under_way.contains(&pair) {
            state.senders.count_pending(1);
            return None;
        }
        state.senders.take(sender, &self.limits, now).then(|| {
            state.under_way.insert(pair);
            Asking { requests: self, pair }
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while counting leaves counts that are off by one at most.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request under way.
struct Asking<'a> {
    requests: &'a DirectRequests,
    pair: (UserId, UserId),
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.requests.lock().under_way.remove(&self.pair);
    }
}

#[derive(Debug, Default)]
struct State {
    senders: Senders,
    /// Pairs of sender and receiver; bounded by the messages under way.
    under_way: HashSet<(UserId, UserId)>,
}

/// Who has sent something to others lately, and how much each may still send.
#[derive(Debug, Default)]
pub(crate) struct Senders {
    /// When a user has all of its requests again. Whoever is not here has them.
    full_at: HashMap<UserId, Timestamp>,
    by_time: BTreeSet<(Timestamp, UserId)>,
    counters: RequestCounters,
}

impl Senders {
    /// Running totals and sizes.
    pub(crate) fn counters(&self) -> RequestCounters {
        RequestCounters { senders: self.full_at.len() as u64, ..self.counters }
    }

    /// Counts requests that were not sent because earlier ones stood for them.
    pub(crate) fn count_pending(&mut self, requests: u64) {
        self.counters.unsent_pending += requests;
    }

    /// Takes one of a user's requests; answers whether there was one left.
    pub(crate) fn take(&mut self, sender: UserId, limits: &RequestLimits, now: Timestamp) -> bool {
        while self.by_time.first().is_some_and(|(full_at, _)| *full_at <= now) {
            self.forget_first();
        }
        let latest = now.plus_seconds(limits.refill_sec.saturating_mul(limits.burst.max(1).into()));
        let known = self.full_at.get(&sender).copied();
        // A clock that was set back must not make anybody wait longer than for all of them.
        let full_at = known.map_or(now, |known| known.min(latest));
        let next = full_at.plus_seconds(limits.refill_sec);
        if next > latest {
            if known != Some(full_at) {
                self.set(sender, full_at);
            }
            self.counters.unsent_limited += 1;
            return false;
        }
        self.set(sender, next);
        if self.full_at.len() > DIRECT_REQUEST_SENDERS_MAX {
            self.forget_first();
            self.counters.evicted += 1;
        }
        true
    }

    /// A request was not sent after all: an earlier one stands for it.
    fn take_back(&mut self, sender: UserId, limits: &RequestLimits) {
        self.count_pending(1);
        self.give_back(sender, limits);
    }

    /// Gives back a request that was taken and not sent.
    pub(crate) fn give_back(&mut self, sender: UserId, limits: &RequestLimits) {
        if let Some(full_at) = self.full_at.get(&sender).copied() {
            self.set(sender, full_at.plus_seconds(limits.refill_sec.saturating_neg()));
        }
    }

    fn set(&mut self, sender: UserId, full_at: Timestamp) {
        if let Some(old) = self.full_at.insert(sender, full_at) {
            self.by_time.remove(&(old, sender));
        }
        self.by_time.insert((full_at, sender));
    }

    /// Forgets whoever has the most requests left.
    fn forget_first(&mut self) {
        if let Some((_, sender)) = self.by_time.pop_first() {
            self.full_at.remove(&sender);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const LIMITS: RequestLimits = RequestLimits { burst: 3, refill_sec: 10, repeat_sec: 60 };

    fn user(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_seconds(1_700_000_000 + second)
    }

    /// Takes requests at these seconds; answers which there were.
    fn check(seconds: &[i64], expect: &[bool]) {
        let mut state = Senders::default();
        let taken: Vec<bool> = seconds.iter().map(|second| state.take(user(1), &LIMITS, at(*second))).collect();
        assert_eq!(taken, expect, "{seconds:?}");
        let unsent = expect.iter().filter(|taken| !**taken).count() as u64;
        assert_eq!(state.counters.unsent_limited, unsent);
    }

    #[test]
    fn a_burst_and_then_one_at_a_time() {
        check(&[0, 0, 0, 0, 9, 10, 10], &[true, true, true, false, false, true, false]);
        check(&[0, 0, 0, 25, 25, 25], &[true, true, true, true, true, false]);
        check(&[0, 0, 0, 1_000, 1_000, 1_000, 1_000], &[true, true, true, true, true, true, false]);
    }

    #[test]
    fn a_clock_set_back_makes_nobody_wait_for_long() {
        check(&[1_000_000, 1_000_000, 0, 9, 10, 10], &[true, true, false, false, true, false]);
    }

    #[test]
    fn users_have_their_own_and_get_back_what_was_not_sent() {
        let mut state = Senders::default();
        let mut take = |number| state.take(user(number), &LIMITS, at(0));
        assert_eq!([1, 1, 1, 1, 2].map(&mut take), [true, true, true, false, true]);
        state.take_back(user(1), &LIMITS);
        assert!(state.take(user(1), &LIMITS, at(0)));
        assert!(!state.take(user(1), &LIMITS, at(0)));
        state.take_back(user(404), &LIMITS);
        let expect = RequestCounters { unsent_limited: 2, unsent_pending: 2, ..RequestCounters::default() };
        assert_eq!(state.counters, expect);
    }

    #[test]
    fn who_has_all_of_them_again_is_forgotten() {
        let mut state = Senders::default();
        assert!((0..100).all(|number| state.take(user(number), &LIMITS, at(0))));
        assert_eq!((state.full_at.len(), state.by_time.len()), (100, 100));
        assert!(state.take(user(7), &LIMITS, at(10)));
        assert_eq!((state.full_at.len(), state.by_time.len()), (1, 1));
    }

    #[test]
    fn of_too_many_the_one_that_owes_least_is_forgotten() {
        let mut state = Senders::default();
        let many = DIRECT_REQUEST_SENDERS_MAX as u128;
        (0..3).for_each(|_| assert!(state.take(user(0), &LIMITS, at(0))));
        (1..=many).for_each(|number| assert!(state.take(user(number), &LIMITS, at(0))));
        assert_eq!((state.full_at.len(), state.counters.evicted), (DIRECT_REQUEST_SENDERS_MAX, 1));
        assert!(!state.take(user(0), &LIMITS, at(0)));
    }

    #[test]
    fn the_same_request_is_under_way_once() {
        let requests = DirectRequests::new(LIMITS);
        let asking = requests.begin(user(1), user(2), at(0));
        assert!(asking.is_some());
        assert!(requests.begin(user(1), user(2), at(0)).is_none());
        assert!(requests.begin(user(1), user(3), at(0)).is_some());
        drop(asking);
        assert!(requests.begin(user(1), user(2), at(0)).is_some());
        let expect = RequestCounters { unsent_pending: 1, senders: 1, ..RequestCounters::default() };
        assert_eq!(requests.counters(), expect);
    }
}
