//! The matchmaker: tickets wait in a pool, and passes over the pool form groups of players who all accept each other.
//!
//! A pass starts every `interval_ms` and runs in slices, so that no other work waits for it: [`Matchmaker::begin_pass`]
//! starts it, and [`Matchmaker::run_slice`] runs until it is done. Tickets may come and go between slices. A pass
//! searches groups only for tickets that are new, that lose patience, that widen, or whose last search met a limit:
//! every group that an earlier pass could not make and this pass can make holds such a ticket. Time, ids and randomness
//! come from outside.

mod carry;
mod checks;
mod counts;
mod demands;
mod explain;
mod group;
mod message;
mod pass;
mod patterns;
mod search;
mod slots;
mod stats;
mod ticket;

#[cfg(test)]
mod tests;

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use muster_domain::error::{Error, ErrorKind};
use muster_domain::ids::SessionId;
use muster_domain::query::{Candidates, Document, Postings};

pub use self::carry::{CarriedPasses, CarriedTicket};
pub use self::explain::{EXPLAINED_MAX, EXPLANATION_UNITS_MAX, Explanation, NearTicket, Obstacle};
pub(crate) use self::message::POOL;
pub use self::message::{
    CarriedPool, OnTicket, PoolAnswer, PoolAsk, PoolReply, PoolStats, TicketStanding, pool_partition,
};
pub use self::pass::{FoundMatch, SLICE_UNITS, Slice};
pub use self::stats::{COMPLETIONS_KEPT, Completion, MatchmakerTotals, WAIT_BUCKETS_MS, Waits};
pub use self::ticket::{MemberKey, NewTicket, Ticket, TicketId, TicketMember, TicketOwner, Widening};

use self::checks::Names;
use self::counts::{CountClasses, Counts};
use self::demands::Demands;
use self::pass::Pass;
use self::patterns::Patterns;
use self::slots::Slots;
use crate::session::Millis;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The shortest time between two passes, in milliseconds.
pub const INTERVAL_MIN_MS: Millis = 100;

/// Limit on the tickets that are removed from the indexes at a time. Only while a pass runs, more tickets than this may
/// have left the pool and still be in the indexes.
const LEAVING_MAX: usize = 128;

/// Fields that the index leaves out, because they differ in every ticket and few queries ask about them.
const UNINDEXED: [&str; 2] = ["ticket", "created_at"];

/// Settings of the matchmaker, under their configuration names.
#[derive(Clone, Copy, Debug)]
pub struct MatchmakerConfig {
    /// `matchmaker.interval_ms`: time from the start of one pass to the start of the next; at least
    /// [`INTERVAL_MIN_MS`].
    pub interval_ms: Millis,
    /// `matchmaker.max_intervals`: number of passes in which a ticket searches. In the last of these passes the ticket
    /// takes any number of players from its `min_count` on; before, it takes only its `max_count`. Afterwards the
    /// ticket waits to be found by searches of other tickets.
    pub max_intervals: u32,
    /// `matchmaker.max_tickets`: limit on the tickets of one session, and of one party.
    pub max_tickets: usize,
    /// `matchmaker.total_tickets_max`: limit on the tickets in the pool.
    pub total_tickets_max: usize,
}

impl Default for MatchmakerConfig {
    fn default() -> Self {
        Self { interval_ms: 15_000, max_intervals: 2, max_tickets: 3, total_tickets_max: 250_000 }
    }
}

/// The pool of tickets. `M` is the data that the caller keeps of a member, for example its presence.
///
/// Each ticket has a number, its slot. Slots are given out in ascending order, so the order of slots is the order of
/// waiting. When all numbers are used up, all tickets get new slots in the same order.
pub struct Matchmaker<M> {
    config: MatchmakerConfig,
    tickets: Slots<Box<Ticket<M>>>,
    by_id: Map<TicketId, u32>,
    by_member: Map<MemberKey, Vec<u32>>,
    /// Slots of tickets by owner. Tickets that their only member owns are left out, because `by_member` has them.
    by_owner: Map<TicketOwner, Vec<u32>>,
    /// Index of the properties that tickets offer.
    documents: Postings,
    /// Index of the demands of tickets' queries, by which a search skips tickets that reject the searching ticket.
    demands: Demands,
    counts: CountClasses,
    patterns: Patterns,
    names: Names,
    /// Tickets that left the pool and are still in the indexes. Searches do not see them.
    leaving: Vec<LeavingTicket>,
    next_slot: u32,
    /// Slots of tickets that may still search.
    active: BTreeSet<u32>,
    /// Number of the current pass, or of the last one.
    passes: u64,
    pass: Option<Pass>,
    next_pass_at: Millis,
    totals: MatchmakerTotals,
}

/// Index entries of a ticket that left the pool.
struct LeavingTicket {
    slot: u32,
    counts: Counts,
    document: Document,
    demands: Document,
}

impl<M> Matchmaker<M> {
    /// Makes an empty pool.
    pub fn new(config: MatchmakerConfig) -> Self {
        let config = MatchmakerConfig {
            interval_ms: config.interval_ms.max(INTERVAL_MIN_MS),
            max_intervals: config.max_intervals.max(1),
            ..config
        };
        Self {
            config,
            tickets: Slots::default(),
            by_id: Map::default(),
            by_member: Map::default(),
            by_owner: Map::default(),
            documents: Postings::with_unindexed(&UNINDEXED),
            demands: Demands::default(),
            counts: CountClasses::default(),
            patterns: Patterns::default(),
            names: Names::default(),
            leaving: Vec::new(),
            next_slot: 0,
            active: BTreeSet::new(),
            passes: 0,
            pass: None,
            next_pass_at: 0,
            totals: MatchmakerTotals::default(),
        }
    }

    /// Adds a ticket. It takes part in the passes that begin from now on.
    ///
    /// # Errors
    /// `InvalidArgument`, whose message says what to change, if the ticket is not in order; `ResourceExhausted` if its
    /// owner or the pool has too many tickets; `AlreadyExists` if another ticket has its id.
    pub fn add(&mut self, new: NewTicket<M>, now: Millis) -> Result<(), Error> {
        let ticket = Box::new(Ticket::new(new, self.passes + 1, now)?);
        if let Err(error) = self.check_limits(&ticket) {
            self.totals.refused += 1;
            return Err(error);
        }
        if self.by_id.contains_key(&ticket.id) {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "There is a ticket with this id already: use another id.",
            ));
        }
        if self.next_slot == u32::MAX {
            self.renumber();
        }
        self.totals.added += 1;
        self.place(ticket);
        Ok(())
    }

    fn check_limits(&self, ticket: &Ticket<M>) -> Result<(), Error> {
        let own = self.owned(&ticket.owner).count();
        let message = if self.tickets.len() >= self.config.total_tickets_max {
            "The matchmaker is full: try again later.".to_owned()
        } else if own >= self.config.max_tickets && !matches!(ticket.owner, TicketOwner::Server(_)) {
            format!("There are {own} tickets already, which is the most: remove one, or wait for a match.")
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::ResourceExhausted, message))
    }

    /// Slots of the tickets of an owner.
    fn owned(&self, owner: &TicketOwner) -> impl Iterator<Item = u32> {
        let of_player = match owner {
            TicketOwner::Session(session_id) => self.by_member.get(&MemberKey::Session(*session_id)),
            TicketOwner::Party(_) | TicketOwner::Server(_) => None,
        };
        let is_theirs = |slot: &&u32| self.tickets.get(*slot).is_some_and(|ticket| ticket.is_of_its_player());
        let of_player = of_player.into_iter().flatten().filter(is_theirs);
        self.by_owner.get(owner).into_iter().flatten().chain(of_player).copied()
    }

    fn place(&mut self, mut ticket: Box<Ticket<M>>) {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.documents.insert(slot, &ticket.document);
        self.demands.insert(slot, &mut ticket);
        self.names.insert(&mut ticket);
        self.totals.unclassed += u64::from(!self.counts.insert(slot, Counts::of(&*ticket)));
        self.by_id.insert(ticket.id.clone(), slot);
        if !ticket.is_of_its_player() {
            self.by_owner.entry(ticket.owner.clone()).or_default().push(slot);
        }
        for key in ticket.keys() {
            self.by_member.entry(key.clone()).or_default().push(slot);
        }
        self.active.insert(slot);
        self.tickets.insert(slot, ticket);
    }

    /// Gives all tickets new slots from 0 on, when the last slot number was used.
    fn renumber(&mut self) {
        let slots: Vec<u32> = self.documents.scan(Candidates::all(), 0).collect();
        let active = std::mem::take(&mut self.active);
        let tickets: Vec<_> = slots.iter().filter_map(|slot| Some((*slot, self.take(*slot)?))).collect();
        while !self.leaving.is_empty() {
            self.unindex();
        }
        self.next_slot = 0;
        self.patterns.clear();
        // A running pass starts over. It finds no group twice, since matched tickets have left the pool.
        self.pass = self.pass.take().map(|pass| Pass::new(tickets.len() as u32, pass.now));
        for (slot, ticket) in tickets {
            let new_slot = self.next_slot;
            self.place(ticket);
            if !active.contains(&slot) {
                self.active.remove(&new_slot);
            }
        }
    }

    /// Takes a ticket out of the pool and hides it from searches. Its index entries stay in `leaving`.
    fn lift(&mut self, slot: u32) -> Option<Box<Ticket<M>>> {
        let mut ticket = self.tickets.remove(&slot)?;
        self.documents.hide(slot);
        self.names.remove(&std::mem::take(&mut ticket.profile));
        let counts = Counts::of(&*ticket);
        let (document, demands) = (std::mem::take(&mut ticket.document), std::mem::take(&mut ticket.demands));
        self.leaving.push(LeavingTicket { slot, counts, document, demands });
        self.by_id.remove(&ticket.id);
        if !ticket.is_of_its_player() {
            forget(&mut self.by_owner, ticket.owner.clone(), slot);
        }
        for key in ticket.keys() {
            forget(&mut self.by_member, key.clone(), slot);
        }
        self.active.remove(&slot);
        Some(ticket)
    }

    /// Takes a ticket out of the pool, and cleans the indexes once enough tickets have left.
    fn take(&mut self, slot: u32) -> Option<Box<Ticket<M>>> {
        let ticket = self.lift(slot);
        if self.leaving.len() >= LEAVING_MAX {
            self.unindex();
        }
        ticket
    }

    /// Removes from the indexes the entries of up to [`LEAVING_MAX`] tickets that have left the pool.
    fn unindex(&mut self) {
        let some = self.leaving.len().saturating_sub(LEAVING_MAX);
        let leaving: Vec<_> = self.leaving.drain(some..).collect();
        leaving.iter().for_each(|leaving| self.counts.remove(leaving.slot, leaving.counts));
        self.documents.remove_all(leaving.iter().map(|leaving| (leaving.slot, &leaving.document)));
        self.demands.remove_all(leaving.iter().map(|leaving| (leaving.slot, &leaving.demands)));
    }

    /// Removes a ticket for its owner.
    ///
    /// # Errors
    /// `NotFound` if there is no such ticket, or it has another owner.
    pub fn remove(&mut self, id: &TicketId, owner: &TicketOwner) -> Result<Box<Ticket<M>>, Error> {
        let slot = self.by_id.get(id).copied().filter(|slot| self.tickets[slot].owner == *owner);
        let removed = slot.and_then(|slot| self.take(slot));
        self.totals.removed += u64::from(removed.is_some());
        removed.ok_or_else(|| Error::new(ErrorKind::NotFound, "There is no such ticket: it may have been matched."))
    }

    /// Removes all tickets that a closed session is on, those of its party included.
    pub fn remove_session(&mut self, session_id: SessionId) -> Vec<Box<Ticket<M>>> {
        let slots = self.by_member.get(&MemberKey::Session(session_id)).cloned();
        self.remove_all(slots.unwrap_or_default())
    }

    /// Removes all tickets of an owner, for example of a party whose members changed.
    pub fn remove_owner(&mut self, owner: &TicketOwner) -> Vec<Box<Ticket<M>>> {
        self.remove_all(self.owned(owner).collect())
    }

    #[expect(clippy::vec_box, reason = "tickets are boxed in the pool, and handed on without a copy")]
    fn remove_all(&mut self, slots: Vec<u32>) -> Vec<Box<Ticket<M>>> {
        let removed: Vec<_> = slots.into_iter().filter_map(|slot| self.take(slot)).collect();
        self.totals.removed += removed.len() as u64;
        removed
    }

    /// The waiting ticket with this id.
    pub fn ticket(&self, id: &TicketId) -> Option<&Ticket<M>> {
        self.by_id.get(id).and_then(|slot| self.tickets.get(slot)).map(|ticket| &**ticket)
    }

    /// All waiting tickets, in no order.
    pub fn tickets(&self) -> impl Iterator<Item = &Ticket<M>> {
        self.tickets.values().map(|ticket| &**ticket)
    }

    /// Number of waiting tickets.
    pub fn len(&self) -> usize {
        self.tickets.len()
    }

    /// Whether no ticket waits.
    pub fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }

    /// Number of tickets that still search; the others wait to be found.
    pub fn active_len(&self) -> usize {
        self.active.len()
    }

    /// Changes the data that the caller keeps of a session, on all tickets that the session is on.
    pub fn change_session(&mut self, session_id: SessionId, mut change: impl FnMut(&mut M)) {
        let key = MemberKey::Session(session_id);
        for slot in self.by_member.get(&key).into_iter().flatten() {
            let members = self.tickets.get_mut(slot).map(|ticket| &mut ticket.members);
            members
                .into_iter()
                .flatten()
                .filter(|member| member.key == key)
                .for_each(|member| change(&mut member.presence));
        }
    }

    /// Ids of the tickets that a session is on.
    pub fn tickets_of(&self, session_id: SessionId) -> Vec<TicketId> {
        let slots = self.by_member.get(&MemberKey::Session(session_id)).into_iter().flatten();
        slots.filter_map(|slot| self.tickets.get(slot)).map(|ticket| ticket.id.clone()).collect()
    }

    /// All members of all tickets, in no order.
    pub fn members(&self) -> impl Iterator<Item = &TicketMember<M>> {
        self.tickets().flat_map(|ticket| &ticket.members)
    }

    /// The ticket that has waited longest.
    pub fn oldest(&self) -> Option<&Ticket<M>> {
        let slot = self.documents.scan(Candidates::all(), 0).next()?;
        self.tickets.get(&slot).map(|ticket| &**ticket)
    }

    /// Counts so far, for metrics and `GET /v2/matchmaker/stats`.
    pub fn totals(&self) -> &MatchmakerTotals {
        &self.totals
    }
}

fn forget<K: std::hash::Hash + Eq>(map: &mut Map<K, Vec<u32>>, key: K, slot: u32) {
    if let Entry::Occupied(mut slots) = map.entry(key) {
        slots.get_mut().retain(|other| *other != slot);
        if slots.get().is_empty() {
            slots.remove();
        }
    }
}
