//! The slice clock: a thread that knows since when each watched thread has been running its call. When a slice is over,
//! the clock rings the alarm of the call. A call that keeps to its slice need not look at the time, if its engine has
//! an alarm.
//!
//! Order of locks: the watched threads, then the running call of one of them, then the digests of loaded modules. Only
//! the clock holds more than one of them at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Thread, ThreadId};
use std::time::{Duration, Instant};

use super::stuck::StuckPolicy;
use crate::machine::limits::SLICE;

/// Time between two looks of the clock at the watched threads.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// The longest time that one look adds to the unanswered time of a call. In a process that was halted the next look
/// comes late, and the call is not to blame for that.
const LOOK_TIME_MAX: Duration = Duration::from_millis(100);

/// Count of looks in a row without a running call, after which the clock sleeps until a call begins.
const IDLE_LOOKS_MAX: u32 = 100;

/// An alarm that tells a call that its slice is over. The thread of the clock rings the alarm, and the watched thread
/// silences it.
pub(crate) trait SliceAlarm: Send + Sync {
    /// Has the call look at its budget at its next step.
    fn ring(&self);
    /// Lets the call go on without looking at its budget.
    fn silence(&self);
}

/// The call that a watched thread runs.
struct RunningCall {
    since: Instant,
    /// Time since the call last looked at its budget, as far as the clock has counted it.
    unanswered: Duration,
    /// The file of the module that the call is in.
    module: Arc<str>,
    alarm: Option<Arc<dyn SliceAlarm>>,
}

/// A thread that runs game code, as the clock sees it.
pub(crate) struct WatchedThread {
    running: Mutex<Option<RunningCall>>,
    shared: Arc<Shared>,
}

impl WatchedThread {
    /// Notes that a call begins its turn on this thread.
    pub(crate) fn enter(&self, module: Arc<str>, alarm: Option<Arc<dyn SliceAlarm>>) {
        let (since, unanswered) = (Instant::now(), Duration::ZERO);
        *locked(&self.running) = Some(RunningCall { since, unanswered, module, alarm });
        // Either this thread sees that the clock sleeps, or the clock sees the call.
        fence(Ordering::SeqCst);
        if self.shared.sleeps.load(Ordering::Relaxed) {
            self.shared.wake();
        }
    }

    /// Notes that the call has entered another module.
    pub(crate) fn at(&self, module: Arc<str>) {
        if let Some(running) = &mut *locked(&self.running) {
            running.module = module;
        }
    }

    /// Notes that the call has looked at its budget and goes on.
    pub(crate) fn answer(&self) {
        if let Some(running) = &mut *locked(&self.running) {
            running.unanswered = Duration::ZERO;
        }
    }

    /// Notes that the turn of the call is over, and silences its alarm.
    pub(crate) fn leave(&self) {
        let running = locked(&self.running).take();
        if let Some(alarm) = running.and_then(|running| running.alarm) {
            alarm.silence();
        }
    }
}

/// The clock of a process. The thread of the clock ends when this value is dropped.
#[derive(Default)]
pub struct SliceClock {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    watched_threads: Mutex<HashMap<ThreadId, Weak<WatchedThread>>>,
    /// The thread of the clock, once there is a thread to watch.
    thread: Mutex<Option<Thread>>,
    sleeps: AtomicBool,
    is_over: AtomicBool,
    stuck: Option<StuckPolicy>,
    /// The digest of each loaded module, by file; `None` for a file of which several versions were loaded.
    loaded: Mutex<HashMap<String, Option<String>>>,
}

impl SliceClock {
    /// A clock with a policy for calls that do not look at their budget.
    pub fn with(stuck: Option<StuckPolicy>) -> Self {
        Self { shared: Arc::new(Shared { stuck, ..Shared::default() }) }
    }

    /// Notes the digest of a module that is loaded.
    pub(crate) fn loaded(&self, file: &str, digest: String) {
        let mut loaded = locked(&self.shared.loaded);
        match loaded.get_mut(file) {
            Some(known) if known.as_deref() == Some(&digest) => {}
            Some(known) => *known = None,
            None => drop(loaded.insert(file.to_owned(), Some(digest))),
        }
    }

    /// Watches the calling thread. The first watched thread starts the thread of the clock.
    pub(crate) fn watch_this_thread(&self) -> Arc<WatchedThread> {
        let mut watched_threads = locked(&self.shared.watched_threads);
        let known = watched_threads.entry(thread::current().id()).or_default();
        if let Some(watched) = known.upgrade() {
            return watched;
        }
        let watched = Arc::new(WatchedThread { running: Mutex::default(), shared: self.shared.clone() });
        *known = Arc::downgrade(&watched);
        drop(watched_threads);
        self.shared.start();
        watched
    }
}

impl Drop for SliceClock {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        self.shared.wake();
    }
}

impl Shared {
    fn start(self: &Arc<Self>) {
        let mut thread = locked(&self.thread);
        if thread.is_some() {
            return;
        }
        let shared = self.clone();
        match thread::Builder::new().name("script-clock".to_owned()).spawn(move || shared.run()) {
            Ok(started) => *thread = Some(started.thread().clone()),
            Err(error) => {
                tracing::error!(%error, "cannot start the clock of game code: calls that take too long are not ended")
            }
        }
    }

    fn wake(&self) {
        if let Some(thread) = &*locked(&self.thread) {
            thread.unpark();
        }
    }

    fn run(&self) {
        let mut idle_looks = 0;
        let mut before = Instant::now();
        while !self.is_over.load(Ordering::Relaxed) {
            let now = Instant::now();
            let waited = now.duration_since(before).min(LOOK_TIME_MAX);
            before = now;
            idle_looks = if self.look(waited) { 0 } else { idle_looks + 1 };
            if idle_looks <= IDLE_LOOKS_MAX {
                thread::park_timeout(LOOK_INTERVAL);
                continue;
            }
            self.sleeps.store(true, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if !self.look(Duration::ZERO) && !self.is_over.load(Ordering::Relaxed) {
                thread::park();
            }
            self.sleeps.store(false, Ordering::Relaxed);
            idle_looks = 0;
        }
    }

    /// Rings the alarms of calls whose slice is over, and reports calls that are stuck. Answers whether any call runs.
    fn look(&self, waited: Duration) -> bool {
        let mut is_busy = false;
        locked(&self.watched_threads).retain(|_, watched| {
            let Some(watched) = watched.upgrade() else { return false };
            if let Some(running) = &mut *locked(&watched.running) {
                is_busy = true;
                running.unanswered += waited.min(running.since.elapsed());
                if let Some(stuck) = &self.stuck
                    && running.unanswered >= stuck.after
                {
                    let loaded = locked(&self.loaded);
                    (stuck.on_stuck)(&running.module, loaded.get(&*running.module).and_then(Option::as_deref));
                }
                if running.since.elapsed() >= SLICE
                    && let Some(alarm) = &running.alarm
                {
                    // The alarm is rung under the lock of the running call, because the alarm's machine may be gone
                    // once the thread has left the call.
                    alarm.ring();
                }
            }
            true
        });
        is_busy
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
