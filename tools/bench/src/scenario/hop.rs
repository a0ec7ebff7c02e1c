//! `hop`: what it costs that a message crosses nodes. In the first half of the measured part pairs of players of one node
//! talk to each other in relayed matches, in the second half pairs of two nodes do; the rest is the same.
//!
//! A match lives on its maker's node, so a message between two nodes crosses once, whoever says it.

use std::time::Instant;

use super::names;
use crate::plan::Window;

/// Where the two of a pair are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// On one node.
    Local,
    /// On neighbouring nodes of the list.
    Remote,
}

impl Pair {
    /// Their name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => names::LOCAL,
            Self::Remote => names::REMOTE,
        }
    }

    /// Whose turn it is.
    pub fn in_turn(window: &Window, now: Instant) -> Self {
        if now < window.middle() { Self::Local } else { Self::Remote }
    }
}

/// The pair of a player by its number, and of which kind it is. Players come to the nodes in turn; of two rows of players
/// those below each other are a pair, or those diagonally below.
pub fn pair_of(index: usize, nodes: usize) -> (usize, Pair) {
    let (block, at) = (index / (2 * nodes), index % (2 * nodes));
    let pair = if block.is_multiple_of(2) { Pair::Local } else { Pair::Remote };
    let node = at % nodes;
    let is_shifted = pair == Pair::Remote && at >= nodes;
    let first = if is_shifted { (node + nodes - 1) % nodes } else { node };
    (block * nodes + first, pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_pairs_are_of_two_nodes() {
        for nodes in 2..5 {
            let players = 4 * nodes;
            let members = |pair| (0..players).filter(move |index| pair_of(*index, nodes).0 == pair);
            for pair in 0..players / 2 {
                let members: Vec<usize> = members(pair).collect();
                let [one, other] = members[..] else { panic!("{members:?} are no pair") };
                let kind = pair_of(one, nodes).1;
                assert_eq!(kind, pair_of(other, nodes).1);
                assert_eq!(kind == Pair::Local, one % nodes == other % nodes);
                assert_eq!(kind == Pair::Local, pair < nodes);
            }
        }
    }
}
