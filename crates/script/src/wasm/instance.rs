//! An instance of a module at work, on the thread of its lane: what it may use, which of its calls runs, and how it ends.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::{Engine, InstancePre, Memory, ResourceLimiter, Store, UpdateDeadline};

use super::frames::{Said, read};
use super::lane::{Asked, Breached, Event, INIT, Lane};
use super::lines::{Lines, bytes_of};
use crate::metrics::ScriptMetrics;
use crate::process::clock::{Alarm, Lane as Watched};

/// Between two instances passes this time at least, so that one which ends at once is not started all the time.
pub(super) const START_INTERVAL: Duration = Duration::from_secs(1);

/// The call that runs while none does: what is left of former ones, and the loop that reads frames.
const NONE: u64 = 0;

/// So much is said before those who wait for it are woken, if nothing else lets them be woken sooner: each waking costs as much as
/// a small call.
const SAID_MAX: usize = 32;
const SAID_FOR_MAX: Duration = Duration::from_micros(200);

/// What an instance may use.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Its memory.
    pub(super) bytes_max: usize,
    /// The processor's time of what belongs to no call, between two waits.
    pub(super) background: Duration,
    /// The same while modules register.
    pub(super) init: Duration,
    /// What a call, and what belongs to none in a second, writes to the log.
    pub(super) log_bytes_max: usize,
}

/// Why an instance does not go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Ending {
    #[error("the server needs it no more")]
    Closed,
    #[error("it exited with status {0}")]
    Exit(i32),
    #[error("{0} used more time than it may")]
    Time(Arc<str>),
    #[error("it cannot start again: {0}")]
    Init(String),
    #[error("it said something that is no message: {0}")]
    Unreadable(String),
}

/// What an instance works with.
pub(super) struct State {
    pub(super) lane: Arc<Lane>,
    incarnation: u32,
    bounds: Bounds,
    pub(super) memory: Option<Memory>,
    /// The frame that it reads, and how much it has read of it.
    pub(super) reading: (Vec<u8>, usize),
    pub(super) started: Instant,
    pub(super) lines: Lines,
    /// What it said that nobody has heard yet, and since when.
    said: Vec<(u64, Event)>,
    said_since: Instant,
    current: u64,
    /// The processor's time of the thread when it was last looked at.
    looked_at: Duration,
    background: Duration,
    is_ready: bool,
    offender: Option<(u64, Breached)>,
    watched: Arc<Watched>,
    alarm: Arc<dyn Alarm>,
    file: Arc<str>,
}

/// Rings by another epoch.
pub(super) struct Epoch(pub(super) Engine);

impl Alarm for Epoch {
    fn ring(&self) {
        self.0.increment_epoch();
    }

    // The next epoch is asked for where the call is.
    fn silence(&self) {}
}

impl State {
    /// What the thread has used since the last look counts for the call that runs. Answers what that has used, what it may,
    /// and its name.
    fn charge(&mut self) -> (Duration, Duration, Arc<str>) {
        let now = used_by_thread();
        let used = now.saturating_sub(self.looked_at);
        self.looked_at = now;
        let charged = self.lane.with(self.current, |open| {
            open.spent += used;
            (open.spent, open.limit, open.name.clone())
        });
        charged.unwrap_or_else(|| {
            self.background += used;
            let limit = if self.is_ready { self.bounds.background } else { self.bounds.init };
            (self.background, limit, Arc::from("code that runs outside of calls"))
        })
    }

    /// The memory that it may use.
    pub(super) fn bytes_max(&self) -> usize {
        self.bounds.bytes_max
    }

    /// Another call runs.
    pub(super) fn at(&mut self, call: u64) {
        self.charge();
        self.current = call;
        self.background = Duration::ZERO;
    }

    /// Nothing runs: it waits to be told something.
    pub(super) fn leave(&mut self) {
        self.deliver();
        self.at(NONE);
        self.watched.leave();
    }

    /// It goes on.
    pub(super) fn enter(&mut self) {
        self.looked_at = used_by_thread();
        self.watched.enter(self.file.clone(), Some(self.alarm.clone()));
    }

    /// Something is said. Those who wait for it are woken together with others, or when that has taken too long.
    fn tell(&mut self, call: u64, event: Event) {
        let now = Instant::now();
        if self.said.is_empty() {
            self.said_since = now;
        }
        self.said.push((call, event));
        if self.said.len() >= SAID_MAX || now.duration_since(self.said_since) >= SAID_FOR_MAX {
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        self.lane.deliver(&mut self.said);
    }

    /// A slice is over.
    fn look(&mut self) -> Result<(), Ending> {
        self.deliver();
        self.watched.answer();
        let (spent, limit, name) = self.charge();
        if spent <= limit {
            return Ok(());
        }
        self.offender = Some((self.current, Breached::Time));
        Err(Ending::Time(name))
    }

    /// It says something.
    ///
    /// # Errors
    /// For what is no message: its library is broken.
    pub(super) fn said(&mut self, frame: &[u8]) -> Result<(), Ending> {
        match read(frame).map_err(Ending::Unreadable)? {
            Said::Ready(registered) => {
                self.is_ready = true;
                if self.lane.with(INIT, |_| ()).is_some() {
                    self.tell(INIT, Event::Ready(registered));
                } else {
                    // What is registered is known: whoever calls it has waited for this.
                    registered.map_err(Ending::Init)?;
                    self.lane.ready();
                }
            }
            Said::Asked { call, sequence, name, arguments } => {
                let asked = Asked { incarnation: self.incarnation, sequence, bytes: frame.len() };
                if self.lane.ask(asked.bytes) {
                    self.tell(call, Event::Asked { asked, name, arguments });
                } else {
                    let told = "too many functions of the host are waited for";
                    let refused = muster_domain::Error::new(muster_domain::ErrorKind::ResourceExhausted, told);
                    self.lane.answer(asked, Err(refused));
                }
            }
            Said::Returned { call, result } => self.tell(call, Event::Returned(result)),
            Said::MatchReturned { call, outcome, acts } => {
                let spent = if call == self.current { self.charge().0 } else { self.spent(call) };
                self.tell(call, Event::MatchReturned { outcome, acts, spent });
            }
            Said::Logged { call, level, line, fields } => {
                let may = self.lane.with(call, |open| {
                    open.logged = open.logged.saturating_add(bytes_of(&line, &fields));
                    open.logged <= self.bounds.log_bytes_max
                });
                self.lines.log(may, level, &line, &fields);
            }
        }
        Ok(())
    }

    fn spent(&self, call: u64) -> Duration {
        self.lane.with(call, |open| open.spent).unwrap_or_default()
    }
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let has_room = desired <= self.bounds.bytes_max;
        if !has_room {
            self.offender = Some((self.current, Breached::Memory));
        }
        Ok(has_room)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        const ELEMENTS_MAX: usize = 1 << 20;
        Ok(desired <= ELEMENTS_MAX)
    }
}

/// How an instance ended.
pub(super) struct Ended {
    pub(super) why: Arc<str>,
    pub(super) offender: Option<(u64, Breached)>,
}

/// Runs an instance until it ends.
pub(super) fn run(
    module: &InstancePre<State>,
    (lane, hello): (&Arc<Lane>, Vec<u8>),
    bounds: Bounds,
    (watched, file): (&Arc<Watched>, &Arc<str>),
    metrics: &Arc<ScriptMetrics>,
) -> Ended {
    let engine = module.module().engine();
    let state = State {
        lane: lane.clone(),
        incarnation: lane.start(hello),
        bounds,
        memory: None,
        reading: (Vec::new(), 0),
        started: Instant::now(),
        lines: Lines::new(bounds.log_bytes_max, metrics.clone()),
        said: Vec::new(),
        said_since: Instant::now(),
        current: INIT,
        looked_at: used_by_thread(),
        background: Duration::ZERO,
        is_ready: false,
        offender: None,
        watched: watched.clone(),
        alarm: Arc::new(Epoch(engine.clone())),
        file: file.clone(),
    };
    let mut store = Store::new(engine, state);
    store.limiter(|state| state);
    store.set_epoch_deadline(1);
    store.epoch_deadline_callback(|mut context| {
        context.data_mut().look()?;
        Ok(UpdateDeadline::Continue(1))
    });
    store.data_mut().enter();
    metrics.machines.fetch_add(1, Ordering::Relaxed);
    let ran = begin(module, &mut store);
    metrics.machines.fetch_sub(1, Ordering::Relaxed);
    store.data_mut().leave();
    let why = match ran {
        Ok(()) => "its main function returned".to_owned(),
        Err(error) => match error.downcast_ref::<Ending>() {
            Some(ending) => ending.to_string(),
            None => format!("{error:#}"),
        },
    };
    let offender = store.data().offender;
    Ended { why: why.into(), offender }
}

fn begin(module: &InstancePre<State>, store: &mut Store<State>) -> wasmtime::Result<()> {
    let instance = module.instantiate(&mut *store)?;
    store.data_mut().memory = instance.get_memory(&mut *store, "memory");
    instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(store, ())
}

/// The processor's time that the calling thread has used.
fn used_by_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
