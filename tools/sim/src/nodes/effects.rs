//! Actions of memberships, and writes on their way to the registry.

use muster_cluster::membership::{Action, MembershipEvent, RequestRef, VIEW_KEY, View};
use muster_cluster::registry::{RegistryError, Written};
use muster_live::Millis;
use muster_live::place::{Epoch, Partition};

use super::faults::Fault;
use super::registry::Write;
use super::world::{Happening, World};
use super::{Check, Checked, Violation};
use crate::violation::ensure;

/// Time after which a client of the registry gives up.
const GIVE_UP_MS: Millis = 1_000;

impl World {
    pub(super) fn carry_out(&mut self, id: usize, action: Action) -> Checked {
        let now = self.now;
        self.trace.step(
            || match &action {
                Action::Create { key, .. } => format!("{now}: {id} -> create {key}"),
                Action::Update { key, expected, .. } => format!("{now}: {id} -> update {key} {expected:?}"),
                Action::ViewChanged { new, .. } => format!(
                    "{now}: {id} -> view {:?} {:?} nodes {:?} moving {}",
                    new.revision,
                    new.epoch,
                    new.nodes().iter().map(|node| node.number).collect::<Vec<_>>(),
                    new.moving()
                ),
                action => format!("{now}: {id} -> {action:?}"),
            },
            &[now, id as u64],
        );
        match action {
            Action::Create { request, key, value, time_to_live_ms } => {
                self.send(id, request, Write { key, value: Some(value), expected: None, time_to_live_ms });
            }
            Action::Update { request, key, value, expected, time_to_live_ms } => {
                self.send(id, request, Write { key, value: Some(value), expected: Some(expected), time_to_live_ms });
            }
            Action::Delete { request, key, expected } => {
                self.send(id, request, Write { key, value: None, expected: Some(expected), time_to_live_ms: None });
            }
            Action::Probe { request, node } => {
                let after_ms = self.rng.u64(0..5);
                self.later(after_ms, Happening::Probe(id, request, node));
            }
            Action::Joined(address) => {
                if let Some(process) = self.processes.get_mut(&id) {
                    process.listens = Some(address);
                    let last = process.last_number.replace(address.number);
                    ensure(Check::Numbers, last < process.last_number, || {
                        format!("process {id} is given {} after {last:?}", address.number)
                    })?;
                }
                let after_ms = self.rng.u64(0..50);
                self.later(after_ms, Happening::Tell(id, MembershipEvent::Listening));
            }
            Action::ViewChanged { .. } => self.view_changed(id),
            Action::BecameIsland | Action::BackOnline => {}
            Action::VotedOut => {
                self.voted_out += 1;
                if let Some(process) = self.processes.get_mut(&id) {
                    process.listens = None;
                }
                ensure(Check::Steadfast, !self.only_restarts, || format!("process {id} was voted out"))?;
                let after_ms = self.rng.u64(0..1_000);
                self.later(after_ms, Happening::Rejoin(id));
            }
            Action::Refused(reason) => {
                ensure(Check::Steadfast, false, || format!("process {id} does not join: {reason}"))?;
            }
            Action::Drained => {
                let after_ms = self.rng.u64(0..3_000);
                self.later(after_ms, Happening::Tell(id, MembershipEvent::Leave));
            }
            Action::Left => {
                self.processes.remove(&id);
            }
        }
        Ok(())
    }

    /// Lets the plane of a process begin to hand over the partitions that have begun to move away from it.
    fn view_changed(&mut self, id: usize) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        let Some(me) = process.membership.number().filter(|_| !process.keeps_partitions) else { return };
        let view = process.membership.view().clone();
        for (partition, holding) in view.holdings() {
            let Some(moving) = holding.moving else { continue };
            let is_mine = holding.owner.is_some_and(|owner| owner.node() == me);
            let is_new = is_mine
                && self
                    .processes
                    .get_mut(&id)
                    .is_some_and(|process| process.handing_over.insert((partition, moving.epoch)));
            if is_new {
                let after_ms = self.rng.u64(0..300);
                self.later(after_ms, Happening::HandOver(id, partition, moving.epoch));
            }
        }
    }

    pub(super) fn hand_over(&mut self, id: usize, partition: Partition, epoch: Epoch) -> Checked {
        let Some(process) = self.processes.get(&id) else { return Ok(()) };
        let membership = &process.membership;
        if membership.view().holding(partition).moving.is_none_or(|moving| moving.epoch != epoch) {
            return Ok(());
        }
        if process.is_asleep(self.now) || membership.owns(process.clock.local(self.now), partition).is_none() {
            self.later(200, Happening::HandOver(id, partition, epoch));
            return Ok(());
        }
        self.history.handed_over(partition, epoch);
        self.step(id, MembershipEvent::HandedOver { partition, epoch })
    }

    /// Sends a write of a process to the registry.
    fn send(&mut self, id: usize, request: RequestRef, write: Write) {
        let Some(process) = self.processes.get(&id) else { return };
        let (connection, silent_until) = (process.connection, process.silent_until);
        if !process.is_connected {
            self.answer(id, request, Err(RegistryError::Unavailable("no connection".into())), 1);
            return;
        }
        let mut after_ms = self.rng.u64(1..20);
        if silent_until > self.now {
            after_ms += silent_until - self.now;
        }
        if !self.is_well {
            match self.rng.u32(0..50) {
                // The write is lost.
                0 => after_ms = Millis::MAX / 2,
                // The write arrives after its sender has given up waiting for the answer.
                1 => after_ms += self.rng.u64(500..5_000),
                _ => {}
            }
        }
        if after_ms >= GIVE_UP_MS {
            self.answer(id, request, Err(RegistryError::Unknown("no answer".into())), GIVE_UP_MS);
        }
        if after_ms < Millis::MAX / 2 {
            self.later(after_ms, Happening::Write(id, connection, request, write));
        }
    }

    pub(super) fn write(&mut self, id: usize, connection: u64, request: RequestRef, mut write: Write) -> Checked {
        if self.down_until > self.now || self.stuck_until > self.now {
            self.answer(id, request, Err(RegistryError::Unknown("no answer".into())), GIVE_UP_MS);
            return Ok(());
        }
        self.faults.write(&mut write);
        write.time_to_live_ms = write.time_to_live_ms.map(|ms| self.faults.time_to_live(ms));
        let view = write.value.clone().filter(|_| write.key == VIEW_KEY);
        let checks = !self.faults.has(Fault::IgnoreExpected);
        let (outcome, event) = self.registry.write(self.now, write, checks);
        if let (Ok(revision), Some(view)) = (&outcome, view) {
            let view = View::from_bytes(&view, *revision);
            let view = view.map_err(|error| Violation { check: Check::Epochs, detail: error.to_string() })?;
            self.history.view(view)?;
        }
        event.into_iter().for_each(|event| self.publish(&event));
        let is_lost = !self.is_well && self.rng.u32(0..30) == 0;
        let is_same = self.processes.get(&id).is_some_and(|process| process.connection == connection);
        if is_lost || !is_same {
            self.answer(id, request, Err(RegistryError::Unknown("no answer".into())), GIVE_UP_MS);
        } else {
            let after_ms = self.rng.u64(0..20);
            self.later(after_ms, Happening::TellOn(id, connection, MembershipEvent::Written { request, outcome }));
        }
        Ok(())
    }

    /// Loses all writes on their way to the registry, whose contents are lost as well.
    pub(super) fn lose_writes(&mut self) {
        let is_write = |_: &(Millis, u64), happening: &mut Happening| matches!(happening, Happening::Write(..));
        let lost: Vec<Happening> = self.happenings.extract_if(.., is_write).map(|(_, write)| write).collect();
        for write in lost {
            if let Happening::Write(id, _, request, _) = write {
                self.answer(id, request, Err(RegistryError::Unknown("no answer".into())), GIVE_UP_MS);
            }
        }
    }

    fn answer(&mut self, id: usize, request: RequestRef, outcome: Written, after_ms: Millis) {
        self.later(after_ms, Happening::Tell(id, MembershipEvent::Written { request, outcome }));
    }
}
