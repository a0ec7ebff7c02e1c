//! The matchmaker on the plane: one shard owns the pool. Tickets go up to it, and what it matches is told by it.

use std::sync::Arc;

use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind, Result, Timestamp};

use super::asked_matches::AskedMatches;
use super::effect::{Effect, Effects};
use super::message::{Down, Reply, RequestRef, Up};
use super::recovery::Thing;
use super::tickets::{ended, here_and_elsewhere};
use super::{Plane, Timer};
use crate::matchmaker::{
    Completion, Explanation, Match, Matchmaker, MatchmakerTotals, NewTicket, Owner, SLICE_UNITS, Slice, Ticket,
    TicketId,
};
use crate::place::{Partition, Place};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef};

/// The name of the pool.
pub(super) struct PoolName(&'static str);

/// There is one.
pub(super) const POOL: PoolName = PoolName("matchmaker");

impl PoolName {
    /// Its partition.
    pub(super) fn partition(&self) -> Partition {
        Partition::of_name(self.0)
    }
}

/// What the pool's owner is asked.
#[derive(Debug)]
pub enum PoolAsk {
    /// Take a ticket in.
    Add(Box<NewTicket<Presence>>),
    /// Take a ticket back.
    Remove(TicketId, Owner),
    /// A session closed: whatever ticket it is in goes.
    RemoveSession(SessionId),
    /// A session goes on elsewhere.
    Rebind(SessionId, SessionRef),
    /// An owner's tickets go.
    RemoveOwner(Owner),
    /// The same, without its doing: their players are told.
    LoseOwner(Owner),
    /// A ticket that a session is on which is not where the pool believes.
    RemoveStray(TicketId, SessionRef),
    /// Why a ticket of this owner's waits; of anybody's without one.
    Explain(TicketId, Option<Owner>),
    /// How busy it is.
    Stats,
}

/// What the pool's owner answers.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolReply {
    /// It is done.
    Done,
    /// Why a ticket waits.
    Explained(Box<Explanation>),
    /// How busy the pool is.
    Stats(Box<PoolStats>),
}

/// How busy a pool is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoolStats {
    /// Tickets that wait.
    pub tickets: usize,
    /// Those among them that still search.
    pub active: usize,
    /// When the ticket was made that waits longest.
    pub oldest: Option<Timestamp>,
    /// The last tickets that were matched, newest first.
    pub completions: Vec<Completion>,
}

/// The pool, where it is owned.
pub(super) struct Pool {
    pub matchmaker: Matchmaker<Presence>,
    /// What it has found and game code is asked of.
    pub asked: AskedMatches,
    /// When the next pass begins, if one is to.
    pub timed_at: Option<Millis>,
    pub is_passing: bool,
    /// When the last pass began.
    pass_began_at: Millis,
}

impl Pool {
    pub(super) fn new(config: crate::matchmaker::MatchmakerConfig) -> Self {
        let (matchmaker, asked) = (Matchmaker::new(config), AskedMatches::default());
        Self { matchmaker, asked, timed_at: None, is_passing: false, pass_began_at: 0 }
    }

    /// Answers, with the tickets that are no more.
    #[expect(clippy::vec_box, reason = "tickets are handed on as they lie in the pool")]
    fn answer(&mut self, ask: PoolAsk, now: Millis, gone: &mut Vec<Box<Ticket<Presence>>>) -> Result<PoolReply> {
        let matchmaker = &mut self.matchmaker;
        match ask {
            PoolAsk::Add(ticket) => matchmaker.add(*ticket, now)?,
            PoolAsk::Remove(id, owner) => gone.push(matchmaker.remove(&id, &owner)?),
            PoolAsk::RemoveSession(session) => gone.extend(matchmaker.remove_session(session)),
            PoolAsk::Rebind(session, to) => {
                matchmaker.change_session(session, |presence| presence.session = to);
                self.asked.rebind(session, to);
            }
            PoolAsk::RemoveOwner(owner) | PoolAsk::LoseOwner(owner) => gone.extend(matchmaker.remove_owner(&owner)),
            PoolAsk::RemoveStray(id, session) => {
                let is_there =
                    |ticket: &&Ticket<Presence>| ticket.members.iter().any(|member| member.presence.session == session);
                if let Some(owner) = matchmaker.ticket(&id).filter(is_there).map(|ticket| ticket.owner.clone()) {
                    gone.push(matchmaker.remove(&id, &owner)?);
                }
            }
            PoolAsk::Explain(id, owner) => {
                let ticket = matchmaker.ticket(&id).filter(|ticket| owner.is_none_or(|owner| ticket.owner == owner));
                let explanation = ticket.is_some().then(|| matchmaker.explain(&id)).flatten();
                let missing = || Error::new(ErrorKind::NotFound, "There is no such ticket: it may have been matched.");
                return Ok(PoolReply::Explained(Box::new(explanation.ok_or_else(missing)?)));
            }
            PoolAsk::Stats => {
                return Ok(PoolReply::Stats(Box::new(PoolStats {
                    tickets: matchmaker.len(),
                    active: matchmaker.active_len(),
                    oldest: matchmaker.oldest().map(|ticket| ticket.created_at),
                    completions: matchmaker.totals().completions.iter().cloned().collect(),
                })));
            }
        }
        Ok(PoolReply::Done)
    }
}

impl Pool {
    /// Another owns the pool, or does so anew: nobody waits here.
    pub(super) fn clear(&mut self, config: crate::matchmaker::MatchmakerConfig) {
        *self = Self::new(config);
    }

    /// Places of those who wait that are none any more.
    pub(super) fn absent(&self, is_absent: impl Fn(Place) -> bool) -> Vec<Place> {
        let places = self.matchmaker.members().map(|member| member.presence.session.place);
        places.filter(|place| is_absent(*place)).collect()
    }

    /// The sessions of these places are gone: answers the tickets that they were in, which go.
    #[expect(clippy::vec_box, reason = "tickets are handed on as they lie in the pool")]
    fn lose(&mut self, gone: &[Place]) -> Vec<Box<Ticket<Presence>>> {
        let members = self.matchmaker.members().filter(|member| gone.contains(&member.presence.session.place));
        let lost: Vec<SessionId> = members.map(|member| member.presence.session_id).collect();
        lost.into_iter().flat_map(|session| self.matchmaker.remove_session(session)).collect()
    }
}

impl Plane {
    /// The owner of the pool of tickets.
    pub fn pool_owner(&self) -> Place {
        self.local.routes.owner(POOL.partition())
    }

    /// Asks something of the pool. The answer to `request` is [`Reply::Pool`].
    pub fn ask_pool(&mut self, now: Millis, ask: PoolAsk, request: Option<RequestRef>, out: &mut Effects) {
        if let PoolAsk::Add(ticket) = &ask {
            for member in &ticket.members {
                self.local.note_ticket(member.presence.session);
            }
            self.local.hold(now, ticket);
        }
        let owner = self.pool_owner();
        self.send_up(now, owner, Up::Pool { request, ask }, out);
    }

    /// When a session closes: its tickets go, if it had any.
    pub(super) fn forget_tickets(&mut self, now: Millis, key: SessionKey, out: &mut Effects) {
        self.local.leave_tickets_of_coming(key);
        self.send_stray_tickets_away(now, out);
        if let Some(session) = self.local.session_with_tickets(key) {
            self.ask_pool(now, PoolAsk::RemoveSession(session), None, out);
        }
    }

    /// Who is in a party has changed: its tickets were for those who were.
    pub(super) fn cancel_tickets(&mut self, now: Millis, out: &mut Effects) {
        for (party, is_lost) in std::mem::take(&mut self.streams.cancelled) {
            let owner = Owner::Party(Arc::from(format!("{party}.{}", self.config.node)));
            self.cancel(now, owner, is_lost, out);
        }
    }

    pub(super) fn own_pool(&mut self, now: Millis, request: Option<RequestRef>, ask: PoolAsk, out: &mut Effects) {
        let ask = match ask {
            // Where it was to go on is no more.
            PoolAsk::Rebind(session, to) if !self.local.is_there(to.place) => PoolAsk::RemoveSession(session),
            ask => ask,
        };
        let added = self.members_to_tell(&ask, request);
        let new = if let PoolAsk::Add(ticket) = &ask { Thing::of_ticket(&ticket.owner, &ticket.id) } else { None };
        let rebound = if let PoolAsk::Rebind(session, to) = &ask { Some((*session, *to)) } else { None };
        let are_lost = matches!(ask, PoolAsk::LoseOwner(_));
        let closed = if let PoolAsk::RemoveSession(session) = &ask { Some(*session) } else { None };
        let mut gone = Vec::new();
        let reply = self.pool.answer(ask, now, &mut gone);
        self.note_tickets(now, gone.iter().map(|ticket| &**ticket));
        // Before the answer: who is told that a ticket is gone has it no more.
        if are_lost {
            out.extend(gone.iter().flat_map(|ticket| ended(ticket)).map(Effect::EndTicket));
        } else {
            self.tell_off(&gone, closed, out);
        }
        if let Some(thing) = new.filter(|_| reply.is_ok()) {
            self.changes.note(thing, self.config.recover, now, &mut self.wheel);
        }
        if let Some((ticket, members)) = added.filter(|_| reply.is_ok()) {
            self.tell_on(&ticket, members, out);
        }
        if let Some(request) = request {
            self.local.down(request.place, Down::Reply(request.id, Reply::Pool(reply)), out);
        }
        if let Some((session, to)) = rebound {
            // If it does not come there, its new place takes back what it does not know.
            let on = self.pool.matchmaker.tickets_of(session);
            on.into_iter().for_each(|ticket| self.tell_on(&ticket, vec![to], out));
        }
        self.time_first_pass(now);
    }

    /// A ticket and those of its members to whom its being taken in is news.
    fn members_to_tell(&self, ask: &PoolAsk, request: Option<RequestRef>) -> Option<(TicketId, Vec<SessionRef>)> {
        let PoolAsk::Add(ticket) = ask else { return None };
        let place = request.filter(|_| self.local.routes.is_of_cluster())?.place;
        Some((ticket.id.clone(), here_and_elsewhere(ticket, place).1))
    }

    /// The first tickets after a rest wait for others as any do.
    pub(super) fn time_first_pass(&mut self, now: Millis) {
        if self.pool.timed_at.is_none() && !self.pool.matchmaker.is_empty() {
            let interval = self.config.matchmaker.interval_ms;
            self.time_pass(self.pool.matchmaker.next_pass_at().max(now + interval.min(100)));
        }
    }

    /// The sessions of these places are gone: whatever ticket they are in goes.
    pub(super) fn lose_tickets(&mut self, places: &[Place], out: &mut Effects) {
        let gone = self.pool.lose(places);
        self.tell_off(&gone, None, out);
    }

    /// Says when the next pass begins.
    pub(super) fn time_pass(&mut self, at: Millis) {
        self.pool.timed_at = Some(at);
        self.wheel.set(at, Timer::Match);
    }

    pub(super) fn begin_pass(&mut self, now: Millis) {
        // The timer may be of a pool that was another's meanwhile.
        if self.pool.timed_at.take_if(|at| *at <= now).is_none() || self.pool.matchmaker.is_empty() {
            return;
        }
        if self.is_island() {
            return self.time_pass(now + self.config.matchmaker.interval_ms);
        }
        self.pool.matchmaker.begin_pass(now);
        (self.pool.is_passing, self.pool.pass_began_at) = (true, now);
        self.time_pass(self.pool.matchmaker.next_pass_at());
    }

    /// One slice of a pass. Answers whether there is more to do.
    pub(super) fn run_pass(&mut self, out: &mut Effects) -> bool {
        if !self.pool.is_passing {
            return false;
        }
        let mut matches = Vec::new();
        let slice = self.pool.matchmaker.run_slice(SLICE_UNITS, &mut matches);
        let now = self.pool.pass_began_at;
        matches.into_iter().for_each(|found| self.found(now, found, out));
        self.pool.is_passing = slice == Slice::More;
        self.pool.is_passing
    }

    /// Whether a pass is under way.
    pub(super) fn is_passing(&self) -> bool {
        self.pool.is_passing
    }

    /// What the pool counted, where it is owned.
    pub(super) fn pool_totals(&self) -> &MatchmakerTotals {
        self.pool.matchmaker.totals()
    }

    /// Matches that game code is asked of.
    pub(super) fn asked_matches_len(&self) -> usize {
        self.pool.asked.len()
    }

    /// Tickets that wait here, and those that still search.
    pub(super) fn pool_len(&self) -> (usize, usize) {
        (self.pool.matchmaker.len(), self.pool.matchmaker.active_len())
    }
}

/// What the pool matched.
pub type Matched = Match<Presence>;
