//! The time that a call has used, and what becomes of one that uses too much. Budgets are of the processor's time: on a
//! busy machine a call is not blamed for what others take. Slices are of real time, since that is what others wait.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::fiber::Turns;
use super::limits::SLICE;
use crate::process::clock::{Alarm, Lane};

/// So long a turn is taken to have used its thread all the time: what a thread has used is dear to ask.
const BRIEF: Duration = Duration::from_micros(250);

thread_local! {
    /// When this thread was asked last what it has used, and what that was.
    static ASKED: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

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
    is_over: Cell<bool>,
    /// The file of the module that is at work.
    module: RefCell<Arc<str>>,
    watch: Option<Watch>,
}

/// Who tells a call that its slice is over, and how.
struct Watch {
    lane: Arc<Lane>,
    alarm: Arc<dyn Alarm>,
}

impl Budget {
    /// Of calls that are asked now and then all the time.
    pub(crate) fn new() -> Self {
        Self {
            slice_started: Cell::new(Instant::now()),
            used_before: Cell::new(Duration::ZERO),
            spent: Cell::new(Duration::ZERO),
            limit: Cell::new(Duration::ZERO),
            is_over: Cell::new(false),
            module: RefCell::default(),
            watch: None,
        }
    }

    /// Of calls that are asked when the clock has rung the alarm.
    pub(crate) fn watched(lane: Arc<Lane>, alarm: Arc<dyn Alarm>) -> Self {
        Self { watch: Some(Watch { lane, alarm }), ..Self::new() }
    }

    /// A call begins.
    pub(crate) fn begin(&self, limit: Duration) {
        self.spent.set(Duration::ZERO);
        self.limit.set(limit);
        self.is_over.set(false);
    }

    /// The call is at this module. Answers where it was.
    pub(crate) fn at(&self, module: Arc<str>) -> Arc<str> {
        if let Some(watch) = &self.watch {
            watch.lane.at(module.clone());
        }
        self.module.replace(module)
    }

    fn used(&self) -> Duration {
        let turn = self.slice_started.get().elapsed();
        let used = if turn <= BRIEF { turn } else { used_by_thread().saturating_sub(self.used_before.get()) };
        self.spent.get() + used
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
    pub(crate) fn look(&self) -> Step {
        if self.is_over.get() {
            if let Some(watch) = &self.watch {
                watch.lane.answer();
            }
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

impl Turns for Budget {
    fn begin_turn(self: &Rc<Self>, is_abandoned: bool) {
        self.resume(is_abandoned);
    }

    fn end_turn(self: &Rc<Self>) {
        self.pause();
    }
}

impl Budget {
    /// The call goes on with another slice, perhaps only to end since nobody waits for it any more.
    pub(crate) fn resume(&self, is_abandoned: bool) {
        let now = Instant::now();
        self.slice_started.set(now);
        self.used_before.set(used_lately(now));
        let Some(watch) = &self.watch else { return };
        if self.is_over.get() || is_abandoned {
            watch.alarm.ring();
        }
        watch.lane.enter(self.module.borrow().clone(), Some(watch.alarm.clone()));
    }

    /// The call gave its thread back.
    pub(crate) fn pause(&self) {
        if let Some(watch) = &self.watch {
            watch.lane.leave();
        }
        self.spent.set(self.used());
    }
}

/// The processor's time that the calling thread has used, or had a moment ago: brief turns in a row ask once.
fn used_lately(now: Instant) -> Duration {
    if let Some((asked, used)) = ASKED.get()
        && now.duration_since(asked) <= BRIEF
    {
        return used;
    }
    let used = used_by_thread();
    ASKED.set(Some((now, used)));
    used
}

/// The processor's time that the calling thread has used.
fn used_by_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
