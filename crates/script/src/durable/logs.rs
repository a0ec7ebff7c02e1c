//! The open logs of a shard, by partition.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use muster_domain::Timestamp;
use muster_live::matches::{LogError, MatchId, MatchLog};
use muster_live::{Epoch, Partition};

use super::journal::Journal;
use super::open_log::OpenLog;
use super::recording::Recorder;

/// Time between two searches for matches that could not go on for too long.
const AGE_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The open logs of a shard.
pub struct Logs {
    match_log: Rc<dyn MatchLog>,
    recorder: Option<Rc<dyn Recorder>>,
    open: RefCell<BTreeMap<Partition, Rc<OpenLog>>>,
    /// The moment of the last search for matches that could not go on for too long.
    aged_at: Cell<Timestamp>,
}

impl Logs {
    /// A value without open logs. With a recorder, recordings of matches are made too.
    pub fn new(match_log: Rc<dyn MatchLog>, recorder: Option<Rc<dyn Recorder>>) -> Rc<Self> {
        Rc::new(Self { match_log, recorder, open: RefCell::default(), aged_at: Cell::default() })
    }

    /// The journal of a match that writes to an open log.
    pub(crate) fn journal(&self, id: MatchId, log: Rc<OpenLog>) -> Rc<Journal> {
        Journal::new(id, log, self.recorder.as_ref().and_then(|recorder| recorder.begin(id)))
    }

    pub(crate) fn match_log(&self) -> Rc<dyn MatchLog> {
        self.match_log.clone()
    }

    /// The epoch since which this place writes a log; the default epoch if the log is not open.
    pub(crate) fn epoch(&self, partition: Partition) -> Epoch {
        self.get(partition).map(|log| log.epoch).unwrap_or_default()
    }

    /// The open log of a partition, if there is one.
    pub(crate) fn get(&self, partition: Partition) -> Option<Rc<OpenLog>> {
        self.open.borrow().get(&partition).cloned()
    }

    /// The open log of a partition since an epoch. If there is none, or it is closed or of an earlier epoch, a new one
    /// is opened.
    pub(crate) fn open(&self, partition: Partition, epoch: Epoch) -> Rc<OpenLog> {
        let mut open = self.open.borrow_mut();
        let former = open.get(&partition);
        if let Some(log) = former.filter(|log| log.epoch >= epoch && log.check().is_ok()) {
            return log.clone();
        }
        let epoch = former.map_or(epoch, |former| former.epoch.max(epoch));
        let left_over = former.map(|former| former.left_over()).unwrap_or_default();
        former.into_iter().for_each(|former| former.close(LogError::Lost));
        let log = OpenLog::new(partition, epoch, self.match_log.clone(), left_over);
        open.insert(partition, log.clone());
        log
    }

    /// Partitions whose logs have failed and were not opened again.
    pub(crate) fn failed(&self) -> Vec<(Partition, Epoch)> {
        let open = self.open.borrow();
        open.values().filter(|log| log.has_failed()).map(|log| (log.partition, log.epoch)).collect()
    }

    /// Whether the matches in the log of a partition are being resumed.
    pub(crate) fn is_resuming(&self, partition: Partition) -> bool {
        self.get(partition).is_some_and(|log| log.is_resuming())
    }

    /// Ends matches that could not go on for too long. Does nothing if the last search was less than [`AGE_INTERVAL`]
    /// ago. Answers the logs in which matches were ended.
    pub(crate) fn age(&self, now: Timestamp) -> Vec<Rc<OpenLog>> {
        let since = now.0.saturating_sub(self.aged_at.get().0);
        if u128::try_from(since).is_err() || u128::try_from(since).is_ok_and(|since| since < AGE_INTERVAL.as_micros()) {
            return Vec::new();
        }
        self.aged_at.set(now);
        let open: Vec<Rc<OpenLog>> = self.open.borrow().values().cloned().collect();
        open.into_iter().filter(|log| log.give_up_stranded(now)).collect()
    }

    /// Closes the log of a partition, which another place owns now or soon.
    pub(crate) fn release(&self, partition: Partition) {
        let released = self.open.borrow_mut().remove(&partition);
        if let Some(log) = released {
            log.close(LogError::Lost);
            self.match_log.release(partition);
        }
    }
}
