//! The clock: a thread that knows which call each lane runs since when. When a slice is over it rings the call's alarm, so
//! a call that keeps to its slice is never asked what time it is.
//!
//! Locks: the list of lanes before a lane's running call, before what was loaded. A lane takes only its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::stuck::StuckPolicy;
use crate::machine::limits::SLICE;

/// How often the clock looks.
const LOOK: Duration = Duration::from_millis(1);

/// What a look counts for at most, however long after the last it comes.
const LOOKS_MAX: Duration = Duration::from_millis(100);

/// After so many looks that found nothing running it sleeps until something runs.
const IDLE_LOOKS_MAX: u32 = 100;

/// By what a call is told that its slice is over. Rung by the clock's thread, silenced by the lane's.
pub(crate) trait Alarm: Send + Sync {
    /// Lets the call be asked at its next step.
    fn ring(&self);
    /// Lets it be asked no more.
    fn silence(&self);
}

/// What a lane runs.
struct Running {
    since: Instant,
    /// How long the clock has waited for an answer.
    unanswered: Duration,
    /// The file of the module.
    module: Arc<str>,
    alarm: Option<Arc<dyn Alarm>>,
}

/// A thread that runs game code, as the clock sees it.
pub(crate) struct Lane {
    running: Mutex<Option<Running>>,
    shared: Arc<Shared>,
}

impl Lane {
    /// A call has its turn.
    pub(crate) fn enter(&self, module: Arc<str>, alarm: Option<Arc<dyn Alarm>>) {
        let (since, unanswered) = (Instant::now(), Duration::ZERO);
        *locked(&self.running) = Some(Running { since, unanswered, module, alarm });
        // Either this sees that the clock sleeps, or the clock sees what runs.
        fence(Ordering::SeqCst);
        if self.shared.sleeps.load(Ordering::Relaxed) {
            self.shared.wake();
        }
    }

    /// The call is at another module.
    pub(crate) fn at(&self, module: Arc<str>) {
        if let Some(running) = &mut *locked(&self.running) {
            running.module = module;
        }
    }

    /// The call was asked, and goes on.
    pub(crate) fn answer(&self) {
        if let Some(running) = &mut *locked(&self.running) {
            running.unanswered = Duration::ZERO;
        }
    }

    /// Its turn is over.
    pub(crate) fn leave(&self) {
        let running = locked(&self.running).take();
        if let Some(alarm) = running.and_then(|running| running.alarm) {
            alarm.silence();
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Clock {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    lanes: Mutex<Vec<Weak<Lane>>>,
    /// The clock's thread, once it runs.
    thread: Mutex<Option<Thread>>,
    sleeps: AtomicBool,
    is_over: AtomicBool,
    stuck: Option<StuckPolicy>,
    /// The digests of modules that were loaded, by their files: none where there were several.
    loaded: Mutex<HashMap<String, Option<String>>>,
}

thread_local! {
    /// The lane of this thread, of the clock that asked last.
    static LANE: RefCell<Weak<Lane>> = const { RefCell::new(Weak::new()) };
}

impl Clock {
    /// One that does something about calls that do not answer.
    pub fn with(stuck: Option<StuckPolicy>) -> Self {
        Self { shared: Arc::new(Shared { stuck, ..Shared::default() }) }
    }

    /// A module was loaded.
    pub(crate) fn loaded(&self, file: &str, digest: String) {
        let mut loaded = locked(&self.shared.loaded);
        match loaded.get_mut(file) {
            Some(known) if known.as_deref() == Some(&digest) => {}
            Some(known) => *known = None,
            None => drop(loaded.insert(file.to_owned(), Some(digest))),
        }
    }

    /// The lane of the calling thread. The clock's thread starts with the first.
    pub(crate) fn lane(&self) -> Arc<Lane> {
        LANE.with_borrow_mut(|known| {
            if let Some(lane) = known.upgrade().filter(|lane| Arc::ptr_eq(&lane.shared, &self.shared)) {
                return lane;
            }
            let lane = Arc::new(Lane { running: Mutex::default(), shared: self.shared.clone() });
            *known = Arc::downgrade(&lane);
            locked(&self.shared.lanes).push(Arc::downgrade(&lane));
            self.shared.start();
            lane
        })
    }
}

impl Drop for Clock {
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
                tracing::error!(%error, "cannot start the clock of game code: nothing ends what takes too long")
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
            // A process that was halted has waited for nothing.
            let waited = now.duration_since(before).min(LOOKS_MAX);
            before = now;
            idle_looks = if self.look(waited) { 0 } else { idle_looks + 1 };
            if idle_looks <= IDLE_LOOKS_MAX {
                thread::park_timeout(LOOK);
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

    /// Rings where a slice is over. Answers whether anything runs.
    fn look(&self, waited: Duration) -> bool {
        let mut is_busy = false;
        locked(&self.lanes).retain(|lane| {
            let Some(lane) = lane.upgrade() else { return false };
            if let Some(running) = &mut *locked(&lane.running) {
                is_busy = true;
                running.unanswered += waited.min(running.since.elapsed());
                if let Some(stuck) = &self.stuck
                    && running.unanswered >= stuck.after
                {
                    let loaded = locked(&self.loaded);
                    (stuck.tell)(&running.module, loaded.get(&*running.module).and_then(Option::as_deref));
                }
                if running.since.elapsed() >= SLICE
                    && let Some(alarm) = &running.alarm
                {
                    // Under the lock: a lane that has left may have no machine any more.
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
