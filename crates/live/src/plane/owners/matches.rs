//! Matches of game code on the plane: questions reach a match's owner, and a handler's decisions reach the match's
//! stream.
//!
//! A session that asks to be let in is noted on its shard as on its way to the match's stream, so that the owner learns
//! when the session is gone. Until it is let in, it is in no event and hears nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::ids::Uuid;

use super::match_logs::Rests;
use super::owned::{Owned, Typed};
use super::owning::Owning;
use crate::matches::{
    self, CallRef, CarriedMatch, Joiner, LeaveReason, MatchAsk, MatchEffect, MatchEvent, MatchId, Matches,
    MatchesAnswer, MatchesAsk, Outline, Return, ended_error,
};
use crate::outbox::Delivery;
use crate::party::Member;
use crate::place::{Epoch, Partition, Place};
use crate::plane::Plane;
use crate::plane::effect::{Effects, HandlerOrder};
use crate::plane::message::{
    Answer, Ask, Asked, Audience, Carried, Down, Kind, Listener, Part, Publish, Reply, RequestRef,
};
use crate::plane::options::{PlaneConfig, PlaneStats};
use crate::plane::owners::rebuilding::Awaited;
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey, mode};

impl MatchId {
    /// The stream of a match; one owner owns both. `node` is the part of public ids behind the dot.
    pub fn stream(self, node: &str) -> StreamKey {
        StreamKey::new(mode::MATCH_AUTHORITATIVE, self.0, Uuid::nil(), node)
    }

    /// The match of a stream.
    pub fn of_stream(stream: &StreamKey) -> Option<Self> {
        (stream.mode == mode::MATCH_AUTHORITATIVE).then_some(Self(stream.subject))
    }
}

impl Plane {
    /// Brings a session to a match of game code. The answer is the match's, or [`Reply::Joined`] if the session cannot
    /// come to any stream.
    pub fn come_to_match(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        joiner: Arc<Joiner>,
        request: RequestRef,
        out: &mut Effects,
    ) {
        if self.owner_of_match(&stream).is_none() {
            out.reply(request.id, Reply::Answer(Answer::Match(Err(ended_error()))));
            return;
        }
        if let Some(member) = self.set_out(key, &stream, false, request, out) {
            let ask = MatchAsk::Join { member: Box::new(member), joiner };
            self.ask_match(now, stream, ask, Some(request), out);
        }
    }

    /// Sends a request to the owner of a match. The answer to `request` is the match's.
    pub fn ask_match(
        &mut self,
        now: Millis,
        stream: StreamKey,
        ask: MatchAsk,
        request: Option<RequestRef>,
        out: &mut Effects,
    ) {
        match self.owner_of_match(&stream) {
            Some(_) => self.ask_thing(now, Ask::Match(MatchesAsk::One { stream, what: Box::new(ask) }), request, out),
            None => out.reply_if_asked(request, Reply::Answer(Answer::Match(Err(ended_error())))),
        }
    }

    /// The owner of a match. There is none if the match is another cluster's, or its place has gone.
    fn owner_of_match(&self, stream: &StreamKey) -> Option<Place> {
        let owner = self.sessions.routes.owner(stream.partition());
        (*stream.label() == *self.config.node && owner != Place::NONE).then_some(owner)
    }

    /// Takes the return of a handler's call.
    pub fn match_returned(&mut self, now: Millis, call: CallRef, returned: Return, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        things.matches.change(&mut owning, |matches, now, effects| matches.returned(now, call, returned, effects));
        things.matches.go_on_to_rest(&mut owning);
        self.after_owning(now, out);
        self.hand_over(now, out);
    }

    /// Tells the handlers of matches that end with the server that the server stops.
    pub fn terminate_matches(&mut self, now: Millis, grace_sec: u32, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        things.matches.change(&mut owning, |matches, now, effects| matches.terminate(now, grace_sec, effects));
        self.after_owning(now, out);
    }
}

/// The matches that a place owns, and their logs.
pub(crate) struct OwnedMatches {
    pub(crate) matches: Matches,
    pub(crate) rests: Rests,
    /// Matches in logs that engines were asked to take over, by partition, until the partition goes on.
    pub(crate) logs: BTreeMap<Partition, Awaited<Outline>>,
    /// Partitions on their way here that have brought matches so far.
    arriving: BTreeSet<Partition>,
}

impl OwnedMatches {
    /// Changes matches, and carries out the effects of the change.
    pub(crate) fn change(
        &mut self,
        owning: &mut Owning<'_>,
        change: impl FnOnce(&mut Matches, Millis, &mut Vec<MatchEffect>),
    ) {
        let mut effects = Vec::new();
        change(&mut self.matches, owning.now, &mut effects);
        owning.carry_out_match(effects);
    }

    /// Ends a durable match of which nothing was kept, after its owner's death. Each player is told of the player's own
    /// leave.
    fn end_lost(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, listeners: impl Iterator<Item = Listener>) {
        self.matches.count_lost();
        for listener in listeners {
            owning.tell_of_leave(stream, listener.session);
            owning.expel(stream, listener, false);
        }
    }
}

impl Asked for MatchesAsk {
    fn partition(&self) -> Option<Partition> {
        if let Self::One { stream, .. } = self { Some(stream.partition()) } else { None }
    }

    fn needs_credit(&self) -> bool {
        matches!(self, Self::One { what, .. } if matches!(**what, MatchAsk::Input { .. }))
    }
}

impl Part for CarriedMatch {
    fn partition(&self) -> Partition {
        self.outline.id.partition()
    }
}

impl Typed for OwnedMatches {
    type Ask = MatchesAsk;

    fn new(config: &PlaneConfig) -> Self {
        Self {
            matches: Matches::new(config.matches.clone()),
            rests: Rests::default(),
            logs: BTreeMap::new(),
            arriving: BTreeSet::new(),
        }
    }

    fn ask(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, ask: MatchesAsk) {
        match ask {
            MatchesAsk::One { stream, what } => {
                if let Some(id) = MatchId::of_stream(&stream) {
                    self.change(owning, |matches, now, effects| matches.receive(now, id, *what, request, effects));
                }
            }
            MatchesAsk::Find(asked) => {
                if let Some(answer) = self.matches.begin_listing(request, asked) {
                    owning.reply(request, Reply::Answer(Answer::Match(answer)));
                }
            }
        }
    }
}

impl Owned for OwnedMatches {
    fn kind(&self) -> Kind {
        Kind::Match
    }

    fn mode(&self) -> Option<u8> {
        Some(mode::MATCH_AUTHORITATIVE)
    }

    /// Runs ticks that are due.
    fn turn(&mut self, owning: &mut Owning<'_>) {
        self.change(owning, |matches, now, effects| matches.turn(now, effects));
    }

    fn next_due(&self) -> Option<Millis> {
        self.matches.next_due()
    }

    /// Goes on with listings.
    fn run_slice(&mut self, owning: &mut Owning<'_>) -> bool {
        for (request, answer) in self.matches.run_slice() {
            owning.reply(request, Reply::Answer(Answer::Match(answer)));
        }
        self.is_busy()
    }

    fn is_busy(&self) -> bool {
        self.matches.is_listing()
    }

    fn count(&self, stats: &mut PlaneStats) {
        stats.matches = self.matches.stats();
        let listings = self.matches.listing_stats();
        stats.listings.merge(listings);
        stats.queries.merge(listings.work);
    }

    fn left(
        &mut self,
        owning: &mut Owning<'_>,
        stream: &StreamKey,
        session: SessionRef,
        _presence: Option<Arc<Presence>>,
        reason: LeaveReason,
    ) {
        let id = MatchId(stream.subject);
        self.change(owning, |matches, now, effects| matches.gone(now, id, session, reason, effects));
    }

    fn rebind(
        &mut self,
        _owning: &mut Owning<'_>,
        stream: &StreamKey,
        from: SessionRef,
        to: SessionRef,
        _presence: Option<&Presence>,
    ) -> bool {
        self.matches.rebind(MatchId(stream.subject), from, to)
    }

    fn waiting(&self, node: &str) -> Vec<(StreamKey, SessionRef)> {
        self.matches.attempting().map(|(id, session)| (id.stream(node), session)).collect()
    }

    fn members(&self, node: &str) -> Option<Vec<(StreamKey, SessionRef)>> {
        Some(self.matches.players().map(|(id, session)| (id.stream(node), session)).collect())
    }

    fn partitions(&self) -> BTreeSet<Partition> {
        self.matches.ids().map(MatchId::partition).collect()
    }

    /// Ends matches that are not durable together with their place. Each player is told of the player's own leave.
    fn end_with_places(&mut self, owning: &mut Owning<'_>) {
        for (stream, listener, presence) in owning.sessions.anchorless() {
            if let Some(presence) = presence {
                let payload = owning.sessions.encode.match_left(&stream, presence);
                owning.push(listener.session, payload);
            }
            owning.down(owning.sessions.me, Down::Removed { stream, listener });
        }
    }

    fn forget(&mut self, owning: &mut Owning<'_>, changed: &BTreeSet<Partition>) {
        self.rests.forget(changed);
        self.arriving.retain(|partition| !changed.contains(partition));
        let mut lost = self.matches.forget(|partition| changed.contains(&partition));
        let logs = self.logs.extract_if(.., |partition, _| changed.contains(partition));
        lost.extend(logs.filter(|(_, log)| !log.is_empty()).map(|(partition, _)| partition));
        lost.into_iter().for_each(|partition| owning.out.order_handler(HandlerOrder::Forget(partition)));
    }

    fn taken_over(&mut self, owning: &mut Owning<'_>, partitions: &[(Partition, Epoch)]) {
        if owning.config.recover.matches {
            self.await_logs(owning, partitions.to_vec());
        }
    }

    /// Has the engine take over the log of a partition that the former owner has given up. If matches came with the
    /// partition, they wait for the log. Otherwise the log is for matches that are yet to be made.
    fn carried_in(&mut self, owning: &mut Owning<'_>, partition: Partition, epoch: Epoch) {
        if self.arriving.remove(&partition) {
            self.await_logs(owning, vec![(partition, epoch)]);
        } else if owning.config.recover.matches {
            owning.out.order_handler(HandlerOrder::TakeOver(vec![(partition, epoch)]));
        }
    }

    fn is_ready(&self, partition: Partition) -> bool {
        self.logs.get(&partition).is_none_or(Awaited::is_here)
    }

    fn give_up_late(&mut self, now: Millis) -> Vec<Partition> {
        let late = self.logs.iter_mut().filter(|(_, log)| log.is_late(now));
        let late = late.map(|(partition, log)| {
            *log = Awaited::default();
            *partition
        });
        late.collect()
    }

    fn resume(
        &mut self,
        owning: &mut Owning<'_>,
        partition: Partition,
        _kept: Vec<Carried>,
        _is_inhabited: &dyn Fn(&StreamKey) -> bool,
    ) -> Vec<StreamKey> {
        let log = self.logs.get(&partition).into_iter().flat_map(Awaited::here);
        log.map(|outline| outline.id.stream(&owning.config.node)).collect()
    }

    /// Turns away sessions that wait to be let in, because their question was answered with a refusal that says to ask
    /// again.
    fn meet(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, inside: Vec<Member>, waiting: Vec<Listener>) {
        let id = MatchId(stream.subject);
        match self.logs.get_mut(&id.partition()).and_then(|log| log.take(|outline| outline.id == id)) {
            Some(outline) => self.resume_match(owning, stream, outline, inside, waiting),
            None => self.end_lost(owning, stream, inside.into_iter().map(|member| member.listener).chain(waiting)),
        }
    }

    fn resumed(&mut self, _owning: &mut Owning<'_>, partition: Partition) {
        self.logs.remove(&partition);
    }

    /// Goes on with matches that a living owner has handed over and that are in the log here. A match that only the log
    /// knows goes on too, without players: the former owner was to go on with that match, and had not read the log in
    /// time.
    fn arrived(&mut self, owning: &mut Owning<'_>, partition: Partition, _missed: &BTreeSet<Partition>) {
        let outlines = self.logs.remove(&partition).map_or_else(Vec::new, Awaited::into_here);
        let are_here: BTreeSet<MatchId> = outlines.iter().map(|outline| outline.id).collect();
        let further: Vec<Outline> = outlines.into_iter().filter(|outline| !self.matches.contains(outline.id)).collect();
        self.change(owning, |matches, now, effects| matches.wake(now, partition, &are_here, effects));
        self.resume_without_players(owning, partition, further);
    }

    fn may_go(&mut self, owning: &mut Owning<'_>, partition: Partition) -> bool {
        self.rest(owning, partition)
    }

    fn carry_out(&mut self, now: Millis, is_one: &dyn Fn(Partition) -> bool) -> Vec<Carried> {
        self.rests.leave(is_one);
        let matches = self.matches.carry_out(now, is_one);
        matches.into_iter().map(|carried| Carried::Match(Box::new(carried))).collect()
    }

    fn carry_in(&mut self, owning: &mut Owning<'_>, part: Carried) {
        if let Carried::Match(carried) = part {
            self.arriving.insert(carried.outline.id.partition());
            self.matches.carry_in(owning.now, *carried);
        }
    }
}

impl Owning<'_> {
    fn carry_out_match(&mut self, effects: Vec<MatchEffect>) {
        let node = self.config.node.clone();
        for effect in effects {
            match effect {
                MatchEffect::Reply(to, answer) => self.reply_of_match(to, answer, &node),
                MatchEffect::Call(call) => self.out.order_handler(HandlerOrder::Call(call)),
                MatchEffect::DropState(id) => self.out.order_handler(HandlerOrder::Drop(id)),
                MatchEffect::Enter(id, member) => self.enter(&id.stream(&node), member, None),
                MatchEffect::Refuse(id, listener) => {
                    let stream = id.stream(&node);
                    self.down(listener.session.place, Down::Removed { stream, listener });
                }
                MatchEffect::Expel(id, listener) => {
                    let stream = id.stream(&node);
                    // The session is told of its own leave, because no other message says that a match is over.
                    self.tell_of_leave(&stream, listener.session);
                    self.expel(&stream, listener, true);
                }
                MatchEffect::TellFailure(id, why) => {
                    let stream = id.stream(&node);
                    if let Some(payload) = self.sessions.encode.match_failed(&stream, &why) {
                        let (audience, delivery) = (Audience::All, Delivery::Reliable);
                        self.publish(&Publish { stream, payload, audience, delivery, sender: None });
                    }
                }
                MatchEffect::Tell { id, to, event: MatchEvent::Data(data), number } => {
                    let stream = id.stream(&node);
                    let payload = self.sessions.encode.match_data(&stream, data);
                    let audience = to.map_or(Audience::All, Audience::Only);
                    let delivery = number.map_or(Delivery::Reliable, Delivery::Once);
                    self.publish(&Publish { stream, payload, audience, delivery, sender: None });
                }
            }
        }
    }

    fn reply_of_match(&mut self, to: RequestRef, answer: MatchesAnswer, node: &str) {
        let answer = match answer {
            Ok(matches::MatchAnswer::Entered(mut entered)) => {
                let stream = entered.id.stream(node);
                if let Some(known) = self.streams.map.get_mut(&stream) {
                    let but = entered.is_new.then_some(entered.session);
                    (entered.presences, entered.total) = known.snapshot_but(but, self.config.snapshot_max);
                }
                Ok(matches::MatchAnswer::Entered(entered))
            }
            answer => answer,
        };
        self.reply(Some(to), Reply::Answer(Answer::Match(answer)));
    }

    /// Tells a session that goes from a match of the session's own leave.
    fn tell_of_leave(&mut self, stream: &StreamKey, session: SessionRef) {
        let here = self.streams.map.get(stream).and_then(|known| known.presences.get(session));
        let Some(presence) = here.map(|here| Presence::clone(&here.presence)) else { return };
        let payload = self.sessions.encode.match_left(stream, presence);
        self.push(session, payload);
    }
}
