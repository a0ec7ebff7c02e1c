//! Telling those who hear a stream who came and who went: at once, or on a large stream together with what else happens
//! within a while, in pieces that do not stall the shard.
//!
//! Whoever takes a snapshot and then applies events, leaves first, knows who is there. So leaves are told before joins,
//! and who was shown in a snapshot before its coming was told is told to have gone.

use indexmap::IndexMap;

use super::Timer;
use super::message::{Audience, Frames};
use super::owner::{Owning, fan_out};
use crate::outbox::Delivery;
use crate::session::Millis;
use crate::stream::{Encoding, Presence, PresenceEvent, SessionRef, StreamKey};

/// How long after one piece of what was kept back the next is told.
const PIECE_MS: Millis = 1;

type Joins = IndexMap<SessionRef, (Presence, u32), foldhash::fast::RandomState>;

/// Joins and leaves of one stream that are kept back.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Being collected.
    untold: Option<Untold>,
    /// Being told.
    telling: Option<Telling>,
}

#[derive(Debug, Default)]
struct Untold {
    /// With the how manieth each was.
    joins: Joins,
    leaves: Vec<Presence>,
    count: u32,
    /// So many of the joins were there when a snapshot was taken.
    shown: u32,
}

#[derive(Debug)]
struct Telling {
    leaves: std::vec::IntoIter<Presence>,
    joins: indexmap::map::IntoValues<SessionRef, (Presence, u32)>,
}

impl News {
    /// Somebody was shown who is there.
    pub(super) fn shown(&mut self) {
        if let Some(untold) = &mut self.untold {
            untold.shown = untold.count;
        }
    }

    fn is_empty(&self) -> bool {
        self.untold.is_none() && self.telling.is_none()
    }

    /// Keeps back a join, a leave or, as both, a change. Answers whether a time to tell is to be set.
    fn keep(&mut self, join: Option<Presence>, leave: Option<Presence>) -> bool {
        let begins = self.is_empty();
        let untold = self.untold.get_or_insert_default();
        if let Some(leave) = leave {
            // Whose coming nobody knows of goes unnoticed.
            let unnoticed = untold.joins.swap_remove(&leave.session).is_some_and(|(_, number)| number >= untold.shown);
            if !unnoticed {
                untold.leaves.push(leave);
            }
        }
        if let Some(join) = join {
            untold.joins.insert(join.session, (join, untold.count));
            untold.count += 1;
        }
        begins
    }

    /// The next piece to tell, of at most so many joins and leaves each.
    fn next(&mut self, max: usize) -> (Vec<Presence>, Vec<Presence>) {
        let untold = &mut self.untold;
        let telling = self.telling.get_or_insert_with(|| {
            let Untold { joins, leaves, .. } = untold.take().unwrap_or_default();
            Telling { leaves: leaves.into_iter(), joins: joins.into_values() }
        });
        let leaves: Vec<Presence> = telling.leaves.by_ref().take(max).collect();
        // Who left and came back must not be told the other way round.
        let room = if telling.leaves.len() == 0 { max } else { 0 };
        let joins = telling.joins.by_ref().take(room).map(|(join, _)| join).collect();
        if telling.leaves.len() == 0 && telling.joins.len() == 0 {
            self.telling = None;
        }
        (joins, leaves)
    }
}

impl Owning<'_> {
    /// Tells who came and who went, at once or later.
    pub(super) fn announce(&mut self, key: &StreamKey, join: Option<Presence>, leave: Option<Presence>) {
        let join = join.filter(|presence| !presence.hidden);
        let leave = leave.filter(|presence| !presence.hidden);
        let Some(stream) = self.streams.map.get_mut(key) else { return };
        if !stream.is_heard() || (join.is_none() && leave.is_none()) {
            return;
        }
        if stream.news.is_empty() && stream.visible <= self.config.merge_above {
            self.tell(key, join.as_slice(), leave.as_slice());
        } else if stream.news.keep(join, leave) {
            self.wheel.set(self.now + self.config.merge_ms, Timer::Tell(key.clone()));
        }
    }

    /// The time of joins and leaves that were kept back.
    pub(super) fn tell_kept(&mut self, key: &StreamKey) {
        let Some(stream) = self.streams.map.get_mut(key).filter(|stream| !stream.news.is_empty()) else { return };
        let (joins, leaves) = stream.news.next(self.config.snapshot_max.max(1));
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
        fan_out(stream, key, &frames, &Audience::All, Delivery::Reliable, self.local, self.out);
    }
}
