//! The time that a call has used, and what becomes of one that uses too much. Budgets are of the processor's time: on a
//! busy machine a call is not blamed for what others take. Slices are of real time, since that is what others wait.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::fiber::Turns;
use super::limits::SLICE;
use crate::metrics::ScriptMetrics;
use crate::process::Process;
use crate::process::clock::{Alarm, Lane};

/// So long a turn is taken to have used its thread all the time: what a thread has used is dear to ask.
const BRIEF: Duration = Duration::from_micros(250);

thread_local! {
    /// When this thread was asked last what it has used, and what that was.
    static ASKED: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// How often a call is told that its time is used up before it is given up. One that ends is told a few times, by what it
/// catches on its way.
const ENDS_MAX: u32 = 100;

/// Most calls of a process that are given up, since what each held is lost. The next one ends the process.
const GIVEN_UP_MAX: u64 = 16;

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
    /// It does not end however often it is told: its stack is put aside for good, if it has one of its own.
    GiveUp,
}

/// The time of the call that a machine runs.
pub(crate) struct Budget {
    slice_started: Cell<Instant>,
    /// What the thread had used by then.
    used_before: Cell<Duration>,
    spent: Cell<Duration>,
    limit: Cell<Duration>,
    is_over: Cell<bool>,
    /// How often the call was told so.
    ends: Cell<u32>,
    /// The file of the module that is at work.
    module: RefCell<Arc<str>>,
    watch: Option<Watch>,
}

/// Who tells a call that its slice is over, and how.
struct Watch {
    lane: Arc<Lane>,
    alarm: Arc<dyn Alarm>,
    metrics: Arc<ScriptMetrics>,
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
            ends: Cell::new(0),
            module: RefCell::default(),
            watch: None,
        }
    }

    /// Of calls that are asked when the clock has rung the alarm.
    pub(crate) fn watched(process: &Process, alarm: Arc<dyn Alarm>) -> Self {
        let (lane, metrics) = (process.clock.lane(), process.metrics.clone());
        Self { watch: Some(Watch { lane, alarm, metrics }), ..Self::new() }
    }

    /// A call begins.
    pub(crate) fn begin(&self, limit: Duration) {
        self.spent.set(Duration::ZERO);
        self.limit.set(limit);
        self.is_over.set(false);
        self.ends.set(0);
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
    /// errors ends too. An engine may lose such an error where no code catches it, so there is an end to telling: the call
    /// is given up, or answers the clock no more, which then ends the process.
    pub(crate) fn look(&self) -> Step {
        if self.is_over.get() {
            let Some(watch) = &self.watch else { return Step::End };
            self.ends.set(self.ends.get().saturating_add(1));
            if self.ends.get() > ENDS_MAX {
                let may_give_up = watch.metrics.given_up.load(Ordering::Relaxed) < GIVEN_UP_MAX;
                return if may_give_up { Step::GiveUp } else { Step::End };
            }
            watch.lane.answer();
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

    fn given_up(self: &Rc<Self>) {
        self.give_up();
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
