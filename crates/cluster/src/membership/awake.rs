//! Notices pauses of a node's process. A running process is told of a lost connection within a bounded time. After a
//! pause (the process was halted, or its machine was moved) the connection may have been lost at any time since the
//! pause began, and others may have found the node gone, so the loss counts from the beginning of the pause.

use muster_live::Millis;

use super::timing::{PAUSE_MS, STEP_EVERY_MS, TOLD_WITHIN_MS};

#[derive(Debug)]
pub(super) struct Awake {
    /// Time of the last step.
    stepped_at: Millis,
    /// Time of the step before the last one.
    stepped_before: Millis,
    /// Time of the last step before the last pause.
    slept_from: Millis,
    /// Time of the first step after the last pause.
    woke_at: Millis,
}

impl Awake {
    pub(super) fn new(now: Millis) -> Self {
        Self { stepped_at: now, stepped_before: now, slept_from: now, woke_at: now }
    }

    /// Notes that the node takes a step.
    pub(super) fn step(&mut self, now: Millis) {
        if now >= self.stepped_at + PAUSE_MS {
            (self.slept_from, self.woke_at) = (self.stepped_at, now);
        }
        self.stepped_before = std::mem::replace(&mut self.stepped_at, now);
    }

    /// Time of the last step.
    pub(super) fn stepped_at(&self) -> Millis {
        self.stepped_at
    }

    /// Latest time of the next step: later steps would look like a pause.
    pub(super) fn due(&self) -> Millis {
        self.stepped_at + STEP_EVERY_MS
    }

    /// Earliest time at which the connection can have been lost, if its loss is told in this step. Shortly after a
    /// pause that is the beginning of the pause, since a loss may be told a little later than other events.
    pub(super) fn lost_since(&self) -> Millis {
        let is_just_awake = self.stepped_at <= self.woke_at + TOLD_WITHIN_MS;
        if is_just_awake { self.slept_from } else { self.stepped_before }
    }
}
