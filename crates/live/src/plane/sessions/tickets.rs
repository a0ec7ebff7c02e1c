//! The tickets that sessions of a place are on. In a cluster every place keeps them, so that the pool goes on when its
//! owner has died: each place tells the next owner of them, as it tells of streams.
//!
//! A ticket goes on if the places of all its members say that the members are on it. If only some do, the others have
//! heard that the ticket has ended, or have left: then it ends, and those who are still on it are told. The message
//! that tells a session of a match also takes the session off the ticket, so the next owner matches nobody whom the
//! dead owner had told.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_domain::ids::SessionId;

use super::Sessions;
use crate::matchmaker::{FoundMatch, MemberKey, NewTicket, OnTicket, POOL, PoolAsk, Ticket, TicketId, TicketStanding};
use crate::outbox::Delivery;
use crate::place::{Epoch, Partition, Place};
use crate::plane::Plane;
use crate::plane::effect::{Effects, EndedTicket};
use crate::plane::message::{Belongings, Down, FollowUp, Reply, RequestRef, Standing};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, SharedPayload, mode};

/// The largest number of tickets in one message: each may be as long as a socket's largest message.
const PART_MAX: usize = 16;

/// A ticket that a session is on, as its place keeps it.
#[derive(Debug)]
struct KeptTicket {
    id: TicketId,
    /// The ticket as it was asked for, and the time when that was; `None` if it was asked for at another place.
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

/// A session's relations to owned things besides its streams.
#[derive(Debug, Default)]
pub(crate) struct Holdings {
    /// Whether the session ever asked the matchmaker for anything. If so, the pool is told when the session closes.
    may_have_tickets: bool,
    /// The session's tickets; kept in a cluster only.
    tickets: Vec<KeptTicket>,
}

/// News about the holdings of a session on its way.
#[derive(Debug, Default)]
pub(crate) struct MovingHoldings {
    /// Tickets that the session was taken off before it came here.
    off: Vec<TicketId>,
    /// Whether the owner of the pool was asked to bind the session to its next place.
    pool_asked: bool,
}

impl Holdings {
    /// Whether the holdings of an awaited session are lost when the owners of these partitions die. The dead owner told
    /// this place of some of them, and only the session's former place tells the next owner.
    pub(crate) fn are_torn(&self, moving: &MovingHoldings, changed: &BTreeSet<Partition>) -> bool {
        changed.contains(&POOL.partition()) && !(self.tickets.is_empty() && moving.off.is_empty())
    }

    /// Notes that the session may have holdings that its place does not know of.
    pub(crate) fn assume_some(&mut self) {
        self.may_have_tickets = true;
    }

    /// Takes the holdings that an awaited session brings with it. Owners may have told of some of them before.
    pub(crate) fn settle(&mut self, now: Millis, belongings: Belongings, moving: &MovingHoldings) {
        self.may_have_tickets = belongings.may_have_tickets;
        for on in belongings.tickets.into_iter().filter(|on| !moving.off.contains(&on.id)) {
            self.tickets.retain(|kept| kept.id != on.id);
            self.tickets.push(KeptTicket::new(now, on));
        }
    }
}

impl MovingHoldings {
    /// Whether the holdings of a session that leaves are lost when the owners of these partitions die. The dead owner
    /// had bound the session to its next place, and the next owner does not know of that.
    pub(crate) fn are_torn(&self, changed: &BTreeSet<Partition>) -> bool {
        self.pool_asked && changed.contains(&POOL.partition())
    }
}

impl Belongings {
    /// The pool's partition, which must still have the owner that it had in this epoch.
    pub(crate) fn anchor(&self) -> Option<(Partition, Epoch)> {
        self.pool.map(|epoch| (POOL.partition(), epoch))
    }
}

impl Plane {
    /// Sends a message to one session, wherever it is, that takes the session off these tickets.
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

    /// Asks the pool to bind a session that departs to its next place. The answer to `request` is the pool's.
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

    /// Tells the pool that a session closes, if the session may have tickets.
    pub(crate) fn forget_holdings(&mut self, now: Millis, key: SessionKey, out: &mut Effects) {
        self.sessions.leave_tickets_of_coming(key);
        self.send_stray_tickets_away(now, out);
        if let Some(session) = self.sessions.session_with_tickets(key) {
            self.ask_pool(now, PoolAsk::RemoveSession(session), None, out);
        }
    }

    /// Tells the pool of stray tickets.
    pub(crate) fn send_stray_tickets_away(&mut self, now: Millis, out: &mut Effects) {
        while let Some((ticket, key)) = self.sessions.stray_tickets.pop() {
            let session = SessionRef { place: self.sessions.me, key };
            self.ask_pool(now, PoolAsk::RemoveStray(ticket, session), None, out);
        }
    }
}

impl FoundMatch<Presence> {
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
    /// Notes a ticket that is asked for here. From now on the pool is told when a session of this place that is on the
    /// ticket closes. Sessions of other places are on it as members of a party, which takes the ticket back when they
    /// leave it.
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

    /// Does the duty that a question left, now that the question has its answer or gets none. Says whether anybody
    /// waits for the answer.
    pub(crate) fn follow_up(&mut self, follow_up: FollowUp, is_refused: bool) -> bool {
        match follow_up {
            FollowUp::DropTicket(ticket, keys) => {
                if is_refused {
                    self.drop_ticket(&ticket, &keys);
                }
                true
            }
            FollowUp::CancelAgain(owner, is_lost) => {
                self.uncancelled.extend(is_refused.then_some((owner, is_lost)));
                false
            }
        }
    }

    /// Takes sessions off a ticket that the pool refused, or of which nobody will say whether the pool took it. The
    /// asker is told.
    fn drop_ticket(&mut self, ticket: &TicketId, keys: &[SessionKey]) {
        keys.iter().for_each(|key| self.take_off_ticket(*key, ticket));
    }

    /// Puts a session on a ticket that was asked for elsewhere.
    pub(crate) fn put_on_ticket(&mut self, key: SessionKey, id: TicketId) {
        let Some(session) = self.registry.get_mut(key) else {
            self.stray_tickets.push((id, key));
            return;
        };
        if session.holdings.tickets.iter().all(|kept| kept.id != id) {
            session.holdings.tickets.push(KeptTicket { id, asked: None });
        }
    }

    /// Makes stray tickets of those that the pool has bound to a session that was awaited and does not come.
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

    /// Takes a session off a ticket. An awaited session may bring the ticket along later, so the end of the ticket is
    /// noted.
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

    /// Notes that the pool is asked to bind a session that departs. Answers the session's public id, and the session at
    /// its next place.
    fn note_pool_asked(&mut self, key: SessionKey) -> Option<(SessionId, SessionRef)> {
        let session_id = self.registry.info(key)?.session_id;
        let moving = self.registry.get_mut(key)?.moving.as_deref_mut()?;
        let to = moving.goes_to()?;
        moving.holdings.pool_asked = true;
        Some((session_id, to))
    }

    /// The belongings of a session that leaves, for its next place.
    pub(crate) fn belongings(&self, now: Millis, key: SessionKey) -> Belongings {
        let Some(session) = self.registry.get(key) else { return Belongings::default() };
        Belongings {
            may_have_tickets: session.holdings.may_have_tickets,
            tickets: session.holdings.tickets.iter().map(|kept| kept.told(now)).collect(),
            pool: self.may_have_tickets(key).then(|| self.routes.epoch(POOL.partition())),
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
