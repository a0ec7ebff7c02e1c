//! Delivery of messages from a stream's owner to sessions of a shard: at once, or in slices where many hear the stream.

use std::collections::VecDeque;
use std::rc::Rc;

use indexmap::IndexMap;

use super::Sessions;
use super::moving::Rebound;
use crate::outbox::Delivery;
use crate::plane::Map;
use crate::plane::effect::Effects;
use crate::plane::message::{Frames, Listener, LocalAudience};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Encoding, StreamKey};

/// A session that receives a broadcast.
#[derive(Clone, Copy, Debug)]
struct Receiver {
    key: SessionKey,
    encoding: Encoding,
    /// Serial number of the join or listen by which the session hears. A session that left and came back does not
    /// receive broadcasts from before.
    serial: u32,
}

/// A broadcast that is delivered in slices, and the position that it has reached.
#[derive(Debug)]
struct Job {
    /// Sessions that heard the stream when the broadcast came.
    receivers: Rc<[Receiver]>,
    next: usize,
    frames: Frames,
    but: Option<SessionKey>,
    delivery: Delivery,
}

/// Work for one stream, done in order.
#[derive(Debug)]
enum Work {
    Broadcast(Job),
    /// The owner has taken a session off the stream; the session first gets the broadcasts that came before.
    Removal(Listener),
    /// The owner has bound a session to another place; the session first gets the broadcasts that came before.
    Rebound(Rebound),
}

type Hearers = IndexMap<SessionKey, (Encoding, u32), foldhash::fast::RandomState>;

#[derive(Debug, Default)]
pub(crate) struct Listeners {
    /// The sessions that hear the stream, each with its encoding and the serial number of its join or listen.
    pub sessions: Hearers,
    /// The number of the latest message with [`Delivery::Once`] that each session got. Sessions that got none are left
    /// out.
    latest: Map<SessionKey, u64>,
    /// The sessions as a list that successive broadcasts share, until a session comes or goes.
    snapshot: Option<Rc<[Receiver]>>,
    /// The time when the first of these sessions came.
    since: Millis,
    /// Broadcasts in progress and work that waits behind them, in order.
    jobs: VecDeque<Work>,
}

impl Sessions {
    /// Whether the owner has let a session hear a stream.
    pub(crate) fn hears(&self, key: SessionKey, stream: &StreamKey) -> bool {
        self.listeners.get(stream).is_some_and(|listeners| listeners.sessions.contains_key(&key))
    }

    /// Number of sessions of this shard that hear a stream.
    pub(crate) fn hearers(&self, stream: &StreamKey) -> usize {
        self.listeners.get(stream).map_or(0, |listeners| listeners.sessions.len())
    }

    pub(crate) fn deafen(&mut self, key: SessionKey, stream: &StreamKey) {
        let Some(listeners) = self.listeners.get_mut(stream) else { return };
        listeners.sessions.swap_remove(&key);
        listeners.latest.remove(&key);
        listeners.snapshot = None;
        if listeners.are_needless() {
            self.listeners.remove(stream);
        }
    }

    /// The number of the latest message with [`Delivery::Once`] that a session got from a stream; 0 if it got none.
    pub(crate) fn latest(&self, key: SessionKey, stream: &StreamKey) -> u64 {
        self.listeners.get(stream).and_then(|listeners| listeners.latest.get(&key)).copied().unwrap_or_default()
    }

    /// Notes that a session got the messages of a stream up to this number before it came to this place.
    pub(crate) fn note_latest(&mut self, key: SessionKey, stream: &StreamKey, number: u64) {
        if number > self.latest(key, stream) {
            self.listeners.entry(stream.clone()).or_default().latest.insert(key, number);
        }
    }

    pub(crate) fn hear(&mut self, stream: StreamKey, key: SessionKey, encoding: Encoding, serial: u32) {
        let listeners = self.listeners.entry(stream).or_default();
        if listeners.sessions.is_empty() {
            listeners.since = self.now;
        }
        listeners.sessions.insert(key, (encoding, serial));
        listeners.snapshot = None;
    }

    pub(crate) fn fan_out(
        &mut self,
        stream: &StreamKey,
        frames: Frames,
        audience: LocalAudience,
        delivery: Delivery,
        out: &mut Effects,
    ) {
        let audience = match delivery {
            Delivery::Kept(_) | Delivery::Again { .. } => match self.anew(stream, audience, delivery) {
                Some(audience) => audience,
                None => return,
            },
            _ => audience,
        };
        let Some(listeners) = self.listeners.get_mut(stream) else { return };
        if listeners.sessions.len() > self.slice_deliveries || !listeners.jobs.is_empty() {
            if listeners.jobs.is_empty() {
                self.busy.push_back(stream.clone());
            }
            listeners.put_off(frames, audience, delivery);
            return;
        }
        let mut deliver = |key: SessionKey, encoding: Encoding| {
            if let Some(frame) = frames.get(encoding)
                && is_news(&mut listeners.latest, key, delivery)
            {
                self.deliveries += 1;
                out.deliver(key, frame.clone(), delivery.arrived());
            }
        };
        match audience {
            LocalAudience::All => listeners.sessions.iter().for_each(|(key, (encoding, _))| deliver(*key, *encoding)),
            LocalAudience::AllBut(but) => {
                let others = listeners.sessions.iter().filter(|(key, _)| **key != but);
                others.for_each(|(key, (encoding, _))| deliver(*key, *encoding));
            }
            LocalAudience::Only(keys) => {
                for key in keys {
                    if let Some((encoding, _)) = listeners.sessions.get(&key) {
                        deliver(key, *encoding);
                    }
                }
            }
        }
    }

    /// Notes a kept message of a stream. Answers those who are to have it: nobody if the place had it before. Sessions
    /// that came from another place since a message was kept may have had it there.
    fn anew(&mut self, stream: &StreamKey, audience: LocalAudience, delivery: Delivery) -> Option<LocalAudience> {
        if !self.routes.is_of_cluster() {
            return Some(audience);
        }
        let (now, remembered_ms) = (self.now, self.remembered_ms);
        match delivery {
            Delivery::Kept(number) => self.heard.note(now, number, remembered_ms).then_some(audience),
            Delivery::Again { number, age_ms } => {
                let listeners = self.listeners.get(stream)?;
                if !self.heard.note_again(now, (number, age_ms), listeners.since, remembered_ms) {
                    return None;
                }
                let kept_at = now.saturating_sub(age_ms.into());
                let moved: Vec<SessionKey> =
                    self.moved_in.iter().filter(|(at, _)| *at >= kept_at).map(|(_, key)| *key).collect();
                if moved.is_empty() {
                    return Some(audience);
                }
                let stayed = listeners.sessions.keys().filter(|key| !moved.contains(key));
                Some(LocalAudience::Only(stayed.copied().collect()))
            }
            _ => Some(audience),
        }
    }

    /// Takes a session off a stream once the broadcasts in progress there are delivered.
    pub(crate) fn take_off(&mut self, stream: &StreamKey, listener: Listener) {
        match self.listeners.get_mut(stream).filter(|listeners| !listeners.jobs.is_empty()) {
            Some(listeners) => listeners.jobs.push_back(Work::Removal(listener)),
            None => self.removed(stream, listener),
        }
    }

    /// Notes that an owner has bound a session to another place. The session departs once the broadcasts in progress
    /// here are delivered, so that it gets them.
    pub(crate) fn rebound(&mut self, rebound: Rebound, out: &mut Effects) {
        // The question was given up because the stream has another owner now: the former owner's binding is void.
        if !self.is_asked(rebound.request) {
            return;
        }
        match self.listeners.get_mut(&rebound.stream).filter(|listeners| !listeners.jobs.is_empty()) {
            Some(listeners) => listeners.jobs.push_back(Work::Rebound(rebound)),
            None => self.departed(rebound, out),
        }
    }

    /// Drops the bindings to other places that still wait behind broadcasts of these streams. The owners that made them
    /// are gone, and the next owners are told of the sessions as sessions of this place.
    pub(crate) fn drop_rebounds(&mut self, is_lost: impl Fn(&StreamKey) -> bool) {
        for stream in self.busy.iter().filter(|stream| is_lost(stream)) {
            if let Some(listeners) = self.listeners.get_mut(stream) {
                listeners.jobs.retain(|job| !matches!(job, Work::Rebound(_)));
            }
        }
    }

    /// Goes on with one slice of a broadcast in progress. Answers whether there is more to do.
    pub(crate) fn run_slice(&mut self, out: &mut Effects) -> bool {
        let Some(stream) = self.busy.pop_front() else { return false };
        let Some(listeners) = self.listeners.get_mut(&stream) else { return !self.busy.is_empty() };
        match listeners.jobs.front_mut() {
            Some(Work::Broadcast(job)) => {
                let Listeners { sessions, latest, .. } = listeners;
                self.deliveries += deliver_slice(job, (sessions, latest), self.slice_deliveries, out);
                if job.next == job.receivers.len() {
                    listeners.jobs.pop_front();
                }
            }
            Some(Work::Removal(listener)) => {
                let listener = *listener;
                listeners.jobs.pop_front();
                self.removed(&stream, listener);
            }
            Some(Work::Rebound(_)) => {
                if let Some(Work::Rebound(rebound)) = listeners.jobs.pop_front() {
                    self.departed(rebound, out);
                }
            }
            None => {}
        }
        let Some(listeners) = self.listeners.get(&stream) else { return !self.busy.is_empty() };
        if !listeners.jobs.is_empty() {
            self.busy.push_back(stream);
        } else if listeners.are_needless() {
            self.listeners.remove(&stream);
        }
        !self.busy.is_empty()
    }

    /// Whether a broadcast to a stream or to all sessions is in progress.
    pub(crate) fn is_busy(&self) -> bool {
        !self.busy.is_empty() || !self.for_all.is_empty()
    }

    /// Number of streams that sessions of this shard hear.
    pub(crate) fn heard_streams(&self) -> usize {
        self.listeners.len()
    }
}

/// Whether a message is new to a session. The number of a message with [`Delivery::Once`] is noted, so that the message
/// is new only once.
fn is_news(latest: &mut Map<SessionKey, u64>, key: SessionKey, delivery: Delivery) -> bool {
    let Delivery::Once(number) = delivery else { return true };
    let latest = latest.entry(key).or_default();
    let is_news = number > *latest;
    if is_news {
        *latest = number;
    }
    is_news
}

impl Listeners {
    fn are_needless(&self) -> bool {
        self.sessions.is_empty() && self.jobs.is_empty() && self.latest.is_empty()
    }

    /// Whether a session is being taken off, behind broadcasts that still go to it.
    pub(crate) fn is_leaving(&self, key: SessionKey) -> bool {
        self.jobs.iter().any(|job| matches!(job, Work::Removal(listener) if listener.session.key == key))
    }

    /// Whether a session is to be taken off the stream, or to depart, once broadcasts in progress are delivered.
    pub(crate) fn has_leaving(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job, Work::Removal(_) | Work::Rebound(_)))
    }

    /// Number of sessions that hear the stream, by encoding.
    pub(crate) fn counts(&self) -> [u32; 2] {
        let mut counts = [0; 2];
        self.sessions.values().for_each(|(encoding, _)| counts[*encoding as usize] += 1);
        counts
    }

    /// Puts a broadcast behind those in progress. Its receivers are the sessions that hear the stream now.
    fn put_off(&mut self, frames: Frames, audience: LocalAudience, delivery: Delivery) {
        let receiver = |(key, (encoding, serial)): (&SessionKey, &(Encoding, u32))| Receiver {
            key: *key,
            encoding: *encoding,
            serial: *serial,
        };
        let but = if let LocalAudience::AllBut(but) = &audience { Some(*but) } else { None };
        let receivers = match (&self.snapshot, audience) {
            (_, LocalAudience::Only(keys)) => {
                keys.iter().filter_map(|key| self.sessions.get_key_value(key)).map(receiver).collect()
            }
            (Some(snapshot), _) => snapshot.clone(),
            (None, _) => self.snapshot.insert(self.sessions.iter().map(receiver).collect()).clone(),
        };
        self.jobs.push_back(Work::Broadcast(Job { receivers, next: 0, frames, but, delivery }));
    }
}

/// Goes on with a broadcast to its next `max` receivers. Answers the number of deliveries made.
fn deliver_slice(
    job: &mut Job,
    (sessions, latest): (&Hearers, &mut Map<SessionKey, u64>),
    max: usize,
    out: &mut Effects,
) -> u64 {
    let end = job.receivers.len().min(job.next + max);
    let before = out.len();
    for Receiver { key, encoding, serial } in &job.receivers[job.next..end] {
        // A session that left meanwhile receives nothing more, even if it came back.
        let still_hears = sessions.get(key).is_some_and(|(_, current)| current == serial);
        if still_hears
            && job.but != Some(*key)
            && let Some(frame) = job.frames.get(*encoding)
            && is_news(latest, *key, job.delivery)
        {
            out.deliver(*key, frame.clone(), job.delivery.arrived());
        }
    }
    job.next = end;
    (out.len() - before) as u64
}
