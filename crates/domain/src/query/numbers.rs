//! The numbers of one field in order, so that a range becomes a set of slots without visiting each of its values.
//!
//! Numbers lie in buckets by size. Beside each bucket stands the set of all slots in it and before it, so that the whole
//! buckets of a range are one such set without another; only the two buckets at its ends are looked through.

use std::ops::{Bound, Range};

use super::bitmap::Bitmap;
use super::candidates::Candidates;

/// A bucket splits when it holds twice the larger of this and a [`BUCKETS_AIM`]th of the field.
const BUCKET_LEN_MIN: usize = 128;
const BUCKETS_AIM: usize = 64;
/// Slots that have gone are taken out of the sets when there are more than this, and more than there are numbers.
const GONE_MIN: usize = 1_024;

/// A number as an integer with the same order. Both zeros are one.
fn key(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// What a bucket holds.
#[derive(Debug)]
enum Entries {
    /// Slots with their keys, ascending: by slot, so that part of them is a sorted list.
    Mixed(Vec<(u32, u64)>),
    /// Very many slots with one key.
    Same(Bitmap),
}

#[derive(Debug)]
struct Bucket {
    /// No key in it is smaller, and none greater; they are keys that once were in it.
    low: u64,
    high: u64,
    entries: Entries,
    /// The slots of this bucket and all before it, and perhaps some that have gone.
    through: Bitmap,
}

impl Bucket {
    fn of(key: u64, through: Bitmap) -> Self {
        Self { low: key, high: key, entries: Entries::Mixed(Vec::new()), through }
    }

    /// Its entries, as long as they are listed.
    fn mixed_len(&self) -> Option<usize> {
        match &self.entries {
            Entries::Mixed(entries) => Some(entries.len()),
            Entries::Same(_) => None,
        }
    }

    /// Appends the slots with a key in a range.
    fn list(&self, low: u64, high: u64, slots: &mut Vec<u32>) {
        let Entries::Mixed(entries) = &self.entries else { return };
        let mut len = slots.len();
        slots.resize(len + entries.len(), 0);
        for (slot, key) in entries {
            // Written always and kept if it counts: a branch here would be mispredicted every other time.
            slots[len] = *slot;
            len += usize::from((low..=high).contains(key));
        }
        slots.truncate(len);
    }
}

/// The numbers of a field.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// In ascending order; their ranges of keys never overlap.
    buckets: Vec<Bucket>,
    len: usize,
    /// Slots that have gone and may still stand in the sets of buckets. Whoever reads those looks only at slots that the
    /// index holds, so they are taken out when they come back, or many at a time.
    gone: Bitmap,
    gone_len: usize,
    /// Slots with several numbers: while there are any, sets of buckets cannot be subtracted from each other.
    multi_valued: usize,
}

impl Numbers {
    /// Must be said of a slot that comes back, before it does, whether it then has numbers or not.
    pub fn comes_back(&mut self, slot: u32) {
        if self.gone.remove(slot) {
            self.gone_len -= 1;
            for bucket in &mut self.buckets {
                bucket.through.remove(slot);
            }
        }
    }

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
        if !numbers.is_empty() && self.gone.insert(slot) {
            self.gone_len += 1;
        }
        if self.gone_len > self.len.max(GONE_MIN) {
            let gone = std::mem::take(&mut self.gone);
            self.gone_len = 0;
            self.buckets.iter_mut().for_each(|bucket| bucket.through.subtract(&gone));
        }
    }

    fn insert_key(&mut self, slot: u32, key: u64) {
        self.len += 1;
        let at = self.bucket_for(key);
        for bucket in &mut self.buckets[at..] {
            bucket.through.insert(slot);
        }
        let bucket = &mut self.buckets[at];
        (bucket.low, bucket.high) = (bucket.low.min(key), bucket.high.max(key));
        match &mut bucket.entries {
            Entries::Same(slots) => {
                slots.insert(slot);
            }
            Entries::Mixed(entries) => {
                let place = entries.partition_point(|entry| *entry < (slot, key));
                entries.insert(place, (slot, key));
                if entries.len() > 2 * BUCKET_LEN_MIN.max(self.len / BUCKETS_AIM) {
                    self.split(at);
                }
            }
        }
    }

    /// The place of the bucket that a key belongs into. A bucket of one key takes no others: they get one of their own.
    fn bucket_for(&mut self, key: u64) -> usize {
        let after = self.buckets.partition_point(|bucket| bucket.high < key);
        let takes = |bucket: &Bucket| bucket.mixed_len().is_some() || bucket.high == key;
        if self.buckets.get(after).is_some_and(takes) {
            return after;
        }
        let before = after.checked_sub(1);
        if let Some(before) = before.filter(|before| takes(&self.buckets[*before])) {
            return before;
        }
        let through = before.map_or_else(Bitmap::default, |before| self.buckets[before].through.clone());
        self.buckets.insert(after, Bucket::of(key, through));
        after
    }

    fn remove_key(&mut self, slot: u32, key: u64) {
        let at = self.buckets.partition_point(|bucket| bucket.high < key);
        let Some(bucket) = self.buckets.get_mut(at) else { return };
        let was_there = match &mut bucket.entries {
            Entries::Same(slots) => slots.remove(slot),
            Entries::Mixed(entries) => entries.binary_search(&(slot, key)).map(|place| entries.remove(place)).is_ok(),
        };
        if !was_there {
            return;
        }
        self.len -= 1;
        self.merge(at);
    }

    /// Cuts a bucket in two by its keys, or notes that all are the same.
    fn split(&mut self, at: usize) {
        let before = at.checked_sub(1).map(|before| &self.buckets[before].through);
        let mut through = before.cloned().unwrap_or_default();
        let bucket = &mut self.buckets[at];
        let Entries::Mixed(entries) = &mut bucket.entries else { return };
        let mut keys: Vec<u64> = entries.iter().map(|(_, key)| *key).collect();
        keys.sort_unstable();
        let (low, middle, high) = (keys[0], keys[keys.len() / 2], keys[keys.len() - 1]);
        if low == high {
            let mut slots = Bitmap::default();
            for (slot, _) in entries {
                slots.insert(*slot);
            }
            (bucket.low, bucket.high, bucket.entries) = (low, high, Entries::Same(slots));
            return;
        }
        // If half of them or more are the smallest key, those are the lower half.
        let first_of_upper = if middle > low { middle } else { low + 1 };
        let upper = keys.partition_point(|key| *key < first_of_upper);
        let (lower_high, upper_low) = (keys[upper - 1], keys[upper]);
        let (lower, upper): (Vec<_>, Vec<_>) = entries.iter().copied().partition(|(_, key)| *key < first_of_upper);
        (bucket.low, bucket.high, bucket.entries) = (upper_low, high, Entries::Mixed(upper));
        for (slot, _) in &lower {
            through.insert(*slot);
        }
        let lower = Bucket { low, high: lower_high, entries: Entries::Mixed(lower), through };
        self.buckets.insert(at, lower);
    }

    /// Joins a bucket that has become small with the next, or drops it when it is empty.
    fn merge(&mut self, at: usize) {
        let small = BUCKET_LEN_MIN.max(self.len / BUCKETS_AIM) / 2;
        let is_empty = match &self.buckets[at].entries {
            Entries::Mixed(entries) => entries.is_empty(),
            Entries::Same(slots) => slots.is_empty(),
        };
        let len = |at: usize| self.buckets.get(at).and_then(Bucket::mixed_len);
        if is_empty {
            self.buckets.remove(at);
        } else if let (Some(len), Some(next_len)) = (len(at), len(at + 1))
            && len + next_len < small
        {
            let bucket = self.buckets.remove(at);
            let next = &mut self.buckets[at];
            next.low = bucket.low;
            if let (Entries::Mixed(entries), Entries::Mixed(from)) = (&mut next.entries, bucket.entries) {
                entries.extend(from);
                entries.sort_unstable();
            }
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
        let mut listed = Vec::new();
        if self.multi_valued > 0 {
            return self.range_of_several(first..end, low, high);
        }
        let is_whole = |bucket: &Bucket| low <= bucket.low && bucket.high <= high;
        let whole_first = if is_whole(&self.buckets[first]) { first } else { first + 1 };
        let whole_end = if is_whole(&self.buckets[end - 1]) { end } else { end - 1 };
        if whole_first > first {
            self.buckets[first].list(low, high, &mut listed);
        }
        // A single bucket that is cut on both sides is both the first and the last.
        if whole_end < end && end - 1 > first {
            self.buckets[end - 1].list(low, high, &mut listed);
        }
        let edges = Candidates::listed(listed);
        if whole_first >= whole_end {
            return edges;
        }
        let before = whole_first.checked_sub(1).map(|before| &self.buckets[before].through);
        edges.or(Candidates::span(&self.buckets[whole_end - 1].through, before))
    }

    /// The slots of a range in these buckets, where slots may have several numbers.
    fn range_of_several(&self, buckets: Range<usize>, low: u64, high: u64) -> Candidates<'_> {
        let mut listed = Vec::new();
        let mut found = Candidates::none();
        for bucket in &self.buckets[buckets] {
            match &bucket.entries {
                Entries::Mixed(_) => bucket.list(low, high, &mut listed),
                // It has one key, which is in the range.
                Entries::Same(slots) => found = found.or(Candidates::set(slots)),
            }
        }
        found.or(Candidates::listed(listed))
    }
}
