//! Recovery data: plain data that an owner has kept elsewhere of its things, so that the next owner after a crash can go on.
//!
//! Things that changed are handed out at most once in [`RECOVERY_INTERVAL_MS`], as they are then. After a crash the next
//! owner asks for recovery data, and waits for them no longer than [`RECOVERY_WAIT_MS`]. Who is in a party or room is what
//! living places say of their sessions: the others have left. Things with sessions of which nothing was kept end, and the
//! sessions are told.

use std::collections::BTreeSet;

use crate::place::{Epoch, Partition};
use crate::plane::Plane;
use crate::plane::effect::{Effect, Effects};
use crate::plane::options::Timer;
use crate::plane::owners::things::{Carried, Recover, RecoveryKey};
use crate::session::Millis;
use crate::wheel::Wheel;

/// How often one thing is handed out at most, in milliseconds: changes since may be lost with its owner.
pub const RECOVERY_INTERVAL_MS: Millis = 250;

/// How long a new owner waits for recovery data, in milliseconds.
pub const RECOVERY_WAIT_MS: Millis = 2_000;

/// Recovery data to be kept of a thing, in place of those that were kept.
#[derive(Clone, Debug)]
pub struct Recoverable {
    /// The epoch since which its partition is owned here.
    pub epoch: Epoch,
    /// The key of the thing.
    pub key: RecoveryKey,
    /// The thing as it is, in pieces. None if it has ended.
    pub parts: Vec<Carried>,
}

/// Data that a new owner has asked for.
#[derive(Debug)]
pub(crate) enum Awaited<T> {
    /// They are waited for until then.
    Until(Millis),
    /// They have come, or none are awaited.
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

    /// Data come: nothing further is awaited.
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

    /// Takes the first that is the right one.
    pub(crate) fn take(&mut self, is_it: impl Fn(&T) -> bool) -> Option<T> {
        let Self::Here(here) = self else { return None };
        here.iter().position(is_it).map(|position| here.swap_remove(position))
    }

    /// The data that have come by now.
    pub(crate) fn into_here(self) -> Vec<T> {
        if let Self::Here(here) = self { here } else { Vec::new() }
    }
}

/// Things that changed since their recovery data were kept.
#[derive(Debug, Default)]
pub(crate) struct Unkept {
    keys: BTreeSet<RecoveryKey>,
    is_timed: bool,
}

impl Unkept {
    /// A thing changed, or is owned here from now on.
    pub(crate) fn note(&mut self, key: RecoveryKey, recover: Recover, now: Millis, wheel: &mut Wheel<Timer>) {
        if recover.keeps(key) && self.keys.insert(key) && !std::mem::replace(&mut self.is_timed, true) {
            wheel.set(now + RECOVERY_INTERVAL_MS, Timer::Keep);
        }
    }
}

impl Plane {
    /// Recovery data of a partition, as [`Effect::Recover`] asked for them. Late ones are passed over.
    pub fn recovered(
        &mut self,
        now: Millis,
        partition: Partition,
        epoch: Epoch,
        parts: Vec<Carried>,
        out: &mut Effects,
    ) {
        let rebuilding = self.changes.rebuilding.get_mut(&partition).filter(|rebuilding| rebuilding.epoch == epoch);
        let Some(rebuilding) = rebuilding.filter(|rebuilding| !rebuilding.kept.is_here()) else { return };
        rebuilding.kept.put(parts);
        self.complete(now, partition, out);
        self.tell_rebuilt(now, out);
    }

    /// The recovery data of a partition that this place takes over, as far as they are here.
    pub(crate) fn awaited_recovery_data(&self, now: Millis) -> Awaited<Carried> {
        if self.config.recover.any() { Awaited::Until(now + RECOVERY_WAIT_MS) } else { Awaited::default() }
    }

    /// Asks for the recovery data of partitions that this place takes over.
    pub(crate) fn ask_for_recovery_data(&mut self, now: Millis, partitions: &[(Partition, Epoch)], out: &mut Effects) {
        if self.config.recover.any() && !partitions.is_empty() {
            self.wheel.set(now + RECOVERY_WAIT_MS, Timer::RecoveryLate);
            out.push(Effect::Recover(partitions.to_vec()));
        }
    }

    /// Goes on without data that were asked for long ago.
    pub(crate) fn recover_without(&mut self, now: Millis, out: &mut Effects) {
        let late = self.changes.rebuilding.iter().filter(|(_, rebuilding)| rebuilding.kept.is_late(now));
        let late: Vec<(Partition, Epoch)> = late.map(|(partition, it)| (*partition, it.epoch)).collect();
        self.changes.late += late.len() as u64;
        late.into_iter().for_each(|(partition, epoch)| self.recovered(now, partition, epoch, Vec::new(), out));
        let late: Vec<_> = self.owners.things.all_mut().flat_map(|things| things.give_up_late(now)).collect();
        self.changes.late += late.len() as u64;
        late.into_iter().for_each(|partition| self.go_on_if_complete(now, partition, out));
    }

    /// Has recovery data kept of things that changed. An island does so when it is back: until then it may not be the owner
    /// any more.
    pub(crate) fn keep_changed(&mut self, now: Millis, out: &mut Effects) {
        let is_early = |key: &RecoveryKey| self.is_island || self.changes.rebuilding.contains_key(&key.partition());
        let keys = std::mem::take(&mut self.changes.unkept.keys);
        let (early, due): (BTreeSet<RecoveryKey>, BTreeSet<RecoveryKey>) = keys.into_iter().partition(is_early);
        let due: Vec<RecoveryKey> = due.into_iter().filter(|key| self.is_owner(key.partition())).collect();
        let kept: Vec<Recoverable> = due.into_iter().map(|key| self.recoverable(now, key)).collect();
        if !kept.is_empty() {
            out.push(Effect::Keep(kept));
        }
        self.changes.unkept.is_timed = !early.is_empty();
        if self.changes.unkept.is_timed {
            self.wheel.set(now + RECOVERY_INTERVAL_MS, Timer::Keep);
        }
        self.changes.unkept.keys = early;
    }

    fn recoverable(&mut self, now: Millis, key: RecoveryKey) -> Recoverable {
        let things = self.owners.things.of_kind(key.kind());
        let parts = things.map_or_else(Vec::new, |things| things.recovery_data(now, key));
        Recoverable { epoch: self.owned_since(key.partition()), key, parts }
    }
}
