//! Parties on the plane: questions reach a party's owner, and the party's decisions reach its stream.
//!
//! A session that asks to be let in is noted on its shard as on its way to the stream, so that the owner learns when
//! the session is gone. Until it is let in, it is in no event and hears nothing.

use std::collections::BTreeSet;

use super::owned::{Owned, Typed};
use super::owning::Owning;
use crate::outbox::Delivery;
use crate::party::{
    CarriedParty, Member, Page, Parties, PartyAnswer, PartyAsk, PartyEffect, PartyEvent, PartyId, PartyRequest,
};
use crate::place::Partition;
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{
    Answer, Answered, Ask, Asked, Audience, Carried, Down, JoinRefusal, Kind, Listener, Part, Publish, RecoveryKey,
    Reply, RequestRef,
};
use crate::plane::options::{PlaneConfig, PlaneStats};
use crate::plane::owners::rosters::RosterCause;
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey, mode};

impl PartyId {
    /// The stream of a party; one owner owns both.
    pub fn stream(self) -> StreamKey {
        StreamKey::about(mode::PARTY, self.0)
    }
}

impl Plane {
    /// Brings a session to a party, as its founder or to join it. `ask` makes the request from the session's presence.
    /// The answer is the party's, or [`Reply::Joined`] if the session cannot come to any stream.
    pub fn come_to_party(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        ask: impl FnOnce(Member) -> PartyRequest,
        request: RequestRef,
        out: &mut Effects,
    ) {
        if let Some(member) = self.set_out(key, &stream, false, request, out) {
            self.ask_party(now, stream, ask(member), Some(request), out);
        }
    }

    /// Sends a request to the owner of a party. The answer to `request` is the party's.
    pub fn ask_party(
        &mut self,
        now: Millis,
        stream: StreamKey,
        ask: PartyRequest,
        request: Option<RequestRef>,
        out: &mut Effects,
    ) {
        self.ask_thing(now, Ask::Party(PartyAsk::One { stream, what: Box::new(ask) }), request, out);
    }
}

/// The parties that a place owns.
pub(crate) struct OwnedParties {
    pub(crate) parties: Parties,
}

impl OwnedParties {
    fn ask_one(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, stream: &StreamKey, ask: PartyRequest) {
        let party = PartyId(stream.subject);
        let comer = match &ask {
            PartyRequest::Join(member) | PartyRequest::Create { leader: member, .. } => Some(member.listener),
            _ => None,
        };
        let mut effects = Vec::new();
        let is_change = ask.is_change();
        let reply = self.parties.handle(party, ask, &mut effects);
        if is_change && reply.is_ok() {
            owning.note_change(RecoveryKey::Party(party));
        }
        if let Some(listener) = comer.filter(|_| reply.is_err())
            && !self.parties.knows(party, listener.session)
        {
            owning.down(listener.session.place, Down::Removed { stream: stream.clone(), listener });
        }
        owning.carry_out_party(stream, effects);
        // The answer comes last: a session that hears that it is done is on the stream already.
        owning.reply(request, Reply::Answer(Answer::Party(PartyAnswer::One(reply))));
    }

    /// Ends a party that did not go on after its owner's death.
    fn end_lost(owning: &mut Owning<'_>, stream: &StreamKey, listeners: impl Iterator<Item = Listener>) {
        owning.streams.parties_without_tickets.push((stream.subject, true));
        owning.tell_party(stream, None, PartyEvent::Closed);
        listeners.for_each(|listener| owning.expel(stream, listener, false));
    }
}

fn listed(page: Page) -> Reply {
    Reply::Answer(Answer::Party(PartyAnswer::Listed(page)))
}

impl Asked for PartyAsk {
    fn partition(&self) -> Option<Partition> {
        if let Self::One { stream, .. } = self { Some(stream.partition()) } else { None }
    }

    fn needs_credit(&self) -> bool {
        matches!(self, Self::One { what, .. } if matches!(**what, PartyRequest::SendData { .. }))
    }
}

impl Answered for PartyAnswer {
    fn is_refused(&self) -> bool {
        matches!(self, Self::One(Err(_)))
    }
}

impl Part for CarriedParty {
    fn partition(&self) -> Partition {
        self.party.stream().partition()
    }

    fn recovery_key(&self) -> Option<RecoveryKey> {
        Some(RecoveryKey::Party(self.party))
    }
}

impl Typed for OwnedParties {
    type Ask = PartyAsk;

    fn new(_config: &PlaneConfig) -> Self {
        Self { parties: Parties::default() }
    }

    fn ask(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, ask: PartyAsk) {
        match ask {
            PartyAsk::One { stream, what } => self.ask_one(owning, request, &stream, *what),
            PartyAsk::List(asked) => {
                if let Some(page) = self.parties.begin_listing(request, asked) {
                    owning.reply(request, page.map_or(Reply::Joined(Err(JoinRefusal::Unavailable)), listed));
                }
            }
        }
    }
}

impl Owned for OwnedParties {
    fn kind(&self) -> Kind {
        Kind::Party
    }

    fn mode(&self) -> Option<u8> {
        Some(mode::PARTY)
    }

    fn leaving(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, session: SessionRef) {
        self.ask_one(owning, None, stream, PartyRequest::Leave(session));
    }

    fn rebind(
        &mut self,
        owning: &mut Owning<'_>,
        stream: &StreamKey,
        from: SessionRef,
        to: SessionRef,
        _presence: Option<&Presence>,
    ) -> bool {
        let party = PartyId(stream.subject);
        let is_known = self.parties.rebind(party, from, to);
        if is_known {
            owning.note_change(RecoveryKey::Party(party));
        }
        is_known
    }

    fn waiting(&self, _node: &str) -> Vec<(StreamKey, SessionRef)> {
        self.parties.sessions().map(|(party, session)| (party.stream(), session)).collect()
    }

    fn forget(&mut self, _owning: &mut Owning<'_>, changed: &BTreeSet<Partition>) {
        self.parties.forget(|party| changed.contains(&party.stream().partition()));
    }

    fn resume(
        &mut self,
        owning: &mut Owning<'_>,
        _partition: Partition,
        kept: Vec<Carried>,
        is_inhabited: &dyn Fn(&StreamKey) -> bool,
    ) -> Vec<StreamKey> {
        // A party ends with its last member.
        let goes_on = |part: &Carried| matches!(part, Carried::Party(party) if is_inhabited(&party.party.stream()));
        kept.into_iter().filter(goes_on).for_each(|part| owning.carry_in(self, part));
        Vec::new()
    }

    fn meet(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, inside: Vec<Member>, waiting: Vec<Listener>) {
        let party = PartyId(stream.subject);
        if !self.parties.contains(party) {
            return Self::end_lost(owning, stream, inside.into_iter().map(|member| member.listener).chain(waiting));
        }
        owning.send_rosters(stream, RosterCause::NewOwner);
        let mut effects = Vec::new();
        self.parties.meet(party, inside, &waiting, &mut effects);
        // The tickets may be for other members than the party has now, so they are lost.
        if effects.extract_if(.., |effect| matches!(effect, PartyEffect::CancelTickets)).count() > 0 {
            owning.streams.parties_without_tickets.push((stream.subject, true));
        }
        owning.carry_out_party(stream, effects);
        for listener in waiting {
            if !self.parties.knows(party, listener.session) {
                owning.expel(stream, listener, false);
            }
        }
    }

    /// Goes on with listings.
    fn run_slice(&mut self, owning: &mut Owning<'_>) -> bool {
        for (request, page) in self.parties.run_slice() {
            owning.reply(request, listed(page));
        }
        self.is_busy()
    }

    fn is_busy(&self) -> bool {
        self.parties.is_listing()
    }

    fn count(&self, stats: &mut PlaneStats) {
        stats.parties = self.parties.len();
        let listings = self.parties.listing_stats();
        stats.listings.merge(listings);
        stats.queries.merge(listings.work);
    }

    fn members(&self, _node: &str) -> Option<Vec<(StreamKey, SessionRef)>> {
        Some(self.parties.members().map(|(party, session)| (party.stream(), session)).collect())
    }

    fn partitions(&self) -> BTreeSet<Partition> {
        self.parties.ids().map(|party| party.stream().partition()).collect()
    }

    fn carry_out(&mut self, _now: Millis, is_one: &dyn Fn(Partition) -> bool) -> Vec<Carried> {
        let carried = self.parties.carry_out(|party| is_one(party.stream().partition()));
        carried.into_iter().map(|party| Carried::Party(Box::new(party))).collect()
    }

    fn carry_in(&mut self, _owning: &mut Owning<'_>, part: Carried) {
        if let Carried::Party(party) = part {
            self.parties.carry_in(*party);
        }
    }

    fn recovery_data(&self, _now: Millis, key: RecoveryKey) -> Vec<Carried> {
        let RecoveryKey::Party(party) = key else { return Vec::new() };
        self.parties.carried(party).map(Box::new).map(Carried::Party).into_iter().collect()
    }
}

impl Owning<'_> {
    fn carry_out_party(&mut self, stream: &StreamKey, effects: Vec<PartyEffect>) {
        for effect in effects {
            match effect {
                PartyEffect::Enter(member, told) => {
                    let told = told.map(|event| self.sessions.encode.party_event(stream, event));
                    self.enter(stream, member, told);
                }
                PartyEffect::Expel(member) => self.expel(stream, member.listener, true),
                PartyEffect::Dissolve(members) => {
                    members.into_iter().for_each(|member| self.expel(stream, member.listener, false));
                }
                PartyEffect::Dismiss(member) => self.expel(stream, member.listener, false),
                PartyEffect::Send { to, event } => {
                    let payload = self.sessions.encode.party_event(stream, event);
                    self.push(to, payload);
                }
                PartyEffect::Publish { except, event } => self.tell_party(stream, except, event),
                PartyEffect::CancelTickets => self.streams.parties_without_tickets.push((stream.subject, false)),
            }
        }
    }

    fn tell_party(&mut self, stream: &StreamKey, except: Option<SessionRef>, event: PartyEvent) {
        let payload = self.sessions.encode.party_event(stream, event);
        let audience = except.map_or(Audience::All, Audience::AllBut);
        self.publish(&Publish {
            stream: stream.clone(),
            payload,
            audience,
            delivery: Delivery::Reliable,
            sender: None,
        });
    }
}
