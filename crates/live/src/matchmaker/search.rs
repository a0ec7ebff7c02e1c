//! The search of one ticket, the searcher. A search gathers tickets that accept the searcher and that the searcher
//! accepts, best first, until they make a group. A search can be interrupted after any pair that was checked. When it
//! continues, it sees which tickets have come or gone meanwhile. A search never changes the pool.

use std::ops::Bound;

use muster_domain::query::{Candidates, Clause, Found, LOOKUP_UNITS_MAX, Occur, Query, Test, Work};

use super::Matchmaker;
use super::checks::is_mutual;
use super::counts::Counts;
use super::group::{Assembled, Assembly, is_full_pair};
use super::ticket::Ticket;

/// Lower bound of the limit on the tickets that a search gathers. The limit itself is twice the searcher's `max_count`.
const POOL_MIN: usize = 64;
/// Upper bound of the limit on the tickets that a search gathers.
const POOL_MAX: usize = 1_024;
/// Limit on the wishes of a query. Wishes are unsigned terms, which decide which tickets are preferred; the heaviest
/// count. Among tickets with equal wishes the longest waiting is preferred.
const WISHES_MAX: usize = 3;
/// Number of candidates that may reject the searcher before the search asks the index of demands which others do.
const PROBES: u32 = 8;
/// Number of searches that ask the index of demands at once, after a search in which [`PROBES`] candidates rejected the
/// searcher.
const UNPROBED: u32 = 15;
/// Cost of looking up one set of tickets in an index, in units of [`Work`].
const SET_UNITS: u32 = 1;

/// The state of an unfinished search.
#[derive(Debug)]
pub(super) struct Search {
    /// The slot of the searching ticket.
    pub slot: u32,
    /// Position of the combination of wishes for which the search gathers tickets now.
    tier: usize,
    /// The next slot at which to look for tickets of this combination.
    from: u32,
    /// Slots of the tickets with which the searcher may be matched, best first.
    gathered: Vec<u32>,
    /// Number of players on the gathered tickets.
    players: u32,
    /// Number of gathered players from which the next group is tried.
    try_at: u32,
    /// Whether a limit has kept the search from looking at all tickets.
    was_cut: bool,
    /// Assembly of the group that is being tried.
    assembly: Option<Assembly>,
    /// Number of further candidates that may reject the searcher before the index of demands is asked; 0 if it has
    /// been.
    probes: u32,
}

/// The outcome of a step of a search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// No work is left.
    More,
    /// Slots of a group, including the searcher's.
    Found(Vec<u32>),
    /// No group was found.
    Nothing {
        /// Whether a limit kept the search from looking at all tickets.
        was_cut: bool,
    },
}

impl Search {
    pub fn new<M>(slot: u32, ticket: &Ticket<M>, probing: &mut Probing) -> Self {
        let try_at = ticket.max_count.saturating_sub(ticket.size());
        let probes = probing.probes();
        let (gathered, assembly) = (Vec::new(), None);
        Self { slot, tier: 0, from: 0, gathered, players: 0, try_at, was_cut: false, assembly, probes }
    }

    /// Whether a group is being tried.
    #[cfg(test)]
    pub fn is_trying(&self) -> bool {
        self.assembly.is_some()
    }

    /// Adds a ticket with which the searcher may be matched. A full group is tried when there are enough players, and
    /// again whenever their number has doubled.
    fn admit(&mut self, slot: u32, size: u32) {
        self.gathered.push(slot);
        self.players += size;
        if self.players >= self.try_at && self.try_at > 0 {
            self.try_at = self.players.saturating_mul(2);
            self.assembly = Some(Assembly::new(true, false));
        }
    }
}

/// Decides whether searches check candidates one by one before they ask the index of demands. The outcome of a search
/// is the same either way.
#[derive(Debug, Default)]
pub(super) struct Probing {
    /// Number of coming searches that ask the index at once.
    skip: u32,
}

impl Probing {
    fn probes(&mut self) -> u32 {
        match self.skip.checked_sub(1) {
            Some(skip) => self.skip = skip,
            None => return PROBES,
        }
        0
    }

    /// Notes that too many candidates have rejected the searcher.
    fn failed(&mut self) {
        self.skip = UNPROBED;
    }
}

/// Preferences: combinations of wishes, the heaviest first. Bit n of a combination says that wish n holds.
struct Tiers<'a> {
    wishes: Vec<Candidates<'a>>,
    combinations: Vec<u32>,
}

impl<'a> Tiers<'a> {
    fn of(query: &Query, mut holding: impl FnMut(&Clause) -> (Candidates<'a>, bool)) -> Self {
        let shoulds = query.having(Occur::Should).count();
        if shoulds == 0 {
            return Self { wishes: Vec::new(), combinations: vec![0] };
        }
        let mut wishes: Vec<_> = query.having(Occur::Should).collect();
        wishes.sort_by(|a, b| b.boost.abs().total_cmp(&a.boost.abs()));
        let exact = wishes.into_iter().filter_map(|clause| match holding(clause) {
            (slots, true) => Some((slots, clause)),
            (_, false) => None,
        });
        let (wishes, clauses): (Vec<_>, Vec<_>) = exact.take(WISHES_MAX).unzip();
        let held = |combination: u32| {
            let clauses = clauses.iter().enumerate().filter(move |(wish, _)| combination >> wish & 1 == 1);
            clauses.map(|(_, clause)| *clause)
        };
        let weight = |combination: u32| -> f64 { held(combination).map(|clause| clause.boost).sum() };
        // A query of unsigned terms alone demands that one of them holds, so the empty combination is left out.
        let is_demand = query.having(Occur::Must).next().is_none() && wishes.len() == shoulds;
        let is_possible =
            |combination: &u32| held(*combination).all(|a| held(*combination).all(|b| !exclude_each_other(a, b)));
        let mut combinations: Vec<u32> = (u32::from(is_demand)..1 << wishes.len()).filter(is_possible).collect();
        combinations.sort_by(|a, b| weight(*b).total_cmp(&weight(*a)));
        Self { wishes, combinations }
    }

    /// Tickets of `base` for which exactly the wishes of a combination hold.
    fn narrow(&self, base: Candidates<'a>, combination: u32) -> Candidates<'a> {
        let wishes = |holds: bool| {
            let wishes = self.wishes.iter().enumerate();
            wishes.filter(move |(place, _)| (combination >> place & 1 == 1) == holds).map(|(_, wish)| wish.clone())
        };
        // Wishes that hold come first: if no ticket is left, no other set is looked at.
        let held = wishes(true).fold(Candidates::all(), Candidates::and).and(base);
        wishes(false).fold(held, Candidates::and_not)
    }
}

/// Whether no ticket can pass both terms, because a field of a ticket has one value.
fn exclude_each_other(a: &Clause, b: &Clause) -> bool {
    a.field.is_some() && a.field == b.field && matches!((&a.test, &b.test), (Test::Text(a), Test::Text(b)) if a != b)
}

/// A waiting ticket with its slot.
pub(super) struct SlottedTicket<'a, M> {
    pub slot: u32,
    pub ticket: &'a Ticket<M>,
}

impl<M> Clone for SlottedTicket<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for SlottedTicket<'_, M> {}

impl<M> Matchmaker<M> {
    /// Continues a search until it is over or no work is left.
    pub(super) fn search(&self, search: &mut Search, probing: &mut Probing, work: &mut Work) -> Progress {
        let Some(searcher) = self.slotted(search.slot) else { return Progress::Nothing { was_cut: false } };
        if let Some(progress) = self.try_group(search, searcher, work) {
            return progress;
        }
        if let Some(progress) = self.gather(search, searcher, probing, work) {
            return progress;
        }
        if search.gathered.is_empty() {
            return Progress::Nothing { was_cut: search.was_cut };
        }
        search.assembly = Some(Assembly::new(self.is_patient(searcher.ticket), true));
        self.try_group(search, searcher, work).unwrap_or(Progress::More)
    }

    /// Gathers tickets with which the searcher may be matched, and tries groups on the way. `None` when all are
    /// gathered, or as many as the limit allows.
    fn gather(
        &self,
        search: &mut Search,
        searcher: SlottedTicket<'_, M>,
        probing: &mut Probing,
        work: &mut Work,
    ) -> Option<Progress> {
        let ticket = searcher.ticket;
        let mut lookup = Work::new(LOOKUP_UNITS_MAX);
        let tiers = Tiers::of(&ticket.query, |clause| self.documents.holding(clause, &mut lookup));
        work.add(&lookup);
        let gathered_max = (ticket.max_count as usize).saturating_mul(2).clamp(POOL_MIN, POOL_MAX);
        if search.gathered.len() >= gathered_max {
            search.was_cut = true;
            return None;
        }
        let mut base = self.candidates(ticket, work);
        if search.probes == 0 {
            base = self.demands.accepting(&ticket.document, base, work);
        }
        'tiers: while let Some(combination) = tiers.combinations.get(search.tier) {
            let candidates = tiers.narrow(base.clone(), *combination);
            work.spend(candidates.cost() * SET_UNITS);
            let mut scan = self.documents.scan(candidates, search.from);
            loop {
                let slot = match scan.next_within(work) {
                    Found::Slot(slot) => slot,
                    Found::Spent => {
                        search.from = scan.next_slot().unwrap_or(u32::MAX);
                        return Some(Progress::More);
                    }
                    Found::End => break,
                };
                search.from = slot + 1;
                if let Some(other) = self.admits(searcher, slot, work) {
                    if search.gathered.is_empty() && is_full_pair(searcher, SlottedTicket { slot, ticket: other }) {
                        return Some(Progress::Found(vec![search.slot, slot]));
                    }
                    search.admit(slot, other.size());
                    if let Some(progress) = self.try_group(search, searcher, work) {
                        return Some(progress);
                    }
                    if search.gathered.len() >= gathered_max {
                        search.was_cut = true;
                        return None;
                    }
                } else if search.probes > 0 && slot != search.slot {
                    search.probes -= 1;
                    if search.probes == 0 {
                        probing.failed();
                        base = self.demands.accepting(&ticket.document, base, work);
                        continue 'tiers;
                    }
                }
                if work.is_spent() {
                    return Some(Progress::More);
                }
            }
            (search.tier, search.from) = (search.tier + 1, 0);
            if work.is_spent() {
                return Some(Progress::More);
            }
        }
        None
    }

    pub(super) fn slotted(&self, slot: u32) -> Option<SlottedTicket<'_, M>> {
        Some(SlottedTicket { slot, ticket: self.tickets.get(&slot)? })
    }

    /// Tickets that a ticket accepts, and possibly others, which a check of each pair leaves out.
    fn candidates(&self, ticket: &Ticket<M>, work: &mut Work) -> Candidates<'_> {
        let accepted = self.documents.candidates(&ticket.query, work);
        let accepted = self.patterns.narrow(&ticket.query, &self.documents, accepted, work);
        let (counts, least) = (Counts::of(ticket), self.least(ticket));
        self.counts.agreeing(counts, least, accepted, || {
            let (least, most) = (f64::from(least), f64::from(counts.max));
            let enough = self.documents.with_number("max_count", Bound::Included(least), Bound::Unbounded);
            enough.and(self.documents.with_number("min_count", Bound::Unbounded, Bound::Included(most)))
        })
    }

    /// The ticket in a slot, if the searcher may be matched with it.
    fn admits(&self, searcher: SlottedTicket<'_, M>, slot: u32, work: &mut Work) -> Option<&Ticket<M>> {
        let other = self.tickets.get(&slot)?;
        work.spend(1);
        let admitted = searcher.slot != slot
            && self.counts_agree(searcher.ticket, other)
            && is_mutual(searcher.ticket, other, work);
        admitted.then_some(&**other)
    }

    /// Whether a ticket has patience: it insists on its `max_count`.
    pub(super) fn is_patient(&self, ticket: &Ticket<M>) -> bool {
        self.passes + 1 < ticket.first_pass + u64::from(self.config.max_intervals)
    }

    /// The smallest number of players that satisfies a searching ticket.
    fn least(&self, ticket: &Ticket<M>) -> u32 {
        if self.is_patient(ticket) { ticket.max_count } else { ticket.min_count }
    }

    /// Whether some number of players satisfies both tickets. A searcher with patience insists on its own `max_count`.
    /// A ticket that has patience is taken along if its `max_count` is not greater than the searcher's, though it may
    /// then get fewer players than it waits for.
    pub(super) fn counts_agree(&self, searcher: &Ticket<M>, other: &Ticket<M>) -> bool {
        if other.max_count > searcher.max_count && self.is_patient(other) {
            return false;
        }
        Counts::of(searcher).agree(self.least(searcher), Counts::of(other))
    }

    /// Continues the group that is being tried. `None` if there is no such group, or if it failed and the search goes
    /// on.
    fn try_group(&self, search: &mut Search, searcher: SlottedTicket<'_, M>, work: &mut Work) -> Option<Progress> {
        let mut assembly = search.assembly.take()?;
        let gathered: Vec<_> = search.gathered.iter().filter_map(|slot| self.slotted(*slot)).collect();
        if gathered.len() < search.gathered.len() {
            search.gathered.retain(|slot| self.tickets.contains_key(slot));
            assembly.start_over();
        }
        match self.assemble(searcher, &gathered, &mut assembly, work) {
            Assembled::More => {
                search.assembly = Some(assembly);
                Some(Progress::More)
            }
            Assembled::Over { found: Some(found), .. } => Some(Progress::Found(found)),
            Assembled::Over { found: None, was_cut } => {
                assembly.is_last.then_some(Progress::Nothing { was_cut: was_cut || search.was_cut })
            }
        }
    }
}
