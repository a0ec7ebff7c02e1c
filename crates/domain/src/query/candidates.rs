//! Combinations of sets of slots, computed chunk by chunk and only as far as somebody reads. Never copies a set.

use super::bitmap::{Bitmap, CHUNK_SLOTS, NO_WORDS, Words, clear_before, place};

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
        let mut scan =
            Scan { candidates: self, universe, number: from / CHUNK_SLOTS, words: NO_WORDS, word: 0, chunks: 0 };
        scan.read_chunk();
        if !scan.is_done() {
            clear_before(from, scan.number, &mut scan.words);
        }
        scan
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
    universe: &'a Bitmap,
    /// The chunk in `words`; behind the last when done.
    number: u32,
    words: Words,
    word: usize,
    chunks: u32,
}

/// No chunk has this number.
const DONE: u32 = u32::MAX / CHUNK_SLOTS + 1;

impl Scan<'_> {
    /// How many chunks were computed so far; each costs [`Candidates::cost`].
    pub fn chunks_read(&self) -> u32 {
        self.chunks
    }

    fn is_done(&self) -> bool {
        self.number == DONE
    }

    /// Computes the first chunk from `number` on that is in the universe.
    fn read_chunk(&mut self) {
        let next = if self.candidates.is_none() { None } else { self.universe.chunk_from(self.number) };
        self.number = next.unwrap_or(DONE);
        self.word = 0;
        self.words = NO_WORDS;
        if self.is_done() {
            return;
        }
        self.chunks += 1;
        let mut universe = NO_WORDS;
        self.universe.add_to(self.number, &mut universe);
        self.words = universe;
        self.candidates.0.keep_in(self.number, &universe, &mut self.words);
    }
}

impl Iterator for Scan<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        while !self.is_done() {
            while let Some(word) = self.words.get_mut(self.word) {
                if *word != 0 {
                    let bit = word.trailing_zeros();
                    *word &= *word - 1;
                    // A word's place within its chunk is small.
                    return Some(self.number * CHUNK_SLOTS + self.word as u32 * 64 + bit);
                }
                self.word += 1;
            }
            self.number += 1;
            self.read_chunk();
        }
        None
    }
}
