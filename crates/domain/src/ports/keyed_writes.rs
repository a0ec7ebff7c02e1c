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
}

/// When a write happens, and whether it may come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteStamp {
    /// The moment that is written as the time.
    pub now: Timestamp,
    /// With a key the outcome, a refusal too, is stored in the same transaction, and whoever comes with it again
    /// changes
    /// nothing and gets that outcome. Failures of the environment are not stored.
    pub key: Option<WriteKey>,
}

impl WriteStamp {
    /// The stamp of a write that never comes again.
    pub fn at(now: Timestamp) -> Self {
        Self { now, key: None }
    }
}

/// Persistence of what became of keyed writes. A method that takes a [`WriteStamp`] answers `Diverged` when its key is
/// known with other arguments.
pub trait KeyedWriteStore {
    /// Forgets what became of the writes of a match up to and including a tick, which is never replayed again. Answers
    /// how many there were.
    fn forget_keyed_writes(&self, match_id: Uuid, tick: i64) -> PortFuture<'_, u64>;

    /// Removes outcomes stored before `before`; answers how many. Rejects a superseded epoch.
    fn prune_keyed_writes(&self, before: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64>;
}
