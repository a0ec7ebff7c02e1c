//! Telling those who hear a stream who came and who went: at once, or on a large stream together with what else happens
//! within a while, in pieces that do not stall the shard.
//!
//! Whoever takes a snapshot and then applies events, leaves first, knows who is there. So leaves are told before joins,
//! and who was shown in a snapshot before its coming was told is told to have gone.

use std::sync::Arc;

use super::Timer;
use super::message::{Audience, Down, Frames, LocalAudience};
use super::owner::{Owning, fan_out};
use super::presences::{Here, Presences};
use crate::outbox::Delivery;
use crate::place::Place;
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Encoding, Payload, Presence, PresenceEvent, SessionRef, StreamKey};

/// How long after one piece of what was kept back the next is told.
const PIECE_MS: Millis = 1;

/// Joins and leaves of one stream that are kept back.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Being collected.
    untold: Option<Untold>,
    /// Being told.
    telling: Option<Telling>,
}

#[derive(Debug)]
struct Untold {
    /// As they came, also those who are gone again: by the numbers of their coming.
    joins: Vec<(SessionRef, u32)>,
    leaves: Vec<Arc<Presence>>,
    /// Nobody knows of who came from this number on.
    unknown_from: u32,
}

#[derive(Debug)]
struct Telling {
    leaves: std::vec::IntoIter<Arc<Presence>>,
    joins: std::vec::IntoIter<(SessionRef, u32)>,
}

impl News {
    /// Somebody was shown who is there.
    pub(super) fn shown(&mut self, presences: &Presences) {
        if let Some(untold) = &mut self.untold {
            untold.unknown_from = presences.came();
        }
    }

    fn is_empty(&self) -> bool {
        self.untold.is_none() && self.telling.is_none()
    }

    /// Keeps back a join that just happened, a leave or, as both, a change. Answers whether a time to tell is to be set.
    fn keep(&mut self, presences: &Presences, join: Option<Arc<Presence>>, leave: Option<Here>) -> bool {
        let begins = self.is_empty();
        // Collecting begins with this: the last who came is the first whom nobody knows of.
        let unknown_from = presences.came().wrapping_sub(u32::from(join.is_some()));
        let untold = self.untold.get_or_insert_with(|| Untold { joins: Vec::new(), leaves: Vec::new(), unknown_from });
        if let Some(leave) = leave {
            // Whose coming nobody knows of goes unnoticed. Numbers go around the end.
            let is_unknown = leave.number.wrapping_sub(untold.unknown_from) <= u32::MAX / 2;
            if !is_unknown {
                untold.leaves.push(leave.presence);
            }
        }
        let here = join.and_then(|join| presences.get(join.session));
        untold.joins.extend(here.map(|here| (here.presence.session, here.number)));
        begins
    }

    /// The next piece to tell, of at most so many joins and leaves each.
    fn next(&mut self, presences: &Presences, max: usize) -> (Vec<Presence>, Vec<Presence>) {
        let untold = &mut self.untold;
        let telling = self.telling.get_or_insert_with(|| {
            let (joins, leaves) = untold.take().map(|untold| (untold.joins, untold.leaves)).unwrap_or_default();
            Telling { leaves: leaves.into_iter(), joins: joins.into_iter() }
        });
        let leaves: Vec<Presence> = telling.leaves.by_ref().take(max).map(Arc::unwrap_or_clone).collect();
        // Who left and came back must not be told the other way round.
        let room = if telling.leaves.len() == 0 { max } else { 0 };
        // As they are now: a status may have changed since.
        let here = |(session, number)| presences.get(session).filter(|here| here.number == number);
        let joins = telling.joins.by_ref().take(room).filter_map(here);
        let joins = joins.map(|here| Presence::clone(&here.presence)).collect();
        if telling.leaves.len() == 0 && telling.joins.len() == 0 {
            self.telling = None;
        }
        (joins, leaves)
    }
}

impl Owning<'_> {
    /// Tells who came and who went, at once or later.
    pub(super) fn announce(&mut self, key: &StreamKey, join: Option<Arc<Presence>>, leave: Option<Here>) {
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
            self.wheel.set(self.now + self.config.merge_ms, Timer::Tell(key.clone()));
        }
    }

    /// Tells some of those on a stream something in its order: behind what all were told before, and nothing to who has
    /// left meanwhile.
    pub(super) fn tell_some(&mut self, key: &StreamKey, sessions: &[SessionRef], payload: &dyn Payload) {
        let Some(stream) = self.streams.map.get(key) else { return };
        let mut frames = Frames::default();
        let mut places: Vec<(Place, Vec<SessionKey>)> = Vec::new();
        for session in sessions {
            let Some(encoding) = stream.presences.get(*session).and_then(|here| here.heard) else { continue };
            if frames.get(encoding).is_none() {
                frames.set(encoding, self.local.encode.frame(payload, encoding));
            }
            match places.iter_mut().find(|(place, _)| *place == session.place) {
                Some((_, keys)) => keys.push(session.key),
                None => places.push((session.place, vec![session.key])),
            }
        }
        for (place, keys) in places {
            let (stream, frames, audience) = (key.clone(), frames.clone(), LocalAudience::Only(keys));
            let fanout = Down::Fanout { stream, frames, audience, delivery: Delivery::Reliable };
            self.local.down(place, fanout, self.out);
        }
    }

    /// The time of joins and leaves that were kept back.
    pub(super) fn tell_kept(&mut self, key: &StreamKey) {
        let Some(stream) = self.streams.map.get_mut(key).filter(|stream| !stream.news.is_empty()) else { return };
        let (joins, leaves) = stream.news.next(&stream.presences, self.config.snapshot_max.max(1));
        let again_ms = match &stream.news {
            News { telling: Some(_), .. } => Some(PIECE_MS),
            News { untold: Some(_), .. } => Some(self.config.merge_ms),
            News { .. } => None,
        };
        if let Some(again_ms) = again_ms {
            self.wheel.set(self.now + again_ms, Timer::Tell(key.clone()));
        }
        if !joins.is_empty() || !leaves.is_empty() {
            self.tell(key, &joins, &leaves);
        }
    }

    fn tell(&mut self, key: &StreamKey, joins: &[Presence], leaves: &[Presence]) {
        let Some(stream) = self.streams.map.get(key) else { return };
        let event = PresenceEvent { stream: key, joins, leaves };
        let mut frames = Frames::default();
        for encoding in Encoding::ALL.into_iter().filter(|encoding| stream.is_heard_in(*encoding)) {
            let Some(frame) = self.local.encode.presence_event(&event, encoding) else { return };
            frames.set(encoding, frame);
        }
        if !self.local.routes.is_of_cluster() {
            return fan_out(stream, key, &frames, &Audience::All, Delivery::Reliable, self.local, self.out);
        }
        let (joins, leaves): (Arc<[Presence]>, Arc<[Presence]>) = (joins.into(), leaves.into());
        for place in stream.places() {
            let (stream, frames) = (key.clone(), frames.clone());
            let down = if place.node() == self.local.me.node() {
                Down::Fanout { stream, frames, audience: LocalAudience::All, delivery: Delivery::Reliable }
            } else {
                Down::Event { stream, frames, joins: joins.clone(), leaves: leaves.clone() }
            };
            self.local.down(place, down, self.out);
        }
    }
}
