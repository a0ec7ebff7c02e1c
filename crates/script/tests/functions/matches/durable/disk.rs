//! A log on a disk of a process that dies on demand. Afterwards it holds the records that were synced, and perhaps some
//! others.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use muster_live::matches::{LogError, LogFuture, MatchId, MatchLog, RECORD_BYTES_MAX, RecordNumber};
use muster_live::{Epoch, Partition};
use muster_script::durable::recording::{Recorder, Recording};
use muster_wire::match_log::Record;
use muster_wire::match_log::record::What as RecordKind;

/// The disk of one process.
#[derive(Default)]
pub struct Disk {
    logs: RefCell<BTreeMap<Partition, Log>>,
    /// Appends and syncs that still succeed.
    left: Cell<u64>,
    /// Whether the disk fails after these and the process goes on. Otherwise the process dies.
    fails: Cell<bool>,
    pub is_dead: Cell<bool>,
    recording: Rc<RefCell<Vec<Bytes>>>,
    /// Matches that an operator wants forgotten.
    pub unwanted: RefCell<BTreeSet<MatchId>>,
    /// Syncs that were asked for.
    pub syncs: Cell<u64>,
}

#[derive(Default)]
struct Log {
    kept: Vec<Bytes>,
    unsynced: Vec<Bytes>,
    /// Count of the records that were trimmed.
    trimmed: u64,
    taken_at: u64,
    /// The number of the first record that is needed.
    floor: u64,
    has_failed: bool,
}

impl Log {
    fn trim(&mut self) {
        let count = self.floor.saturating_sub(self.trimmed).min(self.kept.len() as u64);
        self.kept.drain(..count as usize);
        self.trimmed += count;
    }
}

impl Disk {
    /// A disk whose process dies after `after` appends and syncs.
    pub fn dying(after: u64) -> Rc<Self> {
        let disk = Self::default();
        disk.left.set(after);
        Rc::new(disk)
    }

    /// A disk that fails after `after` appends and syncs, while its process goes on.
    pub fn failing(after: u64) -> Rc<Self> {
        let disk = Self::dying(after);
        disk.fails.set(true);
        disk
    }

    /// Ends the failure.
    pub fn heal(&self) {
        self.left.set(u64::MAX);
    }

    /// The disk as the next process finds it, with the synced records and `of_unsynced` of the others.
    pub fn found(&self, of_unsynced: impl Fn(usize) -> usize, dying_after: u64) -> Rc<Self> {
        let log = |(partition, log): (&Partition, &Log)| {
            let more = of_unsynced(log.unsynced.len()).min(log.unsynced.len());
            let kept: Vec<Bytes> = log.kept.iter().chain(&log.unsynced[..more]).cloned().collect();
            (*partition, Log { kept, ..Log::default() })
        };
        let logs = self.logs.borrow().iter().map(log).collect();
        Rc::new(Self { logs: RefCell::new(logs), left: Cell::new(dying_after), ..Self::default() })
    }

    /// Count of records.
    pub fn records(&self) -> usize {
        self.logs.borrow().values().map(|log| log.kept.len() + log.unsynced.len()).sum()
    }

    /// All records, in their order.
    pub fn all(&self) -> Vec<Bytes> {
        self.logs.borrow().values().flat_map(|log| log.kept.iter().chain(&log.unsynced)).cloned().collect()
    }

    /// The number of the latest call in the log; `None` if the match has not begun.
    pub fn calls(&self) -> Option<u64> {
        let logs = self.logs.borrow();
        let records = logs.values().flat_map(|log| &log.kept);
        records.filter_map(|record| call_of(&Record::from_bytes(record.clone()).unwrap())).max()
    }

    /// Count of records that are not synced.
    pub fn unsynced(&self) -> usize {
        self.logs.borrow().values().map(|log| log.unsynced.len()).sum()
    }

    /// Adds a damaged record to each log.
    pub fn spoil(&self) {
        for log in self.logs.borrow_mut().values_mut() {
            log.kept.push(Bytes::from_static(b"\xff\xff"));
        }
    }

    /// The recording of the match of this process.
    pub fn recording(&self) -> Vec<Bytes> {
        self.recording.borrow().clone()
    }

    pub fn written(&self) -> Vec<Partition> {
        self.logs.borrow().keys().copied().collect()
    }

    /// Counts an append or a sync. Answers whether it succeeds.
    fn lives(&self) -> bool {
        match self.left.get() {
            0 if self.fails.get() => return false,
            0 => self.is_dead.set(true),
            left => self.left.set(left - 1),
        }
        !self.is_dead.get()
    }
}

impl Recorder for Disk {
    fn begin(&self, _: MatchId) -> Option<Box<dyn Recording>> {
        Some(Box::new(Part(self.recording.clone())))
    }
}

/// A part of a recording. It outlives the process.
struct Part(Rc<RefCell<Vec<Bytes>>>);

impl Recording for Part {
    fn write(&mut self, record: &[u8]) {
        self.0.borrow_mut().push(Bytes::copy_from_slice(record));
    }

    fn flush(&mut self) {}

    fn finish(self: Box<Self>) {}
}

impl MatchLog for Disk {
    fn partitions(&self) -> LogFuture<BTreeSet<Partition>> {
        Box::pin(std::future::ready(Ok(self.logs.borrow().keys().copied().collect())))
    }

    fn take_over(&self, partition: Partition, _: Epoch) -> LogFuture<Vec<Bytes>> {
        let mut logs = self.logs.borrow_mut();
        let log = logs.entry(partition).or_default();
        if self.fails.get() && self.left.get() == 0 {
            return Box::pin(std::future::ready(Err(failed())));
        }
        if log.has_failed {
            // Records that were not synced are gone.
            log.unsynced.clear();
            log.has_failed = false;
        }
        log.kept.append(&mut log.unsynced);
        log.taken_at = log.trimmed + log.kept.len() as u64;
        let found = log.kept.clone();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn append(&self, partition: Partition, record: &[u8]) -> Result<RecordNumber, LogError> {
        let mut logs = self.logs.borrow_mut();
        let log = logs.get_mut(&partition).ok_or(LogError::Lost)?;
        if record.len() > RECORD_BYTES_MAX {
            return Err(LogError::Refused("too large".to_owned()));
        }
        let lives = self.lives();
        if log.has_failed || !lives && self.fails.get() {
            log.has_failed = true;
            return Err(failed());
        }
        if lives {
            log.unsynced.push(Bytes::copy_from_slice(record));
        }
        let number = log.trimmed + (log.kept.len() + log.unsynced.len()) as u64 - log.taken_at;
        Ok(RecordNumber(number - u64::from(!self.is_dead.get())))
    }

    fn synced(&self, partition: Partition, _: Duration) -> LogFuture<()> {
        self.syncs.set(self.syncs.get() + 1);
        let lives = self.lives();
        if let Some(log) = self.logs.borrow_mut().get_mut(&partition) {
            if log.has_failed || !lives && self.fails.get() {
                log.has_failed = true;
                return Box::pin(async {
                    tokio::task::yield_now().await;
                    Err(failed())
                });
            }
            if lives {
                let unsynced = std::mem::take(&mut log.unsynced);
                log.kept.extend(unsynced);
                log.trim();
            }
        }
        if !lives {
            return Box::pin(std::future::pending());
        }
        // Other tasks have a turn meanwhile, as with a real disk.
        Box::pin(async {
            tokio::task::yield_now().await;
            Ok(())
        })
    }

    fn trim(&self, partition: Partition, before: RecordNumber) {
        if let Some(log) = self.logs.borrow_mut().get_mut(&partition) {
            let next = log.trimmed + (log.kept.len() + log.unsynced.len()) as u64;
            log.floor = log.floor.max(log.taken_at.saturating_add(before.0).min(next));
            log.trim();
        }
    }

    fn release(&self, _: Partition) {}

    fn unwanted(&self) -> LogFuture<BTreeSet<MatchId>> {
        Box::pin(std::future::ready(Ok(self.unwanted.borrow().clone())))
    }

    fn forgotten(&self, id: MatchId) {
        self.unwanted.borrow_mut().remove(&id);
    }
}

fn failed() -> LogError {
    LogError::Failed("no room".to_owned())
}

/// The number of the latest call in a record.
fn call_of(record: &Record) -> Option<u64> {
    match record.what.as_ref().unwrap() {
        RecordKind::Begun(_) => Some(0),
        RecordKind::Called(called) => Some(called.call),
        RecordKind::Snapshot(snapshot) => Some(snapshot.calls),
        RecordKind::Carried(carried) => carried.records.iter().filter_map(call_of).max(),
        RecordKind::Answered(_) | RecordKind::Ended(_) | RecordKind::Returned(_) | RecordKind::Part(_) => None,
    }
}
