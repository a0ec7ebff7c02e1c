//! From tickets that agree with one to a group in which everybody agrees with everybody: the largest that will do, of
//! those who come first. Whoever comes last is left out first when counts demand it. Can be laid down between any two
//! pairs that are asked.

use super::Matchmaker;
use super::checks::is_mutual;
use super::counts::common_multiple;
use super::pass::Budget;
use super::search::Waiting;

/// Most tickets tried for a group before the search gives up on better ones.
const TRIES_MAX: u32 = 2_048;

/// Where the making of a group stands.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    /// Only a group of the searcher's `max_count` will do.
    must_be_full: bool,
    /// The search is over when this is.
    pub is_last: bool,
    tries: u32,
    /// The places in the pool of those in the group, the searcher apart.
    chosen: Vec<usize>,
    /// The next place to try, and with how many of those it is known to agree.
    at: usize,
    agreed: usize,
    /// The best group so far, and how many players it has.
    best: Option<(u32, Vec<u32>)>,
}

/// What a step of it came to.
pub(super) enum Assembled {
    /// The budget is used up.
    More,
    Over {
        found: Option<Vec<u32>>,
        /// There might be a better one that was not looked for.
        was_cut: bool,
    },
}

/// A ticket in a group, with what is known of all up to it.
struct Seat<'a, M> {
    waiting: Waiting<'a, M>,
    players: u32,
    /// The most players that everybody allows, and the fewest.
    most: u32,
    least: u32,
    /// Their number must be a multiple of this.
    multiple: u64,
}

impl<'a, M> Seat<'a, M> {
    fn first(waiting: Waiting<'a, M>) -> Self {
        let (_, ticket) = waiting;
        let (most, least, multiple) = (ticket.max_count, ticket.min_count, u64::from(ticket.count_multiple));
        Self { waiting, players: ticket.size(), most, least, multiple }
    }

    fn next(&self, waiting: Waiting<'a, M>) -> Self {
        let (_, ticket) = waiting;
        Self {
            waiting,
            players: self.players.saturating_add(ticket.size()),
            most: self.most.min(ticket.max_count),
            least: self.least.max(ticket.min_count),
            multiple: common_multiple(self.multiple, ticket.count_multiple),
        }
    }

    /// Whether the number of players will do for everybody.
    fn suits(&self) -> bool {
        (self.least..=self.most).contains(&self.players) && u64::from(self.players).is_multiple_of(self.multiple)
    }
}

/// Whether a ticket and another that it may be matched with are a match of its `max_count`: mostly they are.
pub(super) fn is_full_pair<M>(searcher: Waiting<'_, M>, other: Waiting<'_, M>) -> bool {
    let pair = Seat::first(searcher).next(other);
    pair.players == searcher.1.max_count && pair.suits()
}

impl<M> Matchmaker<M> {
    /// Goes on making a group of a ticket and some of `pool`, all of which it may be matched with: of its `max_count`, or
    /// if it need not be full the largest there is.
    pub(super) fn assemble(
        &self,
        searcher: Waiting<'_, M>,
        pool: &[Waiting<'_, M>],
        assembly: &mut Assembly,
        budget: &mut Budget,
    ) -> Assembled {
        budget.spend(pool.len() as u32);
        let (_, ticket) = searcher;
        let players_from = players_from(pool);
        let first = Seat::first(searcher);
        // The searcher stands apart: everybody agrees with it.
        let mut seats: Vec<Seat<'_, M>> = Vec::with_capacity(assembly.chosen.len() + 1);
        for waiting in assembly.chosen.iter().filter_map(|place| pool.get(*place)) {
            seats.push(seats.last().unwrap_or(&first).next(*waiting));
        }
        let least = if assembly.must_be_full { ticket.max_count } else { ticket.min_count };
        while assembly.tries < TRIES_MAX {
            let last = seats.last().unwrap_or(&first);
            let most = last.most.min(last.players.saturating_add(players_from[assembly.at]));
            let most = most - most % ticket.count_multiple;
            let wanted = assembly.best.as_ref().map_or(least, |(players, _)| players + 1);
            let candidate = pool.get(assembly.at).filter(|_| most >= wanted);
            if let Some(candidate) = candidate {
                let seat = last.next(*candidate);
                let Some(joins) = joins(&seats, &seat, &mut assembly.agreed, budget) else { return Assembled::More };
                if joins {
                    assembly.chosen.push(assembly.at);
                    let (players, suits) = (seat.players, seat.suits());
                    seats.push(seat);
                    if players >= wanted && suits {
                        let members = seats.iter().map(|seat| seat.waiting.0);
                        let slots = std::iter::once(searcher.0).chain(members).collect();
                        if players == ticket.max_count {
                            return Assembled::Over { found: Some(slots), was_cut: false };
                        }
                        assembly.best = Some((players, slots));
                    }
                }
                assembly.at += 1;
            } else {
                // Nothing better comes of this group: without its last member, perhaps.
                let Some(last) = assembly.chosen.pop() else { return assembly.over(false) };
                seats.pop();
                assembly.at = last + 1;
            }
            (assembly.agreed, assembly.tries) = (0, assembly.tries + 1);
            if budget.is_spent() {
                return Assembled::More;
            }
        }
        assembly.over(true)
    }
}

impl Assembly {
    pub fn new(must_be_full: bool, is_last: bool) -> Self {
        Self { must_be_full, is_last, ..Self::default() }
    }

    /// Begins anew: the pool has changed.
    pub fn start_over(&mut self) {
        *self = Self::new(self.must_be_full, self.is_last);
    }

    fn over(&mut self, was_cut: bool) -> Assembled {
        Assembled::Over { found: self.best.take().map(|(_, slots)| slots), was_cut }
    }
}

/// Whether a ticket agrees with everybody in a group; nothing is said when the budget is used up before that is known.
fn joins<M>(seats: &[Seat<'_, M>], seat: &Seat<'_, M>, agreed: &mut usize, budget: &mut Budget) -> Option<bool> {
    budget.spend(1);
    if seat.players > seat.most || seat.least > seat.most {
        return Some(false);
    }
    while let Some(member) = seats.get(*agreed) {
        if !is_mutual(member.waiting.1, seat.waiting.1, budget) {
            return Some(false);
        }
        *agreed += 1;
        if budget.is_spent() && *agreed < seats.len() {
            return None;
        }
    }
    Some(true)
}

/// How many players the pool has from each place on; 0 behind its end.
fn players_from<M>(pool: &[Waiting<'_, M>]) -> Vec<u32> {
    let mut sums = vec![0_u32; pool.len() + 1];
    for (at, (_, ticket)) in pool.iter().enumerate().rev() {
        sums[at] = sums[at + 1].saturating_add(ticket.size());
    }
    sums
}
