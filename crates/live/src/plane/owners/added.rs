//! Added kinds of things: kinds that the plane does not know. Their questions, answers and parts are bytes.

use bytes::Bytes;

use super::owned::Owned;
use super::owning::Owning;
use super::things::Things;
use crate::party::Member;
use crate::place::Partition;
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{AddedAsk, Ask, Asked, Down, JoinRefusal, Kind, Reply, RequestRef};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::StreamKey;

impl Asked for AddedAsk {
    fn partition(&self) -> Option<Partition> {
        Some(self.stream.partition())
    }

    fn needs_credit(&self) -> bool {
        true
    }
}

impl Plane {
    /// Adds a kind of things, before there is any session. Questions to them are [`Ask::Added`]; their streams have the
    /// mode of the kind.
    pub fn add(&mut self, things: Box<dyn Owned>) {
        self.owners.things.added.push(things);
    }

    /// Brings a session to the stream of a thing of an added kind, if the thing lets it in. The answer is the thing's,
    /// or [`Reply::Joined`] if the session cannot come to any stream.
    pub fn come_to_added(
        &mut self,
        now: Millis,
        key: SessionKey,
        stream: StreamKey,
        ask: Bytes,
        request: RequestRef,
        out: &mut Effects,
    ) {
        if let Some(member) = self.set_out(key, &stream, false, request, out) {
            let ask = Ask::Added(AddedAsk::of_comer(stream, member, ask));
            self.ask_thing(now, ask, Some(request), out);
        }
    }
}

impl Things {
    /// Carries out a question to a thing of an added kind. A question to a kind that this plane does not have is
    /// refused.
    pub(crate) fn ask_added(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, ask: AddedAsk) {
        if let Some(things) = self.of_kind(Kind::Added(ask.stream.mode)) {
            return things.ask_added(owning, request, ask);
        }
        if let (stream, Some(Member { listener, .. }), _) = ask.into_parts() {
            owning.down(listener.session.place, Down::Removed { stream, listener });
        }
        owning.reply(request, Reply::Joined(Err(JoinRefusal::Unavailable)));
    }
}
