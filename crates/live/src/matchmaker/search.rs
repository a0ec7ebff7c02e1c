//! The search of one ticket: those that it accepts and that accept it, best first, until they make a group. Can be laid
//! down between any two candidates and taken up later; tickets that came or went meanwhile are seen as they are then.

use std::ops::Bound;

use muster_domain::query::{Candidates, Occur, Query};

use super::Matchmaker;
use super::pass::Budget;
use super::ticket::Ticket;

/// Most tickets that a search gathers before it gives up on more: twice the players it looks for, within these.
const POOL_MIN: usize = 64;
const POOL_MAX: usize = 1_024;
/// So many of a query's plain terms, the heaviest, decide who is preferred; ties go to who waits longest.
const WISHES_MAX: usize = 3;
/// What one set of a combination costs to look up.
const SET_UNITS: u32 = 8;

/// Where a search stands.
#[derive(Debug)]
pub(super) struct Search {
    /// The ticket that searches.
    pub slot: u32,
    tier: usize,
    from: u32,
    /// Who may be matched with it, best first.
    pool: Vec<u32>,
    /// How many players these are.
    players: u32,
    /// A group is tried when there are so many.
    try_at: u32,
    was_cut: bool,
}

/// What a step of a search came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// The budget is used up.
    More,
    /// A group, the searcher in it.
    Found(Vec<u32>),
    /// Nobody.
    Nothing {
        /// A limit kept it from looking at everything.
        was_cut: bool,
    },
}

impl Search {
    pub fn new<M>(slot: u32, ticket: &Ticket<M>) -> Self {
        let try_at = ticket.max_count.saturating_sub(ticket.size());
        Self { slot, tier: 0, from: 0, pool: Vec::new(), players: 0, try_at, was_cut: false }
    }
}

/// Who comes first: combinations of wishes, the heaviest first. Bit n of a combination says that wish n holds.
struct Tiers<'a> {
    wishes: Vec<Candidates<'a>>,
    combinations: Vec<u32>,
}

impl<'a> Tiers<'a> {
    fn of(query: &Query, holding: impl Fn(&muster_domain::query::Clause) -> (Candidates<'a>, bool)) -> Self {
        let shoulds = query.having(Occur::Should).count();
        if shoulds == 0 {
            return Self { wishes: Vec::new(), combinations: vec![0] };
        }
        let mut wishes: Vec<_> = query.having(Occur::Should).collect();
        wishes.sort_by(|a, b| b.boost.abs().total_cmp(&a.boost.abs()));
        let exact = wishes.into_iter().filter_map(|clause| match holding(clause) {
            (slots, true) => Some((slots, clause.boost)),
            (_, false) => None,
        });
        let (wishes, weights): (Vec<_>, Vec<f64>) = exact.take(WISHES_MAX).unzip();
        let weight = |combination: u32| -> f64 {
            let held = weights.iter().enumerate().filter(|(wish, _)| combination >> wish & 1 == 1);
            held.map(|(_, weight)| weight).sum()
        };
        // Where one of them must hold, there is nobody for whom none does.
        let is_demand = query.having(Occur::Must).next().is_none() && wishes.len() == shoulds;
        let mut combinations: Vec<u32> = (u32::from(is_demand)..1 << wishes.len()).collect();
        combinations.sort_by(|a, b| weight(*b).total_cmp(&weight(*a)));
        Self { wishes, combinations }
    }

    /// Those of `base` for whom exactly the wishes of a combination hold.
    fn narrow(&self, base: Candidates<'a>, combination: u32) -> Candidates<'a> {
        let wishes = self.wishes.iter().cloned().enumerate();
        wishes.fold(
            base,
            |base, (place, wish)| {
                if combination >> place & 1 == 1 { base.and(wish) } else { base.and_not(wish) }
            },
        )
    }
}

impl<M> Matchmaker<M> {
    /// Goes on with a search until it is over or the budget is.
    pub(super) fn search(&self, search: &mut Search, budget: &mut Budget) -> Progress {
        let Some(ticket) = self.tickets.get(&search.slot) else { return Progress::Nothing { was_cut: false } };
        let tiers = Tiers::of(&ticket.query, |clause| self.documents.holding(clause));
        let pool_max = (ticket.max_count as usize).saturating_mul(2).clamp(POOL_MIN, POOL_MAX);
        let mut base = self.candidates(search.slot, ticket);
        while let Some(combination) = tiers.combinations.get(search.tier) {
            let is_last = search.tier + 1 == tiers.combinations.len();
            let of_tier = if is_last { std::mem::replace(&mut base, Candidates::none()) } else { base.clone() };
            let candidates = tiers.narrow(of_tier, *combination);
            let sets = candidates.cost();
            budget.spend(sets * SET_UNITS);
            let mut scan = self.documents.scan(candidates, search.from);
            let mut chunks = 0;
            while let Some(slot) = scan.next() {
                budget.spend((scan.chunks_read() - chunks) * sets);
                chunks = scan.chunks_read();
                search.from = slot + 1;
                if let Some(size) = self.admits(search.slot, slot, budget) {
                    search.pool.push(slot);
                    search.players += size;
                    if let Some(found) = self.try_pool(search, ticket, budget) {
                        return Progress::Found(found);
                    }
                    if search.pool.len() >= pool_max {
                        search.was_cut = true;
                        return self.finish(search, budget);
                    }
                }
                if budget.is_spent() {
                    return Progress::More;
                }
            }
            budget.spend((scan.chunks_read() - chunks) * sets);
            (search.tier, search.from) = (search.tier + 1, 0);
        }
        self.finish(search, budget)
    }

    /// Those that may be matched with a ticket, and others besides.
    fn candidates(&self, slot: u32, ticket: &Ticket<M>) -> Candidates<'_> {
        let Some(document) = self.documents.document(slot) else { return Candidates::none() };
        let least = if self.is_patient(ticket) { ticket.max_count } else { ticket.min_count };
        let (least, most) = (f64::from(least), f64::from(ticket.max_count));
        let counts = self.documents.with_number("max_count", Bound::Included(least), Bound::Unbounded);
        let counts = counts.and(self.documents.with_number("min_count", Bound::Unbounded, Bound::Included(most)));
        let fitting = self.demands.fitting(ticket.size(), ticket.max_count.saturating_sub(ticket.size()));
        let accepted = self.documents.candidates(&ticket.query).and(counts).and(fitting);
        let accepted = self.patterns.narrow(&ticket.query, &self.documents, accepted);
        self.demands.accepting(document, accepted)
    }

    /// Whether a ticket may be matched with the one that searches, and then how many players it brings.
    fn admits(&self, searcher: u32, slot: u32, budget: &mut Budget) -> Option<u32> {
        let (ticket, other) = (self.tickets.get(&searcher)?, self.tickets.get(&slot)?);
        budget.spend(1);
        let admitted = searcher != slot && self.counts_agree(ticket, other) && self.is_mutual(searcher, slot, budget);
        admitted.then(|| other.size())
    }

    /// Whether it still waits for its `max_count`.
    pub(super) fn is_patient(&self, ticket: &Ticket<M>) -> bool {
        self.passes + 1 < ticket.first_pass + u64::from(self.config.max_intervals)
    }

    /// Whether there is a number of players that would do for both: for the searcher as patient as it is, and for the
    /// other, which may get less than its `max_count` from somebody who waited longer, if that one got no less.
    pub(super) fn counts_agree(&self, searcher: &Ticket<M>, other: &Ticket<M>) -> bool {
        if other.max_count > searcher.max_count && self.is_patient(other) {
            return false;
        }
        let least = if self.is_patient(searcher) { searcher.max_count } else { searcher.min_count };
        let low = least.max(other.min_count).max(searcher.size().saturating_add(other.size()));
        let high = searcher.max_count.min(other.max_count);
        let multiple = least_common_multiple(searcher.count_multiple, other.count_multiple);
        let highest = u64::from(high) / multiple * multiple;
        highest >= u64::from(low)
    }

    /// Whether two tickets accept each other and have nobody in common.
    pub(super) fn is_mutual(&self, left: u32, right: u32, budget: &mut Budget) -> bool {
        let (Some(a), Some(b)) = (self.tickets.get(&left), self.tickets.get(&right)) else { return false };
        let (Some(of_a), Some(of_b)) = (self.documents.document(left), self.documents.document(right)) else {
            return false;
        };
        budget.spend(a.query.cost() + b.query.cost());
        let accepts = |query: &Query, document| query.is_everything() || query.matches(document).is_some();
        accepts(&a.query, of_b) && accepts(&b.query, of_a) && !a.overlaps(b)
    }

    /// Tries a full group when the pool has grown enough, and waits for twice as many if there is none.
    fn try_pool(&self, search: &mut Search, ticket: &Ticket<M>, budget: &mut Budget) -> Option<Vec<u32>> {
        if search.players < search.try_at || search.try_at == 0 {
            return None;
        }
        search.try_at = search.players.saturating_mul(2);
        let (found, _) = self.assemble(search.slot, ticket, &search.pool, true, budget);
        found
    }

    /// The best group of everybody gathered.
    fn finish(&self, search: &mut Search, budget: &mut Budget) -> Progress {
        let Some(ticket) = self.tickets.get(&search.slot) else { return Progress::Nothing { was_cut: false } };
        let (found, was_cut) = self.assemble(search.slot, ticket, &search.pool, self.is_patient(ticket), budget);
        match found {
            Some(found) => Progress::Found(found),
            None => Progress::Nothing { was_cut: was_cut || search.was_cut },
        }
    }
}

fn least_common_multiple(a: u32, b: u32) -> u64 {
    let (mut divisor, mut rest) = (a.max(1), b.max(1));
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    u64::from(a.max(1)) / u64::from(divisor) * u64::from(b.max(1))
}
