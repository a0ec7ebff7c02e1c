//! Telling those who hear a stream who came and who went: at once, or on a large stream together after a while, in
//! pieces that do not stall the shard.
//!
//! A client that takes a snapshot and then applies events, leaves first, knows who is there. So leaves are told before
//! joins, and the leave of a presence that somebody was shown in a snapshot is told even if its join was not.

use std::collections::VecDeque;
use std::sync::Arc;

use super::owning::Owning;
use super::presences::{Here, Presences};
use super::streams::{Stream, fan_out};
use crate::outbox::Delivery;
use crate::place::Place;
use crate::plane::message::{Audience, CarriedNews, Down, Frames, LocalAudience};
use crate::plane::options::Timer;
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Encoding, Payload, Presence, PresenceEvent, SessionRef, StreamKey};

/// Milliseconds between two pieces of joins and leaves that were kept back.
const PIECE_MS: Millis = 1;

/// Joins and leaves of one stream that are kept back.
#[derive(Debug, Default)]
pub(crate) struct News {
    /// Joins and leaves that are being collected.
    untold: Option<Untold>,
    /// Joins and leaves that are being told.
    telling: Option<Telling>,
    /// The time when the next of them are told.
    tell_at: Millis,
}

#[derive(Debug, Default)]
struct Untold {
    /// Joins in their order, each with its serial number. Some of the sessions may be gone again.
    joins: Vec<(SessionRef, u32)>,
    leaves: Vec<Arc<Presence>>,
    /// Serial number of the first join that nobody knows of.
    unknown_from: u32,
}

#[derive(Debug, Default)]
struct Telling {
    leaves: VecDeque<Arc<Presence>>,
    joins: VecDeque<(SessionRef, u32)>,
}

impl News {
    /// Notes that somebody was shown who is there.
    pub(crate) fn shown(&mut self, presences: &Presences) {
        if let Some(untold) = &mut self.untold {
            untold.unknown_from = presences.came();
        }
    }

    /// Gives joins that are kept back to the session at its next place.
    pub(crate) fn rebind(&mut self, from: SessionRef, to: SessionRef) {
        let untold = self.untold.iter_mut().flat_map(|untold| &mut untold.joins);
        let telling = self.telling.iter_mut().flat_map(|telling| &mut telling.joins);
        untold.chain(telling).filter(|(session, _)| *session == from).for_each(|(session, _)| *session = to);
    }

    fn is_empty(&self) -> bool {
        self.untold.is_none() && self.telling.is_none()
    }

    /// Keeps back a join that just happened, a leave, or both for a change. Answers whether a time to tell is to be
    /// set.
    fn keep(&mut self, presences: &Presences, join: Option<Arc<Presence>>, leave: Option<Here>) -> bool {
        let begins = self.is_empty();
        // Collecting begins with this join, so its presence is the first that nobody knows of.
        let unknown_from = presences.came().wrapping_sub(u32::from(join.is_some()));
        let untold = self.untold.get_or_insert_with(|| Untold { joins: Vec::new(), leaves: Vec::new(), unknown_from });
        if let Some(leave) = leave {
            // The leave of a presence that nobody knows of is not told. Serial numbers wrap.
            let is_unknown = leave.number.wrapping_sub(untold.unknown_from) <= u32::MAX / 2;
            if !is_unknown {
                untold.leaves.push(leave.presence);
            }
        }
        let here = join.and_then(|join| presences.get(join.session));
        untold.joins.extend(here.map(|here| (here.presence.session, here.number)));
        begins
    }

    /// The next piece to tell, of at most `max` joins and as many leaves.
    fn next(&mut self, presences: &Presences, max: usize) -> (Vec<Presence>, Vec<Presence>) {
        let untold = &mut self.untold;
        let telling = self.telling.get_or_insert_with(|| {
            let Untold { joins, leaves, .. } = untold.take().unwrap_or_default();
            Telling { leaves: leaves.into(), joins: joins.into() }
        });
        let count = telling.leaves.len().min(max);
        let leaves: Vec<Presence> = telling.leaves.drain(..count).map(Arc::unwrap_or_clone).collect();
        // Joins follow only when all leaves are told: of a presence that left and came back, the leave is told first.
        let room = if telling.leaves.is_empty() { telling.joins.len().min(max) } else { 0 };
        // Presences are told in their present state: a status may have changed since.
        let here = |(session, number)| presences.get(session).filter(|here| here.number == number);
        let joins = telling.joins.drain(..room).filter_map(here);
        let joins = joins.map(|here| Presence::clone(&here.presence)).collect();
        if telling.leaves.is_empty() && telling.joins.is_empty() {
            self.telling = None;
        }
        (joins, leaves)
    }

    /// All that is kept back, in pieces of at most `max` joins and leaves: first those being told, then those being
    /// collected.
    pub(crate) fn carried(self, now: Millis, stream: &StreamKey, max: usize) -> Vec<CarriedNews> {
        let Self { untold, telling, tell_at } = self;
        let empty = |is_telling, unknown_from| {
            let (stream, due_ms) = (stream.clone(), tell_at.saturating_sub(now));
            CarriedNews { stream, is_telling, joins: Vec::new(), leaves: Vec::new(), unknown_from, due_ms }
        };
        let mut pieces = Vec::new();
        if let Some(Telling { leaves, joins }) = telling {
            pieces.extend(in_pieces(leaves.into(), joins.into(), max, &empty(true, 0)));
        }
        if let Some(Untold { joins, leaves, unknown_from }) = untold {
            pieces.extend(in_pieces(leaves, joins, max, &empty(false, unknown_from)));
        }
        pieces
    }

    /// Takes in more that was kept back elsewhere. Answers whether a time to tell is to be set.
    pub(crate) fn carry_in(&mut self, tell_at: Millis, carried: CarriedNews) -> bool {
        let CarriedNews { is_telling, joins, leaves, unknown_from, .. } = carried;
        let begins = self.is_empty();
        let leaves = leaves.into_iter().map(Arc::new);
        if is_telling {
            let telling = self.telling.get_or_insert_default();
            telling.leaves.extend(leaves);
            telling.joins.extend(joins);
        } else {
            let (none, gone) = (Vec::new(), Vec::new());
            let untold = self.untold.get_or_insert(Untold { joins: none, leaves: gone, unknown_from });
            untold.leaves.extend(leaves);
            untold.joins.extend(joins);
        }
        if begins {
            self.tell_at = tell_at;
        }
        begins
    }
}

/// Leaves and then joins, at most `max` in a piece; one empty piece if there are none.
fn in_pieces(
    leaves: Vec<Arc<Presence>>,
    joins: Vec<(SessionRef, u32)>,
    max: usize,
    empty: &CarriedNews,
) -> Vec<CarriedNews> {
    let presences = |leaves: &[Arc<Presence>]| leaves.iter().map(|left| Presence::clone(left)).collect();
    let of_leaves = leaves.chunks(max).map(|leaves| CarriedNews { leaves: presences(leaves), ..empty.clone() });
    let of_joins = joins.chunks(max).map(|joins| CarriedNews { joins: joins.to_vec(), ..empty.clone() });
    let pieces: Vec<CarriedNews> = of_leaves.chain(of_joins).collect();
    if pieces.is_empty() { vec![empty.clone()] } else { pieces }
}

impl Owning<'_> {
    /// Tells a join and a leave, at once or later.
    pub(crate) fn announce(&mut self, key: &StreamKey, join: Option<Arc<Presence>>, leave: Option<Here>) {
        let join = join.filter(|presence| !presence.hidden);
        let leave = leave.filter(|here| !here.presence.hidden);
        let Some(stream) = self.streams.map.get_mut(key) else { return };
        if !stream.is_heard() || (join.is_none() && leave.is_none()) {
            return;
        }
        if stream.news.is_empty() && stream.presences.visible() <= self.config.merge_above {
            let leave = leave.map(|here| here.presence);
            let [join, leave] = [join, leave].map(|presence| presence.map(Arc::unwrap_or_clone));
            self.tell(key, join.as_slice(), leave.as_slice());
        } else if stream.news.keep(&stream.presences, join, leave) {
            stream.news.tell_at = self.now + self.config.merge_ms;
            self.wheel.set(stream.news.tell_at, Timer::Tell(key.clone()));
        }
    }

    /// Sends a message to some sessions on a stream in the stream's order: behind everything that all were told before.
    /// Sessions that have left meanwhile are left out.
    pub(crate) fn tell_some(&mut self, key: &StreamKey, sessions: &[SessionRef], payload: &dyn Payload) {
        let Some(stream) = self.streams.map.get(key) else { return };
        let mut frames = Frames::default();
        let mut places: Vec<(Place, Vec<SessionKey>)> = Vec::new();
        for session in sessions {
            let Some(encoding) = stream.presences.get(*session).and_then(|here| here.heard) else { continue };
            if frames.get(encoding).is_none() {
                frames.set(encoding, self.sessions.encode.frame(payload, encoding));
            }
            match places.iter_mut().find(|(place, _)| *place == session.place) {
                Some((_, keys)) => keys.push(session.key),
                None => places.push((session.place, vec![session.key])),
            }
        }
        for (place, keys) in places {
            let (stream, frames, audience) = (key.clone(), frames.clone(), LocalAudience::Only(keys));
            let fanout = Down::Fanout { stream, frames, audience, delivery: Delivery::Reliable };
            self.down(place, fanout);
        }
    }

    /// Tells the next piece of joins and leaves that were kept back, if its time has come.
    pub(crate) fn tell_kept(&mut self, key: &StreamKey) {
        let now = self.now;
        // The timer may have been set for joins and leaves that were told or carried away since.
        let is_due = |stream: &&mut Stream| !stream.news.is_empty() && stream.news.tell_at <= now;
        let Some(stream) = self.streams.map.get_mut(key).filter(is_due) else { return };
        let (joins, leaves) = stream.news.next(&stream.presences, self.config.snapshot_max.max(1));
        let again_ms = match &stream.news {
            News { telling: Some(_), .. } => Some(PIECE_MS),
            News { untold: Some(_), .. } => Some(self.config.merge_ms),
            News { .. } => None,
        };
        if let Some(again_ms) = again_ms {
            stream.news.tell_at = now + again_ms;
            self.wheel.set(stream.news.tell_at, Timer::Tell(key.clone()));
        }
        if !joins.is_empty() || !leaves.is_empty() {
            self.tell(key, &joins, &leaves);
        }
    }

    /// Tells at once all joins and leaves that were kept back.
    pub(crate) fn tell_all_kept(&mut self, key: &StreamKey) {
        while let Some(stream) = self.streams.map.get_mut(key).filter(|stream| !stream.news.is_empty()) {
            let (joins, leaves) = stream.news.next(&stream.presences, self.config.snapshot_max.max(1));
            if !joins.is_empty() || !leaves.is_empty() {
                self.tell(key, &joins, &leaves);
            }
        }
    }

    fn tell(&mut self, key: &StreamKey, joins: &[Presence], leaves: &[Presence]) {
        let Some(stream) = self.streams.map.get(key) else { return };
        let event = PresenceEvent { stream: key, joins, leaves };
        let mut frames = Frames::default();
        for encoding in Encoding::ALL.into_iter().filter(|encoding| stream.is_heard_in(*encoding)) {
            let Some(frame) = self.sessions.encode.presence_event(&event, encoding) else { return };
            frames.set(encoding, frame);
        }
        if !self.sessions.routes.is_of_cluster() {
            return fan_out(stream, key, &frames, &Audience::All, Delivery::Reliable, self.sessions, self.out);
        }
        let (joins, leaves): (Arc<[Presence]>, Arc<[Presence]>) = (joins.into(), leaves.into());
        for place in stream.places() {
            let (stream, frames) = (key.clone(), frames.clone());
            let down = if place.node() == self.sessions.me.node() {
                Down::Fanout { stream, frames, audience: LocalAudience::All, delivery: Delivery::Reliable }
            } else {
                Down::Event { stream, frames, joins: joins.clone(), leaves: leaves.clone() }
            };
            self.sessions.down(place, down, self.out);
        }
    }
}
