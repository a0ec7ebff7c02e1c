//! Recovery data: copies of an owner's things that are kept outside of its node, so that the next owner can go on with
//! the things after a crash.
//!
//! A thing that changes is handed out at most once in [`RECOVERY_INTERVAL_MS`], in the state that it has then. After a
//! crash the next owner asks for the recovery data, and waits for them at most [`RECOVERY_WAIT_MS`]. A party or room
//! goes on with those of its sessions that living places tell of; the others have left. A thing of which nothing was
//! kept ends, and its sessions are told.

use std::collections::BTreeSet;

use crate::place::{Epoch, Partition};
use crate::plane::Plane;
use crate::plane::effect::{Effect, Effects};
use crate::plane::message::{Carried, Recoverable, RecoveryKey};
use crate::plane::options::Timer;
use crate::plane::owners::rebuilding::{Awaited, RECOVERY_INTERVAL_MS};
use crate::session::Millis;

/// Milliseconds that a new owner waits for recovery data.
pub const RECOVERY_WAIT_MS: Millis = 2_000;

impl Plane {
    /// Takes the recovery data of a partition, for which [`Effect::Recover`] asked. Data that come too late are
    /// dropped.
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

    /// The state of recovery data when this place takes a partition over: they are awaited if any kind keeps such data.
    pub(crate) fn awaited_recovery_data(&self, now: Millis) -> Awaited<Carried> {
        if self.config.recover.any() { Awaited::Until(now + RECOVERY_WAIT_MS) } else { Awaited::default() }
    }

    /// Asks for the recovery data of partitions that this place takes over from dead owners.
    pub(crate) fn ask_for_recovery_data(&mut self, now: Millis, partitions: &[(Partition, Epoch)], out: &mut Effects) {
        if self.config.recover.any() && !partitions.is_empty() {
            self.wheel.set(now + RECOVERY_WAIT_MS, Timer::RecoveryLate);
            out.push(Effect::Recover(partitions.to_vec()));
        }
    }

    /// Goes on with partitions whose recovery data or logs did not come in time.
    pub(crate) fn recover_without(&mut self, now: Millis, out: &mut Effects) {
        let late = self.changes.rebuilding.iter().filter(|(_, rebuilding)| rebuilding.kept.is_late(now));
        let late: Vec<(Partition, Epoch)> = late.map(|(partition, it)| (*partition, it.epoch)).collect();
        self.changes.late += late.len() as u64;
        late.into_iter().for_each(|(partition, epoch)| self.recovered(now, partition, epoch, Vec::new(), out));
        let late: Vec<_> = self.owners.things.all_mut().flat_map(|things| things.give_up_late(now)).collect();
        self.changes.late += late.len() as u64;
        late.into_iter().for_each(|partition| self.go_on_if_complete(now, partition, out));
        self.recall_late(now, out);
    }

    /// Hands out recovery data of things that changed, to be kept. An island postpones this until it is back, because
    /// another place may own the things by now; so does a place whose partition is being rebuilt.
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

    /// Hands out the recovery data of these things again soon, as far as this place owns them: what was kept is lost.
    pub fn keep_again(&mut self, now: Millis, keys: &[RecoveryKey]) {
        for key in keys {
            self.changes.unkept.note(*key, self.config.recover, now, &mut self.wheel);
        }
    }

    fn recoverable(&mut self, now: Millis, key: RecoveryKey) -> Recoverable {
        let things = self.owners.things.of_kind(key.kind());
        let parts = things.map_or_else(Vec::new, |things| things.recovery_data(now, key));
        Recoverable { epoch: self.owned_since(key.partition()), key, parts }
    }
}
