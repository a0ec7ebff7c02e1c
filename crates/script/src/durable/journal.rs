//! The journal of a match: the records that it writes to the log of its partition, and to its recording.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_domain::ports::keyed_writes::LatestWrite;
use muster_domain::{Result as DomainResult, Timestamp};
use muster_live::Partition;
use muster_live::matches::{Callback, LogError, LogFuture, MatchId, Outline, RecordNumber, Return};
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::latest_write::LoggedWrite;
use super::open_log::OpenLog;
use super::parts;
use super::record::{Called, MatchOrigin, RecordedAnswer, Snapshot, id_bytes};
use super::recording::{Recording, returned};
use crate::value::Value;

/// Writes the records of one match.
pub struct Journal {
    id: MatchId,
    log: Rc<OpenLog>,
    recording: RefCell<Option<Box<dyn Recording>>>,
    /// Whether the match may have made keyed writes.
    pub(crate) has_written: Cell<bool>,
    /// All records of the match so far, while it is resumed.
    carried: RefCell<Option<Vec<wire::Record>>>,
}

impl Journal {
    pub(crate) fn new(id: MatchId, log: Rc<OpenLog>, recording: Option<Box<dyn Recording>>) -> Rc<Self> {
        log.begin(id);
        let recording = RefCell::new(recording);
        Rc::new(Self { id, log, recording, has_written: Cell::new(false), carried: RefCell::default() })
    }

    pub(crate) fn match_id(&self) -> Uuid {
        self.id.0
    }

    pub(crate) fn partition(&self) -> Partition {
        self.log.partition
    }

    /// The log that the match writes to.
    pub(crate) fn log(&self) -> &Rc<OpenLog> {
        &self.log
    }

    /// Writes a record to the log and to the recording, in parts if it is too large for one record of the log.
    fn append(&self, what: RecordKind) -> Result<RecordNumber, LogError> {
        let record = self.record(what);
        let parts = parts::split(&record)?;
        if let Some(carried) = &mut *self.carried.borrow_mut() {
            carried.push(record);
        }
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            parts.iter().for_each(|part| recording.write(part));
        }
        self.log.append(&parts)
    }

    fn record(&self, what: RecordKind) -> wire::Record {
        wire::Record { match_id: id_bytes(self.id.0), what: Some(what) }
    }

    /// Begins to resume a match with these records. Its recording begins with them, too.
    pub(crate) fn resume(&self, records: &[wire::Record]) {
        self.carried.replace(Some(records.to_vec()));
        self.recorded(RecordKind::Carried(wire::Carried { records: records.to_vec(), ..Default::default() }));
    }

    /// Ends to resume the match. Answers its former records with those that came since: answers to the repeated latest
    /// call, on which writes of that call may depend.
    pub(crate) fn resumed(&self) -> Vec<wire::Record> {
        self.carried.take().unwrap_or_default()
    }

    /// Writes the return of a call. Only recordings hold returns.
    pub(crate) fn returned(&self, call: u64, what: &Return) {
        self.recorded(RecordKind::Returned(returned(call, what)));
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            recording.flush();
        }
    }

    fn recorded(&self, what: RecordKind) {
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            match parts::split(&self.record(what)) {
                Ok(parts) => parts.iter().for_each(|part| recording.write(part)),
                Err(error) => tracing::warn!(id = %self.id, %error, "a recording of a match lacks a record"),
            }
        }
    }

    /// Checks that the log can be written.
    ///
    /// # Errors
    /// The reason why the log cannot be written.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        self.log.check()
    }

    /// Resolves when everything that was written so far is durable. The log may wait for `slack` before it syncs.
    pub(crate) fn synced(&self, slack: Duration) -> LogFuture<()> {
        self.log.synced(slack)
    }

    /// Writes that the match begins.
    pub(crate) fn begun(&self, origin: &MatchOrigin, params: &Bytes) -> Result<RecordNumber, LogError> {
        let (origin, params, latest_write) = (Some(origin.to_wire()), params.clone(), LoggedWrite::None.to_wire());
        self.append(RecordKind::Begun(wire::Begun { origin, params, latest_write }))
    }

    /// Writes that a callback is called.
    pub(crate) fn called(&self, call: u64, now: Timestamp, tick: u64, callback: &Callback) -> Result<(), LogError> {
        self.append(RecordKind::Called(Called::to_wire(call, now, tick, callback))).map(drop)
    }

    /// Writes an answer of the host, and the keyed write behind it if the database has it.
    pub(crate) fn answered(
        &self,
        call: u64,
        ordinal: u32,
        function: &str,
        answer: &DomainResult<Value>,
        written: Option<LatestWrite>,
    ) -> Result<(), LogError> {
        let answered = RecordedAnswer::to_wire(call, ordinal, function, answer, written);
        self.append(RecordKind::Answered(answered)).map(drop)
    }

    /// Writes a snapshot of the match. `calls` is the count of its calls so far, without the first callback.
    pub(crate) fn snapshot(
        &self,
        origin: &MatchOrigin,
        calls: u64,
        state: &[u8],
        outline: &Outline,
        latest_write: LoggedWrite,
    ) -> Result<RecordNumber, LogError> {
        self.append(RecordKind::Snapshot(Snapshot::to_wire(origin, calls, state, outline, latest_write)))
    }

    /// Writes that the match is over, and finishes its recording. Answers whether the log has taken the record; if not,
    /// the log takes it later.
    pub(crate) fn ended(&self, why: &str, latest_write: LoggedWrite) -> Result<bool, LogError> {
        self.recorded(RecordKind::Ended(wire::Ended { why: why.to_owned(), latest_write: latest_write.to_wire() }));
        if let Some(recording) = self.recording.take() {
            recording.finish();
        }
        self.log.end(self.id, why, latest_write)
    }
}
