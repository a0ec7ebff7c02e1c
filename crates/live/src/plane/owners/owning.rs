//! Access of an owner to the plane during a step.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;

use super::rebuilding::{Rebuilding, Unkept};
use super::rosters::RosterCause;
use super::streams::Streams;
use crate::party::Member;
use crate::place::{Partition, Place};
use crate::plane::effect::Effects;
use crate::plane::message::{Answer, Kind, Listener, RecoveryKey, Reply, RequestRef, Up};
use crate::plane::options::{PlaneConfig, Timer};
use crate::plane::sessions::Sessions;
use crate::session::Millis;
use crate::stream::StreamKey;
use crate::wheel::Wheel;

/// Access of an owner to the plane during a step: the streams, the sessions of its place, timers, and the effects of
/// the step.
pub struct Owning<'a> {
    pub(crate) streams: &'a mut Streams,
    pub(crate) sessions: &'a mut Sessions,
    /// Partitions that this place owns although parts of their state are still missing here; messages about them wait.
    pub(crate) rebuilding: &'a mut BTreeMap<Partition, Rebuilding>,
    /// See [`super::Owners::held`].
    pub(crate) held: &'a mut VecDeque<(Place, Up)>,
    pub(crate) unkept: &'a mut Unkept,
    pub(crate) wheel: &'a mut Wheel<Timer>,
    pub(crate) config: &'a PlaneConfig,
    /// Whether this node is an island.
    pub(crate) is_island: bool,
    pub(crate) now: Millis,
    pub(crate) out: &'a mut Effects,
}

impl Owning<'_> {
    /// Notes that a thing changed, or is owned here from now on: its recovery data are kept anew.
    pub fn note_change(&mut self, key: RecoveryKey) {
        self.unkept.note(key, self.config.recover, self.now, self.wheel);
    }

    /// Sets a timer for things of a kind. When it fires, [`Owned::turn`](super::owned::Owned::turn) is called.
    pub fn wake(&mut self, kind: Kind, at: Millis) {
        self.wheel.set(at, Timer::Thing(kind));
    }

    /// Answers a question to a thing of an added kind, in the kind's own form.
    pub fn answer(&mut self, request: Option<RequestRef>, answer: Bytes) {
        self.reply(request, Reply::Answer(Answer::Added(answer)));
    }

    /// Tells all places that hear a stream of an added kind who may be seen on it, as its new owner.
    pub fn show_anew(&mut self, stream: &StreamKey) {
        self.send_rosters(stream, RosterCause::NewOwner);
    }

    /// Lets a session come to a stream of an added kind.
    pub fn let_in(&mut self, stream: &StreamKey, member: Member) {
        self.enter(stream, member, None);
    }

    /// Takes a session off a stream of an added kind, or tells it that it will not come there.
    pub fn turn_away(&mut self, stream: &StreamKey, listener: Listener) {
        self.expel(stream, listener, true);
    }
}
