//! Streams as their owner keeps them: their presences, the shards that hear them, and the order of what happens on
//! them.

use std::sync::Arc;

use muster_domain::ids::{SessionId, Uuid};

use super::owning::Owning;
use super::presences::{Here, Presences};
use super::telling::News;
use crate::close::CloseReason;
use crate::impossible::count_down;
use crate::outbox::Delivery;
use crate::party::Member;
use crate::place::Place;
use crate::plane::Map;
use crate::plane::effect::Effects;
use crate::plane::message::{
    Audience, Condition, Down, Frames, Join, JoinRefusal, Joined, Listener, LocalAudience, Publish, Reply, RequestRef,
    Standing,
};
use crate::plane::owners::rosters::RosterCause;
use crate::plane::sessions::Sessions;
use crate::stream::{Encoding, Presence, SessionRef, SharedPayload, StreamKey, mode};

/// A stream as its owner keeps it.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub presences: Presences,
    /// The places that hear the stream, each with its number of listening sessions by encoding.
    pub listeners: Vec<(Place, [u32; 2])>,
    /// Joins and leaves that wait to be told together.
    pub news: News,
}

impl Stream {
    /// Counts a listening session. Answers whether it is the first of its place.
    pub(crate) fn count_listener(&mut self, place: Place, encoding: Encoding) -> bool {
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

    /// The places that hear the stream.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> {
        self.listeners.iter().map(|(place, _)| *place)
    }

    /// Counts a session less that hears the stream. With `is_checked` there must be one; without, a message that no
    /// place sends leaves the count as it is.
    pub(crate) fn discount_listener(&mut self, place: Place, encoding: Encoding, is_checked: bool) {
        let Some(position) = self.listeners.iter().position(|(other, _)| *other == place) else { return };
        let counts = &mut self.listeners[position].1;
        let count = &mut counts[encoding as usize];
        if is_checked || *count > 0 {
            count_down(count, 1, "sessions of a place that hear a stream");
        }
        if *counts == [0; 2] {
            self.listeners.swap_remove(position);
        }
        self.forget_news_if_unheard();
    }

    /// Removes the listeners of these places. Answers whether the places heard the stream or had sessions on it.
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
            // Nobody has to be told: the next session that hears the stream begins with a snapshot.
            self.news = News::default();
        }
    }

    pub(crate) fn is_heard(&self) -> bool {
        !self.listeners.is_empty()
    }

    pub(crate) fn is_heard_in(&self, encoding: Encoding) -> bool {
        self.listeners.iter().any(|(_, counts)| counts[encoding as usize] > 0)
    }

    /// The presences that a session is shown when it comes, cut at `max`, and their number before the cut.
    fn snapshot(&mut self, max: usize) -> (Arc<[Presence]>, usize) {
        self.news.shown(&self.presences);
        self.presences.snapshot(max)
    }

    /// The snapshot of [`Self::snapshot`] without the presence of one session.
    pub(crate) fn snapshot_but(&mut self, but: Option<SessionRef>, max: usize) -> (Arc<[Presence]>, usize) {
        let (presences, total) = self.snapshot(max);
        let Some(but) = but else { return (presences, total) };
        let others = presences.iter().filter(|presence| presence.session != but).cloned().collect();
        debug_assert!(self.presences.contains(but), "a session that just came is not on the stream");
        let is_counted = self.presences.get(but).is_some_and(|here| !here.presence.hidden);
        (others, total - usize::from(is_counted))
    }

    /// Panics where a place has fewer listeners than sessions that hear the stream by their joins.
    pub(crate) fn assert_listeners(&self) {
        let mut by_join = Self::default();
        for (place, encoding) in self.presences.heard() {
            by_join.count_listener(place, encoding);
        }
        for (place, heard) in by_join.listeners {
            let counted = self.listeners_at(place);
            assert!(
                heard.iter().zip(counted).all(|(heard, counted)| *heard <= counted),
                "{place:?} has {counted:?} listeners, and {heard:?} sessions hear by their joins"
            );
        }
    }

    /// Number of sessions of a place that hear the stream, by encoding.
    pub(crate) fn listeners_at(&self, place: Place) -> [u32; 2] {
        self.listeners.iter().find(|(other, _)| *other == place).map_or([0; 2], |(_, counts)| *counts)
    }

    fn is_unused(&self) -> bool {
        self.presences.is_empty() && self.listeners.is_empty()
    }
}

/// The streams that a shard owns.
#[derive(Default)]
pub(crate) struct Streams {
    /// Parties whose tickets are to be taken back after this step, and whether the tickets are lost rather than
    /// cancelled.
    pub parties_without_tickets: Vec<(Uuid, bool)>,
    pub map: Map<StreamKey, Stream>,
    /// Streams of relayed matches, for listings, in a stable order.
    pub relayed: indexmap::IndexSet<StreamKey, foldhash::fast::RandomState>,
    /// Presences on all streams.
    pub presences: usize,
    /// Number of published messages that were dropped because their sender was not on the stream.
    pub strangers: u64,
}

impl Owning<'_> {
    pub(crate) fn join(&mut self, join: Join) {
        let Join { stream: key, presence, listener, serial, condition, request } = join;
        let session = presence.session;
        let occupied = self.streams.map.get(&key).is_some_and(|stream| !stream.presences.is_empty());
        if matches!(condition, Condition::Occupied) && !occupied {
            let request = request.map(|request| request.id);
            let refusal = JoinRefusal::Empty;
            let refused = Down::Refused { stream: key, session: session.key, serial, request, refusal };
            self.down(session.place, refused);
            return;
        }
        let stream = self.streams.map.entry(key.clone()).or_default();
        let old = stream.presences.get(session);
        let (is_new, heard) = (old.is_none(), old.and_then(|here| here.heard));
        let is_same = old.is_some_and(|here| *here.presence == presence);
        if is_new && key.mode == mode::MATCH_RELAYED {
            self.streams.relayed.insert(key.clone());
        }
        if let Some(request) = request {
            let (presences, total) = stream.snapshot(self.config.snapshot_max);
            let joined = Joined { is_new, presences, total };
            self.reply(Some(request), Reply::Joined(Ok(joined)));
        }
        let changes = is_new || matches!(condition, Condition::Replace) && !is_same;
        let begins = listener.filter(|_| heard.is_none());
        if let Some(listener) = begins {
            // The roster is sent before the presence is put in, so that the session's place knows the same presences
            // that the session was told.
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
            self.down(session.place, Down::Listening { stream: key.clone(), listener, told: None });
        }
        if changes {
            self.announce(&key, Some(presence), former);
            self.close_older(&key);
        }
    }

    /// Closes all but one of a user's sessions that are each to be the only one. The session that opened last stays:
    /// all owners choose the same, in whatever order they learn of the sessions.
    pub(crate) fn close_older(&mut self, key: &StreamKey) {
        let Some(stream) = self.streams.map.get(key).filter(|_| key.mode == mode::NOTIFICATIONS) else { return };
        let newest = stream.presences.iter().max_by_key(|presence| (presence.only_session_since, presence.session_id));
        let Some(Presence { session: newest, only_session_since: Some(_), .. }) = newest else { return };
        for older in stream.presences.iter().map(|presence| presence.session).filter(|session| session != newest) {
            let close = Down::Close { session: older.key, payload: None, reason: CloseReason::SingleSocket };
            self.sessions.down(older.place, close, self.out);
        }
    }

    fn begin_listening(&mut self, key: StreamKey, listener: Listener) {
        self.count_in(&key, listener);
        self.down(listener.session.place, Down::Listening { stream: key, listener, told: None });
    }

    /// Counts a session that hears a stream from now on. The first one of a place on another node has the roster sent
    /// there. Answers whether it is the first.
    pub(crate) fn count_in(&mut self, key: &StreamKey, listener: Listener) -> bool {
        let place = listener.session.place;
        let stream = self.streams.map.entry(key.clone()).or_default();
        let is_first = stream.count_listener(place, listener.encoding);
        if is_first && place.node() != self.sessions.me.node() {
            self.send_roster(key, place, RosterCause::Begins);
        }
        is_first
    }

    /// Takes a session off a stream. Answers its presence, if it was there.
    pub(crate) fn leave(
        &mut self,
        key: &StreamKey,
        session: SessionRef,
        heard: Option<Encoding>,
    ) -> Option<Arc<Presence>> {
        if let (Some(encoding), Some(stream)) = (heard, self.streams.map.get_mut(key)) {
            stream.discount_listener(session.place, encoding, self.config.checks_itself);
        }
        let left = self.remove(key, session);
        let presence = left.as_ref().map(|here| here.presence.clone());
        if let Some(here) = left {
            self.announce(key, None, Some(here));
        }
        self.drop_if_unused(key);
        presence
    }

    /// Takes a presence off a stream, and the hearing by its join. Does nothing if the join was refused, or if the
    /// owner has taken the session off before and its shard did not know yet.
    pub(crate) fn remove(&mut self, key: &StreamKey, session: SessionRef) -> Option<Here> {
        let stream = self.streams.map.get_mut(key)?;
        let here = stream.presences.remove(session)?;
        if let Some(encoding) = here.heard {
            stream.discount_listener(session.place, encoding, self.config.checks_itself);
        }
        self.streams.presences -= 1;
        Some(here)
    }

    /// Brings a session to a stream because the thing of the stream lets it in. The session is told `told` first.
    pub(crate) fn enter(&mut self, key: &StreamKey, member: Member, told: Option<SharedPayload>) {
        let Member { presence, listener } = member;
        let session = presence.session;
        if self.streams.map.get(key).is_some_and(|stream| stream.presences.contains(session)) {
            return;
        }
        if told.is_some() {
            // Joins and leaves that were kept back are told first: the roster at the session's place then shows the
            // same presences as the message to the session.
            self.tell_all_kept(key);
        }
        let stream = self.streams.map.entry(key.clone()).or_default();
        let presence = Arc::new(presence);
        stream.presences.insert(presence.clone(), Some(listener.encoding));
        self.streams.presences += 1;
        self.count_in(key, listener);
        let told = told.map(|payload| {
            // The message says who is there.
            self.streams.shown(key);
            let mut frames = Frames::default();
            frames.set(listener.encoding, self.sessions.encode.frame(&*payload, listener.encoding));
            frames
        });
        self.down(session.place, Down::Listening { stream: key.clone(), listener, told });
        self.announce(key, Some(presence), None);
    }

    /// Takes a session off a stream, and tells its shard. With `seen`, those who hear the stream are told too.
    pub(crate) fn expel(&mut self, key: &StreamKey, listener: Listener, seen: bool) {
        let session = listener.session;
        let here = self.remove(key, session);
        self.down(session.place, Down::Removed { stream: key.clone(), listener });
        if let Some(here) = here.filter(|_| seen) {
            self.announce(key, None, Some(here));
        }
        self.drop_if_unused(key);
    }

    /// Sends a message down to a place.
    pub(crate) fn down(&mut self, to: Place, down: Down) {
        self.sessions.down(to, down, self.out);
    }

    /// Answers a question, if somebody waits for the answer.
    pub(crate) fn reply(&mut self, to: Option<RequestRef>, reply: Reply) {
        if let Some(to) = to {
            self.down(to.place, Down::Reply(to.id, reply));
        }
    }

    /// Sends a message to one session.
    pub(crate) fn push(&mut self, session: SessionRef, payload: SharedPayload) {
        let (delivery, ended) = (Delivery::Reliable, Vec::new());
        let push = Down::Push { session: session.key, payload, delivery, ended };
        self.down(session.place, push);
    }

    pub(crate) fn listen(&mut self, key: StreamKey, listener: Listener, request: Option<RequestRef>) {
        if let Some(request) = request {
            let snapshot = self.streams.map.get_mut(&key).map(|stream| stream.snapshot(self.config.snapshot_max));
            let reply = snapshot.map_or(Reply::Presences(Vec::new(), 0), |(presences, total)| {
                Reply::Presences(presences.to_vec(), total)
            });
            self.reply(Some(request), reply);
        }
        // A session that hears by its join already was counted. From now on it hears by its listen.
        let heard = self.streams.map.get_mut(&key).and_then(|stream| stream.presences.heard_mut(listener.session));
        if heard.and_then(Option::take).is_none() {
            self.begin_listening(key, listener);
        }
    }

    pub(crate) fn unlisten(&mut self, key: &StreamKey, listener: Listener, by_join: bool) {
        let Some(stream) = self.streams.map.get_mut(key) else { return };
        if !by_join || stream.presences.heard_mut(listener.session).and_then(Option::take).is_some() {
            stream.discount_listener(listener.session.place, listener.encoding, self.config.checks_itself);
        }
        self.drop_if_unused(key);
    }

    pub(crate) fn drop_if_unused(&mut self, key: &StreamKey) {
        let Some(stream) = self.streams.map.get(key) else { return };
        if stream.presences.is_empty() {
            self.streams.relayed.swap_remove(key);
        }
        if stream.is_unused() {
            self.streams.map.remove(key);
        }
    }

    pub(crate) fn publish(&mut self, publish: &Publish) {
        let Publish { stream: key, payload, audience, delivery, sender } = publish;
        match *delivery {
            Delivery::Kept(number) if self.sessions.heard.is_retold(self.now, number) => return,
            Delivery::Again { number, .. } => {
                self.sessions.heard.note_retold(self.now, number, self.sessions.remembered_ms);
            }
            _ => {}
        }
        let stream = self.streams.map.get(key);
        let is_allowed = sender.is_none_or(|sender| stream.is_some_and(|stream| stream.presences.contains(sender)));
        if !is_allowed {
            self.streams.strangers += 1;
            return;
        }
        let Some(stream) = stream else { return };
        let mut frames = Frames::default();
        for encoding in Encoding::ALL.into_iter().filter(|encoding| stream.is_heard_in(*encoding)) {
            frames.set(encoding, self.sessions.encode.frame(&**payload, encoding));
        }
        fan_out(stream, key, &frames, audience, *delivery, self.sessions, self.out);
    }

    pub(crate) fn count(&mut self, request: RequestRef, streams: &[StreamKey]) {
        let count = |key| self.streams.map.get(key).map_or(0, |stream| stream.presences.len());
        let counts = streams.iter().map(count).collect();
        self.reply(Some(request), Reply::Counts(counts));
    }

    pub(crate) fn list(&mut self, request: RequestRef, key: &StreamKey, with_hidden: bool, skip: usize, limit: usize) {
        let limit = limit.min(self.config.snapshot_max);
        let (presences, total) = self.streams.map.get_mut(key).map_or_else(Default::default, |stream| {
            stream.news.shown(&stream.presences);
            stream.presences.page(with_hidden, skip, limit)
        });
        self.reply(Some(request), Reply::Presences(presences, total));
    }

    pub(crate) fn list_matches(&mut self, request: RequestRef, limit: usize, sizes: (usize, usize)) {
        let (min, max) = sizes;
        let sized =
            self.streams.relayed.iter().filter_map(|key| Some((key, self.streams.map.get(key)?.presences.visible())));
        let fitting = sized.filter(|(_, size)| (min..=max).contains(size));
        let found = fitting.take(limit).map(|(key, size)| (key.clone(), size)).collect();
        self.reply(Some(request), Reply::Matches(found));
    }
}

impl Streams {
    /// Number of streams.
    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// Puts in the standing of a session. Nobody is told.
    pub(crate) fn install(&mut self, standing: Standing) {
        let Standing { stream: key, presence, listener, by_join, .. } = standing;
        let stream = self.map.entry(key.clone()).or_default();
        if let Some(Listener { session, encoding, .. }) = listener {
            stream.count_listener(session.place, encoding);
        }
        let Some(presence) = presence else { return };
        let heard = listener.filter(|_| by_join).map(|listener| listener.encoding);
        if stream.presences.insert(Arc::new(presence), heard).is_none() {
            self.presences += 1;
        }
        if key.mode == mode::MATCH_RELAYED {
            self.relayed.insert(key);
        }
    }

    /// Forgets streams. Nobody is told.
    pub(crate) fn forget(&mut self, is_lost: impl Fn(&StreamKey) -> bool) {
        let Self { map, relayed, presences, .. } = self;
        map.retain(|key, stream| {
            let is_lost = is_lost(key);
            if is_lost {
                *presences -= stream.presences.len();
                relayed.swap_remove(key);
            }
            !is_lost
        });
    }

    /// Changes the status of a session's presence on a stream, if there is one. Nobody is told.
    pub(crate) fn set_status(&mut self, key: &StreamKey, session: SessionRef, status: &Option<Arc<str>>) -> bool {
        self.map.get_mut(key).is_some_and(|stream| stream.presences.set_status(session, status))
    }

    /// Removes the listeners of these places. Answers the streams, of those that `is_one` accepts, that the places
    /// heard or had sessions on.
    pub(crate) fn deafen(&mut self, places: &[Place], is_one: impl Fn(&StreamKey) -> bool) -> Vec<StreamKey> {
        let streams = self.map.iter_mut().filter(|(key, _)| is_one(key));
        let concerned = streams.filter_map(|(key, stream)| stream.deafen(places).then(|| key.clone()));
        concerned.collect()
    }

    /// Notes that somebody was shown who is on a stream.
    pub(crate) fn shown(&mut self, key: &StreamKey) {
        if let Some(stream) = self.map.get_mut(key) {
            stream.news.shown(&stream.presences);
        }
    }

    /// Everybody on a stream, hidden ones included.
    pub(crate) fn presences(&self, key: &StreamKey) -> impl Iterator<Item = &Presence> {
        self.map.get(key).into_iter().flat_map(|stream| stream.presences.iter())
    }
}

/// Sends one message to each shard that hears the stream and has receivers.
pub(crate) fn fan_out(
    stream: &Stream,
    key: &StreamKey,
    frames: &Frames,
    audience: &Audience,
    delivery: Delivery,
    sessions: &mut Sessions,
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
        if *place == sessions.me {
            sessions.fan_out(key, frames.clone(), audience, delivery, out);
        } else {
            let message = Down::Fanout { stream: key.clone(), frames: frames.clone(), audience, delivery };
            sessions.down(*place, message, out);
        }
    }
}

/// The presences of these sessions. Sessions that are not there are passed over.
fn chosen(stream: &Stream, ids: &[SessionId]) -> Vec<SessionRef> {
    let presences = stream.presences.iter();
    presences.filter(|presence| ids.contains(&presence.session_id)).map(|presence| presence.session).collect()
}
