//! An instance of a module at work on its thread: its limits, the call that runs, and its end. Processor time is
//! charged to the call that runs; time outside of calls is *background*.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::{Engine, InstancePre, Memory, ResourceLimiter, Store, UpdateDeadline};

use super::call_table::{CallEvent, CallTable, HostCall, INIT};
use super::frames::{FromInstance, read};
use super::instance_log::{InstanceLog, bytes_of};
use crate::machine::call::Breach;
use crate::metrics::ScriptMetrics;
use crate::process::clock::{SliceAlarm, WatchedThread};

/// Least time between the starts of two instances, so that one which ends at once is not started all the time.
pub(super) const START_INTERVAL: Duration = Duration::from_secs(1);

/// Id in place of the current call while no call runs. Then goroutines run that calls left behind, or the loop that
/// reads frames.
const NONE: u64 = 0;

/// Limit on the events that gather before the shards that wait for them are woken, since each waking costs as much as a
/// small call. Events are delivered sooner when the instance waits.
const UNDELIVERED_MAX: usize = 32;

/// Limit on the time for which events gather.
const UNDELIVERED_FOR_MAX: Duration = Duration::from_micros(200);

/// Limits of an instance.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Limit on the bytes of the instance's memory.
    pub(super) bytes_max: usize,
    /// Limit on the processor time of background work between two waits.
    pub(super) background: Duration,
    /// Limit on the processor time of `InitModule`.
    pub(super) init: Duration,
    /// Limit on the bytes of log lines of one call, and of background work in a second.
    pub(super) log_bytes_max: usize,
}

/// The reason why an instance ends, as an error that unwinds it.
#[derive(Debug, thiserror::Error)]
pub(super) enum EndReason {
    #[error("the server needs it no more")]
    Closed,
    #[error("it exited with status {0}")]
    Exit(i32),
    #[error("{0} used more time than it may (script.call_cpu_ms)")]
    Time(Arc<str>),
    #[error("it cannot start again: {0}")]
    Init(String),
    #[error("it said something that is no message: {0}")]
    Unreadable(String),
}

/// The frame that an instance reads.
#[derive(Default)]
pub(super) struct FrameReading {
    pub(super) frame: Vec<u8>,
    /// Number of the frame's bytes that the instance has read.
    pub(super) read: usize,
}

/// The host's state of an instance.
pub(super) struct InstanceState {
    pub(super) calls: Arc<CallTable>,
    incarnation: u32,
    bounds: Bounds,
    pub(super) memory: Option<Memory>,
    /// The frame that the instance reads now.
    pub(super) reading: FrameReading,
    pub(super) started: Instant,
    pub(super) log: InstanceLog,
    /// Events that are not delivered yet, each with its call.
    undelivered: Vec<(u64, CallEvent)>,
    /// The moment since which the first of these events waits.
    undelivered_since: Instant,
    /// Id of the call that runs.
    current: u64,
    /// Processor time of the thread when a call was last charged.
    looked_at: Duration,
    background: Duration,
    is_ready: bool,
    offender: Option<(u64, Breach)>,
    watched: Arc<WatchedThread>,
    alarm: Arc<dyn SliceAlarm>,
    file: Arc<str>,
}

/// Interrupts an engine by advancing its epoch.
pub(super) struct EpochAlarm(pub(super) Engine);

impl SliceAlarm for EpochAlarm {
    fn ring(&self) {
        self.0.increment_epoch();
    }

    // Nothing needs to be silenced, because the callback of the epoch's deadline sets the next deadline.
    fn silence(&self) {}
}

/// The time of the call that runs, or of background work.
struct Charge {
    spent: Duration,
    limit: Duration,
    name: Arc<str>,
}

impl InstanceState {
    /// Charges the thread's time since the last charge to the call that runs.
    fn charge(&mut self) -> Charge {
        let now = used_by_thread();
        let used = now.saturating_sub(self.looked_at);
        self.looked_at = now;
        let charged = self.calls.with(self.current, |open| {
            open.spent += used;
            Charge { spent: open.spent, limit: open.limit, name: open.name.clone() }
        });
        charged.unwrap_or_else(|| {
            self.background += used;
            let limit = if self.is_ready { self.bounds.background } else { self.bounds.init };
            Charge { spent: self.background, limit, name: Arc::from("code that runs outside of calls") }
        })
    }

    /// Limit on the bytes of the instance's memory.
    pub(super) fn bytes_max(&self) -> usize {
        self.bounds.bytes_max
    }

    /// Notes that the instance runs this call from now on.
    pub(super) fn at(&mut self, call: u64) {
        self.charge();
        self.current = call;
        self.background = Duration::ZERO;
    }

    /// Begins a wait: delivers all events and ends the thread's turn.
    pub(super) fn leave(&mut self) {
        self.deliver();
        self.at(NONE);
        self.watched.leave();
    }

    /// Ends a wait.
    pub(super) fn enter(&mut self) {
        self.looked_at = used_by_thread();
        self.watched.enter(self.file.clone(), Some(self.alarm.clone()));
    }

    /// Adds an event of a call. It is delivered together with others, when enough have gathered or the first one has
    /// waited long enough.
    fn tell(&mut self, call: u64, event: CallEvent) {
        let now = Instant::now();
        if self.undelivered.is_empty() {
            self.undelivered_since = now;
        }
        self.undelivered.push((call, event));
        if self.undelivered.len() >= UNDELIVERED_MAX
            || now.duration_since(self.undelivered_since) >= UNDELIVERED_FOR_MAX
        {
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        self.calls.deliver(&mut self.undelivered);
    }

    /// Runs at the end of a slice. Ends the instance if the current call has used more time than it may.
    pub(super) fn look(&mut self) -> Result<(), EndReason> {
        self.deliver();
        self.watched.answer();
        let Charge { spent, limit, name } = self.charge();
        if spent <= limit {
            return Ok(());
        }
        self.offender = Some((self.current, Breach::Time));
        Err(EndReason::Time(name))
    }

    /// Takes a frame from the instance.
    ///
    /// # Errors
    /// For bytes that are no frame, and when a restarted instance fails in `InitModule`.
    pub(super) fn receive(&mut self, frame: &[u8]) -> Result<(), EndReason> {
        match read(frame).map_err(EndReason::Unreadable)? {
            FromInstance::Ready(registered) => {
                self.is_ready = true;
                if self.calls.with(INIT, |_| ()).is_some() {
                    self.tell(INIT, CallEvent::Ready(registered));
                } else {
                    // A restarted instance registers the same functions as the first one, so its registrations are
                    // dropped. Calls are accepted again from now on.
                    registered.map_err(EndReason::Init)?;
                    self.calls.ready();
                }
            }
            FromInstance::HostCalled { call, sequence, name, arguments } => {
                let host_call = HostCall { incarnation: self.incarnation, sequence, bytes: frame.len() };
                if self.calls.begin_host_call(host_call.bytes) {
                    self.tell(call, CallEvent::HostCalled { host_call, name, arguments });
                } else {
                    let told = "too many functions of the host are waited for";
                    let refused = muster_domain::Error::new(muster_domain::ErrorKind::ResourceExhausted, told);
                    self.calls.answer(host_call, Err(refused));
                }
            }
            FromInstance::Returned { call, result } => self.tell(call, CallEvent::Returned(result)),
            FromInstance::MatchReturned { call, outcome, acts } => {
                let spent = if call == self.current { self.charge().spent } else { self.spent(call) };
                self.tell(call, CallEvent::MatchReturned { outcome, acts, spent });
            }
            FromInstance::Logged { call, level, line, fields } => {
                let may = self.calls.with(call, |open| {
                    open.logged = open.logged.saturating_add(bytes_of(&line, &fields));
                    open.logged <= self.bounds.log_bytes_max
                });
                self.log.log(may, level, &line, &fields);
            }
        }
        Ok(())
    }

    fn spent(&self, call: u64) -> Duration {
        self.calls.with(call, |open| open.spent).unwrap_or_default()
    }
}

impl ResourceLimiter for InstanceState {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let has_room = desired <= self.bounds.bytes_max;
        if !has_room {
            self.offender = Some((self.current, Breach::Memory));
        }
        Ok(has_room)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        const ELEMENTS_MAX: usize = 1 << 20;
        Ok(desired <= ELEMENTS_MAX)
    }

    // The limits above hold for each memory and each table. Go programs have one of either.
    fn memories(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        1
    }
}

/// The end of an instance: a sentence, and the call whose breach of a limit ended it.
pub(super) struct InstanceEnd {
    pub(super) why: Arc<str>,
    pub(super) offender: Option<(u64, Breach)>,
}

/// Runs an instance until it ends.
pub(super) fn run(
    module: &InstancePre<InstanceState>,
    calls: &Arc<CallTable>,
    hello: Vec<u8>,
    bounds: Bounds,
    watched: &Arc<WatchedThread>,
    file: &Arc<str>,
    metrics: &Arc<ScriptMetrics>,
) -> InstanceEnd {
    let engine = module.module().engine();
    let state = InstanceState {
        calls: calls.clone(),
        incarnation: calls.start(hello),
        bounds,
        memory: None,
        reading: FrameReading::default(),
        started: Instant::now(),
        log: InstanceLog::new(bounds.log_bytes_max, metrics.clone()),
        undelivered: Vec::new(),
        undelivered_since: Instant::now(),
        current: INIT,
        looked_at: used_by_thread(),
        background: Duration::ZERO,
        is_ready: false,
        offender: None,
        watched: watched.clone(),
        alarm: Arc::new(EpochAlarm(engine.clone())),
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
        Err(error) => match error.downcast_ref::<EndReason>() {
            Some(ending) => ending.to_string(),
            None => format!("{error:#}"),
        },
    };
    let offender = store.data().offender;
    InstanceEnd { why: why.into(), offender }
}

fn begin(module: &InstancePre<InstanceState>, store: &mut Store<InstanceState>) -> wasmtime::Result<()> {
    let instance = module.instantiate(&mut *store)?;
    store.data_mut().memory = instance.get_memory(&mut *store, "memory");
    instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(store, ())
}

/// Processor time that the calling thread has used.
fn used_by_thread() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}
