//! Rates by key: how often each of many may do something, with a burst that comes back with time (the generic cell rate
//! algorithm). Bounded; whoever has all of them again is forgotten, and of too many whoever owes least.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::time::Timestamp;

/// A rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Number that comes back in a second; 0 for no limit.
    pub per_sec: u32,
    /// Number that may come at once; at least 1.
    pub burst: u32,
}

/// Those who have used some of theirs.
#[derive(Debug)]
pub struct Rates<Key> {
    rate: Rate,
    keys_max: usize,
    full_at: HashMap<Key, Timestamp>,
    by_time: BTreeSet<(Timestamp, Key)>,
}

impl<Key: Copy + Eq + Hash + Ord> Rates<Key> {
    /// Nobody has used any.
    pub fn new(rate: Rate, keys_max: usize) -> Self {
        Self { rate, keys_max, full_at: HashMap::new(), by_time: BTreeSet::new() }
    }

    /// Takes some of a key's.
    ///
    /// # Errors
    /// The seconds until they are there, at least 1, when not even one is left; then none is taken.
    pub fn take(&mut self, key: Key, count: u32, now: Timestamp) -> Result<(), u32> {
        if self.rate.per_sec == 0 {
            return Ok(());
        }
        while self.by_time.first().is_some_and(|(full_at, _)| *full_at <= now) {
            self.forget_first();
        }
        let refill_us = (1_000_000 / i64::from(self.rate.per_sec)).max(1);
        let burst_us = refill_us.saturating_mul(self.rate.burst.max(1).into());
        let latest = Timestamp(now.0.saturating_add(burst_us));
        // Whoever asks for much may owe for it afterwards. A clock that was set back must not lengthen that for ever.
        let longest = Timestamp(latest.0.saturating_add(burst_us));
        let known = self.full_at.get(&key).map_or(now, |full_at| (*full_at).clamp(now, longest));
        if known.0 + refill_us > latest.0 {
            if self.full_at.contains_key(&key) {
                self.set(key, known);
            }
            let wait_sec = (known.0 + refill_us - latest.0 + 999_999) / 1_000_000;
            return Err(u32::try_from(wait_sec.max(1)).unwrap_or(u32::MAX));
        }
        let next = Timestamp(known.0.saturating_add(refill_us.saturating_mul(count.into()))).min(longest);
        self.set(key, next);
        if self.full_at.len() > self.keys_max.max(1) {
            self.forget_first();
        }
        Ok(())
    }

    fn set(&mut self, key: Key, full_at: Timestamp) {
        if let Some(old) = self.full_at.insert(key, full_at) {
            self.by_time.remove(&(old, key));
        }
        self.by_time.insert((full_at, key));
    }

    fn forget_first(&mut self) {
        if let Some((_, key)) = self.by_time.pop_first() {
            self.full_at.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp(1_700_000_000_000_000 + millis * 1_000)
    }

    /// Takes so many at these milliseconds; answers the seconds of each refusal, or 0.
    fn check(rate: Rate, takes: &[(i64, u32)], expect: &[u32]) {
        let mut rates = Rates::new(rate, 2);
        let take = |(milli, count): &(i64, u32)| rates.take(1, *count, at(*milli)).err().unwrap_or_default();
        let found: Vec<u32> = takes.iter().map(take).collect();
        assert_eq!(found, expect, "{takes:?}");
    }

    #[test]
    fn a_burst_and_then_one_at_a_time_and_debts_are_paid_off() {
        let rate = Rate { per_sec: 2, burst: 3 };
        check(rate, &[(0, 1), (0, 1), (0, 1), (0, 1), (499, 1), (500, 1), (500, 1)], &[0, 0, 0, 1, 1, 0, 1]);
        check(rate, &[(0, 100), (1_499, 1), (2_000, 1), (2_000, 1)], &[0, 1, 0, 1]);
        check(Rate { per_sec: 0, burst: 1 }, &[(0, 9), (0, 9)], &[0, 0]);
        check(rate, &[(9_000_000, 100), (0, 1), (2_000, 1)], &[0, 2, 0]);
    }

    #[test]
    fn no_more_are_remembered_than_may_be() {
        let mut rates = Rates::new(Rate { per_sec: 1, burst: 9 }, 2);
        for (key, count) in [(1, 3), (2, 1), (3, 2)] {
            assert_eq!(rates.take(key, count, at(0)), Ok(()));
        }
        let mut known: Vec<_> = rates.full_at.keys().copied().collect();
        known.sort_unstable();
        assert_eq!((known, rates.by_time.len()), (vec![1, 3], 2));
        assert_eq!(rates.take(4, 1, at(100_000)), Ok(()));
        assert_eq!((rates.full_at.len(), rates.by_time.len()), (1, 1));
    }
}
