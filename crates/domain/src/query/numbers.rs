//! The numbers of one field in order, so that a range becomes a set of slots without visiting each of its values.
//!
//! Numbers lie in buckets by size. Beside each bucket stands the set of all slots in it and before it, so that the whole
//! buckets of a range are one such set without another; only the two buckets at its ends are looked through.

use std::ops::Bound;

use super::bitmap::Bitmap;
use super::candidates::Candidates;

/// A bucket splits when it holds twice the larger of this and a [`BUCKETS_AIM`]th of the field.
const BUCKET_LEN_MIN: usize = 64;
const BUCKETS_AIM: usize = 128;

/// A number as an integer with the same order. Both zeros are one.
fn key(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

#[derive(Debug)]
struct Bucket {
    /// No key in it is smaller, and none greater; they are keys that once were in it.
    low: u64,
    high: u64,
    /// Keys with their slots, in no order.
    entries: Vec<(u64, u32)>,
    /// The slots of this bucket and all before it.
    through: Bitmap,
}

/// The numbers of a field.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// In ascending order; their ranges of keys never overlap.
    buckets: Vec<Bucket>,
    len: usize,
    /// Slots with several numbers: while there are any, sets of buckets cannot be subtracted from each other.
    multi_valued: usize,
}

impl Numbers {
    /// Adds a slot with its numbers.
    pub fn insert(&mut self, slot: u32, numbers: &[f64]) {
        self.multi_valued += usize::from(numbers.len() > 1);
        for number in numbers {
            self.insert_key(slot, key(*number));
        }
    }

    /// Takes a slot out with the numbers it was added with.
    pub fn remove(&mut self, slot: u32, numbers: &[f64]) {
        self.multi_valued -= usize::from(numbers.len() > 1);
        for number in numbers {
            self.remove_key(slot, key(*number));
        }
    }

    fn insert_key(&mut self, slot: u32, key: u64) {
        self.len += 1;
        if self.buckets.is_empty() {
            self.buckets.push(Bucket { low: key, high: key, entries: Vec::new(), through: Bitmap::default() });
        }
        let at = self.buckets.partition_point(|bucket| bucket.high < key).min(self.buckets.len() - 1);
        for bucket in &mut self.buckets[at..] {
            bucket.through.insert(slot);
        }
        let bucket = &mut self.buckets[at];
        (bucket.low, bucket.high) = (bucket.low.min(key), bucket.high.max(key));
        bucket.entries.push((key, slot));
        if bucket.entries.len() > 2 * BUCKET_LEN_MIN.max(self.len / BUCKETS_AIM) && bucket.low < bucket.high {
            self.split(at);
        }
    }

    fn remove_key(&mut self, slot: u32, key: u64) {
        let at = self.buckets.partition_point(|bucket| bucket.high < key);
        let Some(bucket) = self.buckets.get_mut(at) else { return };
        let Some(entry) = bucket.entries.iter().position(|entry| *entry == (key, slot)) else { return };
        bucket.entries.swap_remove(entry);
        self.len -= 1;
        for bucket in &mut self.buckets[at..] {
            bucket.through.remove(slot);
        }
        self.merge(at);
    }

    /// Cuts a bucket of different keys in two.
    fn split(&mut self, at: usize) {
        let mut keys: Vec<u64> = self.buckets[at].entries.iter().map(|(key, _)| *key).collect();
        let middle = keys.len() / 2;
        let pivot = *keys.select_nth_unstable(middle).1;
        let entries = std::mem::take(&mut self.buckets[at].entries);
        let (mut lower, mut upper): (Vec<_>, Vec<_>) = entries.iter().copied().partition(|(key, _)| *key < pivot);
        if lower.is_empty() {
            // Half of them or more are the smallest key.
            (lower, upper) = entries.into_iter().partition(|(key, _)| *key == pivot);
        }
        let bounds = |entries: &[(u64, u32)]| {
            let keys = entries.iter().map(|(key, _)| *key);
            Some((keys.clone().min()?, keys.max()?))
        };
        let Some(upper_bounds) = bounds(&upper) else {
            // All keys are the same; those at the bounds have gone.
            (self.buckets[at].low, self.buckets[at].high) = (pivot, pivot);
            self.buckets[at].entries = lower;
            return;
        };
        (self.buckets[at].low, self.buckets[at].high) = upper_bounds;
        self.buckets[at].entries = upper;
        let Some((low, high)) = bounds(&lower) else { return };
        let mut through = match at.checked_sub(1) {
            Some(before) => self.buckets[before].through.clone(),
            None => Bitmap::default(),
        };
        for (_, slot) in &lower {
            through.insert(*slot);
        }
        self.buckets.insert(at, Bucket { low, high, entries: lower, through });
    }

    /// Joins a bucket that has become small with the next, or drops it when it is empty.
    fn merge(&mut self, at: usize) {
        let len = self.buckets[at].entries.len();
        let next_len = self.buckets.get(at + 1).map_or(usize::MAX, |next| next.entries.len());
        if len == 0 {
            self.buckets.remove(at);
        } else if next_len.saturating_add(len) < BUCKET_LEN_MIN.max(self.len / BUCKETS_AIM) / 2 {
            let bucket = self.buckets.remove(at);
            let next = &mut self.buckets[at];
            next.low = bucket.low;
            next.entries.extend(bucket.entries);
        }
    }

    /// The slots with a number in a range.
    pub fn range(&self, low: Bound<f64>, high: Bound<f64>) -> Candidates<'_> {
        let low = match low {
            Bound::Included(low) => Some(key(low)),
            Bound::Excluded(low) => key(low).checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let high = match high {
            Bound::Included(high) => Some(key(high)),
            Bound::Excluded(high) => key(high).checked_sub(1),
            Bound::Unbounded => Some(u64::MAX),
        };
        let (Some(low), Some(high)) = (low, high) else { return Candidates::none() };
        let first = self.buckets.partition_point(|bucket| bucket.high < low);
        let end = self.buckets.partition_point(|bucket| bucket.low <= high);
        if low > high || first >= end {
            return Candidates::none();
        }
        let is_whole = |bucket: &Bucket| low <= bucket.low && bucket.high <= high && self.multi_valued == 0;
        let mut listed = Vec::new();
        let mut list = |bucket: &Bucket| {
            let within = bucket.entries.iter().filter(|(key, _)| (low..=high).contains(key));
            listed.extend(within.map(|(_, slot)| *slot));
        };
        if self.multi_valued > 0 {
            self.buckets[first..end].iter().for_each(list);
            return Candidates::listed(listed);
        }
        let whole_first = if is_whole(&self.buckets[first]) { first } else { first + 1 };
        let whole_end = if is_whole(&self.buckets[end - 1]) { end } else { end - 1 };
        if whole_first > first {
            list(&self.buckets[first]);
        }
        // A single bucket that is cut on both sides is both the first and the last.
        if whole_end < end && end - 1 > first {
            list(&self.buckets[end - 1]);
        }
        let edges = Candidates::listed(listed);
        if whole_first >= whole_end {
            return edges;
        }
        let before = whole_first.checked_sub(1).map(|before| &self.buckets[before].through);
        edges.or(Candidates::span(&self.buckets[whole_end - 1].through, before))
    }
}
