//! Streams as their owner keeps them: who is there, which shards hear them, and the order of what happens on them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use muster_domain::ids::SessionId;

use super::effect::Effects;
use super::local::Local;
use super::message::{
    Audience, Condition, Down, Frames, Join, JoinRefusal, Joined, Listener, LocalAudience, Publish, Reply, RequestRef,
    Up,
};
use super::presences::{Here, Presences};
use super::rebuild::{Cause, Rebuilding};
use super::recovery::Changes;
use super::telling::News;
use super::{Map, PlaneConfig, Timer};
use crate::close::CloseReason;
use crate::matches::{LeaveReason, Matches};
use crate::outbox::Delivery;
use crate::party::{Member, Parties};
use crate::place::{Partition, Place};
use crate::rooms::Rooms;
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef, SharedPayload, StreamKey, mode};
use crate::wheel::Wheel;

#[derive(Debug, Default)]
pub(super) struct Stream {
    pub presences: Presences,
    /// Which shards hear it, by how many sessions of each encoding.
    pub listeners: Vec<(Place, [u32; 2])>,
    /// Joins and leaves that wait to be told together.
    pub news: News,
}

impl Stream {
    /// Answers whether it is the first of its place.
    pub(super) fn count_listener(&mut self, place: Place, encoding: Encoding) -> bool {
        let position = self.listeners.iter().position(|(other, _)| *other == place);
        let counts = match position {
            Some(position) => &mut self.listeners[position].1,
            None => {
                self.listeners.push((place, [0; 2]));
                let last = self.listeners.len() - 1;
                &mut self.listeners[last].1
            }
        };
        counts[encoding as usize] += 1;
        *counts == [1, 0] || *counts == [0, 1]
    }

    /// The places that hear it.
    pub(super) fn places(&self) -> impl Iterator<Item = Place> {
        self.listeners.iter().map(|(place, _)| *place)
    }

    pub(super) fn discount_listener(&mut self, place: Place, encoding: Encoding) {
        let Some(position) = self.listeners.iter().position(|(other, _)| *other == place) else { return };
        let counts = &mut self.listeners[position].1;
        counts[encoding as usize] = counts[encoding as usize].saturating_sub(1);
        if *counts == [0; 2] {
            self.listeners.swap_remove(position);
        }
        self.forget_news_if_unheard();
    }

    /// Answers whether these places heard it, or had sessions on it.
    fn deafen(&mut self, places: &[Place]) -> bool {
        let heard = self.listeners.len();
        self.listeners.retain(|(place, _)| !places.contains(place));
        let is_concerned =
            self.listeners.len() < heard || self.presences.iter().any(|here| places.contains(&here.session.place));
        self.forget_news_if_unheard();
        is_concerned
    }

    fn forget_news_if_unheard(&mut self) {
        if self.listeners.is_empty() {
            // Whoever hears it next begins with a snapshot.
            self.news = News::default();
        }
    }

    pub(super) fn is_heard(&self) -> bool {
        !self.listeners.is_empty()
    }

    pub(super) fn is_heard_in(&self, encoding: Encoding) -> bool {
        self.listeners.iter().any(|(_, counts)| counts[encoding as usize] > 0)
    }

    /// Who may be seen there, for somebody who comes: cut, and how many there are.
    fn snapshot(&mut self, max: usize) -> (Arc<[Presence]>, usize) {
        self.news.shown(&self.presences);
        self.presences.snapshot(max)
    }

    /// The same without one of them.
    pub(super) fn snapshot_but(&mut self, but: Option<SessionRef>, max: usize) -> (Arc<[Presence]>, usize) {
        let (presences, total) = self.snapshot(max);
        let Some(but) = but else { return (presences, total) };
        let others = presences.iter().filter(|presence| presence.session != but).cloned().collect();
        (others, total.saturating_sub(1))
    }

    fn is_unused(&self) -> bool {
        self.presences.is_empty() && self.listeners.is_empty()
    }
}

/// The streams that a shard owns.
#[derive(Default)]
pub(super) struct Streams {
    /// Parties whose tickets are to be taken back behind this step, and whether they are lost rather than cancelled.
    pub cancelled: Vec<(muster_domain::ids::Uuid, bool)>,
    pub map: Map<StreamKey, Stream>,
    /// Those among them that are relayed matches, for listings, in a stable order.
    pub matches: indexmap::IndexSet<StreamKey, foldhash::fast::RandomState>,
    /// Presences on them all.
    pub presences: usize,
    /// Published messages from sessions that were not on the stream.
    pub strangers: u64,
}

/// What an owner works with.
pub(super) struct Owning<'a> {
    pub streams: &'a mut Streams,
    pub parties: &'a mut Parties,
    pub rooms: &'a mut Rooms,
    pub matches: &'a mut Matches,
    /// Partitions about which nothing is done yet.
    pub rebuilding: &'a mut BTreeMap<Partition, Rebuilding>,
    /// What waits for the way down, in order.
    pub held: &'a mut VecDeque<(Place, Up)>,
    /// For recovery data.
    pub changes: &'a mut Changes,
    pub local: &'a mut Local,
    pub wheel: &'a mut Wheel<Timer>,
    pub config: &'a PlaneConfig,
    pub now: Millis,
    pub out: &'a mut Effects,
}

impl Owning<'_> {
    pub(super) fn join(&mut self, join: Join) {
        let Join { stream: key, presence, listener, serial, condition, request } = join;
        let session = presence.session;
        let occupied = self.streams.map.get(&key).is_some_and(|stream| !stream.presences.is_empty());
        if matches!(condition, Condition::Occupied) && !occupied {
            let request = request.map(|request| request.id);
            let refusal = JoinRefusal::Empty;
            let refused = Down::Refused { stream: key, session: session.key, serial, request, refusal };
            self.local.down(session.place, refused, self.out);
            return;
        }
        let stream = self.streams.map.entry(key.clone()).or_default();
        let old = stream.presences.get(session);
        let (is_new, heard) = (old.is_none(), old.and_then(|here| here.heard));
        let is_same = old.is_some_and(|here| *here.presence == presence);
        if is_new && key.mode == mode::MATCH_RELAYED {
            self.streams.matches.insert(key.clone());
        }
        if let Some(request) = request {
            let (presences, total) = stream.snapshot(self.config.snapshot_max);
            let joined = Joined { is_new, presences, total };
            self.local.down(request.place, Down::Reply(request.id, Reply::Joined(Ok(joined))), self.out);
        }
        let changes = is_new || matches!(condition, Condition::Replace) && !is_same;
        let begins = listener.filter(|_| heard.is_none());
        if let Some(listener) = begins {
            // Before it is there: its place is to know what it is told, not more.
            self.count_in(&key, listener);
        }
        let presence = Arc::new(presence);
        let mut former = None;
        if changes {
            self.streams.presences += usize::from(is_new);
            let stream = self.streams.map.entry(key.clone()).or_default();
            former = stream.presences.insert(presence.clone(), heard);
        }
        if let Some(listener) = begins {
            let stream = self.streams.map.get_mut(&key);
            if let Some(heard) = stream.and_then(|stream| stream.presences.heard_mut(session)) {
                *heard = Some(listener.encoding);
            }
            self.local.down(session.place, Down::Listening { stream: key.clone(), listener, told: None }, self.out);
        }
        if changes {
            self.announce(&key, Some(presence), former);
            self.close_older(&key);
        }
    }

    /// Of a user's sessions that are each to be the only one, the one that opened last goes on: in whatever order they
    /// come to be known here, all owners choose the same.
    pub(super) fn close_older(&mut self, key: &StreamKey) {
        let Some(stream) = self.streams.map.get(key).filter(|_| key.mode == mode::NOTIFICATIONS) else { return };
        let newest = stream.presences.iter().max_by_key(|presence| (presence.sole_since, presence.session_id));
        let Some(Presence { session: newest, sole_since: Some(_), .. }) = newest else { return };
        for older in stream.presences.iter().map(|presence| presence.session).filter(|session| session != newest) {
            let close = Down::Close { session: older.key, payload: None, reason: CloseReason::SingleSocket };
            self.local.down(older.place, close, self.out);
        }
    }

    fn begin_listening(&mut self, key: StreamKey, listener: Listener) {
        self.count_in(&key, listener);
        self.local.down(listener.session.place, Down::Listening { stream: key, listener, told: None }, self.out);
    }

    /// Counts a session that hears a stream from now on. The first of a place of another node brings it the roster.
    /// Answers whether it is the first.
    pub(super) fn count_in(&mut self, key: &StreamKey, listener: Listener) -> bool {
        let place = listener.session.place;
        let stream = self.streams.map.entry(key.clone()).or_default();
        let is_first = stream.count_listener(place, listener.encoding);
        if is_first && place.node() != self.local.me.node() {
            self.send_roster(key, place, Cause::Begins);
        }
        is_first
    }

    /// A session goes from a stream, and from the party or room that it may belong to.
    pub(super) fn depart(
        &mut self,
        key: &StreamKey,
        session: SessionRef,
        heard: Option<Encoding>,
        reason: LeaveReason,
    ) {
        self.leave_party(key, session);
        let left = self.leave(key, session, heard);
        self.left_room(key, left);
        self.left_match(key, session, reason);
    }

    /// A session goes from a stream. Answers its presence, if it was there.
    fn leave(&mut self, key: &StreamKey, session: SessionRef, heard: Option<Encoding>) -> Option<Arc<Presence>> {
        if let (Some(encoding), Some(stream)) = (heard, self.streams.map.get_mut(key)) {
            stream.discount_listener(session.place, encoding);
        }
        let left = self.remove(key, session);
        let presence = left.as_ref().map(|here| here.presence.clone());
        if let Some(here) = left {
            self.announce(key, None, Some(here));
        }
        self.drop_if_unused(key);
        presence
    }

    /// Takes a presence off a stream, and that it heard by its join. There is nothing to do if it was refused, or if the
    /// owner has taken it off before and the session's shard did not know yet.
    pub(super) fn remove(&mut self, key: &StreamKey, session: SessionRef) -> Option<Here> {
        let stream = self.streams.map.get_mut(key)?;
        let here = stream.presences.remove(session)?;
        if let Some(encoding) = here.heard {
            stream.discount_listener(session.place, encoding);
        }
        self.streams.presences -= 1;
        Some(here)
    }

    /// A session comes to a stream because its owner wants it to. It is told something first.
    pub(super) fn enter(&mut self, key: &StreamKey, member: Member, told: Option<SharedPayload>) {
        let Member { presence, listener } = member;
        let session = presence.session;
        if self.streams.map.get(key).is_some_and(|stream| stream.presences.contains(session)) {
            return;
        }
        if told.is_some() {
            // What it is told is to be what its place knows of the stream.
            self.tell_all_kept(key);
        }
        let stream = self.streams.map.entry(key.clone()).or_default();
        let presence = Arc::new(presence);
        stream.presences.insert(presence.clone(), Some(listener.encoding));
        self.streams.presences += 1;
        self.count_in(key, listener);
        let told = told.map(|payload| {
            // It says who is there.
            self.streams.shown(key);
            let mut frames = Frames::default();
            frames.set(listener.encoding, self.local.encode.frame(&*payload, listener.encoding));
            frames
        });
        self.local.down(session.place, Down::Listening { stream: key.clone(), listener, told }, self.out);
        self.announce(key, Some(presence), None);
    }

    /// Takes a session off a stream, and tells its shard. `seen` tells the others too.
    pub(super) fn expel(&mut self, key: &StreamKey, listener: Listener, seen: bool) {
        let session = listener.session;
        let here = self.remove(key, session);
        self.local.down(session.place, Down::Removed { stream: key.clone(), listener }, self.out);
        if let Some(here) = here.filter(|_| seen) {
            self.announce(key, None, Some(here));
        }
        self.drop_if_unused(key);
    }

    /// Sends something to one session.
    pub(super) fn push(&mut self, session: SessionRef, payload: SharedPayload) {
        let (delivery, ended) = (Delivery::Reliable, Vec::new());
        let push = Down::Push { session: session.key, payload, delivery, ended };
        self.local.down(session.place, push, self.out);
    }

    pub(super) fn listen(&mut self, key: StreamKey, listener: Listener, request: Option<RequestRef>) {
        if let Some(request) = request {
            let snapshot = self.streams.map.get_mut(&key).map(|stream| stream.snapshot(self.config.snapshot_max));
            let reply = snapshot.map_or(Reply::Presences(Vec::new(), 0), |(presences, total)| {
                Reply::Presences(presences.to_vec(), total)
            });
            self.local.down(request.place, Down::Reply(request.id, reply), self.out);
        }
        // Who hears by its join already goes on to hear by itself, and was counted.
        let heard = self.streams.map.get_mut(&key).and_then(|stream| stream.presences.heard_mut(listener.session));
        if heard.and_then(Option::take).is_none() {
            self.begin_listening(key, listener);
        }
    }

    pub(super) fn unlisten(&mut self, key: &StreamKey, listener: Listener, by_join: bool) {
        let Some(stream) = self.streams.map.get_mut(key) else { return };
        if !by_join || stream.presences.heard_mut(listener.session).and_then(Option::take).is_some() {
            stream.discount_listener(listener.session.place, listener.encoding);
        }
        self.drop_if_unused(key);
    }

    pub(super) fn drop_if_unused(&mut self, key: &StreamKey) {
        let Some(stream) = self.streams.map.get(key) else { return };
        if stream.presences.is_empty() {
            self.streams.matches.swap_remove(key);
        }
        if stream.is_unused() {
            self.streams.map.remove(key);
        }
    }

    pub(super) fn publish(&mut self, publish: &Publish) {
        let Publish { stream: key, payload, audience, delivery, sender } = publish;
        let stream = self.streams.map.get(key);
        let is_allowed = sender.is_none_or(|sender| stream.is_some_and(|stream| stream.presences.contains(sender)));
        if !is_allowed {
            self.streams.strangers += 1;
            return;
        }
        let Some(stream) = stream else { return };
        let mut frames = Frames::default();
        for encoding in Encoding::ALL.into_iter().filter(|encoding| stream.is_heard_in(*encoding)) {
            frames.set(encoding, self.local.encode.frame(&**payload, encoding));
        }
        fan_out(stream, key, &frames, audience, *delivery, self.local, self.out);
    }

    pub(super) fn count(&mut self, request: RequestRef, streams: &[StreamKey]) {
        let count = |key| self.streams.map.get(key).map_or(0, |stream| stream.presences.len());
        let counts = streams.iter().map(count).collect();
        self.local.down(request.place, Down::Reply(request.id, Reply::Counts(counts)), self.out);
    }

    pub(super) fn list(
        &mut self,
        request: RequestRef,
        key: &StreamKey,
        with_hidden: bool,
        (skip, limit): (usize, usize),
    ) {
        let limit = limit.min(self.config.snapshot_max);
        let (presences, total) = self.streams.map.get_mut(key).map_or_else(Default::default, |stream| {
            stream.news.shown(&stream.presences);
            stream.presences.page(with_hidden, skip, limit)
        });
        self.local.down(request.place, Down::Reply(request.id, Reply::Presences(presences, total)), self.out);
    }

    pub(super) fn list_matches(&mut self, request: RequestRef, limit: usize, sizes: (usize, usize)) {
        let (min, max) = sizes;
        let sized =
            self.streams.matches.iter().filter_map(|key| Some((key, self.streams.map.get(key)?.presences.visible())));
        let fitting = sized.filter(|(_, size)| (min..=max).contains(size));
        let found = fitting.take(limit).map(|(key, size)| (key.clone(), size)).collect();
        self.local.down(request.place, Down::Reply(request.id, Reply::Matches(found)), self.out);
    }
}

impl Streams {
    /// Streams that exist.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Changes what a session shows of itself on a stream, if it is there. Those who are there are not told.
    pub(super) fn set_status(&mut self, key: &StreamKey, session: SessionRef, status: &Option<Arc<str>>) -> bool {
        self.map.get_mut(key).is_some_and(|stream| stream.presences.set_status(session, status))
    }

    /// Nothing on any stream is told to these places any more. Answers the streams of these with which they had to do.
    pub(super) fn deafen(&mut self, places: &[Place], is_one: impl Fn(&StreamKey) -> bool) -> Vec<StreamKey> {
        let streams = self.map.iter_mut().filter(|(key, _)| is_one(key));
        let concerned = streams.filter_map(|(key, stream)| stream.deafen(places).then(|| key.clone()));
        concerned.collect()
    }

    /// Somebody was shown who is on a stream.
    pub(super) fn shown(&mut self, key: &StreamKey) {
        if let Some(stream) = self.map.get_mut(key) {
            stream.news.shown(&stream.presences);
        }
    }

    /// Everybody on a stream, hidden ones included.
    pub(super) fn presences(&self, key: &StreamKey) -> impl Iterator<Item = &Presence> {
        self.map.get(key).into_iter().flat_map(|stream| stream.presences.iter())
    }
}

/// One message to each shard that hears the stream and has receivers.
pub(super) fn fan_out(
    stream: &Stream,
    key: &StreamKey,
    frames: &Frames,
    audience: &Audience,
    delivery: Delivery,
    local: &mut Local,
    out: &mut Effects,
) {
    let chosen = match audience {
        Audience::Only(ids) => chosen(stream, ids),
        Audience::All | Audience::AllBut(_) => Vec::new(),
    };
    for (place, _) in &stream.listeners {
        let audience = match audience {
            Audience::All => LocalAudience::All,
            Audience::AllBut(but) if but.place == *place => LocalAudience::AllBut(but.key),
            Audience::AllBut(_) => LocalAudience::All,
            Audience::Only(_) => {
                let here = chosen.iter().filter(|session| session.place == *place);
                LocalAudience::Only(here.map(|session| session.key).collect())
            }
        };
        if matches!(&audience, LocalAudience::Only(keys) if keys.is_empty()) {
            continue;
        }
        let message = Down::Fanout { stream: key.clone(), frames: frames.clone(), audience, delivery };
        local.down(*place, message, out);
    }
}

/// The presences of these sessions. Who is not there keeps nobody else from receiving.
fn chosen(stream: &Stream, ids: &[SessionId]) -> Vec<SessionRef> {
    let presences = stream.presences.iter();
    presences.filter(|presence| ids.contains(&presence.session_id)).map(|presence| presence.session).collect()
}
