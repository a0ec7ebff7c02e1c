//! Sessions on their way to or from another place, as their shard keeps them.

use std::collections::BTreeSet;

use super::Sessions;
use super::session::{Hearing, OnStream, Session};
use super::tickets::MovingHoldings;
use crate::place::{Epoch, Partition};
use crate::plane::effect::Effects;
use crate::plane::message::{Departed, Listener, Rebind, Reply, Standing};
use crate::registry::{SessionInfo, SessionKey};
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey};

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
    /// Streams that the session has come to meanwhile, for which it may have to leave others.
    arrivals: Vec<StreamKey>,
    pub(crate) holdings: MovingHoldings,
    /// Whether an owner that knew of the move has died: the next owner does not know of it, so the session ends.
    is_lost: bool,
}

#[derive(Debug)]
enum Stage {
    /// The session is expected here. Owners of these streams have told that it is here.
    Coming { told: Vec<StreamKey> },
    /// The session is here. Some owners may not have told so yet.
    Here,
    /// The session leaves. Owners have bound these streams to its next place.
    Going { to: SessionRef, bound: Vec<(Standing, Epoch)> },
}

impl Moving {
    fn new(stage: Stage, untold: Vec<StreamKey>) -> Option<Box<Self>> {
        let holdings = MovingHoldings::default();
        Some(Box::new(Self { stage, untold, arrivals: Vec::new(), holdings, is_lost: false }))
    }

    /// Whether the session has come here, although some owners may not have told so yet.
    pub(crate) fn is_here(&self) -> bool {
        matches!(self.stage, Stage::Here)
    }

    /// Whether the session is awaited.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self.stage, Stage::Coming { .. })
    }

    /// Streams whose owners have yet to tell that the session is here, and will.
    pub(crate) fn untold(&self) -> &[StreamKey] {
        &self.untold
    }

    /// The session at its next place, if it leaves.
    pub(crate) fn goes_to(&self) -> Option<SessionRef> {
        if let Stage::Going { to, .. } = self.stage { Some(to) } else { None }
    }

    /// The session's relations to streams that were bound to its next place.
    pub(crate) fn bound(&self) -> impl Iterator<Item = &Standing> {
        let bound = if let Stage::Going { bound, .. } = &self.stage { bound.as_slice() } else { &[] };
        bound.iter().map(|(standing, _)| standing)
    }
}

impl Sessions {
    /// Opens a session whose state is to come from another place.
    pub(crate) fn expect(&mut self, info: SessionInfo, session: Session) -> SessionKey {
        let moving = Moving::new(Stage::Coming { told: Vec::new() }, Vec::new());
        self.registry.open(info, Session { moving, ..session })
    }

    /// Notes that a session leaves for another place. Answers its streams.
    pub(crate) fn depart(&mut self, key: SessionKey, to: SessionRef) -> Vec<StreamKey> {
        let Some(session) = self.registry.get_mut(key) else { return Vec::new() };
        let untold = session.moving.take().map(|moving| moving.untold).unwrap_or_default();
        session.moving = Moving::new(Stage::Going { to, bound: Vec::new() }, untold);
        session.streams.iter().map(|on| on.stream.clone()).collect()
    }

    /// Takes away a session whose streams are all bound elsewhere. `None` if the session cannot go on.
    pub(crate) fn take_departed(&mut self, now: Millis, key: SessionKey) -> Option<Departed> {
        let belongings = self.belongings(now, key);
        let only_session_since = self.registry.info(key)?.only_session_since;
        let session = self.registry.get_mut(key)?;
        let moving = session.moving.as_deref_mut()?;
        let Stage::Going { bound, .. } = &mut moving.stage else { return None };
        if moving.is_lost || !session.streams.is_empty() {
            return None;
        }
        let (standings, arrivals) = (std::mem::take(bound), std::mem::take(&mut moving.arrivals));
        let serial = session.serial;
        self.registry.close(key);
        Some(Departed { serial, belongings, standings, arrivals, only_session_since })
    }

    /// Takes the state of an expected session. Answers whether the session may go on.
    pub(crate) fn settle(&mut self, now: Millis, key: SessionKey, info: SessionInfo, departed: Departed) -> bool {
        let is_whole = self.settle_whole(now, key, info, departed);
        if let Some(session) = self.registry.get_mut(key).filter(|_| !is_whole) {
            // Owners may have bound tickets to the session.
            session.holdings.assume_some();
        }
        is_whole
    }

    /// The demand to the owner of a stream that a session departs from. `None` if the session is not on the stream any
    /// more.
    pub(crate) fn rebind_of(&self, key: SessionKey, stream: &StreamKey) -> Option<Rebind> {
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

    /// Notes that an owner has bound a session to its next place: no further message of the stream comes here for the
    /// session.
    pub(crate) fn departed(&mut self, rebound: Rebound, out: &mut Effects) {
        let Rebound { request, stream, session: key, standing } = rebound;
        // The session was sent all earlier messages of the stream here.
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

    /// Takes an owner's word that a session on its stream belongs to this place.
    pub(crate) fn arrived(&mut self, key: SessionKey, standing: Standing, hears: bool) {
        while self.moved_in.front().is_some_and(|(at, _)| at + self.remembered_ms < self.now) {
            self.moved_in.pop_front();
        }
        if self.moved_in.back() != Some(&(self.now, key)) {
            self.moved_in.push_back((self.now, key));
        }
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

    /// Lets a session hear a stream as its owner said, unless the session has left the stream or come anew since.
    fn hear_as_told(&mut self, key: SessionKey, stream: &StreamKey, listener: Listener) {
        let Some(session) = self.registry.get(key) else { return };
        let hearing = session.streams.iter().find(|on| on.stream == *stream).and_then(|on| on.hearing);
        if hearing.is_some_and(|hearing| hearing.since == listener.serial) {
            self.hear(stream.clone(), key, listener.encoding, listener.serial);
        }
    }

    fn settle_whole(&mut self, now: Millis, key: SessionKey, info: SessionInfo, departed: Departed) -> bool {
        let Departed { serial, belongings, standings, arrivals, .. } = departed;
        // An owner has died since, and nobody told the next one of the session.
        let is_late =
            |partition: Partition, epoch: Epoch| self.rebuilt.get(&partition).is_some_and(|rebuilt| *rebuilt > epoch);
        if standings.iter().any(|(standing, _)| self.is_anchorless(&standing.stream))
            || standings.iter().any(|(standing, epoch)| is_late(standing.stream.partition(), *epoch))
            || belongings.anchor().is_some_and(|(partition, epoch)| is_late(partition, epoch))
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
        session.holdings.settle(now, belongings, &moved);
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

    /// Puts a session on a stream as it was at its former place.
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

    /// Whether a session is on its way between places. If so, notes that it came to a stream: everything that follows
    /// from that is done at its next place.
    pub(crate) fn is_moving_with(&mut self, key: SessionKey, stream: &StreamKey) -> bool {
        match self.moving(key) {
            Some(Moving { stage: Stage::Coming { .. } | Stage::Going { .. }, arrivals, .. }) => {
                arrivals.push(stream.clone());
                true
            }
            _ => false,
        }
    }

    /// Ends moves that cannot go on because the owners of these partitions have died. A dead owner may have told only
    /// one of the two places that a session is bound, and until a session has left, its former place alone tells the
    /// next owners of it.
    pub(crate) fn moves_with_owners(&mut self, changed: &BTreeSet<Partition>) {
        // A partition that is anchored to a place goes with it: nobody rebuilds it.
        let rebuilt = changed.iter().filter(|partition| partition.anchor().is_none());
        self.rebuilt.extend(rebuilt.map(|partition| (*partition, self.routes.epoch(*partition))));
        let is_changed = |stream: &StreamKey| changed.contains(&stream.partition());
        self.drop_rebounds(is_changed);
        let keys: Vec<_> = self.registry.keys().collect();
        for key in keys {
            let Some(session) = self.registry.get_mut(key) else { continue };
            let Some(moving) = session.moving.as_deref_mut() else { continue };
            // The next owners are told of these streams as of any others.
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
