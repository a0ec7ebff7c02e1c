//! What a match writes to its log.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_domain::{Result as DomainResult, Timestamp};
use muster_live::Partition;
use muster_live::matches::{Callback, LogError, LogFuture, MatchId, Outline, RecordNumber, Return};
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What;

use super::parts;
use super::record::{Answered, Called, Origin, Snapshot, id_bytes};
use super::recording::{Recording, returned};
use super::term::Term;
use crate::value::Value;

/// See the module.
pub(crate) struct Journal {
    id: MatchId,
    term: Rc<Term>,
    recording: RefCell<Option<Box<dyn Recording>>>,
    /// Writes of the match may be kept under keys.
    pub(super) has_written: Cell<bool>,
}

impl Journal {
    pub(crate) fn new(id: MatchId, term: Rc<Term>, recording: Option<Box<dyn Recording>>) -> Rc<Self> {
        term.begin(id);
        let recording = RefCell::new(recording);
        Rc::new(Self { id, term, recording, has_written: Cell::new(false) })
    }

    pub(crate) fn match_id(&self) -> Uuid {
        self.id.0
    }

    pub(crate) fn partition(&self) -> Partition {
        self.term.partition
    }

    /// In which term it is written.
    pub(crate) fn term(&self) -> &Rc<Term> {
        &self.term
    }

    /// Adds a record, in parts if it is too large for one.
    fn append(&self, what: What) -> Result<RecordNumber, LogError> {
        let parts = parts::split(&self.record(what))?;
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            parts.iter().for_each(|part| recording.write(part));
        }
        self.term.append(&parts)
    }

    fn record(&self, what: What) -> wire::Record {
        wire::Record { match_id: id_bytes(self.id.0), what: Some(what) }
    }

    /// A recording of a match that goes on begins with what there is of it.
    pub(crate) fn carried(&self, records: &[wire::Record]) {
        self.recorded(What::Carried(wire::Carried { records: records.to_vec(), stranded_at: None }));
    }

    /// What came of a call is for recordings alone.
    pub(crate) fn returned(&self, call: u64, what: &Return) {
        self.recorded(What::Returned(returned(call, what)));
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            recording.flush();
        }
    }

    fn recorded(&self, what: What) {
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            match parts::split(&self.record(what)) {
                Ok(parts) => parts.iter().for_each(|part| recording.write(part)),
                Err(error) => tracing::warn!(id = %self.id, %error, "a recording of a match lacks a record"),
            }
        }
    }

    /// Whether it can be written still.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        self.term.check()
    }

    /// Waits until all that was written so far is there to stay, which need not begin before so long.
    pub(crate) fn synced(&self, slack: Duration) -> LogFuture<()> {
        self.term.synced(slack)
    }

    /// The match is made.
    pub(crate) fn begun(&self, origin: &Origin, params: &Bytes) -> Result<RecordNumber, LogError> {
        let (origin, params) = (Some(origin.to_wire()), params.clone());
        self.append(What::Begun(wire::Begun { origin, params }))
    }

    /// A callback is called.
    pub(crate) fn called(&self, call: u64, now: Timestamp, tick: u64, callback: &Callback) -> Result<(), LogError> {
        self.append(What::Called(Called::to_wire(call, now, tick, callback))).map(drop)
    }

    /// The host answered.
    pub(crate) fn answered(
        &self,
        call: u64,
        ordinal: u32,
        function: &str,
        answer: &DomainResult<Value>,
    ) -> Result<(), LogError> {
        self.append(What::Answered(Answered::to_wire(call, ordinal, function, answer))).map(drop)
    }

    /// All there is to it, after so many calls.
    pub(crate) fn snapshot(
        &self,
        origin: &Origin,
        calls: u64,
        state: &[u8],
        outline: &Outline,
    ) -> Result<RecordNumber, LogError> {
        self.append(What::Snapshot(Snapshot::to_wire(origin, calls, state, outline)))
    }

    /// The match is over. Answers whether the log takes that now.
    pub(crate) fn ended(&self, why: &str) -> Result<bool, LogError> {
        self.recorded(What::Ended(wire::Ended { why: why.to_owned() }));
        if let Some(recording) = self.recording.take() {
            recording.finish();
        }
        self.term.end(self.id, why)
    }
}
