//! The clock of a node, and its alarm.

use std::pin::Pin;
use std::time::Duration;

use muster_live::Millis;
use tokio::time::{Instant, Sleep, sleep_until};

/// Longest time between two looks of an alarm at the clock: the clock may go on while the runtime's timers rest.
const LOOK_EVERY_MS: Millis = 1_000;

/// A clock that never goes back.
#[derive(Clone, Copy, Debug)]
pub struct NodeClock(Source);

#[derive(Clone, Copy, Debug)]
enum Source {
    Runtime(Instant),
    #[cfg(target_os = "linux")]
    System,
}

impl NodeClock {
    /// The system's clock, which goes on while the machine sleeps, as leases do. Systems other than Linux give the
    /// runtime's clock.
    pub fn of_system() -> Self {
        #[cfg(target_os = "linux")]
        let source = Source::System;
        #[cfg(not(target_os = "linux"))]
        let source = Source::Runtime(Instant::now());
        Self(source)
    }

    /// The runtime's clock, beginning at 0; tests can pause it.
    pub fn of_runtime() -> Self {
        Self(Source::Runtime(Instant::now()))
    }

    /// Milliseconds on this clock.
    pub fn now(self) -> Millis {
        match self.0 {
            // 64 bits of milliseconds are 584 million years.
            Source::Runtime(start) => start.elapsed().as_millis() as Millis,
            #[cfg(target_os = "linux")]
            Source::System => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                time.tv_sec.unsigned_abs() * 1_000 + time.tv_nsec.unsigned_abs() / 1_000_000
            }
        }
    }
}

/// Rings at a time of the node's clock.
pub(super) struct Alarm {
    clock: NodeClock,
    due: Option<Millis>,
    sleep: Pin<Box<Sleep>>,
}

impl Alarm {
    pub(super) fn new(clock: NodeClock) -> Self {
        Self { clock, due: None, sleep: Box::pin(sleep_until(Instant::now())) }
    }

    pub(super) fn set(&mut self, due: Millis) {
        if self.due != Some(due) {
            self.due = Some(due);
            let wait = due.saturating_sub(self.clock.now()).min(LOOK_EVERY_MS);
            self.sleep.as_mut().reset(Instant::now() + Duration::from_millis(wait));
        }
    }

    /// Resolves when the alarm rings, and clears it: work still due must set it again. Dropping the future loses
    /// nothing.
    pub(super) async fn ring(&mut self) {
        self.sleep.as_mut().await;
        self.due = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_clock_counts_milliseconds() {
        let (clock, start) = (NodeClock::of_system(), std::time::Instant::now());
        let before = clock.now();
        while start.elapsed().as_millis() < 20 {
            std::thread::yield_now();
        }
        let (passed, after) = (clock.now() - before, start.elapsed().as_millis() as Millis);
        assert!((19..=after + 1).contains(&passed), "{passed} of {after}");
    }
}
