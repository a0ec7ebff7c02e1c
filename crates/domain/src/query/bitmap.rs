//! Sets of slots: short ones as lists, others as chunks of bits. Read chunk by chunk, so that whoever needs only the
//! first few members of a combination of sets never computes the rest.

use std::cmp::Ordering;

/// Slots of one chunk.
pub(super) const CHUNK_SLOTS: u32 = 4_096;
pub(super) const WORDS: usize = CHUNK_SLOTS as usize / 64;
/// A set with no more members is a list.
const LIST_LEN_MAX: usize = 16;

/// The bits of one chunk.
pub(super) type Words = [u64; WORDS];

/// No bits.
pub(super) const NO_WORDS: Words = [0; WORDS];

#[derive(Clone, Debug)]
struct Chunk {
    number: u32,
    len: u32,
    words: Box<Words>,
}

#[derive(Clone, Debug)]
enum Form {
    /// In ascending order.
    List(Vec<u32>),
    /// In ascending order of their numbers; none is empty.
    Chunks(Vec<Chunk>),
}

/// A set of slots.
#[derive(Clone, Debug)]
pub struct Bitmap(Form);

impl Default for Bitmap {
    fn default() -> Self {
        Self(Form::List(Vec::new()))
    }
}

/// The bit of `slot` in its chunk: which word, and its mask.
pub(super) fn place(slot: u32) -> (usize, u64) {
    let within = slot % CHUNK_SLOTS;
    (within as usize / 64, 1 << (within % 64))
}

/// Sets the bits of those of `slots`, which ascend, that lie in chunk `number`.
fn add_listed(slots: &[u32], number: u32, words: &mut Words) {
    let start = slots.partition_point(|slot| slot / CHUNK_SLOTS < number);
    for slot in slots[start..].iter().take_while(|slot| **slot / CHUNK_SLOTS == number) {
        let (word, mask) = place(*slot);
        words[word] |= mask;
    }
}

/// Clears the bits of slots before `slot` in chunk `number`.
pub(super) fn clear_before(slot: u32, number: u32, words: &mut Words) {
    match number.cmp(&(slot / CHUNK_SLOTS)) {
        Ordering::Less => *words = NO_WORDS,
        Ordering::Equal => {
            let (word, mask) = place(slot);
            words[..word].fill(0);
            words[word] &= !(mask - 1);
        }
        Ordering::Greater => {}
    }
}

impl Bitmap {
    /// Adds a slot; says whether it was not in the set.
    pub fn insert(&mut self, slot: u32) -> bool {
        match &mut self.0 {
            Form::List(list) => {
                let Err(at) = list.binary_search(&slot) else { return false };
                list.insert(at, slot);
                if list.len() > LIST_LEN_MAX {
                    let list = std::mem::take(list);
                    self.0 = Form::Chunks(Vec::new());
                    for slot in list {
                        self.insert(slot);
                    }
                }
                true
            }
            Form::Chunks(chunks) => {
                let at = match find(chunks, slot / CHUNK_SLOTS) {
                    Ok(at) => at,
                    Err(at) => {
                        let chunk = Chunk { number: slot / CHUNK_SLOTS, len: 0, words: Box::new(NO_WORDS) };
                        chunks.insert(at, chunk);
                        at
                    }
                };
                let (word, mask) = place(slot);
                let chunk = &mut chunks[at];
                let is_new = chunk.words[word] & mask == 0;
                chunk.words[word] |= mask;
                chunk.len += u32::from(is_new);
                is_new
            }
        }
    }

    /// Takes a slot out; says whether it was in the set.
    pub fn remove(&mut self, slot: u32) -> bool {
        match &mut self.0 {
            Form::List(list) => {
                let found = list.binary_search(&slot);
                found.map(|at| list.remove(at)).is_ok()
            }
            Form::Chunks(chunks) => {
                let Ok(at) = find(chunks, slot / CHUNK_SLOTS) else { return false };
                let (word, mask) = place(slot);
                let chunk = &mut chunks[at];
                if chunk.words[word] & mask == 0 {
                    return false;
                }
                chunk.words[word] &= !mask;
                chunk.len -= 1;
                if chunk.len == 0 {
                    chunks.remove(at);
                    if chunks.is_empty() {
                        *self = Self::default();
                    }
                }
                true
            }
        }
    }

    /// Takes all slots of another set out.
    pub(super) fn subtract(&mut self, other: &Self) {
        match &mut self.0 {
            Form::List(list) => list.retain(|slot| !other.contains(*slot)),
            Form::Chunks(chunks) => {
                chunks.retain_mut(|chunk| {
                    if other.chunk_from(chunk.number) != Some(chunk.number) {
                        return true;
                    }
                    other.take_from(chunk.number, &mut chunk.words);
                    chunk.len = chunk.words.iter().map(|word| word.count_ones()).sum();
                    chunk.len > 0
                });
                if chunks.is_empty() {
                    *self = Self::default();
                }
            }
        }
    }

    /// Whether the set holds this slot.
    pub fn contains(&self, slot: u32) -> bool {
        match &self.0 {
            Form::List(list) => list.binary_search(&slot).is_ok(),
            Form::Chunks(chunks) => {
                let (word, mask) = place(slot);
                find(chunks, slot / CHUNK_SLOTS).is_ok_and(|at| chunks[at].words[word] & mask != 0)
            }
        }
    }

    /// How many slots it holds.
    pub fn len(&self) -> usize {
        match &self.0 {
            Form::List(list) => list.len(),
            Form::Chunks(chunks) => chunks.iter().map(|chunk| chunk.len as usize).sum(),
        }
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::List(list) => list.is_empty(),
            Form::Chunks(chunks) => chunks.is_empty(),
        }
    }

    /// The number of the first chunk from `number` on in which it has slots.
    pub(super) fn chunk_from(&self, number: u32) -> Option<u32> {
        match &self.0 {
            Form::List(list) => {
                let at = list.partition_point(|slot| slot / CHUNK_SLOTS < number);
                list.get(at).map(|slot| slot / CHUNK_SLOTS)
            }
            Form::Chunks(chunks) => {
                let at = find(chunks, number).unwrap_or_else(|at| at);
                chunks.get(at).map(|chunk| chunk.number)
            }
        }
    }

    /// Adds the members in chunk `number` to `words`.
    pub(super) fn add_to(&self, number: u32, words: &mut Words) {
        match &self.0 {
            Form::List(list) => add_listed(list, number, words),
            Form::Chunks(_) => {
                if let Some(own) = self.words(number) {
                    words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
                }
            }
        }
    }

    /// Adds the members in chunk `number` that are not in `without`.
    pub(super) fn add_difference_to(&self, without: Option<&Self>, number: u32, words: &mut Words) {
        let Some(without) = without else { return self.add_to(number, words) };
        match (self.words(number), without.words(number)) {
            (Some(own), Some(without)) => {
                words
                    .iter_mut()
                    .zip(own.iter().zip(without))
                    .for_each(|(word, (own, without))| *word |= own & !without);
            }
            _ => {
                let mut own = NO_WORDS;
                self.add_to(number, &mut own);
                without.take_from(number, &mut own);
                words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
            }
        }
    }

    /// Keeps in `words` only the members in chunk `number`.
    pub(super) fn keep_in(&self, number: u32, words: &mut Words) {
        match (&self.0, self.words(number)) {
            (Form::List(list), _) => {
                let mut own = NO_WORDS;
                add_listed(list, number, &mut own);
                words.iter_mut().zip(own).for_each(|(word, own)| *word &= own);
            }
            (Form::Chunks(_), Some(own)) => words.iter_mut().zip(own).for_each(|(word, own)| *word &= own),
            (Form::Chunks(_), None) => *words = NO_WORDS,
        }
    }

    /// Takes the members in chunk `number` out of `words`.
    pub(super) fn take_from(&self, number: u32, words: &mut Words) {
        match (&self.0, self.words(number)) {
            (Form::List(list), _) => {
                let mut own = NO_WORDS;
                add_listed(list, number, &mut own);
                words.iter_mut().zip(own).for_each(|(word, own)| *word &= !own);
            }
            (Form::Chunks(_), Some(own)) => words.iter_mut().zip(own).for_each(|(word, own)| *word &= !own),
            (Form::Chunks(_), None) => {}
        }
    }

    fn words(&self, number: u32) -> Option<&Words> {
        let Form::Chunks(chunks) = &self.0 else { return None };
        find(chunks, number).ok().map(|at| &*chunks[at].words)
    }
}

/// New slots come last and most sets are dense, so the place is mostly the last one or the number's own.
fn find(chunks: &[Chunk], number: u32) -> Result<usize, usize> {
    match chunks.last() {
        Some(last) if last.number == number => Ok(chunks.len() - 1),
        Some(last) if last.number > number => chunks.binary_search_by_key(&number, |chunk| chunk.number),
        _ => Err(chunks.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn members(bitmap: &Bitmap) -> Vec<u32> {
        let mut members = Vec::new();
        let mut from = 0;
        while let Some(number) = bitmap.chunk_from(from) {
            let mut words = NO_WORDS;
            bitmap.add_to(number, &mut words);
            let base = number * CHUNK_SLOTS;
            members.extend((0..CHUNK_SLOTS).map(|at| base + at).filter(|slot| {
                let (word, mask) = place(*slot);
                words[word] & mask != 0
            }));
            from = number + 1;
        }
        members
    }

    #[test]
    fn a_bitmap_is_a_set() {
        let (mut bitmap, mut set) = (Bitmap::default(), BTreeSet::new());
        let mut state = 1_u32;
        for step in 0..5_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let slot = (state >> 16) % 300 * 97;
            // Grows, then empties.
            if state % 10 < if step < 2_500 { 7 } else { 2 } {
                assert_eq!(bitmap.insert(slot), set.insert(slot));
            } else {
                assert_eq!(bitmap.remove(slot), set.remove(&slot));
            }
            assert_eq!(bitmap.contains(slot), set.contains(&slot));
            assert_eq!((bitmap.len(), bitmap.is_empty()), (set.len(), set.is_empty()));
        }
        assert_eq!(members(&bitmap), set.iter().copied().collect::<Vec<_>>());
        let mut even = Bitmap::default();
        set.iter().filter(|slot| **slot % 2 == 0).for_each(|slot| {
            even.insert(*slot);
        });
        bitmap.subtract(&even);
        set.retain(|slot| slot % 2 == 1);
        assert_eq!(members(&bitmap), set.iter().copied().collect::<Vec<_>>());
        for slot in &set {
            bitmap.remove(*slot);
        }
        assert!(bitmap.is_empty() && bitmap.chunk_from(0).is_none());
        bitmap.insert(u32::MAX);
        assert_eq!(bitmap.chunk_from(0), Some(u32::MAX / CHUNK_SLOTS));
    }
}
