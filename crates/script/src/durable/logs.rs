//! The logs that a shard writes: which partitions' it has taken over, and what of them is still needed.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use bytes::Bytes;
use muster_live::matches::{LogError, MatchId, MatchLog, RecordNumber};
use muster_live::{Epoch, Partition};
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What;
use tokio::sync::OnceCell;

use super::history::History;
use super::journal::Journal;
use super::record::id_bytes;
use super::recording::Recorder;

/// See the module.
pub struct Logs {
    log: Rc<dyn MatchLog>,
    recorder: Option<Rc<dyn Recorder>>,
    open: RefCell<HashMap<Partition, Rc<Open>>>,
}

/// A partition whose log this place writes.
struct Open {
    epoch: Epoch,
    is_taken: OnceCell<()>,
    /// From where on the records of each match are needed.
    needed: RefCell<BTreeMap<MatchId, RecordNumber>>,
}

impl Logs {
    /// Of a place that writes this log, and perhaps recordings besides.
    pub fn new(log: Rc<dyn MatchLog>, recorder: Option<Rc<dyn Recorder>>) -> Rc<Self> {
        Rc::new(Self { log, recorder, open: RefCell::default() })
    }

    /// Of one match.
    pub(crate) fn journal(&self, id: MatchId) -> Rc<Journal> {
        Journal::new(id, self.log(), self.recorder.as_ref().and_then(|recorder| recorder.begin(id)))
    }

    pub(crate) fn log(&self) -> Rc<dyn MatchLog> {
        self.log.clone()
    }

    /// Since when this place writes a log, or the first of all epochs.
    pub(crate) fn epoch(&self, partition: Partition) -> Epoch {
        self.open.borrow().get(&partition).map(|open| open.epoch).unwrap_or_default()
    }

    /// Takes a partition's log over, if this place has not. Answers what is in it, to the first who asks.
    ///
    /// # Errors
    /// When another place owns it, or it cannot be read.
    pub(crate) async fn open(&self, partition: Partition, epoch: Epoch) -> Result<Vec<Bytes>, LogError> {
        let open = {
            let mut all = self.open.borrow_mut();
            match all.get(&partition).filter(|open| open.epoch >= epoch) {
                Some(open) => open.clone(),
                None => {
                    let (is_taken, needed) = Default::default();
                    let open = Rc::new(Open { epoch, is_taken, needed });
                    all.insert(partition, open.clone());
                    open
                }
            }
        };
        let mut found = Vec::new();
        let take = async {
            found = self.log.take_over(partition, epoch).await?;
            Ok::<_, LogError>(())
        };
        open.is_taken.get_or_try_init(|| take).await?;
        Ok(found)
    }

    /// A match needs its records from this one on, which is kept by now, or none any more. What no match needs may go.
    pub(crate) fn need(&self, partition: Partition, id: MatchId, from: Option<RecordNumber>) {
        let open = self.open.borrow().get(&partition).cloned();
        let Some(open) = open else { return };
        let mut needed = open.needed.borrow_mut();
        let before = needed.values().min().copied();
        match from {
            Some(from) => needed.insert(id, from),
            None => needed.remove(&id),
        };
        let now = needed.values().min().copied();
        if let Some(least) = now
            && before.is_none_or(|before| before < least)
        {
            self.log.trim(partition, least);
        }
    }

    /// Writes what there is of a match once more, so that it is there when what was found may go. All of it is one record:
    /// half of it would be a match that knows half of what it did.
    pub(crate) fn carry_on(&self, partition: Partition, history: &History) -> Result<RecordNumber, LogError> {
        let carried = wire::Carried { records: history.records.clone() };
        let record = wire::Record { match_id: id_bytes(history.id.0), what: Some(What::Carried(carried)) };
        self.log.append(partition, &record.to_bytes())
    }

    /// Another place owns a partition, or is about to.
    pub(crate) fn release(&self, partition: Partition) {
        if self.open.borrow_mut().remove(&partition).is_some() {
            self.log.release(partition);
        }
    }
}
