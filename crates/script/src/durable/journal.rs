//! What a match writes to its log.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_domain::{Result as DomainResult, Timestamp};
use muster_live::Partition;
use muster_live::matches::{Callback, LogError, LogFuture, MatchId, MatchLog, Outline, RecordNumber, Return};
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What;

use super::record::{Answered, Called, Origin, Snapshot, id_bytes};
use super::recording::{Recording, returned};
use crate::value::Value;

/// See the module.
pub(crate) struct Journal {
    id: MatchId,
    partition: Partition,
    log: Rc<dyn MatchLog>,
    recording: RefCell<Option<Box<dyn Recording>>>,
    /// Writes of the match may be kept under keys.
    pub(super) has_written: Cell<bool>,
}

impl Journal {
    pub(crate) fn new(id: MatchId, log: Rc<dyn MatchLog>, recording: Option<Box<dyn Recording>>) -> Rc<Self> {
        let recording = RefCell::new(recording);
        Rc::new(Self { id, partition: id.partition(), log, recording, has_written: Cell::new(false) })
    }

    pub(crate) fn match_id(&self) -> Uuid {
        self.id.0
    }

    pub(crate) fn partition(&self) -> Partition {
        self.partition
    }

    fn append(&self, what: What) -> Result<RecordNumber, LogError> {
        let record = self.record(what);
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            recording.write(&record);
        }
        self.log.append(self.partition, &record)
    }

    fn record(&self, what: What) -> Vec<u8> {
        wire::Record { match_id: id_bytes(self.id.0), what: Some(what) }.to_bytes()
    }

    /// A recording of a match that goes on begins with what there is of it.
    pub(crate) fn carried(&self, records: &[wire::Record]) {
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            recording.write(&self.record(What::Carried(wire::Carried { records: records.to_vec() })));
        }
    }

    /// What came of a call is for recordings alone.
    pub(crate) fn returned(&self, call: u64, what: &Return) {
        if let Some(recording) = &mut *self.recording.borrow_mut() {
            recording.write(&self.record(What::Returned(returned(call, what))));
            recording.flush();
        }
    }

    /// Waits until all that was written so far is there to stay.
    pub(crate) fn synced(&self) -> LogFuture<()> {
        self.log.synced(self.partition)
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

    /// The match is over.
    pub(crate) fn ended(&self, why: &str) -> Result<(), LogError> {
        let ended = self.append(What::Ended(wire::Ended { why: why.to_owned() })).map(drop);
        if let Some(recording) = self.recording.take() {
            recording.finish();
        }
        ended
    }
}
