//! One recorded match: its progress, and the records that are due.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_live::matches::{
    Call, Callback, Chain, LogError, MatchId, Outline, RecordNumber, ReplayedBroadcasts, Return,
};

use super::journal::Journal;
use super::latest_write::LoggedWrite;
use super::record::{Called, MatchOrigin, RecordedAnswer, Snapshot};
use super::recorded_call::{FormerCall, RecordedCall};
use super::seed::{Chance, Seed};

/// Longest time from a snapshot of a match until the next one is due, in seconds by the ticks of the match.
pub const SNAPSHOT_SEC: u32 = 5;

/// Callbacks after which the next snapshot is due even if fewer ticks have passed.
const SNAPSHOT_CALLS: u64 = 4_096;

/// Numbers of broadcasts that a match skips when calls of it were dropped: more than the dropped calls can have sent.
const SKIPPED_BROADCASTS: u64 = 1 << 32;

/// One recorded match.
pub(crate) struct RecordedMatch {
    pub(crate) journal: Rc<Journal>,
    origin: Rc<MatchOrigin>,
    seed: Seed,
    outline: RefCell<Outline>,
    /// Count of calls so far, without the first callback.
    calls: Cell<u64>,
    /// The latest keyed write of the match that the database is known to have.
    latest_write: Rc<Cell<LoggedWrite>>,
    is_over: Cell<bool>,
    /// Set while a recording is replayed: calls must have no effects.
    is_sealed: Cell<bool>,
    /// The point at which the next snapshot is due.
    snapshot_due: Cell<SnapshotDue>,
    /// Accepted join attempts whose records are not known to be durable. The join that follows waits for their records
    /// too.
    held_back: RefCell<Vec<Rc<RecordedCall>>>,
}

/// A snapshot is due when the match has reached this tick, or has been called this often.
#[derive(Clone, Copy, Default)]
struct SnapshotDue {
    tick: u64,
    calls: u64,
}

impl RecordedMatch {
    /// A match that begins with its first callback.
    pub(crate) fn new(
        journal: Rc<Journal>,
        outline: Outline,
        origin: MatchOrigin,
        latest_write: LoggedWrite,
    ) -> Rc<Self> {
        Self::with(journal, origin, outline, 0, latest_write)
    }

    /// A match that goes on from a snapshot.
    pub(crate) fn resumed(journal: Rc<Journal>, snapshot: &Snapshot) -> Rc<Self> {
        let Snapshot { origin, calls, outline, latest_write, .. } = snapshot;
        let resumed = Self::with(journal, origin.clone(), outline.clone(), *calls, *latest_write);
        resumed.plan_snapshot();
        resumed
    }

    fn with(
        journal: Rc<Journal>,
        origin: MatchOrigin,
        outline: Outline,
        calls: u64,
        latest_write: LoggedWrite,
    ) -> Rc<Self> {
        Rc::new(Self {
            journal,
            seed: Seed::new(origin.seed),
            origin: Rc::new(origin),
            outline: RefCell::new(outline),
            calls: Cell::new(calls),
            latest_write: Rc::new(Cell::new(latest_write)),
            is_over: Cell::default(),
            is_sealed: Cell::default(),
            snapshot_due: Cell::default(),
            held_back: RefCell::default(),
        })
    }

    /// Calls have no effects from now on, because a recording is replayed.
    pub(crate) fn seal(&self) {
        self.is_sealed.set(true);
    }

    pub(crate) fn outline(&self) -> Outline {
        self.outline.borrow().clone()
    }

    fn recorded_call(&self, number: u64, now: Timestamp, former: Option<FormerCall>) -> Rc<RecordedCall> {
        let chance = Chance::new(self.seed.clone(), number);
        let (journal, origin, latest_write) = (self.journal.clone(), self.origin.clone(), self.latest_write.clone());
        RecordedCall::new(journal, origin, number, now, chance, latest_write, former)
    }

    fn former(&self, answers: Vec<RecordedAnswer>) -> FormerCall {
        FormerCall { answers, is_sealed: self.is_sealed.get() }
    }

    /// Writes the record of a call, before the call is made. For the first callback it answers the number of that
    /// record too, which is the first one that the match needs.
    pub(crate) fn begin(
        &self,
        call: &Call,
        now: Timestamp,
    ) -> Result<(Rc<RecordedCall>, Option<RecordNumber>), LogError> {
        if let Callback::Init { params, .. } = &call.callback {
            let first = self.journal.begun(&self.origin, params)?;
            return Ok((self.recorded_call(0, self.origin.created_at, None), Some(first)));
        }
        let number = self.calls.get() + 1;
        self.calls.set(number);
        self.journal.called(number, now, call.tick, &call.callback)?;
        Ok((self.recorded_call(number, now, None), None))
    }

    /// Repeats the first callback with the answers of the host to it. A match that goes on from a snapshot runs its
    /// modules first; they run in such a call too, without answers.
    pub(crate) fn repeat_first(&self, answers: Vec<RecordedAnswer>) -> Rc<RecordedCall> {
        self.recorded_call(0, self.origin.created_at, Some(self.former(answers)))
    }

    /// The call of the first callback, as it was made.
    pub(crate) fn first_call(&self, params: Bytes) -> Call {
        self.call(0, Callback::Init { params, created_at: self.origin.created_at })
    }

    fn call(&self, tick: u64, callback: Callback) -> Call {
        let outline = self.outline.borrow();
        let Outline { id, ref handler, tick_rate, ref label, ref timers, .. } = *outline;
        let (handler, label, timers, chain) = (handler.clone(), label.clone(), timers.clone(), Chain::default());
        Call { id, stay: 0, handler, tick, tick_rate, label, chain, timers, callback }
    }

    /// Repeats a call with the answers of the host to it.
    pub(crate) fn repeat(&self, called: Called, answers: Vec<RecordedAnswer>) -> (Call, Rc<RecordedCall>) {
        self.calls.set(called.call);
        let call = self.call(called.tick, called.callback);
        (call, self.recorded_call(called.call, called.now, Some(self.former(answers))))
    }

    /// Takes in the return of a callback. Answers whether the match goes on.
    pub(crate) fn returned(&self, callback: &Callback, returned: &Return) -> bool {
        self.outline.borrow_mut().returned(callback, returned)
    }

    /// Adds the messages of a repeated callback to `replayed`, since they may not have left when it was first called.
    pub(crate) fn collect_broadcasts(&self, callback: &Callback, replayed: &mut ReplayedBroadcasts) {
        replayed.returned(callback, &self.outline.borrow());
    }

    /// Notes an accepted attempt, whose events are reported when its join is durable.
    pub(crate) fn hold_back(&self, call: Rc<RecordedCall>) {
        self.held_back.borrow_mut().push(call);
    }

    /// Takes the attempts that were held back.
    pub(crate) fn held_back(&self) -> Vec<Rc<RecordedCall>> {
        self.held_back.take()
    }

    /// Whether a snapshot is due after a callback. The messages of a join attempt leave only with those of its join. A
    /// snapshot after the join would hold the messages of the join alone and replace the record of the attempt, so a
    /// snapshot that would be due after the join is written after the attempt.
    pub(crate) fn is_snapshot_due(&self, callback: &Callback) -> bool {
        let due = self.snapshot_due.get();
        match callback {
            Callback::Init { .. } => true,
            Callback::JoinAttempt { .. } if self.calls.get() + 1 >= due.calls => true,
            _ => self.outline.borrow().tick >= due.tick || self.calls.get() >= due.calls,
        }
    }

    /// Plans the next snapshot. The plan follows from the match alone: at a snapshot the match goes on with a copy of
    /// its state, and a match that is restored must do so at the same points.
    fn plan_snapshot(&self) {
        let outline = self.outline.borrow();
        let step = u64::from(outline.tick_rate * SNAPSHOT_SEC).max(1);
        // Matches that were made at the same time should not all write their snapshots at the same time.
        let shift = outline.id.0.as_u128() as u64 % (step / 2 + 1);
        let (tick, calls) = (outline.tick + step - shift, self.calls.get() + SNAPSHOT_CALLS);
        self.snapshot_due.set(SnapshotDue { tick, calls });
    }

    /// Writes a snapshot with this state, and plans the next one. Once it is durable the match needs no earlier
    /// records.
    pub(crate) fn write_snapshot(&self, state: &[u8]) -> Result<RecordNumber, LogError> {
        self.plan_snapshot();
        let outline = self.outline.borrow();
        let calls = self.calls.get();
        self.journal.snapshot(&self.origin, calls, state, &outline, self.latest_write.get())
    }

    /// Notes that the match is over. Answers whether it was over before.
    pub(crate) fn end(&self) -> bool {
        self.is_over.replace(true)
    }

    /// The latest keyed write that the log of the match is to tell of when it ends.
    pub(crate) fn latest_write_at_end(&self) -> LoggedWrite {
        match self.latest_write.get() {
            // The answer to a write may have been lost.
            LoggedWrite::None if self.has_written() => LoggedWrite::Untold,
            latest_write => latest_write,
        }
    }

    /// Sets the latest keyed write, if the records of the match do not tell of it.
    pub(crate) fn learn_latest_write(&self, in_database: LoggedWrite) {
        if self.latest_write.get() == LoggedWrite::Untold {
            self.latest_write.set(in_database);
        }
    }

    /// Skips numbers of broadcasts, after calls that had sent some were dropped. Sessions drop a broadcast whose number
    /// they have had.
    pub(crate) fn skip_broadcast_numbers(&self) {
        self.outline.borrow_mut().sent_count += SKIPPED_BROADCASTS;
    }

    /// Whether the match may have made keyed writes.
    pub(crate) fn has_written(&self) -> bool {
        self.journal.has_written.get()
    }

    /// The serial number of the latest call. Once a snapshot after it is durable, no call up to it is repeated, so the
    /// outcomes of their keyed writes are not needed any more.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.get()
    }

    pub(crate) fn id(&self) -> MatchId {
        self.outline.borrow().id
    }
}
