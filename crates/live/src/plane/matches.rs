//! Matches of game code on the plane: what is asked of them reaches their owner, and what their handlers decide reaches
//! their stream.
//!
//! A session that asks to be let in is noted on its shard as on its way to the match's stream, so that the owner learns
//! when it is gone; until it is let in it is in no event and hears nothing.

use std::sync::Arc;

use muster_domain::ids::Uuid;

use super::Plane;
use super::effect::{Effects, HandlerOrder};
use super::message::{Audience, Down, Publish, Reply, RequestRef, Up};
use super::owner::Owning;
use crate::matches::{Answer, CallRef, Effect, Event, LeaveReason, ListQuery, MatchAsk, MatchId, Return, ended};
use crate::outbox::Delivery;
use crate::place::Place;
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey, mode};

impl MatchId {
    /// The stream of a match, whose owner is the match's. `node` is the part of public ids behind the dot.
    pub fn stream(self, node: &str) -> StreamKey {
        StreamKey::new(mode::MATCH_AUTHORITATIVE, self.0, Uuid::nil(), node)
    }

    /// The match of a stream.
    pub fn of_stream(stream: &StreamKey) -> Option<Self> {
        (stream.mode == mode::MATCH_AUTHORITATIVE).then_some(Self(stream.subject))
    }
}

impl Plane {
    /// Brings a session to a match of game code. The answer is [`Reply::Match`], or [`Reply::Joined`] if the session cannot
    /// come anywhere.
    pub fn come_to_match(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        metadata: Arc<[(String, String)]>,
        request: RequestRef,
        out: &mut Effects,
    ) {
        if self.owner_of_match(&stream).is_none() {
            out.reply(request.id, Reply::Match(Err(ended())));
            return;
        }
        if let Some(member) = self.set_out(key, &stream, true, request, out) {
            let ask = MatchAsk::Join { member: Box::new(member), metadata };
            self.ask_match(now, stream, ask, Some(request), out);
        }
    }

    /// Asks something of a match. The answer to `request` is [`Reply::Match`].
    pub fn ask_match(
        &mut self,
        now: Millis,
        stream: StreamKey,
        ask: MatchAsk,
        request: Option<RequestRef>,
        out: &mut Effects,
    ) {
        match self.owner_of_match(&stream) {
            Some(owner) => self.send_up(now, owner, Up::Match { request, stream, ask: Box::new(ask) }, out),
            None => out.reply_if_asked(request, Reply::Match(Err(ended()))),
        }
    }

    /// Where a match is: nowhere if it is another cluster's, or its place has gone.
    fn owner_of_match(&self, stream: &StreamKey) -> Option<Place> {
        let owner = self.local.routes.owner(stream.partition());
        (*stream.label() == *self.config.node && owner != Place::NONE).then_some(owner)
    }

    /// A handler has returned.
    pub fn match_returned(&mut self, now: Millis, call: CallRef, returned: Return, out: &mut Effects) {
        let mut owning = self.owning(now, out);
        let mut effects = Vec::new();
        owning.matches.returned(now, call, returned, &mut effects);
        owning.carry_out_matches(effects);
        self.after_owning(now, out);
        self.go_on_to_rest(out);
        self.hand_over(now, out);
    }

    /// The server stops: handlers of matches that end with it are told so.
    pub fn terminate_matches(&mut self, now: Millis, grace_sec: u32, out: &mut Effects) {
        let mut owning = self.owning(now, out);
        let mut effects = Vec::new();
        owning.matches.terminate(now, grace_sec, &mut effects);
        owning.carry_out_matches(effects);
        self.after_owning(now, out);
    }

    /// Places have gone, and with them matches: their players see themselves go.
    pub(super) fn end_anchorless(&mut self, out: &mut Effects) {
        let me = self.local.me;
        for (stream, listener, presence) in self.local.anchorless() {
            if let Some(presence) = presence {
                let payload = self.local.encode.match_left(&stream, presence);
                let (session, delivery, ended) = (listener.session.key, Delivery::Reliable, Vec::new());
                self.local.receive(me, Down::Push { session, payload, delivery, ended }, out);
            }
            self.local.receive(me, Down::Removed { stream, listener }, out);
        }
    }

    /// Runs ticks that are due.
    pub(super) fn turn_matches(&mut self, now: Millis, out: &mut Effects) {
        if self.matches.next_due().is_some_and(|due| due <= now) {
            let mut owning = self.owning(now, out);
            let mut effects = Vec::new();
            owning.matches.turn(now, &mut effects);
            owning.carry_out_matches(effects);
        }
    }
}

impl Owning<'_> {
    pub(super) fn ask_match(&mut self, request: Option<RequestRef>, stream: &StreamKey, ask: MatchAsk) {
        let Some(id) = MatchId::of_stream(stream) else { return };
        let mut effects = Vec::new();
        self.matches.receive(self.now, id, ask, request, &mut effects);
        self.carry_out_matches(effects);
    }

    pub(super) fn find_matches(&mut self, request: RequestRef, asked: &ListQuery) {
        let found = Answer::Listed(self.matches.list(asked));
        self.local.down(request.place, Down::Reply(request.id, Reply::Match(Ok(found))), self.out);
    }

    /// A session has left a stream, which may be a match's, or never came to it.
    pub(super) fn left_match(&mut self, stream: &StreamKey, session: SessionRef, reason: LeaveReason) {
        let Some(id) = MatchId::of_stream(stream) else { return };
        let mut effects = Vec::new();
        self.matches.gone(self.now, id, session, reason, &mut effects);
        self.carry_out_matches(effects);
    }

    pub(super) fn carry_out_matches(&mut self, effects: Vec<Effect>) {
        let node = self.config.node.clone();
        for effect in effects {
            match effect {
                Effect::Reply(to, answer) => self.reply_of_match(to, answer, &node),
                Effect::Call(call) => self.out.order_handler(HandlerOrder::Call(call)),
                Effect::Drop(id) => self.out.order_handler(HandlerOrder::Drop(id)),
                Effect::Enter(id, member) => self.enter(&id.stream(&node), member, None),
                Effect::Refuse(id, listener) => {
                    let stream = id.stream(&node);
                    self.local.down(listener.session.place, Down::Removed { stream, listener }, self.out);
                }
                Effect::Expel(id, listener) => {
                    let stream = id.stream(&node);
                    // Whoever goes sees itself go: nothing else says that a match is over.
                    self.tell_of_leave(&stream, listener.session);
                    self.expel(&stream, listener, true);
                }
                Effect::Tell { id, to, event: Event::Data(data), number } => {
                    let stream = id.stream(&node);
                    let payload = self.local.encode.match_data(&stream, data);
                    let audience = to.map_or(Audience::All, Audience::Only);
                    let delivery = number.map_or(Delivery::Reliable, Delivery::Once);
                    self.publish(&Publish { stream, payload, audience, delivery, sender: None });
                }
            }
        }
    }

    fn reply_of_match(&mut self, to: RequestRef, answer: muster_domain::Result<Answer>, node: &str) {
        let answer = match answer {
            Ok(Answer::Entered(mut entered)) => {
                let stream = entered.id.stream(node);
                if let Some(known) = self.streams.map.get_mut(&stream) {
                    let but = entered.is_new.then_some(entered.session);
                    (entered.presences, entered.total) = known.snapshot_but(but, self.config.snapshot_max);
                }
                Ok(Answer::Entered(entered))
            }
            answer => answer,
        };
        self.local.down(to.place, Down::Reply(to.id, Reply::Match(answer)), self.out);
    }

    /// Whoever goes from a match sees itself go.
    pub(super) fn tell_of_leave(&mut self, stream: &StreamKey, session: SessionRef) {
        let here = self.streams.map.get(stream).and_then(|known| known.presences.get(session));
        let Some(presence) = here.map(|here| Presence::clone(&here.presence)) else { return };
        let payload = self.local.encode.match_left(stream, presence);
        self.push(session, payload);
    }
}
