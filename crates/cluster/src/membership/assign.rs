//! Shares partitions out over nodes: in proportion to their weights, with as few moves as possible, and with the same
//! result on every node.
//!
//! Partitions without an owner get one at once. Partitions of draining nodes, and those that would even out the shares,
//! move a few at a time.

use super::view::{Holding, Move, Node, View};
use crate::NodeNumber;
use muster_live::place::{PARTITIONS, Partition, Place};

/// Largest number of partitions that are on their way between living nodes at the same time.
pub const MOVES_AT_ONCE_MAX: usize = 32;
/// Divisor of a node's fair share. Nothing moves while each node is within a sixteenth of its fair share, or within one
/// partition of it.
pub const SLACK_DIVISOR: usize = 16;

/// Factor of a node's weight in its pull.
const PULL: usize = 4;
/// Factor of a busy node's weight: a quarter of its partitions goes to nodes that are not busy.
const PULL_BUSY: usize = 3;

/// One of the nodes that partitions are shared out over.
#[derive(Debug)]
struct Share {
    number: NodeNumber,
    /// Partitions per shard once all moves are done.
    by_shard: Vec<usize>,
    held: usize,
    /// Partitions that the node should have.
    fair: usize,
}

impl Share {
    fn surplus(&self) -> usize {
        self.held.saturating_sub(self.fair)
    }

    fn deficit(&self) -> usize {
        self.fair.saturating_sub(self.held)
    }

    /// Number of partitions by which the node may differ from its fair share.
    fn slack(&self) -> usize {
        slack(self.fair)
    }

    /// The node's shard with the fewest partitions.
    fn next_place(&self) -> Place {
        let shard = (0..).zip(&self.by_shard).min_by_key(|(_, held)| **held).map_or(0, |(shard, _)| shard);
        Place::new(self.number, shard)
    }
}

/// A node's pull: its share of the partitions is proportional to this number.
pub fn pull(weight: u32, is_busy: bool) -> usize {
    weight as usize * if is_busy { PULL_BUSY } else { PULL }
}

/// Number of partitions by which a node may differ from this fair share before one is moved.
pub fn slack(fair: usize) -> usize {
    (fair / SLACK_DIVISOR).max(1)
}

/// The fair shares of nodes with these [pulls](pull), in the same order. Partitions left over by rounding go to the
/// nodes that lose most by it.
pub fn fair_shares(pulls: &[usize]) -> Vec<usize> {
    let sum: usize = pulls.iter().sum();
    if sum == 0 {
        return vec![0; pulls.len()];
    }
    let total = usize::from(PARTITIONS);
    let mut shares: Vec<usize> = pulls.iter().map(|pull| total * pull / sum).collect();
    let mut by_remainder: Vec<usize> = (0..pulls.len()).collect();
    by_remainder.sort_by_key(|index| std::cmp::Reverse(total * pulls[*index] % sum));
    let left = total - shares.iter().sum::<usize>();
    by_remainder.into_iter().take(left).for_each(|index| shares[index] += 1);
    shares
}

/// Gives owners to partitions that have none, and begins moves. Every change gets the view's epoch. Answers whether
/// anything changed.
pub fn assign(view: &mut View) -> bool {
    let mut shares = Shares::of(view);
    if shares.0.is_empty() {
        return false;
    }
    let has_orphans = shares.adopt_orphans(view);
    let mut left = MOVES_AT_ONCE_MAX.saturating_sub(view.moving());
    let before = left;
    shares.empty_others(view, &mut left);
    shares.balance(view, &mut left);
    has_orphans || left < before
}

/// Whether a partition may move. A partition that changed in this very view has to wait for the next, since each change
/// needs an epoch of its own.
fn may_move(holding: &Holding, view: &View) -> bool {
    holding.moving.is_none() && holding.epoch < view.epoch
}

/// The nodes that take partitions, with their shares.
struct Shares(Vec<Share>);

impl Shares {
    fn of(view: &View) -> Self {
        let nodes: Vec<&Node> = view.nodes().iter().filter(|node| node.takes_partitions()).collect();
        let pulls: Vec<usize> = nodes.iter().map(|node| node.pull()).collect();
        let shares = nodes.iter().zip(fair_shares(&pulls)).map(|(node, fair)| Share {
            number: node.number,
            by_shard: vec![0; usize::from(node.shards)],
            held: 0,
            fair,
        });
        let mut shares = Self(shares.collect());
        for (_, holding) in view.holdings() {
            if let Some(owner) = holding.eventual_owner() {
                shares.count(owner, 1);
            }
        }
        shares
    }

    fn has(&self, number: NodeNumber) -> bool {
        self.0.iter().any(|share| share.number == number)
    }

    fn count(&mut self, place: Place, change: isize) {
        let Some(share) = self.0.iter_mut().find(|share| share.number == place.node()) else { return };
        share.held = share.held.saturating_add_signed(change);
        // A partition on a shard that the node does not have counts for the node only.
        if let Some(held) = share.by_shard.get_mut(usize::from(place.shard())) {
            *held = held.saturating_add_signed(change);
        }
    }

    /// The share that lacks most partitions; among equals the one with the lowest node number.
    fn neediest(&self) -> Option<&Share> {
        let lacks = |share: &Share| share.fair as isize - share.held as isize;
        self.0.iter().rev().max_by_key(|share| lacks(share))
    }

    fn adopt_orphans(&mut self, view: &mut View) -> bool {
        let epoch = view.epoch;
        let mut has_any = false;
        for (_, holding) in view.holdings_mut().filter(|(_, holding)| holding.owner.is_none()) {
            let Some(to) = self.neediest().map(Share::next_place) else { break };
            *holding = Holding { owner: Some(to), epoch, moving: None };
            self.count(to, 1);
            has_any = true;
        }
        has_any
    }

    fn begin_move(&mut self, view: &mut View, partition: Partition, to: Place) {
        let epoch = view.epoch;
        let holding = view.holding_mut(partition);
        if let Some(owner) = holding.owner {
            self.count(owner, -1);
        }
        holding.moving = Some(Move { to, epoch });
        self.count(to, 1);
    }

    /// Begins moves away from nodes that must own nothing.
    fn empty_others(&mut self, view: &mut View, left: &mut usize) {
        for partition in Partition::all() {
            if *left == 0 {
                return;
            }
            let holding = view.holding(partition);
            let is_theirs = holding.owner.is_some_and(|owner| !self.has(owner.node()));
            if is_theirs
                && may_move(holding, view)
                && let Some(to) = self.neediest().map(Share::next_place)
            {
                self.begin_move(view, partition, to);
                *left -= 1;
            }
        }
    }

    fn balance(&mut self, view: &mut View, left: &mut usize) {
        while *left > 0 {
            let Some((from, to)) = self.imbalance() else { return };
            let Some(partition) = self.movable(view, from) else { return };
            self.begin_move(view, partition, to);
            *left -= 1;
        }
    }

    /// The node that should give a partition and the place that should get it, if any node is further from its share
    /// than the slack.
    fn imbalance(&self) -> Option<(NodeNumber, Place)> {
        // The node furthest beyond the slack comes first, then the node furthest within it.
        let beyond = |off: usize, share: &Share| off as isize - share.slack() as isize;
        let givers = self.0.iter().rev().filter(|share| share.surplus() > 0);
        let from = givers.max_by_key(|share| beyond(share.surplus(), share))?;
        let takers = self.0.iter().rev().filter(|share| share.deficit() > 0);
        let to = takers.max_by_key(|share| beyond(share.deficit(), share))?;
        let is_due = from.surplus() > from.slack() || to.deficit() > to.slack();
        is_due.then(|| (from.number, to.next_place()))
    }

    /// A partition of a node's fullest shard that is not moving already.
    fn movable(&self, view: &View, from: NodeNumber) -> Option<Partition> {
        let share = self.0.iter().find(|share| share.number == from)?;
        let held = |owner: Place| share.by_shard.get(usize::from(owner.shard())).copied().unwrap_or(usize::MAX);
        let movable = view.holdings().filter(|(_, holding)| may_move(holding, view));
        let owned = movable.filter_map(|(partition, holding)| Some((partition, holding.owner?)));
        let its_own = owned.filter(|(_, owner)| owner.node() == from);
        // The first partition of the fullest shard.
        its_own
            .max_by_key(|(partition, owner)| (held(*owner), std::cmp::Reverse(partition.number())))
            .map(|found| found.0)
    }
}
