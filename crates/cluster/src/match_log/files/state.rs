//! State that shards and the writer share: the owners of partitions, the waiting records, and the progress of writing.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use muster_live::matches::{LogError, RecordNumber};
use muster_live::place::{Epoch, Partition};
use tokio::sync::{oneshot, watch};

use super::FileStats;
use super::segments::{Batch, Segments};

/// Waiting bytes at which writing begins even if no caller waits for it.
pub(super) const EAGER_BYTES: usize = 1 << 20;

/// Bytes of memory that a batch keeps for its next use.
pub(super) const USUAL_BYTES: usize = 2 << 20;

type Records = Result<Vec<Bytes>, LogError>;

/// The shared state, and the ways to be woken when it changes.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Wakes the writer.
    arrived: Condvar,
    progress: watch::Sender<Progress>,
    pub(super) folder: PathBuf,
    waiting_bytes_max: usize,
}

/// Progress of the writer.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Number of records written and synced, counted over all partitions.
    kept: u64,
    /// Times that writing failed. Each time, all waiting records are lost.
    failures: u64,
}

#[derive(Debug, Default)]
struct State {
    logs: HashMap<u16, Log>,
    waiting: Batch,
    take_overs: Vec<TakeOver>,
    /// Number of records that were ever appended, over all partitions.
    appended: u64,
    /// The earliest time by which a waiting caller needs its records synced.
    due: Option<Instant>,
    is_closed: bool,
    /// Whether the writer has ended.
    has_ended: bool,
    /// The reason why nothing is written now; `None` while the disk works.
    failure: Option<Arc<str>>,
    stats: FileStats,
}

/// The log of one partition.
#[derive(Debug, Default)]
struct Log {
    /// The handle that owns the log.
    owner: Option<u32>,
    epoch: Epoch,
    /// Number of the last take-over; rises with each.
    take_over_number: u64,
    /// Whether the owner has received the records, and may append.
    is_open: bool,
    /// Number of the first record of the present owner, as counted over all owners.
    base: u64,
    /// Number of the next record, as counted over all owners.
    next: u64,
    /// Records before this number are not needed.
    floor: u64,
    /// The value of [`State::appended`] after this log's last record.
    last: u64,
    /// Number of this log's records in files.
    kept: u64,
    /// The reason why the log refuses records until it is taken over again.
    failure: Option<Arc<str>>,
}

/// A request for a partition's records by its new owner.
#[derive(Debug)]
pub(super) struct TakeOver {
    pub(super) partition: u16,
    take_over_number: u64,
    answer: oneshot::Sender<Records>,
}

/// Work for the writer.
#[derive(Debug, Default)]
pub(super) struct Work {
    pub(super) batch: Batch,
    /// The value of [`Progress::kept`] once the batch is written.
    until: u64,
    pub(super) take_overs: Vec<TakeOver>,
    pub(super) is_closed: bool,
}

/// A wait until records are written and synced.
#[derive(Debug)]
pub(super) struct SyncWait {
    until: u64,
    failures: u64,
    partition: u16,
    progress: watch::Receiver<Progress>,
}

impl SyncWait {
    pub(super) async fn done(mut self, shared: &Shared) -> Result<(), LogError> {
        let (until, failures) = (self.until, self.failures);
        let now = self.progress.wait_for(|now| now.failures != failures || now.kept >= until).await;
        // `now` holds a lock of the watch; this line drops it before the state is locked.
        let is_kept = now.is_ok_and(|now| now.failures == failures);
        if is_kept { Ok(()) } else { Err(shared.state().failed(self.partition)) }
    }
}

impl Shared {
    pub(super) fn new(segments: &Segments, folder: PathBuf, waiting_bytes_max: usize) -> Self {
        let log = |partition| {
            let next = segments.index.next(partition);
            Log { next, kept: segments.index.len(partition), ..Log::default() }
        };
        let logs = segments.index.partitions().map(|partition| (partition, log(partition))).collect();
        let mut state = State { logs, ..State::default() };
        (state.stats.segments, state.stats.bytes) = segments.size();
        let (state, progress) = (Mutex::new(state), watch::Sender::new(Progress::default()));
        Self { state, arrived: Condvar::new(), progress, folder, waiting_bytes_max }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn partitions(&self) -> Vec<Partition> {
        let state = self.state();
        let mut numbers: Vec<u16> =
            state.logs.iter().filter(|(_, log)| log.kept > 0).map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        numbers.into_iter().filter_map(Partition::new).collect()
    }

    pub(super) fn stats(&self) -> FileStats {
        self.state().stats
    }

    pub(super) fn take_over(
        &self,
        handle: u32,
        partition: u16,
        epoch: Epoch,
    ) -> Result<oneshot::Receiver<Records>, LogError> {
        let mut state = self.state();
        if state.has_ended {
            return Err(state.failed(partition));
        }
        let log = state.logs.entry(partition).or_default();
        let is_anothers = log.owner.is_some_and(|owner| owner != handle) && epoch <= log.epoch;
        if is_anothers || epoch < log.epoch {
            return Err(LogError::Lost);
        }
        log.take_over_number += 1;
        (log.owner, log.epoch, log.is_open) = (Some(handle), epoch, false);
        let (answer, answered) = oneshot::channel();
        let take_over = TakeOver { partition, take_over_number: log.take_over_number, answer };
        state.take_overs.push(take_over);
        drop(state);
        self.arrived.notify_one();
        Ok(answered)
    }

    pub(super) fn append(&self, handle: u32, partition: u16, record: &[u8]) -> Result<RecordNumber, LogError> {
        let mut state = self.state();
        let state = &mut *state;
        let waiting = state.waiting.bytes.len();
        let log = owned(&mut state.logs, handle, partition)?;
        if waiting > 0 && waiting + record.len() > self.waiting_bytes_max {
            state.stats.refused += 1;
            let text = format!("{waiting} bytes wait to be written to {}; it is too slow", self.folder.display());
            return Err(LogError::Refused(text));
        }
        let number = log.next;
        log.next += 1;
        state.appended += 1;
        log.last = state.appended;
        state.waiting.record(partition, number, record);
        if waiting < EAGER_BYTES && state.waiting.bytes.len() >= EAGER_BYTES {
            self.arrived.notify_one();
        }
        Ok(RecordNumber(number - log.base))
    }

    /// A wait for all records of a partition so far; `None` if they are written already.
    pub(super) fn wait(&self, handle: u32, partition: u16, slack: Duration) -> Result<Option<SyncWait>, LogError> {
        let mut state = self.state();
        let until = owned(&mut state.logs, handle, partition)?.last;
        let progress = self.progress.subscribe();
        let now = *progress.borrow();
        if now.kept >= until {
            return Ok(None);
        }
        let due = Instant::now() + slack;
        if state.due.is_none_or(|first| due < first) {
            state.due = Some(due);
            self.arrived.notify_one();
        }
        Ok(Some(SyncWait { until, failures: now.failures, partition, progress }))
    }

    pub(super) fn trim(&self, handle: u32, partition: u16, before: RecordNumber) {
        let mut state = self.state();
        let state = &mut *state;
        let Ok(log) = owned(&mut state.logs, handle, partition) else { return };
        let before = log.base.saturating_add(before.0).min(log.next);
        if before > log.floor {
            log.floor = before;
            // The trim is written together with the next records: the snapshot among them is what makes the older
            // records unnecessary.
            state.waiting.trim(partition, before);
        }
    }

    pub(super) fn release(&self, handle: u32, partition: u16) {
        let mut state = self.state();
        let log = state.logs.get_mut(&partition).filter(|log| log.owner == Some(handle));
        log.into_iter().for_each(|log| (log.owner, log.is_open) = (None, false));
    }

    /// Asks the writer to write everything that waits and to end.
    pub(super) fn close(&self) {
        self.state().is_closed = true;
        self.arrived.notify_one();
    }

    /// Waits for work. The empty `batch` takes the place of the batch that is given out.
    pub(super) fn work(&self, batch: Batch) -> Work {
        let mut state = self.state();
        while !state.must_write_now() {
            let left = state.due.map(|due| due.saturating_duration_since(Instant::now()));
            state = match left {
                None => self.arrived.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => break,
                Some(left) => self.arrived.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
        let State { waiting, take_overs, appended, due, is_closed, .. } = &mut *state;
        *due = None;
        Work {
            batch: std::mem::replace(waiting, batch),
            until: *appended,
            take_overs: std::mem::take(take_overs),
            is_closed: *is_closed,
        }
    }

    /// Notes that the batch of `work` was written and synced.
    pub(super) fn kept(&self, work: &Work, segments: &Segments, count: impl FnOnce(&mut FileStats)) {
        let mut state = self.state();
        let State { logs, stats, .. } = &mut *state;
        let touched = work.batch.entries.iter().map(|entry| entry.partition);
        for partition in touched.chain(work.batch.trims.iter().map(|(partition, _)| *partition)) {
            logs.entry(partition).or_default().kept = segments.index.len(partition);
        }
        count(stats);
        (stats.segments, stats.bytes) = segments.size();
        drop(state);
        self.progress.send_modify(|progress| progress.kept = work.until);
    }

    /// Notes that writing has failed: all waiting records are lost, and nothing is written until a repair.
    pub(super) fn fail(&self, reason: &str, next: impl Fn(u16) -> u64) {
        let reason: Arc<str> = reason.into();
        let mut state = self.state();
        let state = &mut *state;
        state.waiting.clear(USUAL_BYTES);
        for (partition, log) in &mut state.logs {
            (log.next, log.floor, log.last) = (next(*partition), 0, 0);
            log.failure = Some(reason.clone());
        }
        state.failure = Some(reason);
        state.stats.failures += 1;
        // The failure is announced under the lock, so that a waiter always finds its reason.
        self.progress.send_modify(|progress| progress.failures += 1);
    }

    /// Notes that the writer has ended for good.
    pub(super) fn end(&self) {
        self.fail("the log is closed", |_| 0);
        let mut state = self.state();
        state.has_ended = true;
        // Dropping the requests tells their waiters that no answer will come.
        state.take_overs.clear();
    }

    pub(super) fn failure(&self) -> Option<Arc<str>> {
        self.state().failure.clone()
    }

    /// Notes that the disk works again. Each log can be written again after a new take-over.
    pub(super) fn repaired(&self) {
        self.state().failure = None;
    }

    /// Answers a take-over, unless a later one of the same partition replaced it.
    pub(super) fn answer(&self, take_over: TakeOver, records: Records) {
        let mut state = self.state();
        let log = state.logs.entry(take_over.partition).or_default();
        if log.take_over_number != take_over.take_over_number {
            drop(state);
            // An error means that nobody waits for the answer any more.
            let _ = take_over.answer.send(Err(LogError::Lost));
            return;
        }
        if records.is_ok() && log.owner.is_some() {
            (log.base, log.last, log.failure, log.is_open) = (log.next, 0, None, true);
        }
        drop(state);
        let _ = take_over.answer.send(records);
    }
}

impl State {
    /// Whether there is work that should not wait for more records.
    fn must_write_now(&self) -> bool {
        self.is_closed || !self.take_overs.is_empty() || self.waiting.bytes.len() >= EAGER_BYTES
    }

    /// The error for a partition whose log has failed.
    fn failed(&self, partition: u16) -> LogError {
        let own = self.logs.get(&partition).and_then(|log| log.failure.as_deref());
        let reason = own.or(self.failure.as_deref()).unwrap_or("it has failed, and works again");
        LogError::Failed(reason.to_owned())
    }
}

/// The log of a partition that this handle owns and may write.
fn owned(logs: &mut HashMap<u16, Log>, handle: u32, partition: u16) -> Result<&mut Log, LogError> {
    let log = logs.get_mut(&partition).filter(|log| log.owner == Some(handle)).ok_or(LogError::Lost)?;
    match &log.failure {
        Some(reason) => Err(LogError::Failed(reason.to_string())),
        None if !log.is_open => Err(LogError::Lost),
        None => Ok(log),
    }
}
