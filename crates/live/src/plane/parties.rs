//! Parties on the plane: what is asked of them reaches their owner, and what they decide reaches their stream.
//!
//! A session that asks to be let in is noted on its shard as on its way to the stream, so that the owner learns when it
//! is gone; until it is let in it is in no event and hears nothing.

use super::Plane;
use super::effect::Effects;
use super::message::{Audience, Down, Publish, Reply, RequestRef, Up};
use super::owner::Owning;
use super::recovery::Thing;
use crate::outbox::Delivery;
use crate::party::{Effect, Event, ListQuery, Member, PartyId, Request};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{SessionRef, StreamKey, mode};

impl PartyId {
    /// The stream of a party, whose owner is the party's.
    pub fn stream(self) -> StreamKey {
        StreamKey::about(mode::PARTY, self.0)
    }
}

impl Plane {
    /// Brings a session to a party, as its founder or as who wants to join: `ask` makes the request of the session's
    /// presence. The answer is [`Reply::Party`], or [`Reply::Joined`] if the session cannot come anywhere.
    pub fn come_to_party(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        ask: impl FnOnce(Member) -> Request,
        request: RequestRef,
        out: &mut Effects,
    ) {
        if let Some(member) = self.set_out(key, &stream, false, request, out) {
            self.ask_party(now, stream, ask(member), Some(request), out);
        }
    }

    /// Asks something of a party. The answer to `request` is [`Reply::Party`].
    pub fn ask_party(
        &mut self,
        now: Millis,
        stream: StreamKey,
        ask: Request,
        request: Option<RequestRef>,
        out: &mut Effects,
    ) {
        let owner = self.local.routes.owner(stream.partition());
        self.send_up(now, owner, Up::Party { request, stream, ask: Box::new(ask) }, out);
    }

    /// Whether a session hears a stream: it was let onto it, and was not taken off again as far as its shard knows.
    pub fn hears(&self, key: SessionKey, stream: &StreamKey) -> bool {
        self.local.hears(key, stream)
    }
}

impl Owning<'_> {
    pub(super) fn ask_party(&mut self, request: Option<RequestRef>, stream: &StreamKey, ask: Request) {
        let party = PartyId(stream.subject);
        let comer = match &ask {
            Request::Join(member) | Request::Create { leader: member, .. } => Some(member.listener),
            _ => None,
        };
        let mut effects = Vec::new();
        let is_change = ask.is_change();
        let reply = self.parties.handle(party, ask, &mut effects);
        if is_change && reply.is_ok() {
            self.note_change(Thing::Party(party));
        }
        if let Some(listener) = comer.filter(|_| reply.is_err())
            && !self.parties.knows(party, listener.session)
        {
            self.local.down(listener.session.place, Down::Removed { stream: stream.clone(), listener }, self.out);
        }
        self.carry_out(stream, effects);
        // Last, so that whoever hears that it is done is there already.
        if let Some(request) = request {
            self.local.down(request.place, Down::Reply(request.id, Reply::Party(reply)), self.out);
        }
    }

    pub(super) fn list_parties(&mut self, request: RequestRef, asked: &ListQuery) {
        let found = self.parties.list(asked);
        self.local.down(request.place, Down::Reply(request.id, Reply::Parties(found)), self.out);
    }

    /// A session leaves a stream, which may be a party's.
    pub(super) fn leave_party(&mut self, stream: &StreamKey, session: SessionRef) {
        if stream.mode == mode::PARTY {
            self.ask_party(None, stream, Request::Leave(session));
        }
    }

    pub(super) fn carry_out(&mut self, stream: &StreamKey, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Enter(member, told) => {
                    let told = told.map(|event| self.local.encode.party_event(stream, event));
                    self.enter(stream, member, told);
                }
                Effect::Expel(member) => self.expel(stream, member.listener, true),
                Effect::Dissolve(members) => {
                    members.into_iter().for_each(|member| self.expel(stream, member.listener, false));
                }
                Effect::Dismiss(member) => self.expel(stream, member.listener, false),
                Effect::Send { to, event } => {
                    let payload = self.local.encode.party_event(stream, event);
                    self.push(to, payload);
                }
                Effect::Publish { except, event } => self.tell_party(stream, except, event),
                Effect::CancelTickets => self.streams.cancelled.push((stream.subject, false)),
            }
        }
    }

    pub(super) fn tell_party(&mut self, stream: &StreamKey, except: Option<SessionRef>, event: Event) {
        let payload = self.local.encode.party_event(stream, event);
        let audience = except.map_or(Audience::All, Audience::AllBut);
        let publish = Publish { stream: stream.clone(), payload, audience, delivery: Delivery::Reliable, sender: None };
        self.publish(&publish);
    }
}
