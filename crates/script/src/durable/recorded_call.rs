//! One call of a callback of a recorded match: its moment, its randomness, and the answers of the host to it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::keyed_writes::{LatestWrite, WriteKey, WriteStamp};
use muster_domain::ports::store::StoreError;
use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_live::matches::LogError;
use muster_wire::api::Event;

use super::journal::Journal;
use super::latest_write::LoggedWrite;
use super::record::{MatchOrigin, RecordedAnswer};
use super::seed::Chance;
use crate::host::{Arguments, Current, EffectClass, Host, HostAnswer, HostFunction, HostFuture, Run};
use crate::value::Value;

/// Limit on the writes of one call of a host function that have keys of their own; further writes share the last key.
pub(crate) const WRITES_PER_FUNCTION: u32 = 64;

/// One call of a callback of a recorded match.
pub(crate) struct RecordedCall {
    journal: Rc<Journal>,
    /// The facts of the match that were set when it was created.
    pub(crate) origin: Rc<MatchOrigin>,
    /// Serial number of the call in its match.
    number: u64,
    now: Timestamp,
    pub(crate) chance: Chance,
    /// Whether the call is repeated: it was made before, by this or another process.
    is_replayed: bool,
    /// Whether the call must have no effects, because a recording is replayed.
    is_sealed: bool,
    /// The answers of the host when this call was made before, in order. Each is removed when the repeated call asks
    /// for it.
    known: RefCell<VecDeque<RecordedAnswer>>,
    /// Count of the calls of host functions whose answers go to the log.
    asked: Cell<u32>,
    /// Count of the writes of the latest of these calls.
    writes: Cell<u32>,
    /// The latest keyed write of the match that the database is known to have.
    latest_write: Rc<Cell<LoggedWrite>>,
    /// The keyed write of the latest function, if the database is known to have it.
    written: Cell<Option<LatestWrite>>,
    /// The reason why the database refused a keyed write for good: it does not belong to the log of the match.
    refused: RefCell<Option<String>>,
    /// Events for listeners. They leave when everything that led to them is durable.
    events: RefCell<Vec<Event>>,
    /// Set when the log did not take an answer of the host. The call fails then, because it might get another answer
    /// when it is repeated.
    unlogged: RefCell<Option<LogError>>,
    /// Set when the repeated call differs from the one that was made before.
    diverged: RefCell<Option<String>>,
}

/// A call that was made before.
pub(crate) struct FormerCall {
    /// The answers of the host to it, in order.
    pub(crate) answers: Vec<RecordedAnswer>,
    /// Whether the call must have no effects, because a recording is replayed.
    pub(crate) is_sealed: bool,
}

impl RecordedCall {
    /// A call with this number, which is repeated if there is a former one.
    pub(crate) fn new(
        journal: Rc<Journal>,
        origin: Rc<MatchOrigin>,
        number: u64,
        now: Timestamp,
        chance: Chance,
        latest_write: Rc<Cell<LoggedWrite>>,
        former: Option<FormerCall>,
    ) -> Rc<Self> {
        let is_replayed = former.is_some();
        let former = former.unwrap_or(FormerCall { answers: Vec::new(), is_sealed: false });
        Rc::new(Self {
            journal,
            origin,
            number,
            now,
            chance,
            is_replayed,
            is_sealed: former.is_sealed,
            known: RefCell::new(former.answers.into()),
            asked: Cell::default(),
            writes: Cell::default(),
            latest_write,
            written: Cell::default(),
            refused: RefCell::default(),
            events: RefCell::default(),
            unlogged: RefCell::default(),
            diverged: RefCell::default(),
        })
    }

    /// The moment that the call sees.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether the call is repeated.
    pub(crate) fn is_replayed(&self) -> bool {
        self.is_replayed
    }

    /// The difference between the repeated call and the one that was made before, if there is one.
    pub(crate) fn diverged(&self) -> Option<String> {
        let left = self.known.borrow().front().map(|left| format!("it did not call {} again", left.function));
        self.diverged.borrow().clone().or(left)
    }

    /// Keeps an event for listeners until the call is durable.
    pub(crate) fn keep_event(&self, event: Event) {
        self.events.borrow_mut().push(event);
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.borrow().is_empty()
    }

    /// Takes the events for listeners, once the call is durable.
    pub(crate) fn take_events(&self) -> Vec<Event> {
        self.events.take()
    }

    /// Checks that all answers of the host are in the log.
    ///
    /// # Errors
    /// The reason why an answer is not in the log.
    pub(crate) fn check(&self) -> std::result::Result<(), LogError> {
        self.unlogged.borrow().clone().map_or(Ok(()), Err)
    }

    /// The reason why the database refused a keyed write of the call for good, if it did.
    pub(crate) fn refused(&self) -> Option<String> {
        self.refused.borrow().clone()
    }

    /// Notes the outcome of a keyed write.
    pub(super) fn note_write<T>(&self, key: WriteKey, outcome: &std::result::Result<T, StoreError>) {
        match outcome {
            // These refusals are stored as the answers are.
            Ok(_) | Err(StoreError::Conflict(_) | StoreError::Rejected(_) | StoreError::Balance(_)) => {
                let written = LatestWrite { tick: key.tick, ordinal: key.ordinal, at: self.now };
                self.written.set(Some(written));
                self.latest_write.set(LoggedWrite::Some(written));
            }
            Err(error @ (StoreError::Diverged | StoreError::Restored)) => {
                self.refused.borrow_mut().get_or_insert(error.to_string());
            }
            Err(
                StoreError::Invalid(_) | StoreError::Exceeded(_) | StoreError::Unavailable(_) | StoreError::Internal(_),
            ) => {}
        }
    }

    fn diverge(&self, told: String) -> Error {
        self.diverged.borrow_mut().get_or_insert(told.clone());
        Error::new(ErrorKind::Internal, told)
    }

    /// The moment and the key of the next write of this call.
    pub(crate) fn stamp(&self) -> WriteStamp {
        self.journal.has_written.set(true);
        let write = self.writes.get();
        self.writes.set(write + 1);
        // The latest function that was asked is the one that writes.
        let ordinal = self.asked.get().saturating_sub(1) * WRITES_PER_FUNCTION + write.min(WRITES_PER_FUNCTION - 1);
        let tick = i64::try_from(self.number).unwrap_or(i64::MAX);
        let after = self.latest_write.get().write().map(|latest| (latest.tick, latest.ordinal));
        WriteStamp { now: self.now, key: Some(WriteKey { match_id: self.journal.match_id(), tick, ordinal, after }) }
    }

    /// Calls a host function. If the call is repeated, the function answers what it answered before.
    ///
    /// # Errors
    /// The error of the function, and `Internal` when a repeated call differs from the former one.
    pub(crate) fn start(
        self: &Rc<Self>,
        host: &Rc<Host>,
        function: &HostFunction,
        arguments: Arguments,
    ) -> Result<HostAnswer> {
        match function.effect {
            EffectClass::Pure | EffectClass::Chance | EffectClass::Reports => return function.run(host, arguments),
            // The former call has logged the line.
            EffectClass::Log if self.is_replayed => return Ok(HostAnswer::Ready(Value::Nil)),
            EffectClass::Log => return function.run(host, arguments),
            EffectClass::Reads
            | EffectClass::AsksServer
            | EffectClass::Writes
            | EffectClass::WritesKeyed
            | EffectClass::Local
            | EffectClass::Players => {}
        }
        let ordinal = self.asked.get();
        self.asked.set(ordinal + 1);
        self.writes.set(0);
        self.written.set(None);
        if let Some(before) = self.known.borrow_mut().pop_front() {
            if before.ordinal != ordinal || before.function != function.name {
                let told = format!("it called {} where it had called {}", function.name, before.function);
                return Err(self.diverge(told));
            }
            if let Some(written) = before.written {
                self.latest_write.set(LoggedWrite::Some(written));
            }
            return before.answer.map(HostAnswer::Ready);
        }
        if self.is_sealed {
            return Err(self.diverge(format!("it called {} and had not", function.name)));
        }
        self.chance.enter(ordinal);
        let (call, name, host) = (self.clone(), function.name, host.clone());
        let journal = self.journal.clone();
        let keep = move |answer: &Result<Value>| {
            call.chance.leave();
            call.journal.answered(call.number, ordinal, name, answer, call.written.get()).map_err(|error| {
                call.unlogged.replace(Some(error.clone()));
                lost(error)
            })
        };
        match (function.effect.is_change(), function.run) {
            (true, _) => {
                // All records before the effect must be durable first, or a repeated call might not ask for the effect.
                let (durable, run) = (self.journal.synced(Duration::ZERO), function.run);
                Ok(HostAnswer::Pending(Box::pin(async move {
                    durable.await.map_err(lost)?;
                    // Another place may own the match by now.
                    journal.check().map_err(lost)?;
                    let answer = run.to_its_end(host, arguments).await;
                    keep(&answer)?;
                    answer
                })))
            }
            (_, Run::Now(run)) => {
                let answer = run(&host, arguments);
                keep(&answer)?;
                answer.map(HostAnswer::Ready)
            }
            (_, Run::NotYet) => function.run(&host, arguments),
            (_, Run::Later(run)) => {
                let asked = run(host, arguments);
                Ok(HostAnswer::Pending(keeping(asked, keep)))
            }
        }
    }
}

fn keeping(asked: HostFuture, keep: impl Fn(&Result<Value>) -> Result<()> + 'static) -> HostFuture {
    Box::pin(async move {
        let answer = asked.await;
        keep(&answer)?;
        answer
    })
}

fn lost(error: LogError) -> Error {
    Error::new(ErrorKind::Unavailable, "The match cannot go on: its log cannot be written.").because(error.to_string())
}

/// A clock that stands still while a callback of a recorded match runs.
pub struct MatchClock {
    clock: Rc<dyn Clock>,
    current: Current,
}

impl MatchClock {
    /// A clock that shows the time of `clock` outside of callbacks of recorded matches.
    pub fn new(clock: Rc<dyn Clock>, current: Current) -> Self {
        Self { clock, current }
    }
}

impl Clock for MatchClock {
    fn now(&self) -> Timestamp {
        self.current.recorded_call().map_or_else(|| self.clock.now(), |call| call.now())
    }
}

/// Randomness that is drawn from the seed of a recorded match while one of its callbacks runs.
pub struct MatchEntropy {
    entropy: Rc<dyn Entropy>,
    current: Current,
}

impl MatchEntropy {
    /// Randomness that is drawn from `entropy` outside of callbacks of recorded matches.
    pub fn new(entropy: Rc<dyn Entropy>, current: Current) -> Self {
        Self { entropy, current }
    }
}

impl Entropy for MatchEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        match self.current.recorded_call() {
            Some(call) => call.chance.fill(bytes),
            None => self.entropy.fill(bytes),
        }
    }
}
