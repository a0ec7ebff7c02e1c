//! Which tickets a place's sessions are on. In a cluster every place keeps that, so that the pool goes on when its owner
//! has died: each tells the next owner, as it tells of streams.
//!
//! A ticket goes on if the places of all its members say that they are on it. If only some do, the others have heard that
//! it is no more, or have left: then it ends, and those who are on it are told. Whoever is told of a match is on the ticket
//! no more by the same message, so nobody whom the dead owner had told is matched by the next one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::ids::SessionId;

use super::Plane;
use super::effect::{Effect, Effects};
use super::local::Local;
use super::message::{Down, Reply, RequestRef, Up};
use super::pool::{POOL, PoolAsk};
use crate::matchmaker::{Match, MemberKey, NewTicket, Owner, Ticket, TicketId};
use crate::outbox::Delivery;
use crate::place::{Epoch, Place};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, SharedPayload};

/// Tickets in one message: each may be as long as what a socket may send at once.
const PART_MAX: usize = 16;

/// A ticket that a session is on.
#[derive(Clone, Debug, PartialEq)]
pub struct OnTicket {
    /// Which.
    pub id: TicketId,
    /// As it was asked for, and how long ago, in milliseconds; where it was asked for.
    pub asked: Option<(Arc<NewTicket<Presence>>, Millis)>,
}

/// That a session is on a ticket, as its place knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct TicketStanding {
    /// Which session.
    pub session: SessionRef,
    /// Its public id.
    pub session_id: SessionId,
    /// Which ticket.
    pub on: OnTicket,
}

/// The same as a place keeps it.
#[derive(Debug)]
pub(super) struct Held {
    id: TicketId,
    /// And since when.
    asked: Option<(Arc<NewTicket<Presence>>, Millis)>,
}

impl Held {
    pub(super) fn new(now: Millis, on: OnTicket) -> Self {
        Self { id: on.id, asked: on.asked.map(|(ticket, waited_ms)| (ticket, now.wrapping_sub(waited_ms))) }
    }

    pub(super) fn told(&self, now: Millis) -> OnTicket {
        let asked = self.asked.as_ref().map(|(ticket, since)| (ticket.clone(), now.wrapping_sub(*since)));
        OnTicket { id: self.id.clone(), asked }
    }

    pub(super) fn id(&self) -> &TicketId {
        &self.id
    }
}

/// A ticket that ends without a match, and a player who is to be told, by [`Plane::push_of_tickets`].
pub type EndedTicket = (SessionRef, TicketId);

impl Plane {
    /// Sends something to one session, wherever it is, by which it is on these tickets no more.
    pub fn push_of_tickets(
        &mut self,
        session: SessionRef,
        payload: SharedPayload,
        ended: Vec<TicketId>,
        out: &mut Effects,
    ) {
        let push = Down::Push { session: session.key, payload, delivery: Delivery::Reliable, ended };
        self.local.down(session.place, push, out);
    }

    /// Has the pool know a session that departs as the one that it is to be. The answer to `request` is [`Reply::Pool`].
    pub fn rebind_tickets(&mut self, now: Millis, key: SessionKey, request: RequestRef, out: &mut Effects) {
        match self.local.asks_pool_to_rebind(key) {
            Some((session, to)) => self.ask_pool(now, PoolAsk::Rebind(session, to), Some(request), out),
            None => out.reply(request.id, Reply::Rebound),
        }
    }

    /// The tickets that a session is on, as its place knows in a cluster.
    pub fn tickets_of(&self, key: SessionKey) -> impl Iterator<Item = &TicketId> {
        self.local.sessions.get(key).into_iter().flat_map(|session| &session.tickets).map(Held::id)
    }

    /// The tickets that wait here, in no order.
    pub fn owned_tickets(&self) -> impl Iterator<Item = &Ticket<Presence>> {
        self.pool.matchmaker.tickets()
    }

    /// Members of a ticket that are elsewhere than who asked for it learn that they are on it.
    pub(super) fn tell_on(&mut self, id: &TicketId, members: Vec<SessionRef>, out: &mut Effects) {
        for SessionRef { place, key: session } in members {
            self.local.down(place, Down::Ticket { session, ticket: id.clone(), is_on: true }, out);
        }
    }

    /// The pool takes sessions for being here that are not.
    pub(super) fn send_stray_tickets_away(&mut self, now: Millis, out: &mut Effects) {
        while let Some((ticket, key)) = self.local.stray_tickets.pop() {
            let session = SessionRef { place: self.local.me, key };
            self.ask_pool(now, PoolAsk::RemoveStray(ticket, session), None, out);
        }
    }

    /// These tickets are no more: the places of their members learn it, but for one member's.
    pub(super) fn tell_off(&mut self, gone: &[Box<Ticket<Presence>>], except: Option<SessionId>, out: &mut Effects) {
        if !self.local.routes.is_of_cluster() {
            return;
        }
        for ticket in gone {
            for member in ticket.members.iter().filter(|member| is_player_but(&member.key, except)) {
                let SessionRef { place, key: session } = member.presence.session;
                let off = Down::Ticket { session, ticket: ticket.id.clone(), is_on: false };
                self.local.down(place, off, out);
            }
        }
    }

    /// Tells a new owner of the pool which tickets sessions of this place are on.
    pub(super) fn tell_tickets(&mut self, now: Millis, out: &mut Effects) {
        let (owner, epoch) = (self.pool_owner(), self.local.routes.epoch(POOL.partition()));
        let mut standings = self.local.ticket_standings(now);
        while !standings.is_empty() {
            let rest = standings.split_off(standings.len().min(PART_MAX));
            self.send_up(now, owner, Up::Tickets { epoch, standings }, out);
            standings = rest;
        }
    }

    /// A place tells of tickets.
    pub(super) fn hear_of_tickets(&mut self, epoch: Epoch, standings: Vec<TicketStanding>) {
        let rebuilding = self.rebuilding.get_mut(&POOL.partition());
        if let Some(rebuilding) = rebuilding.filter(|rebuilding| rebuilding.epoch == epoch) {
            rebuilding.tickets.extend(standings);
        }
    }

    /// Goes on with the tickets that places have told of, as their owner.
    pub(super) fn go_on_with_tickets(&mut self, now: Millis, standings: Vec<TicketStanding>, out: &mut Effects) {
        let is_there = |standing: &TicketStanding| self.local.is_there(standing.session.place);
        let standings: Vec<TicketStanding> = standings.into_iter().filter(is_there).collect();
        let mut on: BTreeMap<TicketId, BTreeMap<SessionId, SessionRef>> = BTreeMap::new();
        let mut asked: BTreeMap<TicketId, (Arc<NewTicket<Presence>>, Millis)> = BTreeMap::new();
        for TicketStanding { session, session_id, on: OnTicket { id, asked: ticket } } in standings {
            on.entry(id.clone()).or_default().insert(session_id, session);
            asked.extend(ticket.map(|ticket| (id, ticket)));
        }
        // The longest waiting first, as they stood.
        let mut asked: Vec<_> = asked.into_values().collect();
        asked.sort_by_key(|(_, waited_ms)| std::cmp::Reverse(*waited_ms));
        for (ticket, waited_ms) in asked {
            let Some(ticket) = on.get(&ticket.id).and_then(|members| with_members(&ticket, members)) else { continue };
            let id = ticket.id.clone();
            if self.pool.matchmaker.resume(now, ticket, waited_ms) {
                on.remove(&id);
            }
        }
        for (id, members) in on {
            self.pool.matchmaker.lose();
            out.extend(members.into_values().map(|session| Effect::EndTicket((session, id.clone()))));
        }
        self.time_first_pass(now);
    }

    /// Who was in a party has changed: its tickets go, whoever owns the pool.
    pub(super) fn cancel(&mut self, now: Millis, owner: Owner, is_lost: bool, out: &mut Effects) {
        // The answer is awaited only where an owner may die before it has heard of it.
        let request = self.local.routes.is_of_cluster().then(|| self.request());
        let ask = if is_lost { PoolAsk::LoseOwner(owner) } else { PoolAsk::RemoveOwner(owner) };
        self.ask_pool(now, ask, request, out);
    }

    /// What was to be cancelled and nobody has confirmed is asked of who owns the pool now.
    pub(super) fn cancel_again(&mut self, now: Millis, out: &mut Effects) {
        let again = std::mem::take(&mut self.local.uncancelled);
        again.into_iter().for_each(|(owner, is_lost)| self.cancel(now, owner, is_lost, out));
    }
}

/// A ticket with its members as their places know them, if all are on it.
fn with_members(
    ticket: &NewTicket<Presence>,
    members: &BTreeMap<SessionId, SessionRef>,
) -> Option<NewTicket<Presence>> {
    let mut ticket = ticket.clone();
    for member in &mut ticket.members {
        let MemberKey::Session(session_id) = &member.key else { return None };
        member.presence.session = *members.get(session_id)?;
    }
    Some(ticket)
}

/// The players of a ticket that ends without a match.
pub(super) fn ended(ticket: &Ticket<Presence>) -> impl Iterator<Item = EndedTicket> {
    let players = ticket.members.iter().filter(|member| is_player_but(&member.key, None));
    players.map(|member| (member.presence.session, ticket.id.clone()))
}

fn is_player_but(key: &MemberKey, except: Option<SessionId>) -> bool {
    matches!(key, MemberKey::Session(session) if Some(*session) != except)
}

impl Match<Presence> {
    /// The tickets of a player that this match ends.
    pub fn ended_for(&self, key: &MemberKey) -> Vec<TicketId> {
        let is_on = |ticket: &Ticket<Presence>| ticket.members.iter().any(|member| member.key == *key);
        let ended = self.tickets.iter().chain(&self.dropped).filter(|ticket| is_on(ticket));
        ended.map(|ticket| ticket.id.clone()).collect()
    }

    /// Players who are not in it and were on tickets that it ends, and which those are.
    pub(super) fn bereft(&self) -> Vec<EndedTicket> {
        let matched: BTreeSet<&MemberKey> =
            self.tickets.iter().flat_map(|ticket| &ticket.members).map(|member| &member.key).collect();
        let dropped = self.dropped.iter().flat_map(|ticket| ticket.members.iter().map(move |member| (ticket, member)));
        let bereft = dropped.filter(|(_, member)| is_player_but(&member.key, None) && !matched.contains(&member.key));
        bereft.map(|(ticket, member)| (member.presence.session, ticket.id.clone())).collect()
    }
}

impl Local {
    /// Notes a ticket that is asked for here.
    pub(super) fn hold(&mut self, now: Millis, ticket: &NewTicket<Presence>) {
        if !self.routes.is_of_cluster() {
            return;
        }
        let mut shared = None;
        for session in sessions(ticket).filter(|session| session.place == self.me) {
            let Some(session) = self.sessions.get_mut(session.key) else { continue };
            let ticket = shared.get_or_insert_with(|| Arc::new(ticket.clone())).clone();
            session.tickets.push(Held { id: ticket.id.clone(), asked: Some((ticket, now)) });
        }
    }

    /// A ticket was not taken in, or nobody will say whether it was: whoever asked for it is told so.
    pub(super) fn drop_held(&mut self, ticket: &TicketId, keys: &[SessionKey]) {
        keys.iter().for_each(|key| self.take_off_ticket(*key, ticket));
    }

    pub(super) fn put_on_ticket(&mut self, key: SessionKey, id: TicketId) {
        let Some(session) = self.sessions.get_mut(key) else {
            self.stray_tickets.push((id, key));
            return;
        };
        if session.tickets.iter().all(|held| held.id != id) {
            session.tickets.push(Held { id, asked: None });
        }
    }

    /// A session that was to come does not: tickets that the pool has bound to it here are nobody's.
    pub(super) fn leave_tickets_of_coming(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if session.moving.as_ref().is_some_and(|moving| moving.is_coming()) {
            let tickets = session.tickets.drain(..);
            self.stray_tickets.extend(tickets.map(|held| (held.id, key)));
        }
    }

    pub(super) fn is_on_any(&self, key: SessionKey, tickets: &[TicketId]) -> bool {
        self.sessions.get(key).is_some_and(|session| session.tickets.iter().any(|held| tickets.contains(&held.id)))
    }

    pub(super) fn take_off_ticket(&mut self, key: SessionKey, id: &TicketId) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        session.tickets.retain(|held| held.id != *id);
        if let Some(moving) = &mut session.moving {
            moving.off_ticket(id);
        }
    }

    fn ticket_standings(&self, now: Millis) -> Vec<TicketStanding> {
        let mut standings = Vec::new();
        for key in self.sessions.keys() {
            let (Some(info), Some(session)) = (self.sessions.info(key), self.sessions.get(key)) else { continue };
            let (session_id, at) = (info.session_id, SessionRef { place: self.me, key });
            let of_session = session.tickets.iter().map(|held| held.told(now));
            standings.extend(of_session.map(|on| TicketStanding { session: at, session_id, on }));
        }
        standings
    }
}

/// The sessions on a ticket.
fn sessions(ticket: &NewTicket<Presence>) -> impl Iterator<Item = SessionRef> {
    let players = ticket.members.iter().filter(|member| is_player_but(&member.key, None));
    players.map(|member| member.presence.session)
}

/// The sessions on a ticket that are at a place, and those that are not.
pub(super) fn here_and_elsewhere(ticket: &NewTicket<Presence>, place: Place) -> (Vec<SessionKey>, Vec<SessionRef>) {
    let (here, elsewhere): (Vec<_>, Vec<_>) = sessions(ticket).partition(|session| session.place == place);
    (here.into_iter().map(|session| session.key).collect(), elsewhere)
}
