//! Tells how long a node has been awake. A node that is awake is told of a lost connection within a bounded time. A
//! node that was not (its process was halted, or its machine was moved) may have been seen to be gone since its pause
//! began, so a loss counts from then.

use muster_live::Millis;

use super::timing::{PAUSE_MS, STEP_EVERY_MS, TOLD_WITHIN_MS};

#[derive(Debug)]
pub(super) struct Awake {
    /// Times of the last step and of the one before it.
    stepped_at: Millis,
    stepped_before: Millis,
    /// Start and end of the last pause: the step before it and the step after it.
    slept_from: Millis,
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

    /// When the next step must come for pauses to be noticed.
    pub(super) fn due(&self) -> Millis {
        self.stepped_at + STEP_EVERY_MS
    }

    /// Earliest time at which a loss of the connection that is told in this step can have happened. After a pause the
    /// loss may be told a little later than other events.
    pub(super) fn lost_since(&self) -> Millis {
        let is_just_awake = self.stepped_at <= self.woke_at + TOLD_WITHIN_MS;
        if is_just_awake { self.slept_from } else { self.stepped_before }
    }
}
