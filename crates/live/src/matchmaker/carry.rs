//! The pool as plain data, for the shard that is to own the pool next. The sending is not done here.

use super::Matchmaker;
use super::ticket::{NewTicket, Ticket, TicketId};
use crate::session::Millis;

/// A waiting ticket.
#[derive(Clone, Debug)]
pub struct CarriedTicket<M> {
    /// The ticket as it was requested.
    pub ticket: NewTicket<M>,
    /// Time that the ticket has waited.
    pub waited_ms: Millis,
    /// Number of the first pass that the ticket takes part in.
    pub first_pass: u64,
    /// Number of steps by which the query was widened.
    pub widened: u32,
    /// Whether the ticket still searches.
    pub is_searching: bool,
    /// Whether the last search met a limit, so that another search may find more.
    pub was_cut: bool,
}

/// The state of a pool's passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedPasses {
    /// Number of the last pass.
    pub passes: u64,
    /// Time until the next pass should begin.
    pub next_ms: Millis,
}

impl<M: Clone> Matchmaker<M> {
    /// Takes out all tickets, the longest waiting first. A running pass is given up: the next pass, at the next owner,
    /// does its work and should begin at once.
    pub fn carry_out(&mut self, now: Millis) -> (Vec<CarriedTicket<M>>, CarriedPasses) {
        self.lay_down_pass(now);
        let mut slots: Vec<u32> = self.tickets.keys().copied().collect();
        slots.sort_unstable();
        let mut carried = Vec::with_capacity(slots.len());
        for slot in slots {
            let is_searching = self.active.contains(&slot);
            carried.extend(self.take(slot).map(|ticket| ticket.carried(now, is_searching)));
        }
        self.patterns.clear();
        (carried, CarriedPasses { passes: self.passes, next_ms: self.next_pass_at.saturating_sub(now) })
    }

    /// Adds a ticket from another owner behind the tickets that came before it.
    pub fn carry_in(&mut self, now: Millis, carried: CarriedTicket<M>) {
        let CarriedTicket { ticket, waited_ms, first_pass, widened, is_searching, was_cut } = carried;
        // A ticket that is not in order cannot have been accepted by the former owner, so it is ignored.
        let Ok(mut ticket) = Ticket::new(ticket, first_pass, now.wrapping_sub(waited_ms)) else { return };
        if self.by_id.contains_key(&ticket.id) {
            return;
        }
        ticket.was_cut = was_cut;
        if widened > 0 {
            ticket.widen(widened);
        }
        if self.next_slot == u32::MAX {
            self.renumber();
        }
        let slot = self.next_slot;
        self.place(Box::new(ticket));
        if !is_searching {
            self.active.remove(&slot);
        }
    }

    /// Adds a ticket whose pool died with its owner, behind the tickets that came before it. The ticket gets the
    /// patience and the widening of a ticket that has waited `waited_ms`, and searches anew. Returns whether the pool
    /// has room for the ticket.
    pub fn resume(&mut self, now: Millis, ticket: NewTicket<M>, waited_ms: Millis) -> bool {
        if self.tickets.len() >= self.config.total_tickets_max {
            return false;
        }
        let before = waited_ms / self.config.interval_ms;
        self.passes = self.passes.max(before);
        let first_pass = self.passes + 1 - before;
        let carried = CarriedTicket { ticket, waited_ms, first_pass, widened: 0, is_searching: true, was_cut: true };
        self.carry_in(now, carried);
        self.totals.resumed += 1;
        true
    }

    /// A copy of a waiting ticket as plain data.
    pub fn kept(&self, now: Millis, id: &TicketId) -> Option<CarriedTicket<M>> {
        let slot = self.by_id.get(id)?;
        Some(self.tickets.get(slot)?.carried(now, self.active.contains(slot)))
    }

    /// Counts a ticket whose pool died with its owner, and that does not go on.
    pub fn count_lost(&mut self) {
        self.totals.lost += 1;
    }

    /// Takes over the number and time of passes from another owner's pool. No pass may be running.
    pub fn carry_in_passes(&mut self, now: Millis, carried: CarriedPasses) {
        self.passes = carried.passes;
        self.next_pass_at = now.saturating_add(carried.next_ms);
    }

    /// Gives up a running pass. Tickets that have searched in it will search again and find nobody again.
    fn lay_down_pass(&mut self, now: Millis) {
        let Some(pass) = self.pass.take() else { return };
        // The pass may have widened this ticket for its search, so the ticket must be searched again in any case.
        if let Some(ticket) = pass.search.and_then(|search| self.tickets.get_mut(&search.slot)) {
            ticket.was_cut = true;
        }
        self.passes -= 1;
        self.next_pass_at = now;
    }
}

impl<M: Clone> Ticket<M> {
    fn carried(&self, now: Millis, is_searching: bool) -> CarriedTicket<M> {
        let given = self.widening.as_deref().map_or(&self.query, |plan| &plan.original);
        let ticket = NewTicket {
            id: self.id.clone(),
            owner: self.owner.clone(),
            members: self.members.clone(),
            min_count: self.min_count,
            max_count: self.max_count,
            count_multiple: self.count_multiple,
            query: given.source().to_owned(),
            string_properties: self.string_properties.clone(),
            numeric_properties: self.numeric_properties.clone(),
            widening: self.widening.as_deref().map_or_else(Vec::new, |plan| plan.fields.clone()),
            created_at: self.created_at,
        };
        CarriedTicket {
            ticket,
            waited_ms: self.waited_ms(now),
            first_pass: self.first_pass,
            widened: self.widened,
            is_searching,
            was_cut: self.was_cut,
        }
    }
}
