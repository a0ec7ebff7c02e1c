//! The latest keyed write of a match: what the log tells of it, and how the log learns of it.
//!
//! The database keeps the latest keyed write of each match too. By the two, whoever resumes a match knows whether its
//! log and the database belong together.

use std::rc::Rc;

use muster_domain::Timestamp;
use muster_domain::ports::PortFuture;
use muster_domain::ports::friends::{FriendChange, FriendChangeStore, FriendChanged};
use muster_domain::ports::keyed_writes::{LatestWrite, WriteStamp};
use muster_domain::ports::multi_update::{MultiOutcome, MultiUpdate, MultiUpdateStore};
use muster_domain::ports::store::{Store, StoreError};
use muster_wire::match_log as wire;

use super::recorded_call::RecordedCall;

/// The latest keyed write of a match that the database is known to have, as the log of the match tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LoggedWrite {
    /// The log tells nothing: its records are of an earlier release.
    #[default]
    Untold,
    /// The match has made no keyed write.
    None,
    /// The latest keyed write.
    Some(LatestWrite),
}

impl LoggedWrite {
    pub(super) fn to_wire(self) -> Option<wire::LatestWrite> {
        match self {
            Self::Untold => None,
            Self::None => Some(wire::LatestWrite::default()),
            Self::Some(LatestWrite { tick, ordinal, at }) => {
                Some(wire::LatestWrite { is_any: true, call: u64::try_from(tick).unwrap_or(0), ordinal, at: at.0 })
            }
        }
    }

    pub(super) fn of_wire(wire: Option<&wire::LatestWrite>) -> Self {
        match wire {
            None => Self::Untold,
            Some(wire::LatestWrite { is_any: false, .. }) => Self::None,
            Some(wire::LatestWrite { call, ordinal, at, .. }) => {
                let tick = i64::try_from(*call).unwrap_or(i64::MAX);
                Self::Some(LatestWrite { tick, ordinal: *ordinal, at: Timestamp(*at) })
            }
        }
    }

    /// The same write as the database knows it.
    pub(crate) fn of_database(latest: Option<LatestWrite>) -> Self {
        latest.map_or(Self::None, Self::Some)
    }

    /// The write, if there is one.
    pub(crate) fn write(self) -> Option<LatestWrite> {
        match self {
            Self::Untold | Self::None => None,
            Self::Some(write) => Some(write),
        }
    }

    /// Whether a database whose latest write of the match is `latest` lacks this write.
    pub(super) fn is_missing_after(self, latest: Option<LatestWrite>) -> bool {
        let position = |write: LatestWrite| (write.tick, write.ordinal);
        self.write().map(position) > latest.map(position)
    }
}

/// A store that tells the calls of recorded matches which of their keyed writes it has stored.
pub(crate) struct NotedWrites {
    store: Rc<dyn Store>,
    call: Option<Rc<RecordedCall>>,
}

impl NotedWrites {
    /// A store for a call; `None` for a call that is not recorded.
    pub(crate) fn new(store: Rc<dyn Store>, call: Option<Rc<RecordedCall>>) -> Self {
        Self { store, call }
    }

    fn note<T>(&self, stamp: WriteStamp, outcome: Result<T, StoreError>) -> Result<T, StoreError> {
        if let (Some(call), Some(key)) = (&self.call, stamp.key) {
            call.note_write(key, &outcome);
        }
        outcome
    }
}

impl MultiUpdateStore for NotedWrites {
    fn multi_update<'a>(&'a self, update: &'a MultiUpdate, stamp: WriteStamp) -> PortFuture<'a, MultiOutcome> {
        Box::pin(async move { self.note(stamp, self.store.multi_update(update, stamp).await) })
    }
}

impl FriendChangeStore for NotedWrites {
    fn change_friends<'a>(&'a self, change: &'a FriendChange, stamp: WriteStamp) -> PortFuture<'a, Vec<FriendChanged>> {
        Box::pin(async move { self.note(stamp, self.store.change_friends(change, stamp).await) })
    }
}
