//! A pass: every ticket that may have a group by now searches, the longest waiting first. A pass runs in slices; the
//! groups that a slice finds have left the pool when the slice returns. Nothing here reads a clock.

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::Work;

use super::search::{Probing, Progress, Search};
use super::stats::Completion;
use super::ticket::Ticket;
use super::{LEAVING_MAX, Matchmaker};
use crate::session::Millis;

/// Work of one slice, about half a millisecond on one core. A slice may exceed it by a search's look at the indexes and
/// the check of one pair, which together take up to three times as much.
pub const SLICE_UNITS: u32 = 10_000;
/// Cost of one ticket apart from its search.
const TICKET_UNITS: u32 = 10;
/// Cost of widening a ticket.
const WIDEN_UNITS: u32 = 200;
/// Cost of widening one field in one term.
const WIDEN_TERM_UNITS: u32 = 2;
/// Cost of taking a ticket out of the pool.
const LIFT_UNITS: u32 = 50;
/// Cost of removing a ticket from the indexes, when others are removed together with it.
const UNINDEX_UNITS: u32 = 20;

/// A running pass.
#[derive(Debug)]
pub(super) struct Pass {
    /// The next slot to look at.
    cursor: u32,
    /// The first slot of tickets that came after the pass began.
    end: u32,
    /// Moment at which the pass began.
    pub now: Millis,
    pub search: Option<Search>,
    probing: Probing,
}

impl Pass {
    pub fn new(end: u32, now: Millis) -> Self {
        Self { cursor: 0, end, now, search: None, probing: Probing::default() }
    }
}

/// The next thing to do in a pass.
enum NextStep {
    Search(Search),
    /// No work is left.
    Later,
    /// All tickets have searched.
    Nobody,
}

/// Whether a pass goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// The pass is not over: another slice must run, after other work had its turn.
    More,
    /// The pass is over, or none was running.
    Done,
}

/// Tickets whose players all accept each other. They have left the pool.
#[derive(Debug)]
pub struct FoundMatch<M> {
    /// The matched tickets, the longest waiting first.
    pub tickets: Vec<Box<Ticket<M>>>,
    /// Other tickets of the same players and parties, which left the pool with them.
    pub dropped: Vec<Box<Ticket<M>>>,
    /// Public id of the match that game code made for the players; `None` if they get a token for a relayed match.
    pub match_id: Option<Arc<str>>,
}

impl<M> Matchmaker<M> {
    /// The time at which the next pass should begin.
    pub fn next_pass_at(&self) -> Millis {
        self.next_pass_at
    }

    /// Begins a pass, unless one is running.
    pub fn begin_pass(&mut self, now: Millis) {
        if self.pass.is_some() {
            return;
        }
        self.next_pass_at = now.saturating_add(self.config.interval_ms);
        self.passes += 1;
        self.totals.passes += 1;
        self.patterns.forget(self.passes);
        self.pass = Some(Pass::new(self.next_slot, now));
    }

    /// Works on the pass for about this many units ([`SLICE_UNITS`]) and appends the groups that it finds to `matches`.
    pub fn run_slice(&mut self, units: u32, matches: &mut Vec<FoundMatch<M>>) -> Slice {
        let mut work = Work::new(units.max(1));
        let slice = self.go_on(&mut work, matches);
        self.totals.work.count(&work);
        slice
    }

    fn go_on(&mut self, work: &mut Work, matches: &mut Vec<FoundMatch<M>>) -> Slice {
        while let Some(mut pass) = self.pass.take() {
            if self.step(&mut pass, work, matches) == Slice::Done {
                break;
            }
            self.pass = Some(pass);
            if work.is_spent() {
                return Slice::More;
            }
        }
        Slice::Done
    }

    /// Continues the running search, or begins the next one, while work is left.
    fn step(&mut self, pass: &mut Pass, work: &mut Work, matches: &mut Vec<FoundMatch<M>>) -> Slice {
        if self.leaving.len() >= LEAVING_MAX {
            self.unindex_some(work);
            return Slice::More;
        }
        let next = pass.search.take().map(NextStep::Search);
        let mut search = match next.unwrap_or_else(|| self.next_search(pass, work)) {
            NextStep::Search(search) => search,
            NextStep::Later => return Slice::More,
            NextStep::Nobody if self.leaving.is_empty() => return Slice::Done,
            NextStep::Nobody => {
                self.unindex_some(work);
                return Slice::More;
            }
        };
        if !self.learn_patterns(search.slot, work) {
            pass.search = Some(search);
            return Slice::More;
        }
        match self.search(&mut search, &mut pass.probing, work) {
            Progress::More => pass.search = Some(search),
            Progress::Nothing { was_cut } => self.found_nothing(search.slot, was_cut),
            Progress::Found(slots) => {
                let found = self.complete(slots, pass.now);
                work.spend(LIFT_UNITS * (found.tickets.len() + found.dropped.len()) as u32);
                matches.push(found);
            }
        }
        Slice::More
    }

    /// Tries on all tickets the patterns that a ticket's query demands, while work is left. Returns whether all were
    /// tried.
    fn learn_patterns(&mut self, slot: u32, work: &mut Work) -> bool {
        let Some(ticket) = self.tickets.get(&slot) else { return true };
        let document = |slot| self.tickets.get(&slot).map(|ticket| &ticket.document);
        self.patterns.learn(&ticket.query, &self.documents, document, self.passes, work)
    }

    /// The search of the next ticket that may find a group that no earlier search could find. Other tickets are
    /// skipped.
    fn next_search(&mut self, pass: &mut Pass, work: &mut Work) -> NextStep {
        while let Some(slot) = self.active.range(pass.cursor..pass.end).next().copied() {
            work.spend(TICKET_UNITS);
            pass.cursor = slot + 1;
            if self.is_worth_searching(slot, work)
                && let Some(ticket) = self.tickets.get(&slot)
            {
                self.totals.searches += 1;
                return NextStep::Search(Search::new(slot, ticket, &mut pass.probing));
            }
            self.retire(slot);
            if work.is_spent() {
                return NextStep::Later;
            }
        }
        NextStep::Nobody
    }

    /// Whether a ticket may find a group that no earlier search could find. Widens the ticket if that is due.
    fn is_worth_searching(&mut self, slot: u32, work: &mut Work) -> bool {
        let max_intervals = u64::from(self.config.max_intervals);
        let Some(ticket) = self.tickets.get_mut(&slot) else { return false };
        // The first pass may be still to come, since renumbering lets tickets that came during a pass take part in it.
        let age = self.passes.saturating_sub(ticket.first_pass);
        let loses_patience = age + 1 == max_intervals && ticket.min_count < ticket.max_count;
        let widens = age > u64::from(ticket.widened) && ticket.may_widen();
        if widens {
            work.spend(WIDEN_UNITS + WIDEN_TERM_UNITS * ticket.terms_to_widen());
            ticket.widen(u32::try_from(age).unwrap_or(u32::MAX));
            self.demands.insert(slot, ticket);
            self.names.widen(ticket);
        }
        age == 0 || loses_patience || widens || ticket.was_cut
    }

    fn found_nothing(&mut self, slot: u32, was_cut: bool) {
        self.totals.searches_cut += u64::from(was_cut);
        if let Some(ticket) = self.tickets.get_mut(&slot) {
            ticket.was_cut = was_cut;
        }
        self.retire(slot);
    }

    /// Ends the searching of a ticket whose last search is over. From then on it waits to be found.
    fn retire(&mut self, slot: u32) {
        let Some(ticket) = self.tickets.get(&slot) else { return };
        let is_last = !self.is_patient(ticket);
        let is_settled = ticket.min_count == ticket.max_count && !ticket.was_cut;
        if (is_last || is_settled) && !ticket.may_widen() {
            self.active.remove(&slot);
        }
    }

    /// Takes a group out of the pool, with all other tickets of its players and parties.
    fn complete(&mut self, mut slots: Vec<u32>, now: Millis) -> FoundMatch<M> {
        slots.sort_unstable();
        let tickets: Vec<_> = slots.into_iter().filter_map(|slot| self.lift(slot)).collect();
        let mut others = Vec::new();
        for ticket in &tickets {
            let of_members = ticket.keys().iter().filter_map(|key| self.by_member.get(key));
            let of_party = ticket.party_id().and_then(|_| self.by_owner.get(&ticket.owner));
            others.extend(of_members.chain(of_party).flatten());
        }
        others.sort_unstable();
        others.dedup();
        let dropped: Vec<_> = others.into_iter().filter_map(|slot| self.lift(slot)).collect();
        self.totals.matches += 1;
        self.totals.dropped += dropped.len() as u64;
        for ticket in &tickets {
            let waited_ms = ticket.waited_ms(now);
            let completed_at = Timestamp(ticket.created_at.0.saturating_add_unsigned(waited_ms.saturating_mul(1_000)));
            let completion = Completion { created_at: ticket.created_at, completed_at };
            self.totals.complete(completion, ticket.size(), waited_ms);
        }
        FoundMatch { tickets, dropped, match_id: None }
    }

    /// Removes from the indexes some of the tickets that have left the pool.
    fn unindex_some(&mut self, work: &mut Work) {
        work.spend(UNINDEX_UNITS * self.leaving.len().min(LEAVING_MAX) as u32);
        self.unindex();
    }
}
