//! Failures around memberships, and actions of operators.

use muster_cluster::membership::MembershipEvent;
use muster_live::Millis;

use super::Checked;
use super::process::Process;
use super::registry::Registry;
use super::world::{Happening, World};

/// The largest number of processes at a time.
const PROCESSES_MAX: usize = 6;

impl World {
    /// Lets one failure or action happen.
    pub(super) fn act(&mut self) -> Checked {
        let choice = if self.only_restarts { self.rng.u32(0..2) } else { self.rng.u32(0..40) };
        match choice {
            0 => self.restart_bus(),
            1 => {
                self.stuck_until = self.stuck_until.max(self.now + self.rng.u64(0..12_000));
                self.note("the registry is stuck");
            }
            2 => self.forget(),
            25.. => {}
            3..=5 if self.processes.len() < PROCESSES_MAX => self.start(),
            _ => {
                let ids: Vec<usize> = self.processes.keys().copied().collect();
                let Some(id) = self.rng.choice(ids) else { return Ok(()) };
                return self.act_on(id, choice);
            }
        }
        Ok(())
    }

    fn act_on(&mut self, id: usize, choice: u32) -> Checked {
        let ms = self.any_time();
        match choice {
            6..=10 => {
                self.note(&format!("process {id} loses its connection for {ms} ms"));
                self.disconnect(id, ms);
            }
            11..=14 => {
                self.with(id, "sleeps", |process, now| process.sleeps_until = process.sleeps_until.max(now + ms))
            }
            15..=18 => {
                self.with(id, "is cut off", |process, now| process.silent_until = process.silent_until.max(now + ms))
            }
            19 | 20 => {
                self.note(&format!("process {id} crashes"));
                let crashed = self.processes.remove(&id);
                let after_ms = self.any_time();
                // Some come again under their names, and take the places that they had.
                let name = crashed.map(|process| process.name).filter(|_| self.rng.bool());
                self.later(after_ms, name.map_or(Happening::Start, Happening::StartAgain));
            }
            21 => {
                self.with(id, "drains", |process, _| process.is_draining = true);
                self.later(0, Happening::Tell(id, MembershipEvent::Drain));
            }
            22 => {
                self.note(&format!("process {id} leaves"));
                self.later(0, Happening::Tell(id, MembershipEvent::Leave));
            }
            23 | 24 => {
                let is_busy = self.rng.bool();
                self.with(id, if is_busy { "is busy" } else { "is busy no more" }, |process, _| {
                    process.is_busy = is_busy
                });
                self.later(0, Happening::Tell(id, MembershipEvent::Busy(is_busy)));
            }
            _ => {}
        }
        Ok(())
    }

    /// A random time: mostly short, sometimes longer than any lease.
    fn any_time(&mut self) -> Millis {
        let most = *self.rng.choice(&[200, 1_000, 6_000, 12_000]).unwrap_or(&200);
        self.rng.u64(0..most)
    }

    fn with(&mut self, id: usize, what: &str, change: impl FnOnce(&mut Process, Millis)) {
        self.note(&format!("process {id} {what}"));
        let now = self.now;
        if let Some(process) = self.processes.get_mut(&id) {
            change(process, now);
        }
    }

    fn note(&self, what: &str) {
        self.trace.line(|| format!("{}: {what}", self.now));
    }

    fn restart_bus(&mut self) {
        let ms = self.any_time();
        self.note(&format!("no bus for {ms} ms"));
        self.down_until = self.down_until.max(self.now + ms);
        let ms = self.down_until - self.now;
        let ids: Vec<usize> = self.processes.keys().copied().collect();
        for id in ids {
            // Processes notice a restart of the bus, but not that they were cut off.
            if let Some(process) = self.processes.get_mut(&id) {
                process.silent_until = 0;
            }
            let after_ms = ms + self.rng.u64(0..1_000);
            self.disconnect(id, after_ms);
            self.later(after_ms, Happening::Connect(id));
        }
    }

    /// Restarts the bus with an empty registry.
    fn forget(&mut self) {
        // A run does this once only. New epochs follow the nodes' clocks, which differ, so that a second time epochs
        // might fall.
        if std::mem::replace(&mut self.has_forgotten, true) {
            return;
        }
        self.note("the registry forgets everything");
        self.registry = Registry::default();
        self.lose_writes();
        self.history.forgotten();
        self.restart_bus();
    }
}
