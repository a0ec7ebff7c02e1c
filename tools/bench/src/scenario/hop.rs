//! `hop`: the cost of a message that crosses nodes. In the first half of the measured part, pairs of players on one
//! node talk to each other in relayed matches; in the second half, pairs on two nodes do; everything else is the same.
//!
//! A match lives on its maker's node, so a message between two nodes crosses once, whichever player sends it.

use std::time::Instant;

use super::names;
use crate::plan::Window;

/// Kinds of pairs, by the nodes of their players.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pair {
    /// Both players on one node.
    Local,
    /// Players on neighbouring nodes of the list.
    Remote,
}

impl Pair {
    /// Name of the kind in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Local => names::LOCAL,
            Self::Remote => names::REMOTE,
        }
    }

    /// The kind of pair that talks at this time.
    pub fn in_turn(window: &Window, now: Instant) -> Self {
        if now < window.middle() { Self::Local } else { Self::Remote }
    }
}

/// The pair of a player by its number, and the pair's kind. Players come to the nodes in turn. In two consecutive rows
/// of players, those below each other are a local pair, and those diagonally below a remote one.
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
