//! Sessions that go on at another place, as that place and the one that had them see it.
//!
//! The new place expects the session under a key and claims it of the place that has it. That one asks each owner of
//! something the session is on to bind it to the new place; from then on messages for it go there. When all owners have
//! answered, the session itself follows. An owner that dies meanwhile, or a place, ends the session.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId};
use muster_domain::sessions::Claims;

use crate::matches::LeaveReason;
use crate::place::{Epoch, Partition, Place};
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{Down, Listener, Reply, RequestRef, Standing, Up};
use crate::plane::sessions::Sessions;
use crate::plane::sessions::session::{Hearing, OnStream, Session};
use crate::plane::sessions::tickets::{DepartedHoldings, MovingHoldings};
use crate::registry::{SessionInfo, SessionKey};
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef, StreamKey};

/// The demand for a session, by the place where its next socket arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its public id.
    pub session_id: SessionId,
    /// The user of the socket.
    pub user_id: UserId,
    /// The encoding in which the socket talks.
    pub encoding: Encoding,
    /// Number of the session's frames that its client has.
    pub received: u64,
    /// The session as which it is to go on.
    pub to: SessionRef,
}

/// Why a session does not go on where it was claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRefusal {
    /// There is no such session of this user any more.
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
    /// Its part of the plane.
    pub departed: Departed,
    /// Number of messages of its client that were taken.
    pub received: u64,
    /// Number of frames that its client has.
    pub sent: u64,
    /// The frames behind those, in order, ready for its socket.
    pub frames: Vec<Bytes>,
}

/// A session's part of the plane when it leaves its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Departed {
    /// Serial number of its latest join or listen.
    pub serial: u32,
    /// What it has of owned things besides being on streams.
    pub holdings: DepartedHoldings,
    /// Its streams, each with the epoch of the stream's owner.
    pub standings: Vec<(Standing, Epoch)>,
    /// Streams that it has come to, for which it may have to leave others.
    pub arrivals: Vec<StreamKey>,
    /// See [`SessionInfo::sole_since`].
    pub sole_since: Option<Timestamp>,
}

/// A demand to an owner, to know a session as one of another place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rebind {
    /// The session at its former place.
    pub from: SessionRef,
    /// The session at its new place.
    pub to: SessionRef,
    /// What the session is to the stream, at its new place.
    pub standing: Standing,
}

/// The answer of an owner to [`Rebind`].
#[derive(Debug)]
pub(crate) struct Rebound {
    pub request: u64,
    pub stream: StreamKey,
    pub session: SessionKey,
    pub standing: Option<Standing>,
}

/// The state of a session on its way to or from another place.
#[derive(Debug)]
pub(crate) struct Moving {
    stage: Stage,
    /// Streams whose owners have yet to tell that the session is here.
    untold: Vec<StreamKey>,
    /// Streams that it has come to meanwhile, for which it may have to leave others.
    arrivals: Vec<StreamKey>,
    pub(crate) holdings: MovingHoldings,
    /// Set when the owner of something that it was on has died, and the next owner does not know what that one was told.
    is_lost: bool,
}

#[derive(Debug)]
enum Stage {
    /// The session is expected here. Owners of these streams have told that it is here.
    Coming { told: Vec<StreamKey> },
    /// The session is here, for all but some owners.
    Here,
    /// The session leaves. Owners have bound these streams to its next place.
    Going { to: SessionRef, bound: Vec<(Standing, Epoch)> },
}

impl Moving {
    fn new(stage: Stage, untold: Vec<StreamKey>) -> Option<Box<Self>> {
        let holdings = MovingHoldings::default();
        Some(Box::new(Self { stage, untold, arrivals: Vec::new(), holdings, is_lost: false }))
    }

    /// Whether it is here, as far as others may see.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.stage, Stage::Here)
    }

    /// Whether it is awaited.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self.stage, Stage::Coming { .. })
    }

    /// Streams whose owners have yet to tell that the session is here, and will.
    pub(crate) fn untold(&self) -> &[StreamKey] {
        &self.untold
    }

    /// The session as which it goes on, if it leaves.
    pub(crate) fn goes_to(&self) -> Option<SessionRef> {
        if let Stage::Going { to, .. } = self.stage { Some(to) } else { None }
    }

    /// What the session is to streams that were bound to its next place.
    pub(crate) fn bound(&self) -> impl Iterator<Item = &Standing> {
        let bound = if let Stage::Going { bound, .. } = &self.stage { bound.as_slice() } else { &[] };
        bound.iter().map(|(standing, _)| standing)
    }
}

impl Plane {
    /// Opens a session of which the rest is to come from another place, by [`Self::settle`].
    pub fn expect(&mut self, info: SessionInfo, username: Arc<str>, encoding: Encoding) -> SessionKey {
        let moving = Moving::new(Stage::Coming { told: Vec::new() }, Vec::new());
        self.sessions.registry.open(info, Session { moving, ..Session::new(username, encoding) })
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
        let is_whole = self.sessions.settle(now, key, info, departed);
        if let Some(session) = self.sessions.registry.get_mut(key).filter(|_| !is_whole) {
            // Owners may have bound something to it.
            session.holdings.assume_some();
        }
        self.leave_others(now, out);
        is_whole
    }

    /// A session is to go on as another. Answers the streams of which each is to be bound by [`Self::rebind`], before
    /// [`Self::take_departed`].
    pub fn depart(&mut self, key: SessionKey, to: SessionRef) -> Vec<StreamKey> {
        let Some(session) = self.sessions.registry.get_mut(key) else { return Vec::new() };
        let untold = session.moving.take().map(|moving| moving.untold).unwrap_or_default();
        session.moving = Moving::new(Stage::Going { to, bound: Vec::new() }, untold);
        session.streams.iter().map(|on| on.stream.clone()).collect()
    }

    /// Asks the owner of a stream to bind a session that departs. The answer to `request` is [`Reply::Rebound`]; any
    /// other says that nothing is known of it, and may be followed by another try.
    pub fn rebind(&mut self, now: Millis, key: SessionKey, stream: &StreamKey, request: RequestRef, out: &mut Effects) {
        match self.sessions.rebind_of(key, stream) {
            Some(rebind) => {
                let owner = self.sessions.routes.owner(stream.partition());
                self.send_up(now, owner, Up::Rebind { request, rebind: Box::new(rebind) }, out);
            }
            None => out.reply(request.id, Reply::Rebound),
        }
    }

    /// Takes away a session whose streams are all bound elsewhere. `None`: it cannot go on, and is to be closed.
    pub fn take_departed(&mut self, now: Millis, key: SessionKey) -> Option<Departed> {
        let holdings = self.sessions.departing_holdings(now, key, &self.sessions.routes);
        let sole_since = self.sessions.registry.info(key)?.sole_since;
        let session = self.sessions.registry.get_mut(key)?;
        let moving = session.moving.as_deref_mut()?;
        let Stage::Going { bound, .. } = &mut moving.stage else { return None };
        if moving.is_lost || !session.streams.is_empty() {
            return None;
        }
        let (standings, arrivals) = (std::mem::take(bound), std::mem::take(&mut moving.arrivals));
        let serial = session.serial;
        self.sessions.registry.close(key);
        Some(Departed { serial, holdings, standings, arrivals, sole_since })
    }

    /// Answers a question that was handed out.
    pub fn answer(&mut self, request: RequestRef, reply: Reply, out: &mut Effects) {
        self.sessions.down(request.place, Down::Reply(request.id, reply), out);
    }

    /// A session went on here and is not here any more: its owner is told.
    pub(crate) fn send_stray_away(&mut self, now: Millis, stray: Standing, out: &mut Effects) {
        let Standing { stream, presence, listener, by_join, .. } = stray;
        let heard = listener.filter(|_| !by_join).map(|listener| listener.encoding);
        let owner = self.sessions.routes.owner(stream.partition());
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

impl Sessions {
    /// What the owner of a stream is to do about a session that departs. `None`: the session is not on it any more.
    fn rebind_of(&self, key: SessionKey, stream: &StreamKey) -> Option<Rebind> {
        let session = self.registry.get(key)?;
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
    pub(crate) fn departed(&mut self, rebound: Rebound, out: &mut Effects) {
        let Rebound { request, stream, session: key, standing } = rebound;
        // All messages that it was sent here are behind it.
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
    pub(crate) fn arrived(&mut self, key: SessionKey, standing: Standing, hears: bool) {
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
                if let Some(session) = self.registry.get_mut(key).filter(|_| is_whole) {
                    session.moving = None;
                }
            }
            _ => self.strays.push(standing),
        }
    }

    /// A session begins to hear what it was to hear, unless it has left that or come anew since.
    fn hear_as_told(&mut self, key: SessionKey, stream: &StreamKey, listener: Listener) {
        let Some(session) = self.registry.get(key) else { return };
        let hearing = session.streams.iter().find(|on| on.stream == *stream).and_then(|on| on.hearing);
        if hearing.is_some_and(|hearing| hearing.since == listener.serial) {
            self.hear(stream.clone(), key, listener.encoding, listener.serial);
        }
    }

    fn settle(&mut self, now: Millis, key: SessionKey, info: SessionInfo, departed: Departed) -> bool {
        let Departed { serial, holdings, standings, arrivals, .. } = departed;
        // The owner of something has died since, and nobody told the next of the session.
        let is_late =
            |partition: Partition, epoch: Epoch| self.rebuilt.get(&partition).is_some_and(|rebuilt| *rebuilt > epoch);
        if standings.iter().any(|(standing, _)| self.is_anchorless(&standing.stream))
            || standings.iter().any(|(standing, epoch)| is_late(standing.stream.partition(), *epoch))
            || holdings.anchor().is_some_and(|(partition, epoch)| is_late(partition, epoch))
        {
            return false;
        }
        let Some(session) = self.registry.get_mut(key) else { return false };
        let Some(moving) = session.moving.take().map(|moving| *moving) else { return false };
        let Moving { stage: Stage::Coming { told }, arrivals: meanwhile, holdings: moved, is_lost: false, .. } = moving
        else {
            return false;
        };
        session.serial = serial;
        session.holdings.settle(now, holdings, &moved);
        self.registry.renew(key, info);
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
        if let Some(session) = self.registry.get_mut(key).filter(|_| !untold.is_empty()) {
            session.moving = Moving::new(Stage::Here, untold);
        }
        true
    }

    /// A session is on a stream as it was elsewhere.
    fn install(&mut self, key: SessionKey, standing: &Standing, serial: u32, hears: bool) {
        let Standing { stream, presence, listener, by_join, .. } = standing;
        let serial = listener.map_or(serial, |listener| listener.serial);
        let Some(session) = self.registry.get_mut(key) else { return };
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
    pub(crate) fn is_moving_with(&mut self, key: SessionKey, stream: &StreamKey) -> bool {
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
    pub(crate) fn moves_with_owners(&mut self, changed: &BTreeSet<Partition>) {
        // What is anchored to a place goes with it: nobody rebuilds it.
        let rebuilt = changed.iter().filter(|partition| partition.anchor().is_none());
        self.rebuilt.extend(rebuilt.map(|partition| (*partition, self.routes.epoch(*partition))));
        let is_changed = |stream: &StreamKey| changed.contains(&stream.partition());
        self.drop_rebounds(is_changed);
        let keys: Vec<_> = self.registry.keys().collect();
        for key in keys {
            let Some(session) = self.registry.get_mut(key) else { continue };
            let Some(moving) = session.moving.as_deref_mut() else { continue };
            // They are told to the next owner as any.
            moving.untold.retain(|stream| !is_changed(stream));
            match &mut moving.stage {
                Stage::Coming { told } => {
                    let untold: Vec<StreamKey> = told.extract_if(.., |stream| is_changed(stream)).collect();
                    moving.is_lost |= !untold.is_empty() || session.holdings.are_torn(&moving.holdings, changed);
                    for stream in untold {
                        self.forget(key, &stream);
                    }
                }
                Stage::Going { bound, .. } => {
                    let is_torn = bound.iter().any(|(bound, _)| is_changed(&bound.stream));
                    moving.is_lost |= is_torn || moving.holdings.are_torn(changed);
                }
                Stage::Here => {}
            }
        }
    }

    fn moving(&mut self, key: SessionKey) -> Option<&mut Moving> {
        self.registry.get_mut(key)?.moving.as_deref_mut()
    }
}
