//! Combinations of sets of slots, computed chunk by chunk and only as far as somebody reads. Never copies a set.

use super::bitmap::{Bitmap, CHUNK_SLOTS, NO_WORDS, WORDS, Words, clear_before, place};
use super::work::Work;

/// So many listed slots cost about as much as a set.
const LISTED_PER_SET: usize = 64;

#[derive(Clone, Debug)]
enum Node<'a> {
    None,
    /// Every slot of the index.
    All,
    Set(&'a Bitmap),
    Keyed(Keyed<'a>),
    /// Every slot from this on.
    From(u32),
    Span(Span<'a>),
    And(Vec<Node<'a>>),
    Or(Vec<Node<'a>>),
    Not(Box<Node<'a>>),
}

/// Those of some slots, which ascend, whose keys lie between two, both included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyed<'a> {
    pub slots: &'a [(u32, u64)],
    pub low: u64,
    pub high: u64,
}

/// The first set without the second, which it includes; and what lies beside it on either side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span<'a> {
    pub through: &'a Bitmap,
    pub before: Option<&'a Bitmap>,
    pub edges: [Option<Keyed<'a>>; 2],
}

impl Keyed<'_> {
    /// The place of each slot in chunk `number`: of its word, and a mask in that. Slots that do not count have an empty
    /// mask, since a branch would be mispredicted every other time.
    fn masks(&self, number: u32) -> impl Iterator<Item = (usize, u64)> {
        let start = self.slots.partition_point(|(slot, _)| slot / CHUNK_SLOTS < number);
        let of_chunk = self.slots[start..].iter().take_while(move |(slot, _)| slot / CHUNK_SLOTS == number);
        of_chunk.map(|(slot, key)| {
            let (word, mask) = place(*slot);
            (word, if (self.low..=self.high).contains(key) { mask } else { 0 })
        })
    }

    fn add_to(&self, number: u32, words: &mut Words) {
        self.masks(number).for_each(|(word, mask)| words[word] |= mask);
    }

    fn take_from(&self, number: u32, words: &mut Words) {
        self.masks(number).for_each(|(word, mask)| words[word] &= !mask);
    }

    fn cost(&self) -> u32 {
        1 + (self.slots.len() / LISTED_PER_SET) as u32
    }
}

impl Span<'_> {
    fn add_to(&self, number: u32, words: &mut Words) {
        self.through.add_difference_to(self.before, number, words);
        self.edges.iter().flatten().for_each(|edge| edge.add_to(number, words));
    }

    fn take_from(&self, number: u32, words: &mut Words) {
        let mut own = NO_WORDS;
        self.through.add_difference_to(self.before, number, &mut own);
        words.iter_mut().zip(own).for_each(|(word, own)| *word &= !own);
        self.edges.iter().flatten().for_each(|edge| edge.take_from(number, words));
    }
}

/// A set of slots of an index, combined from others.
#[derive(Clone, Debug)]
pub struct Candidates<'a>(Node<'a>);

impl<'a> Candidates<'a> {
    /// No slot.
    pub fn none() -> Self {
        Self(Node::None)
    }

    /// Every slot of the index.
    pub fn all() -> Self {
        Self(Node::All)
    }

    /// The slots of a set.
    pub fn set(set: &'a Bitmap) -> Self {
        Self(if set.is_empty() { Node::None } else { Node::Set(set) })
    }

    pub(super) fn keyed(keyed: Keyed<'a>) -> Self {
        Self(if keyed.slots.is_empty() { Node::None } else { Node::Keyed(keyed) })
    }

    /// Every slot of the index from this one on.
    pub fn from_slot(slot: u32) -> Self {
        Self(Node::From(slot))
    }

    pub(super) fn span(span: Span<'a>) -> Self {
        match span {
            Span { through, before: None, edges: [None, None] } => Self::set(through),
            span => Self(Node::Span(span)),
        }
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(match (self.0, other.0) {
            (Node::None, _) | (_, Node::None) => Node::None,
            (Node::All, node) | (node, Node::All) => node,
            (Node::And(mut nodes), Node::And(others)) => {
                nodes.extend(others);
                Node::And(nodes)
            }
            (Node::And(mut nodes), node) => {
                nodes.push(node);
                Node::And(nodes)
            }
            // A complement comes after what it narrows.
            (not @ Node::Not(_), node) => Node::And(vec![node, not]),
            (first, second) => Node::And(vec![first, second]),
        })
    }

    /// Those of either.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(match (self.0, other.0) {
            (Node::None, node) | (node, Node::None) => node,
            (Node::All, _) | (_, Node::All) => Node::All,
            (Node::Or(mut nodes), node) => {
                nodes.push(node);
                Node::Or(nodes)
            }
            (first, second) => Node::Or(vec![first, second]),
        })
    }

    /// Those that are not in `other`.
    #[must_use]
    pub fn and_not(self, other: Self) -> Self {
        let complement = match other.0 {
            Node::None => return self,
            Node::All => return Self::none(),
            Node::Not(node) => *node,
            node => Node::Not(Box::new(node)),
        };
        self.and(Self(complement))
    }

    /// Whether it certainly holds no slot.
    pub fn is_none(&self) -> bool {
        matches!(self.0, Node::None)
    }

    /// How many sets it is combined from, a long list of keys counting as several: what one chunk costs to compute.
    pub fn cost(&self) -> u32 {
        fn count(node: &Node<'_>) -> u32 {
            match node {
                Node::And(nodes) | Node::Or(nodes) => nodes.iter().map(count).sum(),
                Node::Not(node) => count(node),
                Node::Keyed(keyed) => keyed.cost(),
                Node::Span(span) => 2 + span.edges.iter().flatten().map(Keyed::cost).sum::<u32>(),
                _ => 1,
            }
        }
        count(&self.0)
    }

    /// Its slots from `from` on, ascending, among those of `universe`.
    pub(super) fn scan(self, universe: &'a Bitmap, from: u32) -> Scan<'a> {
        let cost = self.cost();
        Scan { candidates: self, cost, universe, from: from.into(), words: NO_WORDS, word: WORDS, chunk: None }
    }
}

impl Node<'_> {
    /// Its members in chunk `number`, of which `universe` holds all there are. `words` is empty before.
    fn add_to(&self, number: u32, universe: &Words, words: &mut Words) {
        match self {
            Node::None => {}
            Node::All => *words = *universe,
            Node::Set(set) => set.add_to(number, words),
            Node::Keyed(keyed) => keyed.add_to(number, words),
            Node::From(slot) => {
                let mut own = *universe;
                clear_before(*slot, number, &mut own);
                words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
            }
            Node::Span(span) => span.add_to(number, words),
            Node::Or(nodes) => nodes.iter().for_each(|node| node.add_to(number, universe, words)),
            Node::And(_) | Node::Not(_) => {
                let mut own = *universe;
                self.keep_in(number, universe, &mut own);
                words.iter_mut().zip(own).for_each(|(word, own)| *word |= own);
            }
        }
    }

    /// Keeps its members in `words`.
    fn keep_in(&self, number: u32, universe: &Words, words: &mut Words) {
        match self {
            Node::All => {}
            Node::From(slot) => clear_before(*slot, number, words),
            Node::Set(set) => set.keep_in(number, words),
            Node::And(nodes) => {
                for node in nodes {
                    node.keep_in(number, universe, words);
                    if *words == NO_WORDS {
                        return;
                    }
                }
            }
            Node::Not(node) => node.take_from(number, universe, words),
            Node::None | Node::Keyed(_) | Node::Span(_) | Node::Or(_) => {
                let mut own = NO_WORDS;
                self.add_to(number, universe, &mut own);
                words.iter_mut().zip(own).for_each(|(word, own)| *word &= own);
            }
        }
    }

    /// Takes its members out of `words`.
    fn take_from(&self, number: u32, universe: &Words, words: &mut Words) {
        match self {
            Node::None => {}
            Node::Set(set) => set.take_from(number, words),
            Node::Keyed(keyed) => keyed.take_from(number, words),
            Node::Span(span) => span.take_from(number, words),
            Node::Or(nodes) => nodes.iter().for_each(|node| node.take_from(number, universe, words)),
            Node::All | Node::From(_) | Node::And(_) | Node::Not(_) => {
                let mut own = NO_WORDS;
                self.add_to(number, universe, &mut own);
                words.iter_mut().zip(own).for_each(|(word, own)| *word &= !own);
            }
        }
    }
}

/// The slots of a combination, ascending.
#[derive(Debug)]
pub struct Scan<'a> {
    candidates: Candidates<'a>,
    /// Cost of computing one chunk.
    cost: u32,
    universe: &'a Bitmap,
    /// The first slot that was not looked at. Behind the last one when the scan is over, and the next chunk begins with
    /// it when the present one is done.
    from: u64,
    /// The rest of the present chunk, from `word` on.
    words: Words,
    word: usize,
    /// The number of the present chunk, if one was computed.
    chunk: Option<u32>,
}

/// A step of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The next slot.
    Slot(u32),
    /// No work is left. The scan goes on at [`Scan::next_slot`].
    Spent,
    /// There are no more slots.
    End,
}

/// Behind the last slot.
const SLOTS_END: u64 = u32::MAX as u64 + 1;

impl Scan<'_> {
    /// The first slot that was not looked at; `None` if all were.
    pub fn next_slot(&self) -> Option<u32> {
        u32::try_from(self.from).ok()
    }

    /// The next slot. Chunks that are computed count as work; at least one is computed, even if no work is left.
    pub fn next_within(&mut self, work: &mut Work) -> Found {
        loop {
            if let Some(slot) = self.next_of_chunk() {
                return Found::Slot(slot);
            }
            if self.from == SLOTS_END {
                return Found::End;
            }
            if self.chunk.is_some() && work.is_spent() {
                return Found::Spent;
            }
            work.spend(self.cost);
            self.read_chunk();
        }
    }

    fn next_of_chunk(&mut self) -> Option<u32> {
        let number = self.chunk?;
        while let Some(word) = self.words.get_mut(self.word) {
            if *word != 0 {
                let bit = word.trailing_zeros();
                *word &= *word - 1;
                // A word's place within its chunk is small.
                let slot = number * CHUNK_SLOTS + self.word as u32 * 64 + bit;
                self.from = u64::from(slot) + 1;
                return Some(slot);
            }
            self.word += 1;
            let passed = u64::from(number) * u64::from(CHUNK_SLOTS) + self.word as u64 * 64;
            self.from = self.from.max(passed);
        }
        None
    }

    /// Computes the first chunk from `from` on that is in the universe.
    fn read_chunk(&mut self) {
        let first = self.next_slot().filter(|_| !self.candidates.is_none());
        let next = first.and_then(|from| Some((from, self.universe.chunk_from(from / CHUNK_SLOTS)?)));
        (self.words, self.word) = (NO_WORDS, 0);
        let Some((from, number)) = next else {
            (self.from, self.word) = (SLOTS_END, WORDS);
            return;
        };
        self.chunk = Some(number);
        let mut universe = NO_WORDS;
        self.universe.add_to(number, &mut universe);
        self.words = universe;
        self.candidates.0.keep_in(number, &universe, &mut self.words);
        clear_before(from, number, &mut self.words);
    }
}

impl Iterator for Scan<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        match self.next_within(&mut Work::endless()) {
            Found::Slot(slot) => Some(slot),
            Found::Spent | Found::End => None,
        }
    }
}
