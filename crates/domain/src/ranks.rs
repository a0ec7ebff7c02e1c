//! The order of the records of one board in one period: a tree with counts, which answers in O(log n) which place a
//! record has and which records stand around it.
//!
//! A record takes 32 bytes in a leaf, and 34 to 60 bytes of memory with its share of the tree. The tree holds no record
//! by its owner: whoever changes a record knows what it was before, from the row that the change replaced.

use std::fmt;

#[cfg(test)]
mod tests;

/// Places of a leaf: a leaf fills two kilobytes, which is a size that allocators have.
const LEAF_MAX: usize = 63;

/// Children of an inner node.
const CHILDREN_MAX: usize = 64;

/// Where a record stands. Records are in order of their score; among equal ones the subscore decides, and then the id
/// of the owner. A board whose best score is the highest one is read from the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The score.
    pub score: i64,
    /// The subscore.
    pub subscore: i64,
    /// The owner's id as a number, which has the order of its bytes.
    pub owner: u128,
}

/// The end of a board that is its best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Best {
    /// The lowest score has the first rank.
    Lowest,
    /// The highest score has the first rank.
    Highest,
}

/// The records of a board in one period, in order.
pub struct Ranks {
    root: Node,
    len: usize,
    best: Best,
}

enum Node {
    Leaf(Box<Leaf>),
    Inner(Box<Inner>),
}

struct Leaf {
    len: u8,
    places: [Place; LEAF_MAX],
}

struct Inner {
    children: Vec<Child>,
}

struct Child {
    /// The lowest place below this child, or one that was there and has gone.
    from: Place,
    /// Places below this child.
    count: usize,
    node: Node,
}

/// The result for a node that takes a place.
enum Inserted {
    /// The place was there already.
    Present,
    /// The node has one place more.
    Taken,
    /// The node gave its upper part away, which is a node beside it.
    Split(Child),
}

impl Ranks {
    /// A board without records.
    #[must_use]
    pub fn new(best: Best) -> Self {
        Self { root: Node::Leaf(Leaf::empty()), len: 0, best }
    }

    /// How many records there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no record.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a record. Answers whether it was not there. Records that come in ascending order fill their leaves.
    pub fn insert(&mut self, place: Place) -> bool {
        match self.root.insert(place) {
            Inserted::Present => return false,
            Inserted::Taken => {}
            Inserted::Split(upper) => {
                let lower = std::mem::replace(&mut self.root, Node::Leaf(Leaf::empty()));
                let lower = Child {
                    from: Place { score: i64::MIN, subscore: i64::MIN, owner: 0 },
                    count: self.len + 1 - upper.count,
                    node: lower,
                };
                let mut children = Vec::with_capacity(CHILDREN_MAX + 1);
                children.extend([lower, upper]);
                self.root = Node::Inner(Box::new(Inner { children }));
            }
        }
        self.len += 1;
        true
    }

    /// Removes a record. Answers whether it was there.
    pub fn remove(&mut self, place: &Place) -> bool {
        let is_removed = self.root.remove(place);
        if is_removed {
            self.len -= 1;
        }
        while let Node::Inner(inner) = &mut self.root
            && inner.children.len() == 1
            && let Some(only) = inner.children.pop()
        {
            self.root = only.node;
        }
        is_removed
    }

    /// The rank of a record: the best one has 1. None if it is not there.
    #[must_use]
    pub fn rank(&self, place: &Place) -> Option<usize> {
        let (below, is_there) = self.root.position(place);
        is_there.then(|| match self.best {
            Best::Lowest => below + 1,
            Best::Highest => self.len - below,
        })
    }

    /// The rank that a record would have, whether it is there or not.
    #[must_use]
    pub fn rank_of(&self, place: &Place) -> usize {
        let (below, is_there) = self.root.position(place);
        match self.best {
            Best::Lowest => below + 1,
            Best::Highest => self.len - below - usize::from(is_there) + 1,
        }
    }

    /// The record of a rank.
    #[must_use]
    pub fn at(&self, rank: usize) -> Option<Place> {
        let index = self.index_of(rank)?;
        self.root.at(index)
    }

    /// Up to `limit` records from a rank on, from better to worse.
    #[must_use]
    pub fn page(&self, rank: usize, limit: usize) -> Vec<Place> {
        let Some(index) = self.index_of(rank) else { return Vec::new() };
        match self.best {
            Best::Lowest => {
                let count = limit.min(self.len - index);
                let mut found = Vec::with_capacity(count);
                self.root.collect(index, count, &mut found);
                found
            }
            Best::Highest => {
                let count = limit.min(index + 1);
                let mut found = Vec::with_capacity(count);
                self.root.collect(index + 1 - count, count, &mut found);
                found.reverse();
                found
            }
        }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.root.bytes()
    }

    fn index_of(&self, rank: usize) -> Option<usize> {
        let index = rank.checked_sub(1).filter(|index| *index < self.len)?;
        Some(match self.best {
            Best::Lowest => index,
            Best::Highest => self.len - 1 - index,
        })
    }
}

impl fmt::Debug for Ranks {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Ranks").field("len", &self.len).field("best", &self.best).finish_non_exhaustive()
    }
}

impl Node {
    fn insert(&mut self, place: Place) -> Inserted {
        match self {
            Self::Leaf(leaf) => leaf.insert(place),
            Self::Inner(inner) => inner.insert(place),
        }
    }

    fn remove(&mut self, place: &Place) -> bool {
        match self {
            Self::Leaf(leaf) => leaf.remove(place),
            Self::Inner(inner) => inner.remove(place),
        }
    }

    /// How many places lie below one, and whether the place itself is there.
    fn position(&self, place: &Place) -> (usize, bool) {
        let mut node = self;
        let mut below = 0;
        loop {
            match node {
                Self::Leaf(leaf) => {
                    return match leaf.places().binary_search(place) {
                        Ok(at) => (below + at, true),
                        Err(at) => (below + at, false),
                    };
                }
                Self::Inner(inner) => {
                    let at = inner.child_of(place);
                    below += inner.children[..at].iter().map(|child| child.count).sum::<usize>();
                    node = &inner.children[at].node;
                }
            }
        }
    }

    fn at(&self, mut index: usize) -> Option<Place> {
        let mut node = self;
        loop {
            match node {
                Self::Leaf(leaf) => return leaf.places().get(index).copied(),
                Self::Inner(inner) => {
                    let child = inner.children.iter().find(|child| {
                        let is_here = index < child.count;
                        if !is_here {
                            index -= child.count;
                        }
                        is_here
                    })?;
                    node = &child.node;
                }
            }
        }
    }

    /// Appends `count` places from an index on.
    fn collect(&self, mut index: usize, mut count: usize, found: &mut Vec<Place>) {
        match self {
            Self::Leaf(leaf) => found.extend(leaf.places().iter().skip(index).take(count)),
            Self::Inner(inner) => {
                for child in &inner.children {
                    if index >= child.count {
                        index -= child.count;
                        continue;
                    }
                    let here = count.min(child.count - index);
                    child.node.collect(index, here, found);
                    count -= here;
                    index = 0;
                    if count == 0 {
                        return;
                    }
                }
            }
        }
    }

    /// How full a node is: places of a leaf, children of an inner node.
    fn fill(&self) -> usize {
        match self {
            Self::Leaf(leaf) => usize::from(leaf.len),
            Self::Inner(inner) => inner.children.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Leaf(_) => size_of::<Leaf>(),
            Self::Inner(inner) => {
                let children: usize = inner.children.iter().map(|child| child.node.bytes()).sum();
                size_of::<Inner>() + inner.children.capacity() * size_of::<Child>() + children
            }
        }
    }
}

impl Leaf {
    fn empty() -> Box<Self> {
        Box::new(Self { len: 0, places: [Place::default(); LEAF_MAX] })
    }

    fn places(&self) -> &[Place] {
        &self.places[..usize::from(self.len)]
    }

    fn insert(&mut self, place: Place) -> Inserted {
        let Err(at) = self.places().binary_search(&place) else { return Inserted::Present };
        let len = usize::from(self.len);
        if len < LEAF_MAX {
            self.places.copy_within(at..len, at + 1);
            self.places[at] = place;
            self.len += 1;
            return Inserted::Taken;
        }
        // A place behind all others comes of records in order, and the leaf stays full.
        let keeps = if at == len { len } else { len / 2 };
        let mut upper = Self::empty();
        upper.places[..len - keeps].copy_from_slice(&self.places[keeps..]);
        upper.len = count(len - keeps);
        self.len = count(keeps);
        let taker = if at > keeps || at == len { &mut *upper } else { self };
        taker.insert(place);
        let (from, count) = (upper.places[0], usize::from(upper.len));
        Inserted::Split(Child { from, count, node: Node::Leaf(upper) })
    }

    fn remove(&mut self, place: &Place) -> bool {
        let Ok(at) = self.places().binary_search(place) else { return false };
        self.places.copy_within(at + 1..usize::from(self.len), at);
        self.len -= 1;
        true
    }
}

impl Inner {
    /// The child below which a place lies or would lie.
    fn child_of(&self, place: &Place) -> usize {
        self.children.partition_point(|child| child.from <= *place).saturating_sub(1)
    }

    fn insert(&mut self, place: Place) -> Inserted {
        let at = self.child_of(&place);
        let child = &mut self.children[at];
        match child.node.insert(place) {
            Inserted::Present => return Inserted::Present,
            Inserted::Taken => {
                child.count += 1;
                return Inserted::Taken;
            }
            Inserted::Split(upper) => {
                child.count = child.count + 1 - upper.count;
                self.children.insert(at + 1, upper);
            }
        }
        let len = self.children.len();
        if len <= CHILDREN_MAX {
            return Inserted::Taken;
        }
        let keeps = if at + 2 == len { len - 1 } else { len / 2 };
        let mut children = Vec::with_capacity(CHILDREN_MAX + 1);
        children.extend(self.children.drain(keeps..));
        let (from, count) = (children[0].from, children.iter().map(|child| child.count).sum());
        Inserted::Split(Child { from, count, node: Node::Inner(Box::new(Self { children })) })
    }

    fn remove(&mut self, place: &Place) -> bool {
        let at = self.child_of(place);
        let child = &mut self.children[at];
        if !child.node.remove(place) {
            return false;
        }
        child.count -= 1;
        let (is_empty, is_light) = (child.count == 0, child.node.fill() < LEAF_MAX / 4);
        if is_empty && self.children.len() > 1 {
            self.children.remove(at);
        } else if is_light {
            self.merge(at);
        }
        true
    }

    /// Joins a child that is nearly empty with the one beside it, if both fit into one with room left.
    fn merge(&mut self, at: usize) {
        let lower = if at + 1 < self.children.len() { at } else { at.saturating_sub(1) };
        let Some([into, from]) = self.children.get_mut(lower..lower + 2) else { return };
        if into.node.fill() + from.node.fill() > LEAF_MAX / 4 * 3 {
            return;
        }
        match (&mut into.node, &mut from.node) {
            (Node::Leaf(into), Node::Leaf(from)) => {
                let (len, more) = (usize::from(into.len), usize::from(from.len));
                into.places[len..len + more].copy_from_slice(from.places());
                into.len = count(len + more);
            }
            (Node::Inner(into), Node::Inner(from)) => into.children.append(&mut from.children),
            _ => return,
        }
        into.count += from.count;
        self.children.remove(lower + 1);
    }
}

/// A number of places of a leaf.
#[expect(clippy::cast_possible_truncation, reason = "a leaf has at most LEAF_MAX places")]
const fn count(places: usize) -> u8 {
    debug_assert!(places <= LEAF_MAX);
    places as u8
}
