//! The matchmaker on the plane: one shard owns the pool. Tickets go up to that shard, and it has players told of
//! matches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind, Result};

use super::asked_matches::AskedMatches;
use super::owned::{Owned, Typed};
use super::owning::Owning;
use crate::matchmaker::{
    CarriedPool, CarriedTicket, Matchmaker, MatchmakerConfig, MemberKey, NewTicket, OnTicket, POOL, PoolAsk, PoolReply,
    PoolStats, SLICE_UNITS, Slice, Ticket, TicketId, TicketOwner, TicketStanding,
};
use crate::place::{Partition, Place};
use crate::plane::Plane;
use crate::plane::effect::{Effect, Effects};
use crate::plane::message::{
    Answer, Ask, Asked, Carried, Down, FollowUp, Kind, Part, RecoveryKey, Reply, RequestRef, Told,
};
use crate::plane::options::{PlaneConfig, PlaneStats};
use crate::plane::sessions::Sessions;
use crate::plane::sessions::tickets::{ended, here_and_elsewhere, is_player_but};
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey};

/// The pool of tickets, where it is owned.
pub(crate) struct OwnedPool {
    pub matchmaker: Matchmaker<Presence>,
    /// Matches that wait until game code has said where their players go.
    pub asked: AskedMatches,
    config: MatchmakerConfig,
    /// The time when the next pass begins, if one is to.
    pass_at: Option<Millis>,
    is_passing: bool,
    /// The time when the last pass began.
    pass_began_at: Millis,
    /// Relations of sessions to tickets that places have told, while the pool is rebuilt.
    told: Vec<TicketStanding>,
}

impl OwnedPool {
    /// Carries out a question to the pool. Tickets that the question ends are put into `gone`.
    #[expect(clippy::vec_box, reason = "tickets are handed on as they lie in the pool")]
    fn decide(&mut self, ask: PoolAsk, now: Millis, gone: &mut Vec<Box<Ticket<Presence>>>) -> Result<PoolReply> {
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

impl Plane {
    /// The owner of the pool of tickets.
    pub fn pool_owner(&self) -> Place {
        self.sessions.routes.owner(POOL.partition())
    }

    /// Sends a question to the owner of the pool. The answer to `request` is the pool's.
    pub fn ask_pool(&mut self, now: Millis, ask: PoolAsk, request: Option<RequestRef>, out: &mut Effects) {
        if let PoolAsk::Add(ticket) = &ask {
            self.sessions.note_ticket(now, ticket);
        }
        self.ask_thing(now, Ask::Pool(ask), request, out);
    }

    /// The tickets that wait here, in no order.
    pub fn owned_tickets(&self) -> impl Iterator<Item = &Ticket<Presence>> {
        self.owners.things.pool.matchmaker.tickets()
    }

    /// Takes back the tickets of parties whose members changed: the tickets were for the former members.
    pub(crate) fn cancel_tickets_of_parties(&mut self, now: Millis, out: &mut Effects) {
        for (party, is_lost) in std::mem::take(&mut self.owners.streams.parties_without_tickets) {
            let owner = TicketOwner::Party(Arc::from(format!("{party}.{}", self.config.node)));
            self.cancel_tickets(now, owner, is_lost, out);
        }
    }

    /// Takes back the tickets of an owner, whoever owns the pool. Players are told if the tickets are lost.
    pub(crate) fn cancel_tickets(&mut self, now: Millis, owner: TicketOwner, is_lost: bool, out: &mut Effects) {
        // Without a cluster the pool's owner cannot die before it has heard of this, so no answer is awaited.
        let request = self.sessions.routes.is_of_cluster().then(|| self.request());
        let ask = if is_lost { PoolAsk::LoseOwner(owner) } else { PoolAsk::RemoveOwner(owner) };
        self.ask_pool(now, ask, request, out);
    }

    /// Asks the pool's present owner again to take back tickets, where no owner has confirmed that it did.
    pub(crate) fn repeat_unconfirmed(&mut self, now: Millis, out: &mut Effects) {
        let again = std::mem::take(&mut self.sessions.uncancelled);
        again.into_iter().for_each(|(owner, is_lost)| self.cancel_tickets(now, owner, is_lost, out));
    }
}

impl OwnedPool {
    /// Sets the time of the next pass if none is set. The first tickets after a rest wait a little, so that others may
    /// join them.
    fn time_first_pass(&mut self, owning: &mut Owning<'_>) {
        if self.pass_at.is_none() && !self.matchmaker.is_empty() {
            let soonest = owning.now + self.config.interval_ms.min(100);
            self.time_pass(owning, self.matchmaker.next_pass_at().max(soonest));
        }
    }

    /// Sets the time of the next pass.
    fn time_pass(&mut self, owning: &mut Owning<'_>, at: Millis) {
        self.pass_at = Some(at);
        owning.wake(Kind::Pool, at);
    }

    /// Goes on with a ticket of a server of which recovery data were kept. The pool is empty before, and there were
    /// never more tickets than it takes.
    fn resume_ticket_of_server(&mut self, owning: &mut Owning<'_>, part: Carried) {
        let (Some(key), Carried::Pool(CarriedPool::Ticket(ticket))) = (part.recovery_key(), part) else { return };
        let CarriedTicket { ticket, waited_ms, .. } = *ticket;
        if self.matchmaker.resume(owning.now, ticket, waited_ms) {
            // The recovery data of the former owner are removed in time, so new ones are kept.
            owning.note_change(key);
        } else {
            self.matchmaker.count_lost();
        }
    }

    /// Goes on with the tickets that places have told of.
    fn resume_told_tickets(&mut self, owning: &mut Owning<'_>) {
        let told = std::mem::take(&mut self.told).into_iter();
        let told = told.filter(|standing| owning.sessions.is_there(standing.session.place));
        let mut on: BTreeMap<TicketId, BTreeMap<SessionId, SessionRef>> = BTreeMap::new();
        let mut asked: BTreeMap<TicketId, (Arc<NewTicket<Presence>>, Millis)> = BTreeMap::new();
        for TicketStanding { session, session_id, on: OnTicket { id, asked: ticket } } in told {
            on.entry(id.clone()).or_default().insert(session_id, session);
            asked.extend(ticket.map(|ticket| (id, ticket)));
        }
        // Tickets that waited longest come first, as they stood before.
        let mut asked: Vec<_> = asked.into_values().collect();
        asked.sort_by_key(|(_, waited_ms)| std::cmp::Reverse(*waited_ms));
        for (ticket, waited_ms) in asked {
            let Some(ticket) = on.get(&ticket.id).and_then(|members| with_members(&ticket, members)) else { continue };
            let id = ticket.id.clone();
            if self.matchmaker.resume(owning.now, ticket, waited_ms) {
                on.remove(&id);
            }
        }
        for (id, members) in on {
            self.matchmaker.count_lost();
            owning.out.extend(members.into_values().map(|session| Effect::EndTicket((session, id.clone()))));
        }
        self.time_first_pass(owning);
    }
}

impl Asked for PoolAsk {
    fn partition(&self) -> Option<Partition> {
        Some(POOL.partition())
    }

    fn moves_to(&self) -> Option<Place> {
        if let Self::Rebind(_, to) = self { Some(to.place) } else { None }
    }

    fn outlasts_island(&self) -> bool {
        matches!(self, Self::RemoveOwner(_) | Self::LoseOwner(_))
    }

    fn follow_up(&self, asker: Place) -> Option<FollowUp> {
        match self {
            Self::Add(ticket) => Some(FollowUp::DropTicket(ticket.id.clone(), here_and_elsewhere(ticket, asker).0)),
            Self::RemoveOwner(owner) => Some(FollowUp::CancelAgain(owner.clone(), false)),
            Self::LoseOwner(owner) => Some(FollowUp::CancelAgain(owner.clone(), true)),
            _ => None,
        }
    }
}

impl Part for CarriedPool {
    fn partition(&self) -> Partition {
        POOL.partition()
    }

    fn recovery_key(&self) -> Option<RecoveryKey> {
        let Self::Ticket(ticket) = self else { return None };
        RecoveryKey::of_ticket(&ticket.ticket.owner, &ticket.ticket.id)
    }
}

impl Typed for OwnedPool {
    type Ask = PoolAsk;

    fn new(config: &PlaneConfig) -> Self {
        Self {
            matchmaker: Matchmaker::new(config.matchmaker),
            asked: AskedMatches::default(),
            config: config.matchmaker,
            pass_at: None,
            is_passing: false,
            pass_began_at: 0,
            told: Vec::new(),
        }
    }

    fn ask(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, ask: PoolAsk) {
        let ask = match ask {
            // The session's next place has gone, and the session with it.
            PoolAsk::Rebind(session, to) if !owning.sessions.is_there(to.place) => PoolAsk::RemoveSession(session),
            ask => ask,
        };
        let added = owning.members_to_tell(&ask, request);
        let new = match &ask {
            PoolAsk::Add(ticket) => RecoveryKey::of_ticket(&ticket.owner, &ticket.id),
            _ => None,
        };
        let rebound = if let PoolAsk::Rebind(session, to) = &ask { Some((*session, *to)) } else { None };
        let are_lost = matches!(ask, PoolAsk::LoseOwner(_));
        let closed = if let PoolAsk::RemoveSession(session) = &ask { Some(*session) } else { None };
        let mut gone = Vec::new();
        let reply = self.decide(ask, owning.now, &mut gone);
        owning.note_tickets(gone.iter().map(|ticket| &**ticket));
        // These messages come before the answer: an asker that is told that a ticket is gone is on it no longer.
        if are_lost {
            owning.out.extend(gone.iter().flat_map(|ticket| ended(ticket)).map(Effect::EndTicket));
        } else {
            owning.tell_off(&gone, closed);
        }
        if let Some(key) = new.filter(|_| reply.is_ok()) {
            owning.note_change(key);
        }
        if let Some((ticket, members)) = added.filter(|_| reply.is_ok()) {
            owning.tell_on(&ticket, members);
        }
        owning.reply(request, Reply::Answer(Answer::Pool(reply)));
        if let Some((session, to)) = rebound {
            // If the session does not come there, its new place reports these tickets as stray.
            let on = self.matchmaker.tickets_of(session);
            on.into_iter().for_each(|ticket| owning.tell_on(&ticket, vec![to]));
        }
        self.time_first_pass(owning);
    }
}

impl Owned for OwnedPool {
    fn kind(&self) -> Kind {
        Kind::Pool
    }

    /// Begins a pass whose time has come. An outdated timer does nothing: the pool may have been another place's
    /// meanwhile.
    fn turn(&mut self, owning: &mut Owning<'_>) {
        let now = owning.now;
        if self.pass_at.take_if(|at| *at <= now).is_none() || self.matchmaker.is_empty() {
            return;
        }
        if owning.is_island {
            return self.time_pass(owning, now + self.config.interval_ms);
        }
        self.matchmaker.begin_pass(now);
        (self.is_passing, self.pass_began_at) = (true, now);
        self.time_pass(owning, self.matchmaker.next_pass_at());
    }

    /// Runs one slice of a pass. Answers whether there is more to do.
    fn run_slice(&mut self, owning: &mut Owning<'_>) -> bool {
        if !self.is_passing {
            return false;
        }
        let mut matches = Vec::new();
        let slice = self.matchmaker.run_slice(SLICE_UNITS, &mut matches);
        let now = std::mem::replace(&mut owning.now, self.pass_began_at);
        matches.into_iter().for_each(|found| self.found(owning, found));
        owning.now = now;
        self.is_passing = slice == Slice::More;
        self.is_passing
    }

    fn is_busy(&self) -> bool {
        self.is_passing
    }

    fn count(&self, stats: &mut PlaneStats) {
        (stats.tickets, stats.active_tickets) = (self.matchmaker.len(), self.matchmaker.active_len());
        stats.asked_matches = self.asked.len();
        stats.matchmaker = self.matchmaker.totals().clone();
        stats.queries.merge(stats.matchmaker.work);
    }

    fn places(&self, partition: Partition, _node: &str) -> Vec<Place> {
        if partition != POOL.partition() {
            return Vec::new();
        }
        self.matchmaker.members().map(|member| member.presence.session.place).collect()
    }

    /// Removes the tickets of sessions of these places.
    fn lose(&mut self, owning: &mut Owning<'_>, gone: &[Place]) {
        let members = self.matchmaker.members().filter(|member| gone.contains(&member.presence.session.place));
        let lost: Vec<SessionId> = members.map(|member| member.presence.session_id).collect();
        let lost: Vec<_> = lost.into_iter().flat_map(|session| self.matchmaker.remove_session(session)).collect();
        owning.tell_off(&lost, None);
    }

    fn forget(&mut self, owning: &mut Owning<'_>, changed: &BTreeSet<Partition>) {
        if changed.contains(&POOL.partition()) {
            let asked = self.asked.of_next_pool();
            *self = Self { asked, ..Self::new(owning.config) };
        }
    }

    fn tell(&self, sessions: &Sessions, now: Millis, changed: &BTreeSet<Partition>) -> Vec<(Partition, Told)> {
        if !changed.contains(&POOL.partition()) {
            return Vec::new();
        }
        let parts = sessions.ticket_standings(now).into_iter();
        parts.map(|standings| (POOL.partition(), Told::Tickets(standings))).collect()
    }

    fn hear(&mut self, told: Told) {
        if let Told::Tickets(standings) = told {
            self.told.extend(standings);
        }
    }

    fn resume(
        &mut self,
        owning: &mut Owning<'_>,
        _partition: Partition,
        kept: Vec<Carried>,
        _is_inhabited: &dyn Fn(&StreamKey) -> bool,
    ) -> Vec<StreamKey> {
        kept.into_iter().for_each(|part| self.resume_ticket_of_server(owning, part));
        Vec::new()
    }

    fn resumed(&mut self, owning: &mut Owning<'_>, partition: Partition) {
        if partition == POOL.partition() {
            self.resume_told_tickets(owning);
        }
    }

    /// The pool goes to its next owner once game code has answered for all matches that wait for it.
    fn may_go(&mut self, _owning: &mut Owning<'_>, partition: Partition) -> bool {
        partition != POOL.partition() || self.asked.is_empty()
    }

    fn partitions(&self) -> BTreeSet<Partition> {
        let is_used = !self.matchmaker.is_empty() || !self.asked.is_empty();
        is_used.then(|| POOL.partition()).into_iter().collect()
    }

    fn carry_out(&mut self, now: Millis, is_one: &dyn Fn(Partition) -> bool) -> Vec<Carried> {
        if !is_one(POOL.partition()) {
            return Vec::new();
        }
        let was_passing = std::mem::take(&mut self.is_passing);
        let due_ms = self.pass_at.take().map(|at| if was_passing { 0 } else { at.saturating_sub(now) });
        let (tickets, passes) = self.matchmaker.carry_out(now);
        let mut parts: Vec<_> =
            tickets.into_iter().map(|ticket| Carried::Pool(CarriedPool::Ticket(Box::new(ticket)))).collect();
        if due_ms.is_some() {
            parts.push(Carried::Pool(CarriedPool::Rest { passes, due_ms }));
        }
        parts
    }

    fn carry_in(&mut self, owning: &mut Owning<'_>, part: Carried) {
        match part {
            Carried::Pool(CarriedPool::Ticket(ticket)) => self.matchmaker.carry_in(owning.now, *ticket),
            Carried::Pool(CarriedPool::Rest { passes, due_ms }) => {
                self.matchmaker.carry_in_passes(owning.now, passes);
                if let Some(left) = due_ms {
                    self.time_pass(owning, owning.now.saturating_add(left));
                }
            }
            _ => {}
        }
    }

    fn recovery_data(&self, now: Millis, key: RecoveryKey) -> Vec<Carried> {
        let RecoveryKey::Ticket(id) = key else { return Vec::new() };
        let ticket = self.matchmaker.kept(now, &TicketId(id.to_string().into()));
        ticket.map(|ticket| Carried::Pool(CarriedPool::Ticket(Box::new(ticket)))).into_iter().collect()
    }
}

impl Owning<'_> {
    /// The ticket that a question puts in, and those of its members that are at other places than the asker and have to
    /// be told of it.
    fn members_to_tell(&self, ask: &PoolAsk, request: Option<RequestRef>) -> Option<(TicketId, Vec<SessionRef>)> {
        let PoolAsk::Add(ticket) = ask else { return None };
        let place = request.filter(|_| self.sessions.routes.is_of_cluster())?.place;
        Some((ticket.id.clone(), here_and_elsewhere(ticket, place).1))
    }

    /// Notes that tickets may have changed. Recovery data are kept of some of them.
    pub(crate) fn note_tickets<'t>(&mut self, tickets: impl Iterator<Item = &'t Ticket<Presence>>) {
        let keys = tickets.filter_map(|ticket| RecoveryKey::of_ticket(&ticket.owner, &ticket.id));
        keys.for_each(|key| self.note_change(key));
    }

    /// Tells the places of members that the members are on a ticket.
    fn tell_on(&mut self, id: &TicketId, members: Vec<SessionRef>) {
        for SessionRef { place, key: session } in members {
            self.down(place, Down::Ticket { session, ticket: id.clone(), is_on: true });
        }
    }

    /// Tells the places of members that their tickets have ended, except for the place of one member.
    fn tell_off(&mut self, gone: &[Box<Ticket<Presence>>], except: Option<SessionId>) {
        if !self.sessions.routes.is_of_cluster() {
            return;
        }
        for ticket in gone {
            for member in ticket.members.iter().filter(|member| is_player_but(&member.key, except)) {
                let SessionRef { place, key: session } = member.presence.session;
                self.down(place, Down::Ticket { session, ticket: ticket.id.clone(), is_on: false });
            }
        }
    }
}

/// A ticket with its members' sessions as their places know them, if all members are on it.
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
