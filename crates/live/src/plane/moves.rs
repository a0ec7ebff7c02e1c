//! Sessions that go on at another place, as that place and the one that had them see it.
//!
//! The new place expects the session under a key and claims it of the place that has it. That one asks each owner of
//! something the session is on to bind it to the new place; from then on what comes of it comes there. When all owners
//! have answered, the session itself follows. An owner that dies meanwhile, or a place, ends the session.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId};
use muster_domain::sessions::Claims;

use super::Plane;
use super::effect::Effects;
use super::local::{Hearing, Local, OnStream, Session};
use super::message::{Down, Listener, Reply, RequestRef, Standing, Up};
use super::pool::POOL;
use super::tickets::{Held, OnTicket};
use crate::matches::LeaveReason;
use crate::matchmaker::TicketId;
use crate::place::{Epoch, Partition, Place};
use crate::registry::{SessionInfo, SessionKey};
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef, StreamKey, mode};

/// A session is asked for by the place where its next socket arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its public id.
    pub session_id: SessionId,
    /// Whose the socket is.
    pub user_id: UserId,
    /// In which encoding the socket talks.
    pub encoding: Encoding,
    /// How many of the session's frames its client has.
    pub received: u64,
    /// As which session it is to go on.
    pub to: SessionRef,
}

/// Why a session does not go on where it was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// There is none of this user any more.
    Gone,
    /// Its client lacks frames that are not kept any more.
    Overflow,
    /// It has frames in the other encoding.
    Format,
    /// It has gone there, and may be claimed of that place.
    Elsewhere(Place),
}

/// A session on its way to another place.
#[derive(Clone, Debug, PartialEq)]
pub struct Moved {
    /// The token that it was opened with.
    pub claims: Claims,
    /// What it is on the plane.
    pub departed: Departed,
    /// How many messages of its client were taken.
    pub received: u64,
    /// How many frames its client has.
    pub sent: u64,
    /// The frames behind those, in order, ready for its socket.
    pub frames: Vec<Bytes>,
}

/// What a session is to streams, when it leaves its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Departed {
    /// Counts its joins and listens.
    pub serial: u32,
    /// Whether it ever asked the matchmaker for anything.
    pub has_tickets: bool,
    /// Those that it is on.
    pub tickets: Vec<OnTicket>,
    /// Since when the pool has its owner who knows where it goes on, if it may be on tickets.
    pub pool: Option<Epoch>,
    /// As what it goes on, and since when the streams have their owners.
    pub standings: Vec<(Standing, Epoch)>,
    /// Streams that it has come to, for which it may have to leave others.
    pub arrivals: Vec<StreamKey>,
    /// See [`SessionInfo::sole_since`].
    pub sole_since: Option<Timestamp>,
}

/// A session is to be known to an owner as that of another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebind {
    /// As which its owner knows it.
    pub from: SessionRef,
    /// As which it is to know it.
    pub to: SessionRef,
    /// What it is to the stream, as the session that it is to be.
    pub standing: Standing,
}

/// What an owner answers to that.
#[derive(Debug)]
pub(super) struct Rebound {
    pub request: u64,
    pub stream: StreamKey,
    pub session: SessionKey,
    pub standing: Option<Standing>,
}

/// Of a session on its way.
#[derive(Debug)]
pub(super) struct Moving {
    stage: Stage,
    /// Streams whose owners have yet to tell that the session is here.
    untold: Vec<StreamKey>,
    /// Streams that it has come to meanwhile, for which it may have to leave others.
    arrivals: Vec<StreamKey>,
    /// Tickets that it was said to be on no more, before it came.
    off: Vec<TicketId>,
    /// The owner of the pool was asked to know it as another.
    pool_asked: bool,
    /// The owner of something that it was on has died, and another does not know what it was told.
    is_lost: bool,
}

#[derive(Debug)]
enum Stage {
    /// It is expected here. Owners of these have told that it is.
    Coming { told: Vec<StreamKey> },
    /// It is here, for all but some owners.
    Here,
    /// It leaves. As these it goes on.
    Going { to: SessionRef, bound: Vec<(Standing, Epoch)> },
}

impl Moving {
    fn new(stage: Stage, untold: Vec<StreamKey>) -> Option<Box<Self>> {
        let (arrivals, off) = (Vec::new(), Vec::new());
        Some(Box::new(Self { stage, untold, arrivals, off, pool_asked: false, is_lost: false }))
    }

    /// Whether it is here, as far as others may see.
    pub(super) fn is_here(&self) -> bool {
        matches!(self.stage, Stage::Here)
    }

    /// Whether it is awaited.
    pub(super) fn is_coming(&self) -> bool {
        matches!(self.stage, Stage::Coming { .. })
    }

    /// Streams whose owners have yet to tell that the session is here, and will.
    pub(super) fn untold(&self) -> &[StreamKey] {
        &self.untold
    }

    /// The session is on a ticket no more, of which it may not have told here yet.
    pub(super) fn off_ticket(&mut self, ticket: &TicketId) {
        if matches!(self.stage, Stage::Coming { .. }) {
            self.off.push(ticket.clone());
        }
    }
}

impl Plane {
    /// Opens a session of which the rest is to come from another place, by [`Self::settle`].
    pub fn expect(&mut self, info: SessionInfo, username: Arc<str>, encoding: Encoding) -> SessionKey {
        let moving = Moving::new(Stage::Coming { told: Vec::new() }, Vec::new());
        self.local.sessions.open(info, Session { moving, ..Session::new(username, encoding) })
    }

    /// An expected session is here. Answers whether it may go on: if not, it is to be closed.
    pub fn settle(
        &mut self,
        now: Millis,
        key: SessionKey,
        info: SessionInfo,
        departed: Departed,
        out: &mut Effects,
    ) -> bool {
        let is_whole = self.local.settle(now, key, info, departed);
        if let Some(session) = self.local.sessions.get_mut(key).filter(|_| !is_whole) {
            // The pool may have bound tickets to it.
            session.has_tickets = true;
        }
        self.leave_others(now, out);
        is_whole
    }

    /// A session is to go on as another. Answers the streams of which each is to be bound by [`Self::rebind`], before
    /// [`Self::take_departed`].
    pub fn depart(&mut self, key: SessionKey, to: SessionRef) -> Vec<StreamKey> {
        let Some(session) = self.local.sessions.get_mut(key) else { return Vec::new() };
        let untold = session.moving.take().map(|moving| moving.untold).unwrap_or_default();
        session.moving = Moving::new(Stage::Going { to, bound: Vec::new() }, untold);
        session.streams.iter().map(|on| on.stream.clone()).collect()
    }

    /// Asks the owner of a stream to bind a session that departs. The answer to `request` is [`Reply::Rebound`]; any
    /// other says that nothing is known of it, and may be followed by another try.
    pub fn rebind(&mut self, now: Millis, key: SessionKey, stream: &StreamKey, request: RequestRef, out: &mut Effects) {
        match self.local.rebind_of(key, stream) {
            Some(rebind) => {
                let owner = self.local.routes.owner(stream.partition());
                self.send_up(now, owner, Up::Rebind { request, rebind: Box::new(rebind) }, out);
            }
            None => out.reply(request.id, Reply::Rebound),
        }
    }

    /// Whether a session that departs may be on tickets of the matchmaker.
    pub fn may_have_tickets(&self, key: SessionKey) -> bool {
        self.local.sessions.get(key).is_some_and(|session| {
            let bound = match session.moving.as_deref() {
                Some(Moving { stage: Stage::Going { bound, .. }, .. }) => bound.as_slice(),
                _ => &[],
            };
            session.has_tickets || bound.iter().any(|(standing, _)| standing.stream.mode == mode::PARTY)
        })
    }

    /// Takes away a session whose streams are all bound elsewhere. `None`: it cannot go on, and is to be closed.
    pub fn take_departed(&mut self, now: Millis, key: SessionKey) -> Option<Departed> {
        let pool = self.may_have_tickets(key).then(|| self.local.routes.epoch(POOL.partition()));
        let sole_since = self.local.sessions.info(key)?.sole_since;
        let session = self.local.sessions.get_mut(key)?;
        let moving = session.moving.as_deref_mut()?;
        let Stage::Going { bound, .. } = &mut moving.stage else { return None };
        if moving.is_lost || !session.streams.is_empty() {
            return None;
        }
        let (standings, arrivals) = (std::mem::take(bound), std::mem::take(&mut moving.arrivals));
        let (serial, has_tickets) = (session.serial, session.has_tickets);
        let tickets = session.tickets.iter().map(|held| held.told(now)).collect();
        self.local.sessions.close(key);
        Some(Departed { serial, has_tickets, tickets, pool, standings, arrivals, sole_since })
    }

    /// Answers a question that was handed out.
    pub fn answer(&mut self, request: RequestRef, reply: Reply, out: &mut Effects) {
        self.local.down(request.place, Down::Reply(request.id, reply), out);
    }

    /// A session went on here and is not here any more: its owner is told.
    pub(super) fn send_stray_away(&mut self, now: Millis, stray: Standing, out: &mut Effects) {
        let Standing { stream, presence, listener, by_join, .. } = stray;
        let heard = listener.filter(|_| !by_join).map(|listener| listener.encoding);
        let owner = self.local.routes.owner(stream.partition());
        let up = match (presence, listener) {
            (Some(presence), _) => {
                Up::Leave { stream, session: presence.session, heard, reason: LeaveReason::Disconnected }
            }
            (None, Some(listener)) => Up::Unlisten { stream, listener, by_join },
            (None, None) => return,
        };
        self.send_up(now, owner, up, out);
    }
}

impl Local {
    /// As what the pool is to know a session that departs.
    pub(super) fn asks_pool_to_rebind(&mut self, key: SessionKey) -> Option<(SessionId, SessionRef)> {
        let session_id = self.sessions.info(key)?.session_id;
        let moving = self.moving(key)?;
        let Stage::Going { to, .. } = moving.stage else { return None };
        moving.pool_asked = true;
        Some((session_id, to))
    }

    /// What the owner of a stream is to do about a session that departs. `None`: the session is not on it any more.
    fn rebind_of(&self, key: SessionKey, stream: &StreamKey) -> Option<Rebind> {
        let session = self.sessions.get(key)?;
        let Stage::Going { to, .. } = session.moving.as_deref()?.stage else { return None };
        let on = session.streams.iter().find(|on| on.stream == *stream)?;
        let presence = self.presence(key).filter(|_| on.present.is_some()).map(|own| Presence {
            session: to,
            hidden: on.hidden,
            persistence: on.persistence,
            status: on.status.clone(),
            ..own
        });
        let listener = on.hearing.map(|hearing| Listener {
            session: to,
            encoding: session.encoding,
            serial: hearing.join.unwrap_or(hearing.since),
        });
        let by_join = on.hearing.is_some_and(|hearing| hearing.join.is_some());
        let standing = Standing { stream: stream.clone(), presence, listener, by_join, latest: 0 };
        Some(Rebind { from: SessionRef { place: self.me, key }, to, standing })
    }

    /// Nothing of a stream comes to a session any more.
    pub(super) fn departed(&mut self, rebound: Rebound, out: &mut Effects) {
        let Rebound { request, stream, session: key, standing } = rebound;
        // All that was told to it here is behind it.
        let latest = self.latest(key, &stream);
        let standing = standing.map(|standing| Standing { latest, ..standing });
        self.forget(key, &stream);
        let epoch = self.routes.epoch(stream.partition());
        if let Some(Moving { stage: Stage::Going { bound, .. }, .. }) = self.moving(key) {
            bound.extend(standing.map(|standing| (standing, epoch)));
        }
        if self.is_answered(request, &Reply::Rebound) {
            out.reply(request, Reply::Rebound);
        }
    }

    /// An owner has a session as one of this place.
    pub(super) fn arrived(&mut self, key: SessionKey, standing: Standing, hears: bool) {
        match self.moving(key) {
            Some(Moving { stage: Stage::Coming { told }, .. }) => {
                told.push(standing.stream.clone());
                self.install(key, &standing, 0, hears);
            }
            Some(Moving { stage, untold, .. }) if untold.contains(&standing.stream) => {
                untold.retain(|stream| *stream != standing.stream);
                let is_whole = untold.is_empty() && matches!(stage, Stage::Here);
                if let Some(listener) = standing.listener.filter(|_| hears) {
                    self.hear_as_told(key, &standing.stream, listener);
                }
                if let Some(session) = self.sessions.get_mut(key).filter(|_| is_whole) {
                    session.moving = None;
                }
            }
            _ => self.strays.push(standing),
        }
    }

    /// A session begins to hear what it was to hear, unless it has left that or come anew since.
    fn hear_as_told(&mut self, key: SessionKey, stream: &StreamKey, listener: Listener) {
        let Some(session) = self.sessions.get(key) else { return };
        let hearing = session.streams.iter().find(|on| on.stream == *stream).and_then(|on| on.hearing);
        if hearing.is_some_and(|hearing| hearing.since == listener.serial) {
            self.hear(stream.clone(), key, listener.encoding, listener.serial);
        }
    }

    fn settle(&mut self, now: Millis, key: SessionKey, info: SessionInfo, departed: Departed) -> bool {
        let Departed { serial, has_tickets, tickets, pool, standings, arrivals, .. } = departed;
        // The owner of something has died since, and nobody told the next of the session.
        let is_late =
            |partition: Partition, epoch: Epoch| self.rebuilt.get(&partition).is_some_and(|rebuilt| *rebuilt > epoch);
        if standings.iter().any(|(standing, _)| self.is_anchorless(&standing.stream))
            || standings.iter().any(|(standing, epoch)| is_late(standing.stream.partition(), *epoch))
            || pool.is_some_and(|epoch| is_late(POOL.partition(), epoch))
        {
            return false;
        }
        let Some(session) = self.sessions.get_mut(key) else { return false };
        let Some(Moving { stage: Stage::Coming { told }, arrivals: meanwhile, off, is_lost: false, .. }) =
            session.moving.take().map(|moving| *moving)
        else {
            return false;
        };
        (session.serial, session.has_tickets) = (serial, has_tickets);
        let tickets = tickets.into_iter().filter(|on| !off.contains(&on.id));
        for on in tickets {
            // The pool may have told of it before.
            session.tickets.retain(|held| *held.id() != on.id);
            session.tickets.push(Held::new(now, on));
        }
        self.sessions.renew(key, info);
        for (standing, _) in &standings {
            self.note_latest(key, &standing.stream, standing.latest);
        }
        let mut untold = Vec::new();
        for (standing, _) in standings.iter().filter(|(standing, _)| !told.contains(&standing.stream)) {
            untold.push(standing.stream.clone());
            self.install(key, standing, serial, false);
        }
        let moved = arrivals.into_iter().chain(meanwhile);
        self.arrivals.extend(moved.map(|stream| (key, stream)));
        if let Some(session) = self.sessions.get_mut(key).filter(|_| !untold.is_empty()) {
            session.moving = Moving::new(Stage::Here, untold);
        }
        true
    }

    /// A session is on a stream as it was elsewhere.
    fn install(&mut self, key: SessionKey, standing: &Standing, serial: u32, hears: bool) {
        let Standing { stream, presence, listener, by_join, .. } = standing;
        let serial = listener.map_or(serial, |listener| listener.serial);
        let Some(session) = self.sessions.get_mut(key) else { return };
        let mut on = OnStream::new(stream.clone());
        (on.present, on.shaped) = (presence.as_ref().map(|_| serial), serial);
        if let Some(presence) = presence {
            (on.hidden, on.persistence) = (presence.hidden, presence.persistence);
            on.status.clone_from(&presence.status);
        }
        on.hearing = listener.map(|_| Hearing { since: serial, join: by_join.then_some(serial) });
        session.streams.push(on);
        let encoding = session.encoding;
        if listener.is_some() {
            self.count_hearer(stream);
        }
        if hears && listener.is_some() {
            self.hear(stream.clone(), key, encoding, serial);
        }
    }

    /// Whether a session is on its way: what follows from its coming to a stream is done where it arrives.
    pub(super) fn is_moving_with(&mut self, key: SessionKey, stream: &StreamKey) -> bool {
        match self.moving(key) {
            Some(Moving { stage: Stage::Coming { .. } | Stage::Going { .. }, arrivals, .. }) => {
                arrivals.push(stream.clone());
                true
            }
            _ => false,
        }
    }

    /// Owners of these partitions have died. What they told of sessions on their way may be known to one side only: until a
    /// session has left, its former place alone tells new owners of it.
    pub(super) fn moves_with_owners(&mut self, changed: &BTreeSet<Partition>) {
        // What is anchored to a place goes with it: nobody rebuilds it.
        let rebuilt = changed.iter().filter(|partition| partition.anchor().is_none());
        self.rebuilt.extend(rebuilt.map(|partition| (*partition, self.routes.epoch(*partition))));
        let is_changed = |stream: &StreamKey| changed.contains(&stream.partition());
        let has_other_pool = changed.contains(&POOL.partition());
        self.drop_rebounds(is_changed);
        let keys: Vec<_> = self.sessions.keys().collect();
        for key in keys {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            let Some(Moving { stage, untold, off, pool_asked, is_lost, .. }) = session.moving.as_deref_mut() else {
                continue;
            };
            // They are told to the next owner as any.
            untold.retain(|stream| !is_changed(stream));
            match stage {
                Stage::Coming { told } => {
                    let untold: Vec<StreamKey> = told.extract_if(.., |stream| is_changed(stream)).collect();
                    *is_lost |= !untold.is_empty() || has_other_pool && !(session.tickets.is_empty() && off.is_empty());
                    for stream in untold {
                        self.forget(key, &stream);
                    }
                }
                Stage::Going { bound, .. } => {
                    *is_lost |=
                        bound.iter().any(|(bound, _)| is_changed(&bound.stream)) || has_other_pool && *pool_asked;
                }
                Stage::Here => {}
            }
        }
    }

    fn moving(&mut self, key: SessionKey) -> Option<&mut Moving> {
        self.sessions.get_mut(key)?.moving.as_deref_mut()
    }
}
