//! The pool as plain data, for another shard that is to own it.

use super::Matchmaker;
use super::ticket::{NewTicket, Ticket, TicketId};
use crate::session::Millis;

/// A ticket that waits.
#[derive(Clone, Debug)]
pub struct CarriedTicket<M> {
    /// As it was asked for.
    pub ticket: NewTicket<M>,
    /// How long it has waited.
    pub waited_ms: Millis,
    /// The number of the first pass it takes part in.
    pub first_pass: u64,
    /// By how many steps it was widened.
    pub widened: u32,
    /// Whether it still searches.
    pub is_searching: bool,
    /// Another search may find more, though nothing has changed.
    pub was_cut: bool,
}

/// Where the passes of a pool are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedPasses {
    /// The number of the last.
    pub passes: u64,
    /// After what time the next should begin.
    pub next_ms: Millis,
}

impl<M: Clone> Matchmaker<M> {
    /// Takes out all tickets, the longest waiting first. A pass that is under way is laid down: the next one does what it
    /// would have done, and should begin at once.
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

    /// Goes on with a ticket that waited elsewhere, behind those that came before it.
    pub fn carry_in(&mut self, now: Millis, carried: CarriedTicket<M>) {
        let CarriedTicket { ticket, waited_ms, first_pass, widened, is_searching, was_cut } = carried;
        // Whoever took it in there has looked at it.
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

    /// Goes on with a ticket of an owner who has died, behind those that came before it: it is as patient and as wide as
    /// after so long a time, and searches anew. Answers whether there is room for it.
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

    /// A ticket as it waits.
    pub fn kept(&self, now: Millis, id: &TicketId) -> Option<CarriedTicket<M>> {
        let slot = self.by_id.get(id)?;
        Some(self.tickets.get(slot)?.carried(now, self.active.contains(slot)))
    }

    /// A ticket of an owner who has died does not go on.
    pub fn lose(&mut self) {
        self.totals.lost += 1;
    }

    /// Goes on with the passes of a pool. No pass is under way.
    pub fn carry_in_passes(&mut self, now: Millis, carried: CarriedPasses) {
        self.passes = carried.passes;
        self.next_pass_at = now.saturating_add(carried.next_ms);
    }

    /// Whoever has searched in the pass searches again, and finds nobody again.
    fn lay_down_pass(&mut self, now: Millis) {
        let Some(pass) = self.pass.take() else { return };
        // It may have been widened for this search alone.
        if let Some(ticket) = pass.search.and_then(|search| self.tickets.get_mut(&search.slot)) {
            ticket.was_cut = true;
        }
        self.passes -= 1;
        self.next_pass_at = now;
    }
}

impl<M: Clone> Ticket<M> {
    fn carried(&self, now: Millis, is_searching: bool) -> CarriedTicket<M> {
        let given = self.widening.as_deref().map_or(&self.query, |(given, _)| given);
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
            widening: self.widening.as_deref().map_or_else(Vec::new, |(_, widening)| widening.clone()),
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
