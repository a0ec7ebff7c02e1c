//! The tickets that sessions of a place are on. In a cluster every place keeps them, so that the pool goes on when its owner
//! has died: each place tells the next owner, as it tells of streams.
//!
//! A ticket goes on if the places of all its members say that they are on it. If only some do, the others have heard that
//! it is no more, or have left: then it ends, and those who are on it are told. Whoever is told of a match is on the ticket
//! no more by the same message, so nobody whom the dead owner had told is matched by the next one.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_domain::ids::SessionId;

use super::Sessions;
use crate::matchmaker::{Match, MemberKey, NewTicket, Ticket, TicketId};
use crate::outbox::Delivery;
use crate::place::{Epoch, Partition, Place, Routes};
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{Down, Reply, RequestRef, Standing};
use crate::plane::owners::pool::{POOL, PoolAsk};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, SharedPayload, mode};

/// Tickets in one message: each may be as long as what a socket may send at once.
const PART_MAX: usize = 16;

/// A ticket that a session is on.
#[derive(Clone, Debug, PartialEq)]
pub struct OnTicket {
    /// The ticket's id.
    pub id: TicketId,
    /// The ticket as it was asked for, and how long ago, in milliseconds; only at the place where it was asked for.
    pub asked: Option<(Arc<NewTicket<Presence>>, Millis)>,
}

/// That a session is on a ticket, as its place knows it.
#[derive(Clone, Debug, PartialEq)]
pub struct TicketStanding {
    /// The session.
    pub session: SessionRef,
    /// Its public id.
    pub session_id: SessionId,
    /// The ticket.
    pub on: OnTicket,
}

/// A ticket that a session is on, as its place keeps it.
#[derive(Debug)]
struct KeptTicket {
    id: TicketId,
    /// The ticket as it was asked for here, and since when.
    asked: Option<(Arc<NewTicket<Presence>>, Millis)>,
}

impl KeptTicket {
    fn new(now: Millis, on: OnTicket) -> Self {
        Self { id: on.id, asked: on.asked.map(|(ticket, waited_ms)| (ticket, now.wrapping_sub(waited_ms))) }
    }

    fn told(&self, now: Millis) -> OnTicket {
        let asked = self.asked.as_ref().map(|(ticket, since)| (ticket.clone(), now.wrapping_sub(*since)));
        OnTicket { id: self.id.clone(), asked }
    }
}

/// What a session has of owned things besides being on streams.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    /// Whether it ever asked the matchmaker for anything: the pool is told when it closes.
    may_have_tickets: bool,
    /// Its tickets; kept in a cluster only.
    tickets: Vec<KeptTicket>,
}

/// The holdings of a session that leaves its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DepartedHoldings {
    /// Whether it ever asked the matchmaker for anything.
    pub may_have_tickets: bool,
    /// Its tickets.
    pub tickets: Vec<OnTicket>,
    /// The epoch of the pool's owner who knows where the session goes on, if it may be on tickets.
    pub pool: Option<Epoch>,
}

/// News about the holdings of a session on its way.
#[derive(Debug, Default)]
pub(crate) struct MovingHoldings {
    /// Tickets that it is on no more, said before the session came.
    off: Vec<TicketId>,
    /// The owner of the pool was asked to know the session as one of its next place.
    pool_asked: bool,
}

impl Holdings {
    /// Whether the death of these partitions' owners tears a session that is awaited from its holdings: what an owner told
    /// of it is known to its former place alone.
    pub(crate) fn are_torn(&self, moving: &MovingHoldings, changed: &BTreeSet<Partition>) -> bool {
        changed.contains(&POOL.partition()) && !(self.tickets.is_empty() && moving.off.is_empty())
    }

    /// The session may have holdings of which its place does not know.
    pub(crate) fn assume_some(&mut self) {
        self.may_have_tickets = true;
    }

    /// A session that was awaited is here with these. Owners may have told of some of them before.
    pub(crate) fn settle(&mut self, now: Millis, departed: DepartedHoldings, moving: &MovingHoldings) {
        self.may_have_tickets = departed.may_have_tickets;
        for on in departed.tickets.into_iter().filter(|on| !moving.off.contains(&on.id)) {
            self.tickets.retain(|kept| kept.id != on.id);
            self.tickets.push(KeptTicket::new(now, on));
        }
    }
}

impl MovingHoldings {
    /// Whether the death of these partitions' owners tears a session that leaves from its holdings: an owner knows it as one
    /// of its next place, and the next owner will not.
    pub(crate) fn are_torn(&self, changed: &BTreeSet<Partition>) -> bool {
        self.pool_asked && changed.contains(&POOL.partition())
    }
}

impl DepartedHoldings {
    /// The partition that must still have the owner it had in this epoch.
    pub(crate) fn anchor(&self) -> Option<(Partition, Epoch)> {
        self.pool.map(|epoch| (POOL.partition(), epoch))
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
        self.sessions.down(session.place, push, out);
    }

    /// Has the pool know a session that departs as one of its next place. The answer to `request` is [`Reply::Pool`].
    pub fn rebind_tickets(&mut self, now: Millis, key: SessionKey, request: RequestRef, out: &mut Effects) {
        match self.sessions.note_pool_asked(key) {
            Some((session, to)) => self.ask_pool(now, PoolAsk::Rebind(session, to), Some(request), out),
            None => out.reply(request.id, Reply::Rebound),
        }
    }

    /// The tickets that a session is on, as its place knows in a cluster.
    pub fn tickets_of(&self, key: SessionKey) -> impl Iterator<Item = &TicketId> {
        let session = self.sessions.registry.get(key);
        session.into_iter().flat_map(|session| &session.holdings.tickets).map(|kept| &kept.id)
    }

    /// Whether a session that departs may be on tickets of the matchmaker.
    pub fn may_have_tickets(&self, key: SessionKey) -> bool {
        self.sessions.may_have_tickets(key)
    }

    /// A session closes: its tickets go, if it had any.
    pub(crate) fn forget_holdings(&mut self, now: Millis, key: SessionKey, out: &mut Effects) {
        self.sessions.leave_tickets_of_coming(key);
        self.send_stray_tickets_away(now, out);
        if let Some(session) = self.sessions.session_with_tickets(key) {
            self.ask_pool(now, PoolAsk::RemoveSession(session), None, out);
        }
    }

    /// Tells the pool of sessions that it takes for being here and that are not.
    pub(crate) fn send_stray_tickets_away(&mut self, now: Millis, out: &mut Effects) {
        while let Some((ticket, key)) = self.sessions.stray_tickets.pop() {
            let session = SessionRef { place: self.sessions.me, key };
            self.ask_pool(now, PoolAsk::RemoveStray(ticket, session), None, out);
        }
    }
}

impl Match<Presence> {
    /// The tickets of a player that this match ends.
    pub fn ended_for(&self, key: &MemberKey) -> Vec<TicketId> {
        let is_on = |ticket: &Ticket<Presence>| ticket.members.iter().any(|member| member.key == *key);
        let ended = self.tickets.iter().chain(&self.dropped).filter(|ticket| is_on(ticket));
        ended.map(|ticket| ticket.id.clone()).collect()
    }

    /// Players who are not in the match and were on tickets that it ends, with those tickets.
    pub(crate) fn bereft(&self) -> Vec<EndedTicket> {
        let matched: BTreeSet<&MemberKey> =
            self.tickets.iter().flat_map(|ticket| &ticket.members).map(|member| &member.key).collect();
        let dropped = self.dropped.iter().flat_map(|ticket| ticket.members.iter().map(move |member| (ticket, member)));
        let bereft = dropped.filter(|(_, member)| is_player_but(&member.key, None) && !matched.contains(&member.key));
        bereft.map(|(ticket, member)| (member.presence.session, ticket.id.clone())).collect()
    }
}

impl Sessions {
    /// Notes a ticket that is asked for here. From now on the pool is told when a session on it closes; those of a party
    /// leave the party.
    pub(crate) fn note_ticket(&mut self, now: Millis, ticket: &NewTicket<Presence>) {
        let here = ticket.members.iter().map(|member| member.presence.session).filter(|at| at.place == self.me);
        for session in here {
            if let Some(session) = self.registry.get_mut(session.key) {
                session.holdings.may_have_tickets = true;
            }
        }
        if !self.routes.is_of_cluster() {
            return;
        }
        let mut shared = None;
        for session in sessions(ticket).filter(|session| session.place == self.me) {
            let Some(session) = self.registry.get_mut(session.key) else { continue };
            let ticket = shared.get_or_insert_with(|| Arc::new(ticket.clone())).clone();
            session.holdings.tickets.push(KeptTicket { id: ticket.id.clone(), asked: Some((ticket, now)) });
        }
    }

    /// A ticket was not taken in, or nobody will say whether it was: whoever asked for it is told so.
    pub(crate) fn drop_ticket(&mut self, ticket: &TicketId, keys: &[SessionKey]) {
        keys.iter().for_each(|key| self.take_off_ticket(*key, ticket));
    }

    /// A session is on a ticket that was asked for elsewhere.
    pub(crate) fn put_on_ticket(&mut self, key: SessionKey, id: TicketId) {
        let Some(session) = self.registry.get_mut(key) else {
            self.stray_tickets.push((id, key));
            return;
        };
        if session.holdings.tickets.iter().all(|kept| kept.id != id) {
            session.holdings.tickets.push(KeptTicket { id, asked: None });
        }
    }

    /// A session that was awaited does not come: tickets that the pool has bound to it here are nobody's.
    fn leave_tickets_of_coming(&mut self, key: SessionKey) {
        let Some(session) = self.registry.get_mut(key) else { return };
        if session.moving.as_ref().is_some_and(|moving| moving.is_coming()) {
            let tickets = session.holdings.tickets.drain(..);
            self.stray_tickets.extend(tickets.map(|kept| (kept.id, key)));
        }
    }

    /// Whether a session is on one of these tickets.
    pub(crate) fn is_on_any(&self, key: SessionKey, tickets: &[TicketId]) -> bool {
        let session = self.registry.get(key);
        session.is_some_and(|session| session.holdings.tickets.iter().any(|kept| tickets.contains(&kept.id)))
    }

    /// A session is on a ticket no more. One on its way may not have told here yet that it was.
    pub(crate) fn take_off_ticket(&mut self, key: SessionKey, id: &TicketId) {
        let Some(session) = self.registry.get_mut(key) else { return };
        session.holdings.tickets.retain(|kept| kept.id != *id);
        if let Some(moving) = session.moving.as_mut().filter(|moving| moving.is_coming()) {
            moving.holdings.off.push(id.clone());
        }
    }

    /// The public id of a session that has asked the matchmaker for something.
    fn session_with_tickets(&self, key: SessionKey) -> Option<SessionId> {
        self.registry.get(key).filter(|session| session.holdings.may_have_tickets)?;
        self.registry.info(key).map(|info| info.session_id)
    }

    fn may_have_tickets(&self, key: SessionKey) -> bool {
        self.registry.get(key).is_some_and(|session| {
            let is_of_party = |standing: &Standing| standing.stream.mode == mode::PARTY;
            session.holdings.may_have_tickets
                || session.moving.as_ref().is_some_and(|moving| moving.bound().any(is_of_party))
        })
    }

    /// The public id of a session that departs, and the session that it is to be; from now on the pool knows of that.
    fn note_pool_asked(&mut self, key: SessionKey) -> Option<(SessionId, SessionRef)> {
        let session_id = self.registry.info(key)?.session_id;
        let moving = self.registry.get_mut(key)?.moving.as_deref_mut()?;
        let to = moving.goes_to()?;
        moving.holdings.pool_asked = true;
        Some((session_id, to))
    }

    /// The holdings of a session that leaves.
    pub(crate) fn departing_holdings(&self, now: Millis, key: SessionKey, routes: &Routes) -> DepartedHoldings {
        let Some(session) = self.registry.get(key) else { return DepartedHoldings::default() };
        DepartedHoldings {
            may_have_tickets: session.holdings.may_have_tickets,
            tickets: session.holdings.tickets.iter().map(|kept| kept.told(now)).collect(),
            pool: self.may_have_tickets(key).then(|| routes.epoch(POOL.partition())),
        }
    }

    /// The tickets that sessions of this place are on, in parts of bounded size.
    pub(crate) fn ticket_standings(&self, now: Millis) -> Vec<Vec<TicketStanding>> {
        let mut standings = Vec::new();
        for key in self.registry.keys() {
            let (Some(info), Some(session)) = (self.registry.info(key), self.registry.get(key)) else { continue };
            let (session_id, at) = (info.session_id, SessionRef { place: self.me, key });
            let of_session = session.holdings.tickets.iter().map(|kept| kept.told(now));
            standings.extend(of_session.map(|on| TicketStanding { session: at, session_id, on }));
        }
        standings.chunks(PART_MAX).map(<[TicketStanding]>::to_vec).collect()
    }
}

/// The sessions on a ticket.
fn sessions(ticket: &NewTicket<Presence>) -> impl Iterator<Item = SessionRef> {
    let players = ticket.members.iter().filter(|member| is_player_but(&member.key, None));
    players.map(|member| member.presence.session)
}

/// The sessions on a ticket that are at a place, and those that are not.
pub(crate) fn here_and_elsewhere(ticket: &NewTicket<Presence>, place: Place) -> (Vec<SessionKey>, Vec<SessionRef>) {
    let (here, elsewhere): (Vec<_>, Vec<_>) = sessions(ticket).partition(|session| session.place == place);
    (here.into_iter().map(|session| session.key).collect(), elsewhere)
}

/// The players of a ticket that ends without a match.
pub(crate) fn ended(ticket: &Ticket<Presence>) -> impl Iterator<Item = EndedTicket> {
    let players = ticket.members.iter().filter(|member| is_player_but(&member.key, None));
    players.map(|member| (member.presence.session, ticket.id.clone()))
}

/// Whether a member of a ticket is a player, and not this one.
pub(crate) fn is_player_but(key: &MemberKey, except: Option<SessionId>) -> bool {
    matches!(key, MemberKey::Session(session) if Some(*session) != except)
}
