//! One recorded match: how far it is, and what is written down of it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_live::matches::{Call, Callback, Chain, LogError, MatchId, Outline, RecordNumber, Return, Said};

use super::fate::Fate;
use super::journal::Journal;
use super::record::{Answered, Called, Origin, Snapshot};
use super::seed::{Chance, Seed};

/// What a match does now and then: its state is kept as a whole after so many seconds of ticks.
pub const SNAPSHOT_SEC: u32 = 5;

/// And after so many callbacks, if ticks are rare.
const SNAPSHOT_CALLS: u64 = 4_096;

/// See the module.
pub(crate) struct Life {
    pub(crate) journal: Rc<Journal>,
    origin: Rc<Origin>,
    seed: Seed,
    outline: RefCell<Outline>,
    /// Callbacks so far, besides the first.
    calls: Cell<u64>,
    is_over: Cell<bool>,
    /// It is looked at what the match did: nothing of it happens.
    is_sealed: Cell<bool>,
    /// The tick behind which the state is kept next, and after how many calls at the latest.
    keep_at: Cell<(u64, u64)>,
    /// Accepted attempts that are not known to be in the log: the join behind them waits for all.
    held_back: RefCell<Vec<Rc<Fate>>>,
}

impl Life {
    /// Of a match that is made by its first call.
    pub(crate) fn new(journal: Rc<Journal>, outline: Outline, origin: Origin) -> Rc<Self> {
        Self::with(journal, origin, outline, 0)
    }

    /// Of one that was kept so.
    pub(crate) fn resumed(journal: Rc<Journal>, snapshot: &Snapshot) -> Rc<Self> {
        let Snapshot { origin, calls, outline, .. } = snapshot;
        let life = Self::with(journal, origin.clone(), outline.clone(), *calls);
        life.plan();
        life
    }

    fn with(journal: Rc<Journal>, origin: Origin, outline: Outline, calls: u64) -> Rc<Self> {
        let (seed, origin, outline) = (Seed::new(origin.seed), Rc::new(origin), RefCell::new(outline));
        let (calls, keep_at, is_over, is_sealed) =
            (Cell::new(calls), Cell::default(), Cell::default(), Cell::default());
        let held_back = RefCell::default();
        Rc::new(Self { journal, origin, seed, outline, calls, is_over, is_sealed, keep_at, held_back })
    }

    /// What is done from here on is only looked at.
    pub(crate) fn seal(&self) {
        self.is_sealed.set(true);
    }

    pub(crate) fn outline(&self) -> Outline {
        self.outline.borrow().clone()
    }

    fn fate(&self, call: u64, now: Timestamp) -> Rc<Fate> {
        self.fate_of((call, now), (None, false))
    }

    fn fate_again(&self, call: u64, now: Timestamp, known: Vec<Answered>) -> Rc<Fate> {
        self.fate_of((call, now), (Some(known), self.is_sealed.get()))
    }

    fn fate_of(&self, (call, now): (u64, Timestamp), before: (Option<Vec<Answered>>, bool)) -> Rc<Fate> {
        let chance = Chance::new(self.seed.clone(), call);
        Fate::new((self.journal.clone(), self.origin.clone()), call, now, chance, before)
    }

    /// A callback is about to be called: it is written down. The first record of a match is needed from here on.
    pub(crate) fn begin(&self, call: &Call, now: Timestamp) -> Result<(Rc<Fate>, Option<RecordNumber>), LogError> {
        if let Callback::Init { params, .. } = &call.callback {
            let first = self.journal.begun(&self.origin, params)?;
            return Ok((self.first_fate(), Some(first)));
        }
        let number = self.calls.get() + 1;
        self.calls.set(number);
        self.journal.called(number, now, call.tick, &call.callback)?;
        Ok((self.fate(number, now), None))
    }

    /// What the first callback meets, and modules that run before it.
    fn first_fate(&self) -> Rc<Fate> {
        self.fate(0, self.origin.created_at)
    }

    /// The same, when it is called again or was called long ago.
    pub(crate) fn first_again(&self, known: Vec<Answered>) -> Rc<Fate> {
        self.fate_again(0, self.origin.created_at, known)
    }

    /// The first callback, called as it was.
    pub(crate) fn first_call(&self, params: Bytes) -> Call {
        self.call(0, Callback::Init { params, created_at: self.origin.created_at })
    }

    fn call(&self, tick: u64, callback: Callback) -> Call {
        let outline = self.outline.borrow();
        let Outline { id, ref handler, tick_rate, ref label, ref timers, .. } = *outline;
        let (handler, label, timers, chain) = (handler.clone(), label.clone(), timers.clone(), Chain::default());
        Call { id, life: 0, handler, tick, tick_rate, label, chain, timers, callback }
    }

    /// A callback is called as it was: what it was called with, and what it meets.
    pub(crate) fn repeat(&self, called: Called, known: Vec<Answered>) -> (Call, Rc<Fate>) {
        self.calls.set(called.call);
        let call = self.call(called.tick, called.callback);
        (call, self.fate_again(called.call, called.now, known))
    }

    /// A callback has returned. Answers whether the match goes on.
    pub(crate) fn returned(&self, callback: &Callback, returned: &Return) -> bool {
        self.outline.borrow_mut().returned(callback, returned)
    }

    /// A callback that was called again has returned: what it said may not have left.
    pub(crate) fn say_again(&self, callback: &Callback, said: &mut Said) {
        said.returned(callback, &self.outline.borrow());
    }

    /// An attempt was accepted: what it tells others they hear when its join is in the log.
    pub(crate) fn hold_back(&self, fate: Rc<Fate>) {
        self.held_back.borrow_mut().push(fate);
    }

    /// The attempts that were held back.
    pub(crate) fn held_back(&self) -> Vec<Rc<Fate>> {
        self.held_back.take()
    }

    /// Whether the state is to be kept as a whole now. It is kept after an attempt rather than after its join: what an attempt
    /// sends leaves with the join, and is found again in the state after the attempt or in its record.
    pub(crate) fn is_to_be_kept(&self, callback: &Callback) -> bool {
        let (tick, calls) = self.keep_at.get();
        match callback {
            Callback::Init { .. } => true,
            Callback::JoinAttempt { .. } if self.calls.get() + 1 >= calls => true,
            _ => self.outline.borrow().tick >= tick || self.calls.get() >= calls,
        }
    }

    /// The state was kept: says when it is next. That follows from the match alone: one that is restored, and goes on with
    /// a copy of its state too, does so when it would have.
    fn plan(&self) {
        let outline = self.outline.borrow();
        let step = u64::from(outline.tick_rate * SNAPSHOT_SEC).max(1);
        // Matches that were made at the same time are not kept at the same time for ever.
        let shift = outline.id.0.as_u128() as u64 % (step / 2 + 1);
        self.keep_at.set((outline.tick + step - shift, self.calls.get() + SNAPSHOT_CALLS));
    }

    /// The state was kept: writes it down with all that there is besides. Records before this one are not needed.
    pub(crate) fn keep(&self, state: &[u8]) -> Result<RecordNumber, LogError> {
        self.plan();
        let outline = self.outline.borrow();
        let calls = self.calls.get();
        self.journal.snapshot(&self.origin, calls, state, &outline)
    }

    /// Whether it was over. It is from now on.
    pub(crate) fn end(&self) -> bool {
        self.is_over.replace(true)
    }

    /// Whether writes of it may be kept under keys.
    pub(crate) fn has_written(&self) -> bool {
        self.journal.has_written.get()
    }

    /// The number of the latest call: outcomes of its writes and of those before are not asked for again once the state
    /// behind it is kept.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
    }

    pub(crate) fn id(&self) -> MatchId {
        self.outline.borrow().id
    }
}
