//! From tickets that agree with one to a group in which everybody agrees with everybody: the largest that will do, of
//! those who come first. Whoever comes last is left out first when counts demand it.

use super::Matchmaker;
use super::pass::Budget;
use super::search::{Waiting, is_mutual};
use super::ticket::Ticket;

/// Most tickets tried for a group before the search gives up on better ones.
const TRIES_MAX: u32 = 2_048;

/// A group being made.
struct Group<'a, M> {
    /// Those in it; the searcher is the first.
    members: Vec<Waiting<'a, M>>,
    players: u32,
}

impl<M> Group<'_, M> {
    /// The most players that everybody in it allows.
    fn most(&self) -> u32 {
        self.members.iter().map(|(_, ticket)| ticket.max_count).min().unwrap_or(0)
    }

    /// Whether its number of players will do for everybody in it.
    fn suits(&self) -> bool {
        self.members.len() > 1
            && self.members.iter().all(|(_, ticket)| {
                (ticket.min_count..=ticket.max_count).contains(&self.players)
                    && self.players.is_multiple_of(ticket.count_multiple)
            })
    }
}

impl<M> Matchmaker<M> {
    /// A group of a ticket and some of `pool`, all of which it may be matched with: of its `max_count`, or if it need not
    /// be full the largest there is. Also says whether there might be a better one that was not looked for.
    pub(super) fn assemble(
        &self,
        searcher: Waiting<'_, M>,
        pool: &[u32],
        must_be_full: bool,
        budget: &mut Budget,
    ) -> (Option<Vec<u32>>, bool) {
        // Some may have gone since they were gathered.
        let pool: Vec<_> = pool.iter().filter_map(|slot| self.waiting(*slot)).collect();
        let (_, ticket) = searcher;
        let players_from = players_from(&pool);
        let mut group = Group { members: vec![searcher], players: ticket.size() };
        let mut best: Option<(u32, Vec<u32>)> = None;
        let least = if must_be_full { ticket.max_count } else { ticket.min_count };
        // The places in the pool of those in the group; the next place to try.
        let (mut chosen, mut at): (Vec<usize>, usize) = (Vec::new(), 0);
        for _ in 0..TRIES_MAX {
            let most = group.most().min(group.players.saturating_add(players_from[at]));
            let most = most - most % ticket.count_multiple;
            let wanted = best.as_ref().map_or(least, |(players, _)| players + 1);
            let Some(candidate) = pool.get(at).filter(|_| most >= wanted) else {
                // Nothing better comes of this group: without its last member, perhaps.
                let Some(last) = chosen.pop() else { return (best.map(|(_, slots)| slots), false) };
                group.players -= group.members.pop().map_or(0, |(_, ticket)| ticket.size());
                at = last + 1;
                continue;
            };
            if joins(&group, candidate.1, budget) {
                group.players += candidate.1.size();
                group.members.push(*candidate);
                chosen.push(at);
                if group.players >= wanted && group.suits() {
                    let slots = group.members.iter().map(|(slot, _)| *slot).collect();
                    if group.players == ticket.max_count {
                        return (Some(slots), false);
                    }
                    best = Some((group.players, slots));
                }
            }
            at += 1;
        }
        (best.map(|(_, slots)| slots), true)
    }
}

/// Whether a ticket agrees with everybody in a group. That it does with the searcher is known.
fn joins<M>(group: &Group<'_, M>, ticket: &Ticket<M>, budget: &mut Budget) -> bool {
    budget.spend(1);
    let players = group.players.saturating_add(ticket.size());
    let most = group.most().min(ticket.max_count);
    let least = group.members.iter().map(|(_, member)| member.min_count).max().unwrap_or(0);
    players <= most
        && least.max(ticket.min_count) <= most
        && group.members.iter().skip(1).all(|(_, member)| is_mutual(member, ticket, budget))
}

/// How many players the pool has from each place on; 0 behind its end.
fn players_from<M>(pool: &[Waiting<'_, M>]) -> Vec<u32> {
    let mut sums = vec![0_u32; pool.len() + 1];
    for (at, (_, ticket)) in pool.iter().enumerate().rev() {
        sums[at] = sums[at + 1].saturating_add(ticket.size());
    }
    sums
}
