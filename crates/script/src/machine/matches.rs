//! What a match's callbacks ask for, and the pace that its ticks must keep.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use muster_live::matches::{Act, Outcome, Return};

use super::limits::Limits;

/// So many ticks in a row that took more than their time end a match.
const OVERRUNS_MAX: u32 = 3;

/// What the callback that runs wants done.
pub(crate) struct Sink {
    wanted: RefCell<Option<Wanted>>,
    /// Most broadcasts that wait for the end of a tick.
    deferred_max: usize,
}

#[derive(Default)]
struct Wanted {
    acts: Vec<Act>,
    deferred: usize,
}

impl Sink {
    pub(crate) fn new(deferred_max: usize) -> Self {
        Self { wanted: RefCell::default(), deferred_max }
    }

    /// A callback begins, in a match with so many broadcasts that wait.
    pub(crate) fn open(&self, deferred: usize) {
        self.wanted.replace(Some(Wanted { acts: Vec::new(), deferred }));
    }

    /// It has returned. Answers what it wants done, and how many broadcasts wait now.
    pub(crate) fn close(&self) -> (Vec<Act>, usize) {
        let wanted = self.wanted.take().unwrap_or_default();
        (wanted.acts, wanted.deferred)
    }

    /// # Errors
    /// A sentence, outside of callbacks and when too much waits.
    pub(crate) fn add(&self, act: Act) -> Result<(), String> {
        let mut wanted = self.wanted.borrow_mut();
        let wanted = wanted.as_mut().ok_or("no callback of the match is running")?;
        if let Act::Defer(_) = act {
            if wanted.deferred >= self.deferred_max {
                let most = self.deferred_max;
                return Err(format!(
                    "more than {most} broadcasts wait for the end of the tick (match.deferred_queue_size)"
                ));
            }
            wanted.deferred += 1;
        }
        wanted.acts.push(act);
        Ok(())
    }
}

/// How a match keeps up with its ticks.
#[derive(Default)]
pub(crate) struct Pace {
    /// What waits for the end of the next loop.
    deferred: Cell<usize>,
    /// Ticks in a row that took too long.
    overruns: Cell<u32>,
}

impl Pace {
    /// How many broadcasts wait for the end of the tick.
    pub(crate) fn deferred(&self) -> usize {
        self.deferred.get()
    }

    /// A callback other than a loop returned, behind which so many broadcasts wait.
    pub(crate) fn called(&self, deferred: usize) {
        self.deferred.set(deferred);
    }

    /// A loop returned, which took so much of the processor's time. Answers whether that is more than it should take.
    ///
    /// # Errors
    /// A sentence, when too many in a row took too long.
    pub(crate) fn looped(&self, spent: Duration, limits: &Limits) -> (bool, Result<(), Arc<str>>) {
        self.deferred.set(0);
        let is_late = spent > limits.tick_time;
        self.overruns.set(if is_late { self.overruns.get() + 1 } else { 0 });
        if self.overruns.get() < OVERRUNS_MAX {
            return (is_late, Ok(()));
        }
        let most = limits.tick_time.as_millis();
        (is_late, Err(format!("{OVERRUNS_MAX} ticks in a row took more than {most} ms of CPU time").into()))
    }
}

/// The return of a callback that failed.
pub(crate) fn failed(why: Arc<str>) -> Return {
    Return { outcome: Outcome::Failed(why), acts: Vec::new() }
}
