//! The time that a call has used, and what becomes of one that uses too much. Budgets are of the processor's time: on a
//! busy machine a call is not blamed for what others take. Slices are of real time, since that is what others wait.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::limits::SLICE;

/// Luau asks at every call and loop edge; the clock is read once in so many.
const ASKED_PER_LOOK: u32 = 32;

/// What a call that used up its time fails with.
pub(crate) const OVER: &str = "the function used more time than it may";

/// What a call does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It goes on.
    GoOn,
    /// Its slice is over.
    TakeTurns,
    /// Its time is used up.
    End,
}

/// The time of the call that a machine runs.
pub(crate) struct Budget {
    slice_started: Cell<Instant>,
    /// What the thread had used by then.
    used_before: Cell<Duration>,
    spent: Cell<Duration>,
    limit: Cell<Duration>,
    asked: Cell<u32>,
    is_over: Cell<bool>,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self {
            slice_started: Cell::new(Instant::now()),
            used_before: Cell::new(Duration::ZERO),
            spent: Cell::new(Duration::ZERO),
            limit: Cell::new(Duration::ZERO),
            asked: Cell::new(0),
            is_over: Cell::new(false),
        }
    }

    /// A call begins.
    pub(crate) fn begin(&self, limit: Duration) {
        self.spent.set(Duration::ZERO);
        self.limit.set(limit);
        self.is_over.set(false);
        self.resume();
    }

    /// The call goes on with another slice.
    pub(crate) fn resume(&self) {
        self.slice_started.set(Instant::now());
        self.used_before.set(used_by_thread());
    }

    /// The call gave its thread back.
    pub(crate) fn pause(&self) {
        self.spent.set(self.used());
    }

    fn used(&self) -> Duration {
        self.spent.get() + used_by_thread().saturating_sub(self.used_before.get())
    }

    /// The time that the call had used when it gave its thread back last.
    pub(crate) fn spent(&self) -> Duration {
        self.spent.get()
    }

    /// Whether the call used up its time.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// What the call does next. Once its time is used up every further step of it fails, so that code which catches
    /// errors ends too.
    pub(crate) fn ask(&self) -> Step {
        if self.is_over.get() {
            return Step::End;
        }
        let asked = self.asked.get().wrapping_add(1);
        self.asked.set(asked);
        if asked.is_multiple_of(ASKED_PER_LOOK) { self.look() } else { Step::GoOn }
    }

    /// The same by the clock, for what asks seldom.
    pub(crate) fn look(&self) -> Step {
        if self.is_over.get() {
            return Step::End;
        }
        if self.slice_started.get().elapsed() <= SLICE {
            return Step::GoOn;
        }
        if self.used() > self.limit.get() {
            self.is_over.set(true);
            return Step::End;
        }
        Step::TakeTurns
    }
}

/// The processor's time that the calling thread has used.
fn used_by_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
