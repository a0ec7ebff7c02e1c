//! The call of game code that a shard runs now: the call's use of the host, and the matches whose callbacks wait for
//! the call.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use muster_domain::{Error, ErrorKind, Result};
use muster_live::matches::Chain;

use crate::durable::recorded_call::RecordedCall;
use crate::machine::limits::Limits;
use crate::machine::once::OnceRun;
use crate::metrics::ScriptMetrics;

/// Approximate number of bytes that the server writes around a line of the log. They count too, because many empty
/// lines fill a log as well.
pub(crate) const LINE_OVERHEAD_BYTES: usize = 64;

/// The use that one call has made of the host, and the limits of that use.
pub struct Meter {
    /// The matches whose callbacks wait for this call. If the call is a callback of a match, that match is among them.
    chain: Chain,
    calls: Cell<u32>,
    calls_max: u32,
    log_bytes: Cell<usize>,
    log_bytes_max: usize,
    /// Set for a callback of a recorded match.
    recorded_call: Option<Rc<RecordedCall>>,
    /// The code that takes effect once, while the call runs such code.
    once: RefCell<Option<Rc<OnceRun>>>,
}

impl Meter {
    /// The meter of a call that is not recorded. `chain` holds the matches whose callbacks wait for the call.
    pub(crate) fn new(chain: Chain, limits: &Limits) -> Rc<Self> {
        Rc::new(Self::of(chain, limits, None))
    }

    /// The meter of a callback of a recorded match.
    pub(crate) fn recorded(chain: Chain, limits: &Limits, call: Rc<RecordedCall>) -> Rc<Self> {
        Rc::new(Self::of(chain, limits, Some(call)))
    }

    fn of(chain: Chain, limits: &Limits, recorded_call: Option<Rc<RecordedCall>>) -> Self {
        Self {
            chain,
            calls: Cell::new(0),
            calls_max: limits.host_calls_max,
            log_bytes: Cell::new(0),
            log_bytes_max: limits.log_bytes_max,
            recorded_call,
            once: RefCell::default(),
        }
    }
}

/// The call of game code that a shard runs now. All clones of a value always show the same call.
#[derive(Clone)]
pub struct Current(Rc<RefCell<Rc<Meter>>>);

impl Default for Current {
    fn default() -> Self {
        Self(Rc::new(RefCell::new(Meter::new(Chain::default(), &Limits::default()))))
    }
}

impl Current {
    /// Runs a call. Whenever the call has its turn, it is the current call.
    pub(crate) async fn during<T>(&self, meter: Rc<Meter>, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        poll_fn(|context| {
            let before = self.0.replace(meter.clone());
            let polled = call.as_mut().poll(context);
            self.0.replace(before);
            polled
        })
        .await
    }

    /// The meter of the current call.
    pub(crate) fn meter(&self) -> Rc<Meter> {
        self.0.borrow().clone()
    }

    /// The matches whose callbacks wait for the current call.
    pub(crate) fn chain(&self) -> Chain {
        self.0.borrow().chain.clone()
    }

    /// The current call as a recorded call, if it is a callback of a recorded match.
    pub(crate) fn recorded_call(&self) -> Option<Rc<RecordedCall>> {
        self.0.borrow().recorded_call.clone()
    }

    /// Whether the current call is a replayed callback of a recorded match.
    pub(crate) fn is_replayed(&self) -> bool {
        self.0.borrow().recorded_call.as_ref().is_some_and(|call| call.is_replayed())
    }

    /// The code that takes effect once, while the current call runs such code.
    pub(crate) fn once(&self) -> Option<Rc<OnceRun>> {
        self.0.borrow().once.borrow().clone()
    }

    /// Sets or ends the code that takes effect once. Answers the code that was set before.
    pub(crate) fn set_once(&self, run: Option<Rc<OnceRun>>) -> Option<Rc<OnceRun>> {
        self.0.borrow().once.replace(run)
    }

    /// Whether the current call repeats code that takes effect once.
    pub(crate) fn repeats_once(&self) -> bool {
        self.0.borrow().once.borrow().as_ref().is_some_and(|run| run.is_repeated())
    }

    /// Counts a call of a host function.
    ///
    /// # Errors
    /// `ResourceExhausted` when the current call has called the host too often.
    pub(crate) fn count(&self, metrics: &ScriptMetrics) -> Result<()> {
        let meter = self.0.borrow();
        let calls = meter.calls.get().saturating_add(1);
        meter.calls.set(calls);
        if calls <= meter.calls_max {
            return Ok(());
        }
        if calls == meter.calls_max + 1 {
            metrics.over_host_calls.fetch_add(1, Ordering::Relaxed);
        }
        let most = meter.calls_max;
        let why = format!("the call used more than {most} functions of the host (script.host_calls)");
        Err(Error::new(ErrorKind::ResourceExhausted, why))
    }

    /// Counts a line of so many bytes, with its fields, and answers whether it may go to the log. A warning in the log
    /// stands in place of the first line that may not.
    pub(crate) fn may_log(&self, bytes: usize, metrics: &ScriptMetrics) -> bool {
        let meter = self.0.borrow();
        let (before, most) = (meter.log_bytes.get(), meter.log_bytes_max);
        let logged = before.saturating_add(bytes).saturating_add(LINE_OVERHEAD_BYTES);
        meter.log_bytes.set(logged);
        if logged <= most {
            return true;
        }
        metrics.log_lines_dropped.fetch_add(1, Ordering::Relaxed);
        if before <= most {
            tracing::warn!(
                most,
                "a call of game code wrote more to the log than it may: the rest of its lines is dropped"
            );
        }
        false
    }
}
