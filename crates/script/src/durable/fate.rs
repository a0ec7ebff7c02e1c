//! What one callback of a recorded match meets: its moment, its randomness, and what the host answers it.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::effects::{EffectKey, WriteStamp};
use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_live::matches::LogError;
use muster_wire::api::Event;

use super::journal::Journal;
use super::record::{Answered, Origin};
use super::seed::Chance;
use crate::host::{Arguments, Current, Effect, Host, HostFunction, HostFuture, Run, Started};
use crate::value::Value;

/// Writes within one function of the host have keys of their own: at most so many.
const WRITES_OF_ONE: u32 = 64;

/// See the module.
pub(crate) struct Fate {
    journal: Rc<Journal>,
    /// What the match was made with.
    pub(crate) origin: Rc<Origin>,
    call: u64,
    now: Timestamp,
    pub(crate) chance: Chance,
    is_again: bool,
    /// It is looked at what the call does: nothing of it happens.
    is_sealed: bool,
    /// What the host answered when this call was made before, in order.
    known: RefCell<VecDeque<Answered>>,
    /// How many functions were asked for an answer that is kept.
    asked: Cell<u32>,
    /// How many writes the latest of them made.
    writes: Cell<u32>,
    /// What it tells others, when all that led to it is there to stay.
    held: RefCell<Vec<Event>>,
    /// Why an answer of the host is not in the log: whoever made the call again would have another.
    unlogged: RefCell<Option<LogError>>,
    /// Why the call is not what it was when it was made before.
    diverged: RefCell<Option<String>>,
}

impl Fate {
    /// Of a call; of one that was made before with what the host answered.
    pub(crate) fn new(
        (journal, origin): (Rc<Journal>, Rc<Origin>),
        call: u64,
        now: Timestamp,
        chance: Chance,
        (known, is_sealed): (Option<Vec<Answered>>, bool),
    ) -> Rc<Self> {
        let (is_again, known) = (known.is_some(), known.unwrap_or_default());
        let (asked, writes, held, unlogged, diverged) = Default::default();
        let known = RefCell::new(known.into());
        Rc::new(Self {
            journal,
            origin,
            call,
            now,
            chance,
            is_again,
            is_sealed,
            known,
            asked,
            writes,
            held,
            unlogged,
            diverged,
        })
    }

    /// The moment that the call sees.
    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether the call was made before.
    pub(crate) fn is_again(&self) -> bool {
        self.is_again
    }

    /// Why the call is not what it was when it was made before, if it is not.
    pub(crate) fn diverged(&self) -> Option<String> {
        let left = self.known.borrow().front().map(|left| format!("it did not call {} again", left.function));
        self.diverged.borrow().clone().or(left)
    }

    /// Something that others are to hear of.
    pub(crate) fn hold(&self, event: Event) {
        self.held.borrow_mut().push(event);
    }

    pub(crate) fn holds(&self) -> bool {
        !self.held.borrow().is_empty()
    }

    /// What others are to hear of: what led to it is there to stay.
    pub(crate) fn held(&self) -> Vec<Event> {
        self.held.take()
    }

    /// Whether all that the host answered is in the log.
    ///
    /// # Errors
    /// Why it is not.
    pub(crate) fn check(&self) -> std::result::Result<(), LogError> {
        self.unlogged.borrow().clone().map_or(Ok(()), Err)
    }

    fn diverge(&self, told: String) -> Error {
        self.diverged.borrow_mut().get_or_insert(told.clone());
        Error::new(ErrorKind::Internal, told)
    }

    /// When a write of this call happens, and its key.
    pub(crate) fn stamp(&self) -> WriteStamp {
        self.journal.has_written.set(true);
        let write = self.writes.get();
        self.writes.set(write + 1);
        // The function that writes is the latest that was asked.
        let ordinal = self.asked.get().saturating_sub(1) * WRITES_OF_ONE + write.min(WRITES_OF_ONE - 1);
        let tick = i64::try_from(self.call).unwrap_or(i64::MAX);
        WriteStamp { now: self.now, effect: Some(EffectKey { match_id: self.journal.match_id(), tick, ordinal }) }
    }

    /// Calls a function of the host. What it answered before it answers again.
    ///
    /// # Errors
    /// What the function refuses, and `Internal` when the call is not what it was.
    pub(crate) fn start(
        self: &Rc<Self>,
        host: &Rc<Host>,
        function: &HostFunction,
        arguments: Arguments,
    ) -> Result<Started> {
        match function.effect {
            Effect::Pure | Effect::Chance | Effect::Tells => return function.run(host, arguments),
            // It stands in the log already.
            Effect::Log if self.is_again => return Ok(Started::Now(Value::Nil)),
            Effect::Log => return function.run(host, arguments),
            Effect::Reads | Effect::Asks | Effect::Writes | Effect::WritesKeyed | Effect::Local | Effect::Players => {}
        }
        let ordinal = self.asked.get();
        self.asked.set(ordinal + 1);
        self.writes.set(0);
        if let Some(before) = self.known.borrow_mut().pop_front() {
            if before.ordinal != ordinal || before.function != function.name {
                let told = format!("it called {} where it had called {}", function.name, before.function);
                return Err(self.diverge(told));
            }
            return before.answer.map(Started::Now);
        }
        if self.is_sealed {
            return Err(self.diverge(format!("it called {} and had not", function.name)));
        }
        self.chance.enter(ordinal);
        let (its, name, host) = (self.clone(), function.name, host.clone());
        let keeper = its.clone();
        let keep = move |answer: &Result<Value>| {
            keeper.chance.leave();
            keeper.journal.answered(keeper.call, ordinal, name, answer).map_err(|error| {
                keeper.unlogged.replace(Some(error.clone()));
                lost(error)
            })
        };
        match (function.effect.is_change(), function.run) {
            (true, _) => {
                // Whatever led to it is to be there again.
                let (kept, run) = (self.journal.synced(Duration::ZERO), function.run);
                Ok(Started::Later(Box::pin(async move {
                    kept.await.map_err(lost)?;
                    // Somebody else may have the match by now.
                    its.journal.check().map_err(lost)?;
                    let answer = run.to_its_end(host, arguments).await;
                    keep(&answer)?;
                    answer
                })))
            }
            (_, Run::Now(run)) => {
                let answer = run(&host, arguments);
                keep(&answer)?;
                answer.map(Started::Now)
            }
            (_, Run::NotYet) => function.run(&host, arguments),
            (_, Run::Later(run)) => {
                let asked = run(host, arguments);
                Ok(Started::Later(keeping(asked, keep)))
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

/// A clock that stands while a recorded match's callback runs.
pub struct MatchClock {
    clock: Rc<dyn Clock>,
    current: Current,
}

impl MatchClock {
    /// Over a clock that goes on.
    pub fn new(clock: Rc<dyn Clock>, current: Current) -> Self {
        Self { clock, current }
    }
}

impl Clock for MatchClock {
    fn now(&self) -> Timestamp {
        self.current.fate().map_or_else(|| self.clock.now(), |fate| fate.now())
    }
}

/// Randomness that, while a recorded match's callback runs, is the match's.
pub struct MatchEntropy {
    entropy: Rc<dyn Entropy>,
    current: Current,
}

impl MatchEntropy {
    /// Over what others draw from.
    pub fn new(entropy: Rc<dyn Entropy>, current: Current) -> Self {
        Self { entropy, current }
    }
}

impl Entropy for MatchEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        match self.current.fate() {
            Some(fate) => fate.chance.fill(bytes),
            None => self.entropy.fill(bytes),
        }
    }
}
