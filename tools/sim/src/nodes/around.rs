//! Connections, watches and probes around memberships.

use muster_cluster::bus::{Address, Probe};
use muster_cluster::membership::{MembershipEvent, RequestRef};
use muster_cluster::registry::RegistryEvent;
use muster_live::Millis;

use super::faults::Fault;
use super::process::Process;
use super::world::{Happening, World};

impl World {
    /// Hands a change of the registry to every watch, in order.
    pub(super) fn publish(&mut self, event: &RegistryEvent) {
        let ids: Vec<usize> = self.processes.keys().copied().collect();
        for id in ids {
            self.tell_watch(id, event.clone());
        }
    }

    fn tell_watch(&mut self, id: usize, mut event: RegistryEvent) {
        let delay = if self.rng.u32(0..20) == 0 { self.rng.u64(0..500) } else { self.rng.u64(0..10) };
        let Some(process) = self.processes.get_mut(&id) else { return };
        if !process.is_watching || process.is_deaf {
            return;
        }
        if id == 0 && self.now > 10_000 && self.faults.strikes(Fault::DeafWatch) {
            process.is_deaf = true;
            return;
        }
        self.faults.tell(process.membership.number(), &mut event);
        process.told_until = process.told_until.max(self.now + delay);
        let (after_ms, connection) = (process.told_until - self.now, process.connection);
        self.later(after_ms, Happening::TellOn(id, connection, MembershipEvent::Registry(event)));
    }

    pub(super) fn probe(&mut self, id: usize, request: RequestRef, address: Address) {
        let is_cut = |process: &Process| process.silent_until > self.now;
        let Some(asking) = self.processes.get(&id) else { return };
        let asked = self.processes.values().find(|process| process.listens == Some(address) && process.is_connected);
        let probe = match asked {
            _ if is_cut(asking) || !asking.is_connected || self.down_until > self.now => Probe::Unknown,
            None => Probe::Nobody,
            Some(_) if self.faults.has(Fault::FalseNobody) => Probe::Nobody,
            Some(asked) if is_cut(asked) || asked.sleeps_until > self.now => Probe::Unknown,
            Some(_) => Probe::Listening,
        };
        let after_ms = if probe == Probe::Unknown { 400 } else { self.rng.u64(0..10) };
        self.later(after_ms, Happening::Tell(id, MembershipEvent::Probed { request, probe }));
    }

    /// Breaks a process's connection for a time.
    pub(super) fn disconnect(&mut self, id: usize, for_ms: Millis) {
        let hears_after = self.rng.u64(0..80);
        let hides = self.faults.has(Fault::HideLoss);
        let Some(process) = self.processes.get_mut(&id) else { return };
        if process.is_connected {
            process.is_connected = false;
            process.is_watching = false;
            process.connection += 1;
            process.losses += 1;
            let event = MembershipEvent::Connection { is_up: false, losses: process.losses };
            if !hides {
                self.later(hears_after, Happening::Tell(id, event));
            }
            self.later(for_ms.max(hears_after), Happening::Connect(id));
        }
    }

    pub(super) fn connect(&mut self, id: usize) {
        let after_ms = self.rng.u64(0..200);
        if self.down_until > self.now {
            let after_ms = self.down_until - self.now + after_ms * 5;
            self.later(after_ms, Happening::Connect(id));
            return;
        }
        let Some(process) = self.processes.get_mut(&id) else { return };
        if std::mem::replace(&mut process.is_connected, true) {
            return;
        }
        process.connection += 1;
        process.told_until = 0;
        let (connection, losses) = (process.connection, process.losses);
        self.later(0, Happening::Tell(id, MembershipEvent::Connection { is_up: true, losses }));
        self.later(after_ms, Happening::Watch(id, connection));
    }

    pub(super) fn watch(&mut self, id: usize, connection: u64) {
        let Some(process) = self.processes.get_mut(&id) else { return };
        if process.connection != connection {
            return;
        }
        if self.stuck_until > self.now {
            let after_ms = self.stuck_until - self.now;
            self.later(after_ms, Happening::Watch(id, connection));
            return;
        }
        process.is_watching = true;
        let state = self.registry.state();
        self.tell_watch(id, state);
    }
}
