//! A shard's own sessions: what they are on, what they hear, and delivering it to them.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;

use super::Map;
use super::lanes::Lanes;
use super::message::{Down, Frames, Identity, JoinRefusal, Listener, LocalAudience, Reply, Up};
use super::options::PlaneConfig;
use super::output::Output;
use crate::outbox::Delivery;
use crate::registry::{Registry, SessionKey};
use crate::stream::{Encode, Encoding, Presence, SessionRef, ShardIndex, StreamKey};

/// Deliveries of one broadcast that are made at once; a larger one goes in slices of this size, other work between them.
pub const SLICE_DELIVERIES: usize = 2_048;

/// A session as its shard knows it.
#[derive(Debug)]
pub(super) struct Session {
    pub username: Arc<str>,
    pub encoding: Encoding,
    /// Counts joins and listens.
    pub serial: u32,
    pub streams: Vec<OnStream>,
}

/// What a session has to do with a stream.
#[derive(Debug)]
pub(super) struct OnStream {
    pub stream: StreamKey,
    /// Whether it is there, or on its way.
    pub is_present: bool,
    /// How it is there: as it came first.
    pub hidden: bool,
    /// See [`Presence::persistence`].
    pub persistence: bool,
    /// By which join or listen it hears it, or will.
    pub listens: Option<u32>,
}

/// The rest of a broadcast too large for one slice.
#[derive(Debug)]
struct Job {
    /// Who heard the stream when the broadcast was due.
    listeners: Rc<[(SessionKey, Encoding)]>,
    next: usize,
    frames: Frames,
    audience: LocalAudience,
    delivery: Delivery,
}

/// How a session comes to a stream: there, hearing it, or both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Coming {
    pub is_present: bool,
    pub hidden: bool,
    pub persistence: bool,
    pub listens: bool,
}

#[derive(Debug, Default)]
struct Listeners {
    sessions: IndexMap<SessionKey, Encoding, foldhash::fast::RandomState>,
    /// The same as a list, while nobody comes or goes: broadcasts in a row share it.
    snapshot: Option<Rc<[(SessionKey, Encoding)]>>,
    /// Broadcasts in progress, in order.
    jobs: VecDeque<Job>,
}

/// See the module.
pub(super) struct Local {
    pub me: ShardIndex,
    pub encode: Rc<dyn Encode>,
    pub sessions: Registry<Session>,
    pub lanes: Lanes,
    slice_deliveries: usize,
    listeners: Map<StreamKey, Listeners>,
    /// Streams with broadcasts in progress, each in its turn.
    busy: VecDeque<StreamKey>,
    /// Frames handed to sessions so far.
    pub deliveries: u64,
}

impl Local {
    pub(super) fn new(me: ShardIndex, shards: ShardIndex, config: &PlaneConfig, encode: Rc<dyn Encode>) -> Self {
        Self {
            me,
            encode,
            sessions: Registry::default(),
            lanes: Lanes::new(shards, config),
            slice_deliveries: config.slice_deliveries.max(1),
            listeners: Map::default(),
            busy: VecDeque::new(),
            deliveries: 0,
        }
    }

    /// A session's presence somewhere.
    pub(super) fn presence(&self, key: SessionKey) -> Option<Presence> {
        let info = self.sessions.info(key)?;
        let session = self.sessions.get(key)?;
        Some(Presence {
            session: SessionRef { shard: self.me, key },
            session_id: info.session_id,
            user_id: info.user_id,
            username: session.username.clone(),
            hidden: false,
            persistence: true,
            status: None,
        })
    }

    /// Who a session is.
    pub(super) fn identity(&self, key: SessionKey) -> Option<Identity> {
        let info = self.sessions.info(key)?;
        let session = self.sessions.get(key)?;
        Some(Identity {
            session_id: info.session_id,
            user_id: info.user_id,
            username: session.username.clone(),
            encoding: session.encoding,
        })
    }

    /// Notes that a session is on a stream and, if it is to, hears it. Answers the listener if it did not hear before.
    pub(super) fn note(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        coming: Coming,
        streams_max: usize,
    ) -> Result<Option<Listener>, JoinRefusal> {
        let session = SessionRef { shard: self.me, key };
        let Some(known) = self.sessions.get_mut(key) else { return Err(JoinRefusal::Closed) };
        let position = known.streams.iter().position(|on| on.stream == *stream);
        let on = match position {
            Some(position) => &mut known.streams[position],
            None if known.streams.len() >= streams_max => return Err(JoinRefusal::TooManyStreams),
            None => {
                known.streams.push(OnStream {
                    stream: stream.clone(),
                    is_present: false,
                    hidden: false,
                    persistence: false,
                    listens: None,
                });
                let last = known.streams.len() - 1;
                &mut known.streams[last]
            }
        };
        if coming.is_present && !on.is_present {
            (on.is_present, on.hidden, on.persistence) = (true, coming.hidden, coming.persistence);
        }
        if !coming.listens || on.listens.is_some() {
            return Ok(None);
        }
        known.serial = known.serial.wrapping_add(1);
        on.listens = Some(known.serial);
        Ok(Some(Listener { session, encoding: known.encoding, serial: known.serial }))
    }

    /// How a session hears a stream, or will.
    pub(super) fn listener(&self, key: SessionKey, stream: &StreamKey) -> Option<Listener> {
        let session = self.sessions.get(key)?;
        let serial = session.streams.iter().find(|on| on.stream == *stream)?.listens?;
        Some(Listener { session: SessionRef { shard: self.me, key }, encoding: session.encoding, serial })
    }

    /// Whether the owner has let a session hear a stream.
    pub(super) fn hears(&self, key: SessionKey, stream: &StreamKey) -> bool {
        self.listeners.get(stream).is_some_and(|listeners| listeners.sessions.contains_key(&key))
    }

    /// Forgets a presence, or hearing, or both. Answers in which encoding the stream was heard, if it no longer is.
    pub(super) fn forget(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        presence: bool,
        listening: bool,
    ) -> Option<Forgotten> {
        let session = self.sessions.get_mut(key)?;
        let position = session.streams.iter().position(|on| on.stream == *stream)?;
        let on = &mut session.streams[position];
        let was_present = presence && std::mem::take(&mut on.is_present);
        let heard = if listening { on.listens.take() } else { None };
        if !on.is_present && on.listens.is_none() {
            session.streams.swap_remove(position);
        }
        let encoding = session.encoding;
        if heard.is_some() {
            self.deafen(key, stream);
        }
        let listener =
            Listener { session: SessionRef { shard: self.me, key }, encoding, serial: heard.unwrap_or_default() };
        Some(Forgotten { was_present, listener: heard.map(|_| listener) })
    }

    fn deafen(&mut self, key: SessionKey, stream: &StreamKey) {
        let Some(listeners) = self.listeners.get_mut(stream) else { return };
        listeners.sessions.swap_remove(&key);
        listeners.snapshot = None;
        if listeners.sessions.is_empty() && listeners.jobs.is_empty() {
            self.listeners.remove(stream);
        }
    }

    /// Sends down, or does at once what concerns this shard.
    pub(super) fn down(&mut self, to: ShardIndex, down: Down, out: &mut Output) {
        if to == self.me {
            self.receive(down, out);
        } else {
            self.lanes.down(to, down, out);
        }
    }

    /// What an owner told this shard. Nothing here sends anything to another shard.
    pub(super) fn receive(&mut self, down: Down, out: &mut Output) {
        match down {
            Down::Reply(request, reply) => out.replies.push((request, reply)),
            Down::Refused { stream, session, listener, request, refusal } => {
                self.forget(session, &stream, true, listener);
                out.replies.extend(request.map(|request| (request, Reply::Joined(Err(refusal)))));
            }
            Down::Listening { stream, listener } => self.listening(stream, listener),
            Down::Removed { stream, listener } => {
                let key = listener.session.key;
                if self.listener(key, &stream) == Some(listener) {
                    self.forget(key, &stream, true, true);
                }
            }
            Down::Fanout { stream, frames, audience, delivery } => {
                self.fan_out(&stream, frames, audience, delivery, out);
            }
            Down::Push { session, payload, delivery } => {
                if let Some(known) = self.sessions.get(session) {
                    let frame = self.encode.frame(&*payload, known.encoding);
                    self.deliveries += 1;
                    out.deliveries.push((session, frame, delivery));
                }
            }
            Down::Close { session, payload, reason } => {
                let Some(known) = self.sessions.get(session) else { return };
                if let Some(payload) = payload {
                    let frame = self.encode.frame(&*payload, known.encoding);
                    out.deliveries.push((session, frame, Delivery::Reliable));
                }
                out.closes.push((session, reason));
            }
        }
    }

    fn listening(&mut self, stream: StreamKey, listener: Listener) {
        let key = listener.session.key;
        let Some(session) = self.sessions.get(key) else { return };
        let is_current = session.streams.iter().any(|on| on.stream == stream && on.listens == Some(listener.serial));
        if is_current {
            let listeners = self.listeners.entry(stream).or_default();
            listeners.sessions.insert(key, listener.encoding);
            listeners.snapshot = None;
        }
    }

    fn fan_out(
        &mut self,
        stream: &StreamKey,
        frames: Frames,
        audience: LocalAudience,
        delivery: Delivery,
        out: &mut Output,
    ) {
        let Some(listeners) = self.listeners.get_mut(stream) else { return };
        if listeners.sessions.len() > self.slice_deliveries || !listeners.jobs.is_empty() {
            let snapshot = match &listeners.snapshot {
                Some(snapshot) => snapshot.clone(),
                None => {
                    let all = listeners.sessions.iter().map(|(key, encoding)| (*key, *encoding));
                    listeners.snapshot.insert(all.collect()).clone()
                }
            };
            if listeners.jobs.is_empty() {
                self.busy.push_back(stream.clone());
            }
            listeners.jobs.push_back(Job { listeners: snapshot, next: 0, frames, audience, delivery });
            return;
        }
        let mut deliver = |key: SessionKey, encoding: Encoding| {
            if let Some(frame) = frames.get(encoding) {
                self.deliveries += 1;
                out.deliveries.push((key, frame.clone(), delivery));
            }
        };
        match audience {
            LocalAudience::All => listeners.sessions.iter().for_each(|(key, encoding)| deliver(*key, *encoding)),
            LocalAudience::AllBut(but) => {
                let others = listeners.sessions.iter().filter(|(key, _)| **key != but);
                others.for_each(|(key, encoding)| deliver(*key, *encoding));
            }
            LocalAudience::Only(keys) => {
                for key in keys {
                    if let Some(encoding) = listeners.sessions.get(&key) {
                        deliver(key, *encoding);
                    }
                }
            }
        }
    }

    /// Goes on with one slice of a broadcast in progress. Answers whether there is more to do.
    pub(super) fn run_slice(&mut self, out: &mut Output) -> bool {
        let Some(stream) = self.busy.pop_front() else { return false };
        let Some(listeners) = self.listeners.get_mut(&stream) else { return !self.busy.is_empty() };
        let Some(job) = listeners.jobs.front_mut() else { return !self.busy.is_empty() };
        let end = job.listeners.len().min(job.next + self.slice_deliveries);
        for (key, encoding) in &job.listeners[job.next..end] {
            let is_meant = match &job.audience {
                LocalAudience::All => true,
                LocalAudience::AllBut(but) => key != but,
                LocalAudience::Only(keys) => keys.contains(key),
            };
            // Who left meanwhile receives nothing any more.
            if is_meant
                && listeners.sessions.contains_key(key)
                && let Some(frame) = job.frames.get(*encoding)
            {
                self.deliveries += 1;
                out.deliveries.push((*key, frame.clone(), job.delivery));
            }
        }
        job.next = end;
        if end == job.listeners.len() {
            listeners.jobs.pop_front();
        }
        if !listeners.jobs.is_empty() {
            self.busy.push_back(stream);
        } else if listeners.sessions.is_empty() {
            self.listeners.remove(&stream);
        }
        !self.busy.is_empty()
    }

    /// Whether a broadcast is in progress.
    pub(super) fn is_busy(&self) -> bool {
        !self.busy.is_empty()
    }

    /// Streams that sessions of this shard hear.
    pub(super) fn heard_streams(&self) -> usize {
        self.listeners.len()
    }
}

/// What a session had to do with a stream that it left.
pub(super) struct Forgotten {
    /// It was there.
    pub was_present: bool,
    /// It heard the stream.
    pub listener: Option<Listener>,
}

impl Forgotten {
    /// What the owner is to be told, if anything.
    pub(super) fn into_up(self, stream: StreamKey, session: SessionRef) -> Option<Up> {
        match (self.was_present, self.listener) {
            (true, listener) => Some(Up::Leave { stream, session, heard: listener.map(|listener| listener.encoding) }),
            (false, Some(listener)) => Some(Up::Unlisten { stream, listener }),
            (false, None) => None,
        }
    }
}
