//! Since when a node has been awake. It is told of a loss of its connection when it is awake, and others may have seen it
//! go when it was not: a process that was halted, or a machine that was moved, counts from before its pause.

use muster_live::Millis;

use super::timing::{PAUSE_MS, STEP_EVERY_MS, TOLD_WITHIN_MS};

#[derive(Debug)]
pub(super) struct Awake {
    /// The last step, and the one before.
    stepped_at: Millis,
    stepped_before: Millis,
    /// The last pause: the step before it, and the one behind it.
    slept_from: Millis,
    woke_at: Millis,
}

impl Awake {
    pub(super) fn new(now: Millis) -> Self {
        Self { stepped_at: now, stepped_before: now, slept_from: now, woke_at: now }
    }

    /// The node takes a step.
    pub(super) fn step(&mut self, now: Millis) {
        if now >= self.stepped_at + PAUSE_MS {
            (self.slept_from, self.woke_at) = (self.stepped_at, now);
        }
        self.stepped_before = std::mem::replace(&mut self.stepped_at, now);
    }

    /// When the next step is due for this to be exact.
    pub(super) fn due(&self) -> Millis {
        self.stepped_at + STEP_EVERY_MS
    }

    /// When a loss of which the node is told in this step may have happened first. After a pause it may be told a little
    /// later than other things.
    pub(super) fn lost_since(&self) -> Millis {
        let is_just_awake = self.stepped_at <= self.woke_at + TOLD_WITHIN_MS;
        if is_just_awake { self.slept_from } else { self.stepped_before }
    }
}
