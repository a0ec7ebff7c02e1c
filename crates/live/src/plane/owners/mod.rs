//! The part of a plane that owns things: streams with their presences, parties, rooms, the matchmaker's pool, matches.
//!
//! An owner decides everything about its things, in the order in which it is asked, and tells the places of sessions.
//! An owner knows of sessions only what their places tell.

pub(crate) mod asked_matches;
pub(crate) mod carried_streams;
pub(crate) mod match_logs;
pub(crate) mod matches;
pub mod owned;
pub(crate) mod parties;
pub(crate) mod pool;
pub(crate) mod presences;
pub(crate) mod rebuilding;
pub(crate) mod rooms;
pub(crate) mod rosters;
pub(crate) mod streams;
pub(crate) mod telling;
pub(crate) mod things;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use rebuilding::{Rebuilding, Unkept};
use streams::Streams;
use things::Things;

use super::effect::Effects;
use super::message::{Listener, RecoveryKey, Reply, RequestRef, Up};
use super::options::{PlaneConfig, Timer};
use super::sessions::Sessions;
use crate::party::Member;
use crate::place::{Partition, Place};
use crate::session::Millis;
use crate::stream::StreamKey;
use crate::wheel::Wheel;

/// Everything that a place owns.
pub(crate) struct Owners {
    pub streams: Streams,
    pub things: Things,
    /// Messages to this place as an owner that wait until the way down is free, in order, with the place that sent
    /// each.
    pub held: VecDeque<(Place, Up)>,
}

impl Owners {
    pub(crate) fn new(config: &PlaneConfig) -> Self {
        Self { streams: Streams::default(), things: Things::new(config), held: VecDeque::new() }
    }
}

/// Access of an owner to the plane during a step: the streams, the sessions of its place, timers, and the effects of
/// the step.
pub struct Owning<'a> {
    pub(crate) streams: &'a mut Streams,
    pub(crate) sessions: &'a mut Sessions,
    /// Partitions that this place owns and does not know all of yet; messages about them wait.
    pub(crate) rebuilding: &'a mut BTreeMap<Partition, Rebuilding>,
    /// See [`Owners::held`].
    pub(crate) held: &'a mut VecDeque<(Place, Up)>,
    pub(crate) unkept: &'a mut Unkept,
    pub(crate) wheel: &'a mut Wheel<Timer>,
    pub(crate) config: &'a PlaneConfig,
    /// Whether there is no way to the other nodes for now.
    pub(crate) is_island: bool,
    pub(crate) now: Millis,
    pub(crate) out: &'a mut Effects,
}

impl Owning<'_> {
    /// Notes that a thing changed, or is owned here from now on: its recovery data are kept anew.
    pub fn note_change(&mut self, key: RecoveryKey) {
        self.unkept.note(key, self.config.recover, self.now, self.wheel);
    }

    /// Answers a question to a thing of an added kind, in the kind's own form.
    pub fn answer(&mut self, request: Option<RequestRef>, answer: Bytes) {
        self.reply(request, Reply::Added(answer));
    }

    /// Tells all places that hear a stream of an added kind who may be seen on it, as its new owner.
    pub fn show_anew(&mut self, stream: &StreamKey) {
        self.send_rosters(stream, rosters::RosterCause::NewOwner);
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
