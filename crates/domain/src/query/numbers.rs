//! The numbers of one field in order, so that a range becomes a set of slots without visiting each of its values.
//!
//! Numbers lie in buckets by size. Beside each bucket stands the set of all slots in it and before it, so that the
//! whole
//! buckets of a range are one such set without another; only the two buckets at its ends are looked through.
//!
//! A slot that goes is only noted. Whoever reads ranges looks only at slots that the index holds, so that those that
//! have
//! gone may stand in them until they are swept out: many at a time, and a bucket now and then while others go, so that
//! nobody waits for it.

use std::ops::{Bound, Range};

use super::bitmap::Bitmap;
use super::candidates::{Candidates, Keyed, Span};

/// A bucket splits when it holds twice the larger of this and a [`BUCKETS_AIM`]th of the field.
const BUCKET_LEN_MIN: usize = 64;
const BUCKETS_AIM: usize = 128;
/// Slots that have gone are swept out when there are more than this, and more than there are numbers.
const GONE_MIN: usize = 1_024;

/// Its lower and its upper bound.
pub(super) type NumberRange = (Bound<f64>, Bound<f64>);

/// A number as an integer with the same order. Both zeros are one.
fn key(number: f64) -> u64 {
    let bits = (number + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The keys of a range, both included, if there are any.
fn keys(low: Bound<f64>, high: Bound<f64>) -> Option<(u64, u64)> {
    let low = match low {
        Bound::Included(low) => key(low),
        Bound::Excluded(low) => key(low).checked_add(1)?,
        Bound::Unbounded => 0,
    };
    let high = match high {
        Bound::Included(high) => key(high),
        Bound::Excluded(high) => key(high).checked_sub(1)?,
        Bound::Unbounded => u64::MAX,
    };
    Some((low, high))
}

/// Contents of a bucket.
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

    /// The slots with a key in a range that the bucket overlaps.
    fn within(&self, low: u64, high: u64) -> Candidates<'_> {
        match &self.entries {
            Entries::Mixed(slots) => Candidates::keyed(Keyed { slots, low, high }),
            // The bucket has one key, which is in the range.
            Entries::Same(slots) => Candidates::set(slots),
        }
    }

    fn is_empty(&self) -> bool {
        match &self.entries {
            Entries::Mixed(entries) => entries.is_empty(),
            Entries::Same(slots) => slots.is_empty(),
        }
    }

    /// Takes a slot out of everything.
    fn purge(&mut self, slot: u32) {
        self.through.remove(slot);
        match &mut self.entries {
            Entries::Same(slots) => drop(slots.remove(slot)),
            Entries::Mixed(entries) => {
                let start = entries.partition_point(|entry| entry.0 < slot);
                let end = entries.partition_point(|entry| entry.0 <= slot);
                entries.drain(start..end);
            }
        }
    }

    /// Takes all slots of a set out of everything.
    fn sweep(&mut self, gone: &Bitmap) {
        self.through.subtract(gone);
        match &mut self.entries {
            Entries::Same(slots) => slots.subtract(gone),
            Entries::Mixed(entries) => entries.retain(|(slot, _)| !gone.contains(*slot)),
        }
    }
}

/// The numbers of a field.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// In ascending order; their ranges of keys never overlap.
    buckets: Vec<Bucket>,
    /// How many there are, without those of slots that have gone.
    len: usize,
    /// Slots that have gone and may still stand in buckets.
    gone: Bitmap,
    gone_len: usize,
    /// Those that had gone when the sweep began that is under way, and the place of the next bucket to sweep.
    sweep: Option<(Bitmap, usize)>,
    /// Slots with several numbers: while there are any, sets of buckets cannot be subtracted from each other.
    multi_valued: usize,
}

impl Numbers {
    /// Must be said of a slot that comes back, before it does, whether it then has numbers or not.
    pub fn comes_back(&mut self, slot: u32) {
        let is_gone = self.gone.remove(slot);
        self.gone_len -= usize::from(is_gone);
        if is_gone || self.sweep.as_mut().is_some_and(|(gone, _)| gone.remove(slot)) {
            self.buckets.iter_mut().for_each(|bucket| bucket.purge(slot));
            // The rest of the sweep stays behind the place of the next.
            let swept = self.sweep.as_ref().map_or(0, |(_, next)| *next).min(self.buckets.len());
            let emptied = self.buckets[..swept].iter().filter(|bucket| bucket.is_empty()).count();
            if let Some((_, next)) = &mut self.sweep {
                *next = swept - emptied;
            }
            self.buckets.retain(|bucket| !bucket.is_empty());
        }
    }

    /// Adds a slot with its numbers.
    pub fn insert(&mut self, slot: u32, numbers: &[f64]) {
        self.multi_valued += usize::from(numbers.len() > 1);
        for number in numbers {
            self.insert_key(slot, key(*number));
        }
    }

    /// Takes a slot out that was added with so many numbers.
    pub fn remove(&mut self, slot: u32, numbers: usize) {
        self.multi_valued -= usize::from(numbers > 1);
        self.len -= numbers;
        if numbers > 0 && self.gone.insert(slot) {
            self.gone_len += 1;
        }
        let most = self.len.max(GONE_MIN);
        if self.gone_len > most && self.sweep.is_none() {
            self.begin_sweep();
        }
        // The sweep is over when half as many have gone as begin the next.
        self.sweep_to(2 * self.gone_len * self.buckets.len() / most);
    }

    fn begin_sweep(&mut self) {
        self.sweep = Some((std::mem::take(&mut self.gone), 0));
        self.gone_len = 0;
    }

    /// Goes on with a sweep until so many buckets are done. Joins small ones.
    fn sweep_to(&mut self, end: usize) {
        let Some((gone, mut next)) = self.sweep.take() else { return };
        let small = BUCKET_LEN_MIN.max(self.len / BUCKETS_AIM) / 2;
        while next < end.min(self.buckets.len()) {
            self.buckets[next].sweep(&gone);
            let len = |at: usize| self.buckets[at].mixed_len();
            if self.buckets[next].is_empty() {
                self.buckets.remove(next);
            } else if let Some(before) = next.checked_sub(1)
                && let (Some(before_len), Some(len)) = (len(before), len(next))
                && before_len + len < small
            {
                self.join(before);
            } else {
                next += 1;
            }
        }
        self.sweep = (next < self.buckets.len()).then_some((gone, next));
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

    /// Joins a bucket with the next.
    fn join(&mut self, at: usize) {
        let bucket = self.buckets.remove(at);
        let next = &mut self.buckets[at];
        next.low = bucket.low;
        if let (Entries::Mixed(entries), Entries::Mixed(from)) = (&mut next.entries, bucket.entries) {
            entries.extend(from);
            entries.sort_unstable();
        }
    }

    /// The slots with a number in each of these ranges; with one and the same if none has several.
    pub fn range(&self, ranges: impl IntoIterator<Item = NumberRange>) -> Candidates<'_> {
        let ranges = ranges.into_iter().map(|(low, high)| keys(low, high));
        if self.multi_valued > 0 {
            return ranges.fold(Candidates::all(), |found, keys| match keys {
                Some((low, high)) => found.and(self.range_of_several(low, high)),
                None => Candidates::none(),
            });
        }
        let both = |(low, high): (u64, u64), (other_low, other_high)| (low.max(other_low), high.min(other_high));
        let range = ranges.reduce(|range, other| Some(both(range?, other?))).flatten();
        range.map_or(Candidates::none(), |(low, high)| self.range_of_one(low, high))
    }

    /// The buckets that overlap a range of keys.
    fn overlapping(&self, low: u64, high: u64) -> Range<usize> {
        let first = self.buckets.partition_point(|bucket| bucket.high < low);
        let end = self.buckets.partition_point(|bucket| bucket.low <= high);
        first..end.max(first)
    }

    /// The slots of a range, where every slot has one number.
    fn range_of_one(&self, low: u64, high: u64) -> Candidates<'_> {
        let overlapping = self.overlapping(low, high);
        if low > high || overlapping.is_empty() {
            return Candidates::none();
        }
        let (first, last) = (overlapping.start, overlapping.end - 1);
        let is_whole = |at: usize| low <= self.buckets[at].low && self.buckets[at].high <= high;
        let edge = |at: usize| match &self.buckets[at].entries {
            // A bucket of one key is never cut.
            Entries::Mixed(slots) if !is_whole(at) => Some(Keyed { slots, low, high }),
            _ => None,
        };
        // A single bucket that is cut on both sides is both the first and the last.
        let edges = [edge(first), edge(last).filter(|_| last > first)];
        let whole = first + usize::from(!is_whole(first))..last + usize::from(is_whole(last));
        if whole.is_empty() {
            return edges.into_iter().flatten().map(Candidates::keyed).fold(Candidates::none(), Candidates::or);
        }
        let before = whole.start.checked_sub(1).map(|before| &self.buckets[before].through);
        Candidates::span(Span { through: &self.buckets[whole.end - 1].through, before, edges })
    }

    /// The slots of a range, where slots may have several numbers.
    fn range_of_several(&self, low: u64, high: u64) -> Candidates<'_> {
        let buckets = &self.buckets[self.overlapping(low, high)];
        buckets.iter().map(|bucket| bucket.within(low, high)).fold(Candidates::none(), Candidates::or)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn slots_that_have_gone_take_up_no_room() {
        let mut numbers = Numbers::default();
        for slot in 0..50_000 {
            numbers.insert(slot, &[f64::from(slot % 977)]);
            if let Some(gone) = slot.checked_sub(500) {
                numbers.remove(gone, 1);
            }
            let listed: usize = numbers.buckets.iter().filter_map(Bucket::mixed_len).sum();
            assert!(
                listed <= 500 + 3 * GONE_MIN / 2 + 4 && numbers.buckets.len() < 100,
                "{listed} {}",
                numbers.buckets.len()
            );
        }
        for slot in 49_500..50_000 {
            numbers.remove(slot, 1);
        }
        assert_eq!(numbers.len, 0);
        while !numbers.buckets.is_empty() {
            numbers.begin_sweep();
            numbers.sweep_to(usize::MAX);
        }
    }

    #[test]
    fn slots_may_go_and_come_back_while_others_are_swept_out() {
        let (mut numbers, mut slots, mut here) = (Numbers::default(), Bitmap::default(), BTreeMap::new());
        let (mut state, mut swept) = (1_u32, 0);
        for step in 0..60_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (slot, number) = ((state >> 8) % 8_000, f64::from((state >> 20) % 1_000));
            if here.remove(&slot).is_some() {
                slots.remove(slot);
                numbers.remove(slot, 1);
            } else if (state >> 4).is_multiple_of(4) {
                numbers.comes_back(slot);
                slots.insert(slot);
                here.insert(slot, number);
                numbers.insert(slot, &[number]);
            }
            swept += u32::from(numbers.sweep.is_some());
            if step % 64 == 0 {
                let found = numbers.range([(Bound::Included(number - 50.0), Bound::Excluded(number + 50.0))]);
                let found: Vec<u32> = found.scan(&slots, 0).collect();
                let is_near = |other: &f64| (number - 50.0..number + 50.0).contains(other);
                let expect: Vec<u32> = here.iter().filter(|(_, other)| is_near(other)).map(|(slot, _)| *slot).collect();
                assert_eq!(found, expect);
            }
        }
        assert!(swept > 1_000, "{swept}");
    }
}
