//! The sessions of a shard: the streams that they are on and hear, and messages of owners to them.

mod heard;
mod hearing;
pub(crate) mod moving;
pub(crate) mod orders;
pub(crate) mod questions;
mod roster;
pub(crate) mod session;
pub(crate) mod tickets;

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use heard::Heard;
pub use heard::REMEMBERED_MAX;
use hearing::Listeners;
use moving::Rebound;
use orders::ForAll;
use questions::Questions;
use roster::Rosters;
use session::{Coming, Hearing, OnStream, Session};

use super::Map;
use super::changes::recall::REMEMBERED_MS;
use super::effect::{Effect, Effects};
use super::lanes::{Dated, Lanes};
use super::message::{Down, Frames, JoinRefusal, Listener, LocalAudience, Reply, Standing, Up};
use super::options::PlaneConfig;
use crate::encode::Encode;
use crate::matches::LeaveReason;
use crate::matchmaker;
use crate::outbox::Delivery;
use crate::place::{Epoch, Partition, Place, Routes};
use crate::registry::{Registry, SessionKey};
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef, StreamKey, mode};

/// The sessions of a shard.
pub struct Sessions {
    pub(crate) me: Place,
    pub(crate) routes: Routes,
    /// Questions of this place that wait for answers; kept in a cluster only.
    pub(crate) questions: Option<Questions>,
    pub(crate) encode: Rc<dyn Encode>,
    pub(crate) registry: Registry<Session>,
    pub(crate) lanes: Lanes,
    pub(crate) slice_deliveries: usize,
    /// The largest number of presences in one event.
    pub(crate) event_max: usize,
    pub(crate) listeners: Map<StreamKey, Listeners>,
    /// Streams with broadcasts in progress, each in its turn.
    pub(crate) busy: VecDeque<StreamKey>,
    /// Broadcasts to all sessions, one after the other.
    pub(crate) for_all: VecDeque<ForAll>,
    pub(crate) rosters: Rosters,
    /// Sessions that have come to a match or a party, which may have to leave others for it.
    pub(crate) arrivals: Vec<(SessionKey, StreamKey)>,
    /// Strays: sessions that owners have bound to this place and that are not here any more, until the owners are told.
    pub(crate) strays: Vec<Standing>,
    /// Stray tickets: each with a session that the pool has bound to this place and that is not here any more.
    pub(crate) stray_tickets: Vec<(matchmaker::TicketId, SessionKey)>,
    /// The epoch of each partition's latest rebuild since this place is in the cluster.
    pub(crate) rebuilt: BTreeMap<Partition, Epoch>,
    /// Owners of tickets whose cancellation the pool's owner has not confirmed, each with whether the tickets are lost.
    pub(crate) uncancelled: Vec<(matchmaker::TicketOwner, bool)>,
    /// Number of frames handed to sessions so far.
    pub(crate) deliveries: u64,
    /// The kept messages that this place had lately; noted in a cluster only.
    pub(crate) heard: Heard,
    /// Sessions that came from other places lately, with the times when owners told so, in order; in a cluster only.
    pub(crate) moved_in: VecDeque<(Millis, SessionKey)>,
    /// The time of the step that runs.
    pub(crate) now: Millis,
    /// The time for which kept messages are remembered, see [`super::changes::recall`].
    pub(crate) remembered_ms: Millis,
}

impl Sessions {
    pub(crate) fn new(me: Place, routes: Routes, config: &PlaneConfig, encode: Rc<dyn Encode>) -> Self {
        Self {
            me,
            questions: routes.is_of_cluster().then(Questions::default),
            routes,
            encode,
            registry: Registry::default(),
            lanes: Lanes::new(config),
            slice_deliveries: config.slice_deliveries.max(1),
            event_max: config.snapshot_max.max(1),
            listeners: Map::default(),
            rosters: Rosters::default(),
            busy: VecDeque::new(),
            for_all: VecDeque::new(),
            arrivals: Vec::new(),
            strays: Vec::new(),
            stray_tickets: Vec::new(),
            rebuilt: BTreeMap::new(),
            uncancelled: Vec::new(),
            deliveries: 0,
            heard: Heard::default(),
            moved_in: VecDeque::new(),
            now: 0,
            remembered_ms: REMEMBERED_MS,
        }
    }

    /// A session's own presence, without the options of a join.
    pub(crate) fn presence(&self, key: SessionKey) -> Option<Presence> {
        let info = self.registry.info(key)?;
        let session = self.registry.get(key)?;
        Some(Presence {
            session: SessionRef { place: self.me, key },
            session_id: info.session_id,
            user_id: info.user_id,
            username: session.username.clone(),
            hidden: false,
            persistence: true,
            status: None,
            only_session_since: info.only_session_since,
        })
    }

    /// Notes that a session is on its way to a stream and, if the join asks for it, is to hear the stream. Answers the
    /// serial number of the join, and the listener if the owner has to know of it.
    pub(crate) fn note_join(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        coming: Coming,
        streams_max: usize,
    ) -> Result<(u32, Option<Listener>), JoinRefusal> {
        let (session, listens) = (SessionRef { place: self.me, key }, coming.listens);
        let (on, serial, encoding) = self.on_stream(key, stream, streams_max)?;
        if on.present.replace(serial).is_none() || coming.replaces {
            on.shape(serial, coming);
        }
        let listener = Listener { session, encoding, serial };
        match &mut on.hearing {
            _ if !listens => Ok((serial, None)),
            None => {
                on.hearing = Some(Hearing { since: serial, join: Some(serial) });
                self.count_hearer(stream);
                Ok((serial, Some(listener)))
            }
            // The earlier join may still be refused, so hearing depends on the new one.
            Some(Hearing { join: Some(join), .. }) => {
                *join = serial;
                Ok((serial, Some(listener)))
            }
            Some(Hearing { join: None, .. }) => Ok((serial, None)),
        }
    }

    /// Notes that a session hears a stream. Answers the listener, unless the session has listened before.
    pub(crate) fn note_listen(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        streams_max: usize,
    ) -> Result<Option<Listener>, JoinRefusal> {
        let (on, serial, encoding) = self.on_stream(key, stream, streams_max)?;
        match &mut on.hearing {
            Some(Hearing { join: None, .. }) => return Ok(None),
            Some(Hearing { join, .. }) => *join = None,
            None => {
                on.hearing = Some(Hearing { since: serial, join: None });
                self.count_hearer(stream);
            }
        }
        Ok(Some(Listener { session: SessionRef { place: self.me, key }, encoding, serial }))
    }

    /// Finds a session's relation to a stream, or makes one. Answers the relation, a new serial number and the
    /// session's encoding.
    fn on_stream(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        streams_max: usize,
    ) -> Result<(&mut OnStream, u32, Encoding), JoinRefusal> {
        if self.routes.owner(stream.partition()) == Place::NONE {
            return Err(JoinRefusal::Unavailable);
        }
        let Some(session) = self.registry.get_mut(key) else { return Err(JoinRefusal::Closed) };
        let position = match session.streams.iter().position(|on| on.stream == *stream) {
            Some(position) => position,
            None if session.streams.len() >= streams_max => return Err(JoinRefusal::TooManyStreams),
            None => {
                session.streams.push(OnStream::new(stream.clone()));
                session.streams.len() - 1
            }
        };
        session.serial = session.serial.wrapping_add(1);
        Ok((&mut session.streams[position], session.serial, session.encoding))
    }

    /// The listener of a session that hears a stream by its join, or will once the join is let in.
    pub(crate) fn listener(&self, key: SessionKey, stream: &StreamKey) -> Option<Listener> {
        let session = self.registry.get(key)?;
        let serial = session.streams.iter().find(|on| on.stream == *stream)?.hearing?.join?;
        Some(Listener { session: SessionRef { place: self.me, key }, encoding: session.encoding, serial })
    }

    /// Changes a session's relation to a stream, and answers the parts of the relation that ended.
    pub(crate) fn change(
        &mut self,
        key: SessionKey,
        stream: &StreamKey,
        change: impl FnOnce(&mut OnStream),
    ) -> Option<Forgotten> {
        let session = self.registry.get_mut(key)?;
        let position = session.streams.iter().position(|on| on.stream == *stream)?;
        let on = &mut session.streams[position];
        let (present, hearing) = (on.present, on.hearing);
        change(on);
        let (is_there, hears) = (on.present.is_some(), on.hearing.is_some());
        if !is_there && !hears {
            session.streams.swap_remove(position);
        }
        let encoding = session.encoding;
        if hearing.is_some() && !hears {
            self.deafen(key, stream);
            self.discount_hearer(stream);
        }
        let session = SessionRef { place: self.me, key };
        let heard = hearing.filter(|_| !hears).map(|hearing| HeardBy {
            listener: Listener { session, encoding, serial: hearing.since },
            by_join: hearing.join.is_some(),
        });
        Some(Forgotten { session, was_present: present.is_some() && !is_there, heard })
    }

    /// Forgets that a session was on a stream and heard the stream.
    pub(crate) fn forget(&mut self, key: SessionKey, stream: &StreamKey) -> Option<Forgotten> {
        self.change(key, stream, |on| (on.present, on.hearing) = (None, None))
    }

    /// Forgets that a session was on a stream.
    pub(crate) fn forget_presence(&mut self, key: SessionKey, stream: &StreamKey) -> Option<Forgotten> {
        self.change(key, stream, |on| on.present = None)
    }

    /// Forgets that a session heard a stream.
    pub(crate) fn forget_hearing(&mut self, key: SessionKey, stream: &StreamKey) -> Option<Forgotten> {
        self.change(key, stream, |on| on.hearing = None)
    }

    /// Closes a session, and answers its relations to streams.
    pub(crate) fn close(&mut self, key: SessionKey) -> Vec<(StreamKey, Forgotten)> {
        let Some(session) = self.registry.close(key) else { return Vec::new() };
        let (me, encoding) = (SessionRef { place: self.me, key }, session.encoding);
        let forgotten = session.streams.into_iter().map(|on| {
            let heard = on.hearing.map(|hearing| HeardBy {
                listener: Listener { session: me, encoding, serial: hearing.since },
                by_join: hearing.join.is_some(),
            });
            if heard.is_some() {
                self.deafen(key, &on.stream);
                self.discount_hearer(&on.stream);
            }
            (on.stream, Forgotten { session: me, was_present: on.present.is_some(), heard })
        });
        // Owners that have yet to tell that the session came here are left out: when they tell, they learn that the
        // session has gone.
        let untold = session.moving.as_ref().map_or(&[][..], |moving| moving.untold());
        forgotten.filter(|(stream, _)| !untold.contains(stream)).collect()
    }

    /// Sends a message down to a place. A message for this place is received at once.
    pub(crate) fn down(&mut self, to: Place, down: Down, out: &mut Effects) {
        if to == self.me {
            self.receive(to, down, out);
        } else if self.is_there(to) {
            self.lanes.down(to, down, out);
        }
    }

    /// Sends a message up to another place. A message for a place that has gone is lost, and its question is answered
    /// as if the place had gone after the message came.
    pub(crate) fn up(&mut self, to: Place, up: Up, out: &mut Effects) {
        if self.is_there(to) {
            let partition = up.partition().filter(|_| self.routes.is_of_cluster());
            let epoch = partition.map(|partition| self.routes.epoch(partition));
            self.lanes.up(to, Dated { epoch, up }, out);
        } else {
            self.give_up_on(to, &up, out);
        }
    }

    pub(crate) fn is_there(&self, place: Place) -> bool {
        place != Place::NONE && (!self.routes.is_of_cluster() || self.routes.has(place))
    }

    /// Takes a message of an owner. Nothing here sends anything to another shard.
    pub(crate) fn receive(&mut self, from: Place, down: Down, out: &mut Effects) {
        match down {
            Down::Reply(request, reply) => {
                if self.is_answered(request, &reply) {
                    out.reply(request, reply);
                }
            }
            // The plane has dealt with these before.
            Down::HandedOver { .. } | Down::Taken { .. } => {}
            Down::Misdirected { request } => self.give_up_one(request, out),
            Down::Arrived { session, standing, hears } => {
                self.drop_roster_of_own(from, &standing.stream);
                self.arrived(session, standing, hears);
            }
            Down::Rebound { request, stream, session, standing } => {
                self.rebound(Rebound { request, stream, session, standing }, out);
            }
            Down::Refused { stream, session, serial, request, refusal } => {
                self.forget_refused(session, &stream, serial);
                // A join or a listen that came after the refused join stays.
                self.change(session, &stream, |on| {
                    on.present.take_if(|present| *present == serial);
                    on.hearing.take_if(|hearing| hearing.join == Some(serial));
                });
                let reply = Reply::Joined(Err(refusal));
                if let Some(request) = request
                    && self.is_answered(request, &reply)
                {
                    out.reply(request, reply);
                }
            }
            Down::Listening { stream, listener, told } => {
                self.drop_roster_of_own(from, &stream);
                self.listening(stream, listener, told, out);
            }
            Down::Removed { stream, listener } => self.take_off(&stream, listener),
            Down::Fanout { stream, frames, audience, delivery } => {
                self.fan_out(&stream, frames, audience, delivery, out);
            }
            Down::Event { stream, frames, joins, leaves } => {
                self.rosters.change(&stream, &joins, &leaves);
                self.fan_out(&stream, frames, LocalAudience::All, Delivery::Reliable, out);
            }
            Down::Roster { stream, presences, begins, ends, is_anew, is_last } => {
                if let Some(before) = self.take_roster(&stream, presences, begins, ends)
                    && is_anew
                {
                    self.tell_difference(&stream, &before, out);
                }
                if !is_last {
                    self.drop_roster_of_own(from, &stream);
                }
            }
            Down::Push { session, payload, delivery, ended } => {
                // A new owner of the pool may have been told of a ticket whose end was still on its way here. It ends
                // the ticket a second time, and the second message is dropped.
                let is_second = self.routes.is_of_cluster() && !ended.is_empty() && !self.is_on_any(session, &ended);
                ended.iter().for_each(|ticket| self.take_off_ticket(session, ticket));
                if is_second {
                    return;
                }
                if let Some(known) = self.registry.get(session) {
                    let frame = self.encode.frame(&*payload, known.encoding);
                    self.deliveries += 1;
                    out.deliver(session, frame, delivery);
                }
            }
            Down::Ticket { session, ticket, is_on: true } => self.put_on_ticket(session, ticket),
            Down::Ticket { session, ticket, is_on: false } => self.take_off_ticket(session, &ticket),
            Down::Close { session, payload, reason } => {
                let Some(known) = self.registry.get(session) else { return };
                if let Some(payload) = payload.or_else(|| self.encode.farewell(reason)) {
                    let frame = self.encode.frame(&*payload, known.encoding);
                    out.deliver(session, frame, Delivery::Reliable);
                }
                out.push(Effect::Close(session, reason));
            }
        }
    }

    /// Takes a session off a stream as its owner said. A session that has asked anew meanwhile, once or more, hears
    /// nothing until one of those joins is let in.
    pub(crate) fn removed(&mut self, stream: &StreamKey, listener: Listener) {
        let key = listener.session.key;
        if self.listener(key, stream) == Some(listener) {
            self.forget(key, stream);
            return;
        }
        let Some(session) = self.registry.get_mut(key) else { return };
        let on = session.streams.iter_mut().find(|on| on.stream == *stream);
        if let Some(Hearing { since, join: Some(_) }) = on.and_then(|on| on.hearing.as_mut())
            && is_from(listener.serial, *since)
        {
            *since = listener.serial.wrapping_add(1);
            self.deafen(key, stream);
        }
    }

    fn listening(&mut self, stream: StreamKey, listener: Listener, told: Option<Frames>, out: &mut Effects) {
        let key = listener.session.key;
        let Some(session) = self.registry.get_mut(key) else { return };
        let hearing = session.streams.iter_mut().find(|on| on.stream == stream).and_then(|on| on.hearing.as_mut());
        if let Some(hearing) = hearing.filter(|hearing| is_from(listener.serial, hearing.since)) {
            // A removal that still waits behind broadcasts is of an earlier join, and must not take the session off.
            hearing.since = listener.serial;
            if matches!(stream.mode, mode::MATCH_RELAYED | mode::MATCH_AUTHORITATIVE | mode::PARTY) {
                self.arrivals.push((key, stream.clone()));
            }
            self.hear(stream.clone(), key, listener.encoding, listener.serial);
            if let Some(frames) = told {
                self.keep_begun(key, &stream, listener.serial);
                self.fan_out(&stream, frames, LocalAudience::Only(vec![key]), Delivery::Reliable, out);
            }
        }
    }
}

/// Whether a serial number is this one or a later one. Serial numbers wrap.
pub(crate) fn is_from(serial: u32, first: u32) -> bool {
    serial.wrapping_sub(first) <= u32::MAX / 2
}

/// The parts of a session's relation to a stream that ended.
pub(crate) struct Forgotten {
    session: SessionRef,
    /// Whether the session was on the stream and is so no longer.
    pub was_present: bool,
    /// The listener by which the session heard the stream, if it hears it no longer.
    heard: Option<HeardBy>,
}

struct HeardBy {
    listener: Listener,
    by_join: bool,
}

impl Forgotten {
    /// The message to the owner, if there is anything to tell.
    pub(crate) fn into_up(self, stream: StreamKey, reason: LeaveReason) -> Option<Up> {
        let Self { session, was_present, heard } = self;
        match heard {
            heard if was_present => {
                let listened = heard.filter(|heard| !heard.by_join);
                Some(Up::Leave { stream, session, heard: listened.map(|heard| heard.listener.encoding), reason })
            }
            Some(HeardBy { listener, by_join }) => Some(Up::Unlisten { stream, listener, by_join }),
            None => None,
        }
    }
}
