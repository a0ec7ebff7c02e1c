//! Tickets in a world: no ticket waits whose session has gone, none is matched twice, none is lost.

use std::collections::BTreeMap;

use muster_domain::Timestamp;
use muster_live::matchmaker::{Member, MemberKey, NewTicket, Owner, TicketId};
use muster_live::plane::{Matched, PoolAsk, Reply};

use super::act::session_id;
use super::{Asked, World};
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation, ensure};

/// What was asked about a ticket, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum TicketAsked {
    Add(usize),
    Remove(usize),
}

/// A player's ticket.
#[derive(Debug)]
pub(super) struct Ticket {
    who: Who,
    /// Whether it was taken, once that is known.
    is_taken: Option<bool>,
    is_matched: bool,
    /// It was under way to the matchmaker when its player was matched.
    may_be_gone: bool,
    /// Its owner took it back.
    is_removed: bool,
}

impl World {
    pub(super) fn add_ticket(&mut self, who: Who, players: u32) -> Checked {
        let number = self.tickets.len();
        self.tickets.push(Ticket { who, is_taken: None, is_matched: false, may_be_gone: false, is_removed: false });
        let at = self.clients[&who].at;
        let Some(presence) = self.planes[usize::from(at.shard)].presence(at.key) else { return Ok(()) };
        let ticket = NewTicket {
            id: TicketId(number.to_string().into()),
            owner: Owner::Session(session_id(who)),
            members: vec![Member { key: MemberKey::Session(session_id(who)), presence }],
            min_count: players,
            max_count: players,
            count_multiple: 1,
            query: "*".to_owned(),
            string_properties: BTreeMap::new(),
            numeric_properties: BTreeMap::new(),
            widening: Vec::new(),
            created_at: Timestamp::from_seconds(1),
        };
        self.ask_pool(who, TicketAsked::Add(number), PoolAsk::Add(Box::new(ticket)))
    }

    /// Takes back a session's latest ticket.
    pub(super) fn remove_ticket(&mut self, who: Who) -> Checked {
        let Some(number) = self.tickets.iter().rposition(|ticket| ticket.who == who) else { return Ok(()) };
        let id = TicketId(number.to_string().into());
        self.ask_pool(who, TicketAsked::Remove(number), PoolAsk::Remove(id, Owner::Session(session_id(who))))
    }

    fn ask_pool(&mut self, who: Who, asked: TicketAsked, ask: PoolAsk) -> Checked {
        let shard = self.clients[&who].at.shard;
        let request = self.ask(shard, Asked::Ticket(asked));
        self.step(shard, |plane, now, out| plane.ask_pool(now, ask, Some(request), out))
    }

    pub(super) fn ticket_answered(&mut self, asked: TicketAsked, reply: &Reply) -> Checked {
        let Reply::Pool(reply) = reply else {
            return Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") });
        };
        match asked {
            TicketAsked::Add(number) => self.tickets[number].is_taken = Some(reply.is_ok()),
            TicketAsked::Remove(number) => self.tickets[number].is_removed |= reply.is_ok(),
        }
        Ok(())
    }

    /// The matchmaker found players for each other.
    pub(super) fn matched(&mut self, found: &Matched) -> Checked {
        self.trace.step(|| format!("  matched {:?}", found.tickets), &[found.tickets.len() as u64]);
        for matched in &found.tickets {
            let ticket = matched.id.0.parse().ok().and_then(|number: usize| self.tickets.get_mut(number));
            let Some(ticket) = ticket else {
                return Err(Violation { check: Check::Stray, detail: format!("nobody made ticket {:?}", matched.id) });
            };
            ensure(Check::Twice, !ticket.is_matched, || format!("ticket {:?} is matched again", matched.id))?;
            ensure(Check::Stray, !ticket.is_removed, || format!("ticket {:?} was taken back", matched.id))?;
            ticket.is_matched = true;
        }
        // Who plays searches no more.
        let players: Vec<Who> = self.players(found);
        for ticket in self.tickets.iter_mut().filter(|ticket| players.contains(&ticket.who)) {
            ticket.is_matched |= ticket.is_taken == Some(true);
            // It may have been taken in before the match, or behind it.
            ticket.may_be_gone |= ticket.is_taken.is_none();
        }
        Ok(())
    }

    fn players(&self, found: &Matched) -> Vec<Who> {
        let numbers = found.tickets.iter().filter_map(|matched| matched.id.0.parse::<usize>().ok());
        numbers.filter_map(|number| Some(self.tickets.get(number)?.who)).collect()
    }

    /// At rest: what waits is what was taken and neither matched nor taken back, of sessions that are there.
    pub(super) fn check_tickets(&mut self) -> Checked {
        let waits = |ticket: &&Ticket| {
            ticket.is_taken == Some(true)
                && !ticket.is_matched
                && !ticket.is_removed
                && self.clients[&ticket.who].is_open
        };
        let at_most = self.tickets.iter().filter(waits).count();
        let at_least = self.tickets.iter().filter(waits).filter(|ticket| !ticket.may_be_gone).count();
        let waiting: usize = self.planes.iter().map(|plane| plane.stats().tickets).sum();
        ensure(Check::Presences, (at_least..=at_most).contains(&waiting), || {
            format!("{waiting} tickets wait, and {at_least} to {at_most} should")
        })
    }
}
