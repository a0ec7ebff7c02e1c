//! The trait of everything that has an owner. Changes of owners know parties, rooms, the pool and matches by this trait
//! alone.
//!
//! A thing lives in one partition, at the place that owns the partition. Most things have a stream, and decide who
//! comes to it; the streams themselves are kept beside the things, see [`Owning`].

use std::collections::BTreeSet;
use std::sync::Arc;

use super::owning::Owning;
use crate::matches::LeaveReason;
use crate::party::Member;
use crate::place::{Epoch, Partition, Place};
use crate::plane::message::{AddedAsk, Carried, Kind, Listener, RecoveryKey, RequestRef, Told, Up};
use crate::plane::options::{PlaneConfig, PlaneStats};
use crate::plane::sessions::Sessions;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey};

/// All things of one kind that a place owns.
///
/// Most methods do nothing unless a kind implements them.
pub trait Owned {
    /// The kind of these things.
    fn kind(&self) -> Kind;

    /// The mode of the streams to which only these things let sessions come.
    fn mode(&self) -> Option<u8> {
        None
    }

    /// A question to a thing of an added kind. The answer is for [`Owning::answer`]; a session that wants to come is
    /// for [`Owning::let_in`] or [`Owning::turn_away`].
    fn ask_added(&mut self, _owning: &mut Owning<'_>, _request: Option<RequestRef>, _ask: AddedAsk) {}

    /// Does what is due, because a timer of [`Owning::wake`] has fired or the time of [`Self::next_due`] has come. The
    /// timer may be an outdated one.
    fn turn(&mut self, _owning: &mut Owning<'_>) {}

    /// The time of the next turn, for a kind that sets no timers for its turns. The plane asks after every step.
    fn next_due(&self) -> Option<Millis> {
        None
    }

    /// Goes on with long work, one slice; other work of the shard comes between. Answers whether there is more.
    fn run_slice(&mut self, _owning: &mut Owning<'_>) -> bool {
        false
    }

    /// Whether there is long work to go on with.
    fn is_busy(&self) -> bool {
        false
    }

    /// Sets the gauges and counts of the kind.
    fn count(&self, _stats: &mut PlaneStats) {}

    /// A session is about to leave the stream of a thing, or will not come to it after all.
    fn leaving(&mut self, _owning: &mut Owning<'_>, _stream: &StreamKey, _session: SessionRef) {}

    /// A session has left the stream of a thing, or gave up before it came there. `presence` is the one that it had
    /// there.
    fn left(
        &mut self,
        _owning: &mut Owning<'_>,
        _stream: &StreamKey,
        _session: SessionRef,
        _presence: Option<Arc<Presence>>,
        _reason: LeaveReason,
    ) {
    }

    /// A session stopped hearing a stream, whose mode may be any.
    fn unheard(&mut self, _owning: &mut Owning<'_>, _stream: &StreamKey) {}

    /// A session of a thing goes on at another place. `presence` is the new one, if the session is on the thing's
    /// stream. Answers whether the thing knows the session. A known session that is not on the stream waits to be let
    /// in.
    fn rebind(
        &mut self,
        _owning: &mut Owning<'_>,
        _stream: &StreamKey,
        _from: SessionRef,
        _to: SessionRef,
        _presence: Option<&Presence>,
    ) -> bool {
        false
    }

    /// Sessions that wait to be let into streams of things. Sessions on the streams may be among them. `node` is the
    /// part of public ids behind the dot.
    fn waiting(&self, _node: &str) -> Vec<(StreamKey, SessionRef)> {
        Vec::new()
    }

    /// Places of the sessions that things of a partition know besides those on their streams.
    fn places(&self, _partition: Partition, node: &str) -> Vec<Place> {
        self.waiting(node).into_iter().map(|(_, session)| session.place).collect()
    }

    /// Places have gone. Their sessions that are on streams or in [`Self::waiting`] leave one by one, see
    /// [`Self::left`].
    /// This method is for all other relations of these sessions to things.
    fn lose(&mut self, _owning: &mut Owning<'_>, _gone: &[Place]) {}

    /// Places have gone, and with them the things that live only there. The kind tells sessions of this place that were
    /// on the things' streams.
    fn end_with_places(&mut self, _owning: &mut Owning<'_>) {}

    /// Forgets the things of partitions that have another owner, or this place anew. Nobody is told.
    fn forget(&mut self, owning: &mut Owning<'_>, changed: &BTreeSet<Partition>);

    /// This place owns these partitions since these epochs, after their former owners died.
    fn taken_over(&mut self, _owning: &mut Owning<'_>, _partitions: &[(Partition, Epoch)]) {}

    /// A living former owner has handed over all parts of a partition.
    fn carried_in(&mut self, _owning: &mut Owning<'_>, _partition: Partition, _epoch: Epoch) {}

    /// Whether things of a partition have all that they need to go on at a new owner.
    fn is_ready(&self, _partition: Partition) -> bool {
        true
    }

    /// Waits no longer for data that were asked for long ago. Answers the partitions that miss them.
    fn give_up_late(&mut self, _now: Millis) -> Vec<Partition> {
        Vec::new()
    }

    /// Partitions have other owners, and sessions of this place have yet to be told to them.
    fn owners_change(&mut self, _owning: &mut Owning<'_>, _changed: &BTreeSet<Partition>) {}

    /// Partitions have other owners, and sessions of this place were told to them.
    fn owners_changed(&mut self, _owning: &mut Owning<'_>, _changed: &BTreeSet<Partition>) {}

    /// The relations of sessions of this place to things of these partitions, besides those to streams, in parts of
    /// bounded size for the new owners.
    fn tell(&self, _sessions: &Sessions, _now: Millis, _changed: &BTreeSet<Partition>) -> Vec<(Partition, Told)> {
        Vec::new()
    }

    /// Keeps a part that a place's [`Self::tell`] has given, for [`Self::resumed`].
    fn hear(&mut self, _told: Told) {}

    /// All places have told of their sessions on streams of a partition whose owner died.
    fn adopt_streams(&mut self, _owning: &mut Owning<'_>, _streams: &BTreeSet<StreamKey>) {}

    /// Partitions were rebuilt here after their owners died. Answers a message to another owner, if one is to be sent.
    fn rebuilt(&self, _partitions: &[Partition]) -> Option<Up> {
        None
    }

    /// Goes on with recovery data of a partition whose owner died. `is_inhabited` says whether places have told of
    /// sessions on a stream. Answers the streams of things that go on even if nobody is there; each of these things is
    /// met by [`Self::meet`].
    fn resume(
        &mut self,
        _owning: &mut Owning<'_>,
        _partition: Partition,
        _kept: Vec<Carried>,
        _is_inhabited: &dyn Fn(&StreamKey) -> bool,
    ) -> Vec<StreamKey> {
        Vec::new()
    }

    /// A thing meets the sessions that places tell of: those on its stream, and those that wait to be let in. A thing
    /// that did not go on has ended, and its sessions are told so.
    fn meet(&mut self, _owning: &mut Owning<'_>, _stream: &StreamKey, _inside: Vec<Member>, _waiting: Vec<Listener>) {}

    /// All things of a partition whose owner died have met their sessions.
    fn resumed(&mut self, _owning: &mut Owning<'_>, _partition: Partition) {}

    /// A partition has arrived from its living former owner, with all that belongs to it. Partitions in `missed` got
    /// new owners by a death while it was on its way.
    fn arrived(&mut self, _owning: &mut Owning<'_>, _partition: Partition, _missed: &BTreeSet<Partition>) {}

    /// Whether a partition may go to its next owner now. If not, its things end their work that is under way.
    fn may_go(&mut self, _owning: &mut Owning<'_>, _partition: Partition) -> bool {
        true
    }

    /// Takes the things of partitions out, as plain data in parts of bounded size. Nobody is told.
    fn carry_out(&mut self, now: Millis, is_one: &dyn Fn(Partition) -> bool) -> Vec<Carried>;

    /// Puts in one part of [`Self::carry_out`]. Nobody is told.
    fn carry_in(&mut self, owning: &mut Owning<'_>, part: Carried);

    /// Sets timers for what is due first, after parts were put in or timers have run.
    fn set_timers(&mut self, _owning: &mut Owning<'_>) {}

    /// A thing as it is now, for the next owner after a crash. Nothing if it has ended.
    fn recovery_data(&self, _now: Millis, _key: RecoveryKey) -> Vec<Carried> {
        Vec::new()
    }

    /// The partitions that things of this kind are in. Debug builds check after each step that the place owns them.
    fn partitions(&self) -> BTreeSet<Partition>;

    /// The sessions that things of this kind take to be on their streams. Debug builds compare them with the streams
    /// after each step. `None` if the kind does not know them.
    fn members(&self, _node: &str) -> Option<Vec<(StreamKey, SessionRef)>> {
        None
    }
}

/// A kind of things with questions of its own, as the list in `kinds.rs` registers it.
pub(crate) trait Typed: Owned {
    /// The questions to these things.
    type Ask;

    /// Makes the kind, without any things.
    fn new(config: &PlaneConfig) -> Self;

    /// Carries out a question. The answer to `request` is the kind's variant of
    /// [`Answer`](crate::plane::message::Answer).
    fn ask(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, ask: Self::Ask);
}
