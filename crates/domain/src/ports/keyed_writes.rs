//! Writes that happen once however often they are asked for, by a key that names the asking.

use super::PortFuture;
use super::job_epochs::JobEpoch;
use crate::ids::Uuid;
use crate::time::Timestamp;

/// Names one writing call of a durable match: when the match is replayed after a crash, the same call comes again under
/// the same key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WriteKey {
    /// The match.
    pub match_id: Uuid,
    /// Its tick, from 0.
    pub tick: i64,
    /// Number of the writing call within its tick, from 0.
    pub ordinal: u32,
    /// Tick and ordinal of the latest write of the match that the match knows to be stored. A database without that
    /// write, or a later one of the match, is older than the match.
    pub after: Option<(i64, u32)>,
}

/// The latest keyed write of a match in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatestWrite {
    /// The tick in its key; [`END_TICK`] once the match has ended.
    pub tick: i64,
    /// The ordinal in its key.
    pub ordinal: u32,
    /// The moment of the write's first request, or of the end.
    pub at: Timestamp,
}

/// The tick behind the ticks of all writes of a match, which stands for the end of the match.
pub const END_TICK: i64 = i64::MAX;

impl LatestWrite {
    /// Whether the match has ended.
    pub fn is_end(self) -> bool {
        self.tick == END_TICK
    }
}

/// When a write happens, and whether it may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStamp {
    /// The moment that is written as the time.
    pub now: Timestamp,
    /// With a key the outcome, a refusal too, is stored in the same transaction, and whoever comes with it again
    /// changes nothing and gets that outcome. Failures of the environment are not stored.
    pub key: Option<WriteKey>,
}

impl WriteStamp {
    /// The stamp of a write that never comes again.
    pub fn at(now: Timestamp) -> Self {
        Self { now, key: None }
    }
}

/// Persistence of what became of keyed writes. A method that takes a [`WriteStamp`] answers `Diverged` when its key is
/// known with other arguments, and `Restored` when the write that the key follows is missing.
///
/// The latest write of a match stays until the match has ended, and then that it has ended. It tells whether the
/// database and the log of the match belong together.
pub trait KeyedWriteStore {
    /// Forgets what became of the writes of a match up to and including a tick, which is never replayed again, except
    /// for the match's latest write. Answers how many were forgotten.
    fn forget_keyed_writes(&self, match_id: Uuid, tick: i64) -> PortFuture<'_, u64>;

    /// Forgets all writes of a match, and keeps that it has ended. Does nothing for a match without writes.
    fn end_keyed_writes(&self, match_id: Uuid, now: Timestamp) -> PortFuture<'_, ()>;

    /// The latest write of each of these matches, or of all matches for `None`. Matches without writes are left out.
    fn latest_keyed_writes(&self, matches: Option<Vec<Uuid>>) -> PortFuture<'_, Vec<(Uuid, LatestWrite)>>;

    /// Removes outcomes stored before `before`, except for the latest of each match that has not ended; answers how
    /// many. Rejects a superseded epoch.
    fn prune_keyed_writes(&self, before: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64>;
}
