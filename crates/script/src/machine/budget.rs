//! The budget of a call: the time that a call may use. A call that uses more is ended. Budgets count CPU time, so that
//! a call on a busy computer is not blamed for the time of others. Slices count real time, because others wait for that
//! time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::fiber::TurnListener;
use super::limits::SLICE;
use crate::metrics::ScriptMetrics;
use crate::process::Process;
use crate::process::clock::{SliceAlarm, WatchedThread};

/// A turn that takes no longer than this counts as CPU time as a whole, because it is expensive to ask for the CPU time
/// of a thread.
const BRIEF: Duration = Duration::from_micros(250);

thread_local! {
    /// The moment at which the CPU time of this thread was last asked for, and the answer. All machines of the thread
    /// share it, since the CPU time is that of the thread.
    static ASKED: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// Limit on the errors that are raised in a call after its time is used up; then the call is given up. A call whose
/// code catches errors ends only after several.
const ENDS_MAX: u32 = 100;

/// Limit on the calls that a process gives up, because the memory of each is lost. The next one ends the process.
const GIVEN_UP_MAX: u64 = 16;

/// Error of a call that used up its time.
pub(crate) const OVER: &str = "the function used more time than it may (script.call_cpu_ms)";

/// Error of modules that used up their time while they were loaded.
pub(crate) const LOADS_TOO_LONG: &str = "the modules use more time to load than they may (script.load_cpu_ms)";

/// The next step of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The call goes on.
    GoOn,
    /// The slice is over, and other calls have their turn.
    TakeTurns,
    /// The time is used up, and the call fails.
    End,
    /// The call has not ended after many errors: its stack is put aside for good, if it has one of its own.
    GiveUp,
}

/// The budget of the call that a machine runs.
pub(crate) struct Budget {
    slice_started: Cell<Instant>,
    /// CPU time of the thread when the slice started.
    used_before: Cell<Duration>,
    spent: Cell<Duration>,
    limit: Cell<Duration>,
    is_over: Cell<bool>,
    /// Count of the errors that were raised in the call since its time was used up.
    ends: Cell<u32>,
    /// The file of the module that the call is in.
    module: RefCell<Arc<str>>,
    watch: Option<Watch>,
}

/// The connection of a budget to the clock.
struct Watch {
    thread: Arc<WatchedThread>,
    alarm: Arc<dyn SliceAlarm>,
    metrics: Arc<ScriptMetrics>,
}

impl Budget {
    /// A budget without a clock. Calls look at it now and then.
    pub(crate) fn new() -> Self {
        Self {
            slice_started: Cell::new(Instant::now()),
            used_before: Cell::new(Duration::ZERO),
            spent: Cell::new(Duration::ZERO),
            limit: Cell::new(Duration::ZERO),
            is_over: Cell::new(false),
            ends: Cell::new(0),
            module: RefCell::default(),
            watch: None,
        }
    }

    /// A budget that calls look at when the clock has rung the alarm.
    pub(crate) fn watched(process: &Process, alarm: Arc<dyn SliceAlarm>) -> Self {
        let (thread, metrics) = (process.clock.watch_this_thread(), process.metrics.clone());
        Self { watch: Some(Watch { thread, alarm, metrics }), ..Self::new() }
    }

    /// A call begins.
    pub(crate) fn begin(&self, limit: Duration) {
        self.spent.set(Duration::ZERO);
        self.limit.set(limit);
        self.is_over.set(false);
        self.ends.set(0);
    }

    /// The call has entered a module. Answers the module that it was in.
    pub(crate) fn at(&self, module: Arc<str>) -> Arc<str> {
        if let Some(watch) = &self.watch {
            watch.thread.at(module.clone());
        }
        self.module.replace(module)
    }

    fn used(&self) -> Duration {
        let turn = self.slice_started.get().elapsed();
        let used = if turn <= BRIEF { turn } else { used_by_thread().saturating_sub(self.used_before.get()) };
        self.spent.get() + used
    }

    /// CPU time that the call had used at the end of its last turn.
    pub(crate) fn spent(&self) -> Duration {
        self.spent.get()
    }

    /// Whether the call used up its time.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.get()
    }

    /// Answers the next step of the call. Once its time is used up every further step is an error, so that code which
    /// catches errors ends too. An engine may lose some of these errors, and the call goes on. After [`ENDS_MAX`]
    /// errors it is therefore given up. If too many calls were given up before, the clock is no longer told that the
    /// call answers, and ends the process.
    pub(crate) fn look(&self) -> Step {
        if self.is_over.get() {
            let Some(watch) = &self.watch else { return Step::End };
            self.ends.set(self.ends.get().saturating_add(1));
            if self.ends.get() > ENDS_MAX {
                let may_give_up = watch.metrics.given_up.load(Ordering::Relaxed) < GIVEN_UP_MAX;
                return if may_give_up { Step::GiveUp } else { Step::End };
            }
            watch.thread.answer();
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

impl TurnListener for Budget {
    fn begin_turn(self: &Rc<Self>, is_abandoned: bool) {
        self.resume(is_abandoned);
    }

    fn end_turn(self: &Rc<Self>) {
        self.pause();
    }

    fn given_up(self: &Rc<Self>) {
        self.give_up();
    }
}

impl Budget {
    /// The call begins another slice. If it is abandoned, it does so only to end.
    pub(crate) fn resume(&self, is_abandoned: bool) {
        let now = Instant::now();
        self.slice_started.set(now);
        self.used_before.set(used_lately(now));
        let Some(watch) = &self.watch else { return };
        if self.is_over.get() || is_abandoned {
            watch.alarm.ring();
        }
        watch.thread.enter(self.module.borrow().clone(), Some(watch.alarm.clone()));
    }

    /// The call's stack was put aside for good.
    pub(crate) fn give_up(&self) {
        let module = &**self.module.borrow();
        tracing::error!(
            module,
            "a call of game code does not end when it is told to: it is given up, and the memory of its machine is lost"
        );
        if let Some(watch) = &self.watch {
            watch.metrics.given_up.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The turn of the call is over.
    pub(crate) fn pause(&self) {
        if let Some(watch) = &self.watch {
            watch.thread.leave();
        }
        self.spent.set(self.used());
    }
}

/// CPU time of the calling thread, as it was at most [`BRIEF`] ago, so that brief turns in a row ask for it once.
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

/// CPU time of the calling thread.
fn used_by_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
