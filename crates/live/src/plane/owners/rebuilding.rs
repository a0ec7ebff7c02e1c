//! Partitions that this place owns although parts of their state are still missing here, and things whose recovery data
//! are to be kept.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::place::{Epoch, Partition, Place};
use crate::plane::effect::Recalled;
use crate::plane::message::{Carried, Recover, RecoveryKey, Standing, Up};
use crate::plane::options::Timer;
use crate::session::Millis;
use crate::stream::StreamKey;
use crate::wheel::Wheel;

/// The least time between two copies of one thing as recovery data, in milliseconds. Changes since the last copy may be
/// lost if the owner dies.
pub const RECOVERY_INTERVAL_MS: Millis = 250;

/// The largest number of relations, or of presences, in one message.
pub(crate) const PART_MAX: usize = 1_000;

/// Data that a new owner has asked for.
#[derive(Debug)]
pub(crate) enum Awaited<T> {
    /// The data are awaited until this time.
    Until(Millis),
    /// The data have come, or none are awaited.
    Here(Vec<T>),
}

impl<T> Default for Awaited<T> {
    fn default() -> Self {
        Self::Here(Vec::new())
    }
}

impl<T> Awaited<T> {
    pub(crate) fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    /// Whether nothing is awaited and nothing has come.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Here(here) if here.is_empty())
    }

    pub(crate) fn is_late(&self, now: Millis) -> bool {
        matches!(self, Self::Until(until) if *until <= now)
    }

    /// Takes data. Nothing further is awaited.
    pub(crate) fn put(&mut self, data: Vec<T>) {
        match self {
            Self::Here(here) => here.extend(data),
            Self::Until(_) => *self = Self::Here(data),
        }
    }

    /// The data that have come.
    pub(crate) fn here(&self) -> &[T] {
        if let Self::Here(here) = self { here } else { &[] }
    }

    /// Takes the first piece out that `is_it` accepts.
    pub(crate) fn take(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let Self::Here(here) = self else { return None };
        here.iter().position(is_it).map(|position| here.swap_remove(position))
    }

    /// The data that have come by now.
    pub(crate) fn into_here(self) -> Vec<T> {
        if let Self::Here(here) = self { here } else { Vec::new() }
    }
}

/// A partition that this place owns although parts of its state are still missing here.
pub(crate) struct Rebuilding {
    pub epoch: Epoch,
    /// The owner that hands the partition over, if it lives.
    pub former: Option<Place>,
    /// Places that have yet to tell all that they know of the partition.
    pub awaited: Vec<Place>,
    /// Streams of the partition that are known so far.
    pub streams: BTreeSet<StreamKey>,
    /// Partitions that got new owners by a death while this one was on its way: those owners have heard nothing of its
    /// things.
    pub missed: BTreeSet<Partition>,
    /// Messages that came meanwhile, in order.
    pub held: VecDeque<(Place, Up)>,
    /// Relations of sessions to streams of things, by stream.
    pub gathered: BTreeMap<StreamKey, Vec<Standing>>,
    /// Recovery data of the former owner.
    pub kept: Awaited<Carried>,
    /// Messages of chats that the database kept lately.
    pub recalled: Awaited<Recalled>,
    /// Whether these messages were not asked for yet.
    pub is_unasked: bool,
}

impl Rebuilding {
    pub(crate) fn new(epoch: Epoch, awaited: Vec<Place>, kept: Awaited<Carried>) -> Self {
        Self {
            epoch,
            former: None,
            awaited,
            streams: BTreeSet::new(),
            missed: BTreeSet::new(),
            held: VecDeque::new(),
            gathered: BTreeMap::new(),
            kept,
            recalled: Awaited::default(),
            is_unasked: true,
        }
    }

    /// Whether neither places nor recovery data are awaited any more.
    pub(crate) fn is_here(&self) -> bool {
        self.awaited.is_empty() && self.kept.is_here()
    }
}

/// Things that changed since their recovery data were kept.
#[derive(Debug, Default)]
pub(crate) struct Unkept {
    pub keys: BTreeSet<RecoveryKey>,
    pub is_timed: bool,
}

impl Unkept {
    /// Notes that a thing changed, or is owned here from now on.
    pub(crate) fn note(&mut self, key: RecoveryKey, recover: Recover, now: Millis, wheel: &mut Wheel<Timer>) {
        if recover.keeps(key) && self.keys.insert(key) && !std::mem::replace(&mut self.is_timed, true) {
            wheel.set(now + RECOVERY_INTERVAL_MS, Timer::Keep);
        }
    }
}
