//! Sharing partitions out over nodes: by weight, with as few moves as that takes, and the same for whoever works it out.
//!
//! Orphans get an owner at once. What draining nodes have, and what unbalances, moves bit by bit.

use super::view::{Holding, Move, Node, View};
use crate::NodeNumber;
use muster_live::place::{PARTITIONS, Partition, Place};

/// Partitions that may be on their way between living nodes at once.
pub const MOVES_AT_ONCE_MAX: usize = 32;
/// A node may have so much more or less than its share, as a part of it, and at least one partition.
pub const SLACK_DIVISOR: usize = 16;

/// A node's weight counts so many times,
const PULL: usize = 4;
/// and of a node that is busy so many: a quarter of what it owns goes to those who are not.
const PULL_BUSY: usize = 3;

/// A node among those that partitions are shared out over.
#[derive(Debug)]
struct Share {
    number: NodeNumber,
    /// By shard: partitions that it has once all moves are done.
    by_shard: Vec<usize>,
    held: usize,
    /// What it should have.
    fair: usize,
}

impl Share {
    fn surplus(&self) -> usize {
        self.held.saturating_sub(self.fair)
    }

    fn deficit(&self) -> usize {
        self.fair.saturating_sub(self.held)
    }

    /// How far it may be from its share.
    fn slack(&self) -> usize {
        slack(self.fair)
    }

    /// Its emptiest shard.
    fn next_place(&self) -> Place {
        let shard = (0..).zip(&self.by_shard).min_by_key(|(_, held)| **held).map_or(0, |(shard, _)| shard);
        Place::new(self.number, shard)
    }
}

/// What the share of a node with this weight is in proportion to.
pub fn pull(weight: u32, is_busy: bool) -> usize {
    weight as usize * if is_busy { PULL_BUSY } else { PULL }
}

/// How far a node with this share may be from it before something is moved.
pub fn slack(fair: usize) -> usize {
    (fair / SLACK_DIVISOR).max(1)
}

/// The shares of nodes with these [pulls](pull), in their order: what is left over goes to those who lose most by rounding.
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

/// Gives owners to partitions, and begins moves. What changes has the view's epoch. Answers whether anything did.
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

/// Whether a partition is at rest: what changed in this very view moves in the next, since each change has an epoch.
fn may_move(holding: &Holding, view: &View) -> bool {
    holding.moving.is_none() && holding.epoch < view.epoch
}

/// The nodes that take partitions.
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
        // A shard that the node does not have counts for the node alone.
        if let Some(held) = share.by_shard.get_mut(usize::from(place.shard())) {
            *held = held.saturating_add_signed(change);
        }
    }

    /// Who lacks most; among equals the lowest number.
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

    /// Moves what nodes have that are to have none.
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

    /// Who should give to whom, if anybody is further from the share than the slack.
    fn imbalance(&self) -> Option<(NodeNumber, Place)> {
        // Whoever is furthest beyond the slack, then whoever is furthest within it.
        let beyond = |off: usize, share: &Share| off as isize - share.slack() as isize;
        let givers = self.0.iter().rev().filter(|share| share.surplus() > 0);
        let from = givers.max_by_key(|share| beyond(share.surplus(), share))?;
        let takers = self.0.iter().rev().filter(|share| share.deficit() > 0);
        let to = takers.max_by_key(|share| beyond(share.deficit(), share))?;
        let is_due = from.surplus() > from.slack() || to.deficit() > to.slack();
        is_due.then(|| (from.number, to.next_place()))
    }

    /// A partition of a node's fullest shard that stays there otherwise.
    fn movable(&self, view: &View, from: NodeNumber) -> Option<Partition> {
        let share = self.0.iter().find(|share| share.number == from)?;
        let held = |owner: Place| share.by_shard.get(usize::from(owner.shard())).copied().unwrap_or(usize::MAX);
        let movable = view.holdings().filter(|(_, holding)| may_move(holding, view));
        let owned = movable.filter_map(|(partition, holding)| Some((partition, holding.owner?)));
        let its_own = owned.filter(|(_, owner)| owner.node() == from);
        // The first of the fullest.
        its_own
            .max_by_key(|(partition, owner)| (held(*owner), std::cmp::Reverse(partition.number())))
            .map(|found| found.0)
    }
}
