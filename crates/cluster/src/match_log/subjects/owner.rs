//! The owner's side of a log: a task takes the log over and then writes it; the shard appends records and waits for
//! them.
//!
//! The task ends when the log is lost or has failed. Then waiting callers get the error, and no more records are taken.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use muster_live::matches::{LogError, LogFuture, RecordNumber};
use muster_live::place::Epoch;
use tokio::sync::{Notify, oneshot, watch};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use super::message::{GatheredRecords, Stamp, UnpublishedRecords};
use super::{Common, GIVE_UP_AFTER, PublishError, Subjects, WAITING_BYTES_MAX};

/// Bytes of unpublished records at which publishing begins even if no caller waits for it.
const EAGER_BYTES: usize = 256 * 1024;

/// The pause before a failed publication or read is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// Delay until unneeded messages are purged, if they hold at least [`PURGE_BYTES`].
const PURGE_SOON: Duration = Duration::from_secs(1);
/// Delay until unneeded messages are purged, if they hold fewer bytes.
const PURGE_LATER: Duration = Duration::from_secs(10);

/// Bytes of unneeded messages at which the messages are purged after [`PURGE_SOON`].
const PURGE_BYTES: usize = 64 * 1024;

type Records = Result<Vec<Bytes>, LogError>;

/// A log that a shard has taken over.
#[derive(Debug)]
pub(super) struct Owned<S: Subjects> {
    shared: Arc<Shared<S>>,
    task: Option<AbortHandle>,
}

#[derive(Debug)]
struct Shared<S> {
    common: Arc<Common<S>>,
    partition: u16,
    state: Mutex<State>,
    /// Wakes the task.
    arrived: Notify,
    progress: watch::Sender<Progress>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether appending is allowed: the take-over is done.
    is_open: bool,
    is_released: bool,
    /// Records before this number are waited for by a caller.
    wanted: u64,
    /// Number of this owner's first record, as counted over all owners.
    base: u64,
    /// Number of the next record, as counted over all owners.
    next: u64,
    /// Records before this number are not needed.
    floor: u64,
    /// The first time at which `floor` rose since the last purge.
    floor_rose_at: Option<Instant>,
    waiting: UnpublishedRecords,
    /// Bytes of this log in [`Common::waiting_bytes`].
    counted: usize,
}

#[derive(Debug, Default)]
struct Progress {
    /// Records before this number are kept.
    kept: u64,
    failure: Option<LogError>,
}

impl<S: Subjects> Owned<S> {
    /// Begins to take a log over.
    pub(super) fn begin(
        common: Arc<Common<S>>,
        partition: u16,
        owner: u128,
        epoch: Epoch,
    ) -> (Self, oneshot::Receiver<Records>) {
        let (state, progress) = (Mutex::default(), watch::Sender::new(Progress::default()));
        let shared = Arc::new(Shared { common, partition, state, arrived: Notify::new(), progress });
        let (answer, answered) = oneshot::channel();
        let task = tokio::spawn(run(shared.clone(), owner, epoch, answer)).abort_handle();
        (Self { shared, task: Some(task) }, answered)
    }

    pub(super) fn append(&self, record: &[u8]) -> Result<RecordNumber, LogError> {
        let mut state = self.writable()?;
        let common = &self.shared.common;
        let waiting = common.waiting_bytes.fetch_add(record.len(), Ordering::Relaxed);
        if waiting > 0 && waiting + record.len() > WAITING_BYTES_MAX {
            common.waiting_bytes.fetch_sub(record.len(), Ordering::Relaxed);
            common.count(|stats| stats.refused += 1);
            return Err(LogError::Refused(format!(
                "{waiting} bytes wait to be published; the cluster's NATS is too slow"
            )));
        }
        state.counted += record.len();
        let is_much = state.waiting.bytes < EAGER_BYTES && state.waiting.bytes + record.len() >= EAGER_BYTES;
        state.waiting.push(record);
        if is_much {
            self.shared.arrived.notify_one();
        }
        let number = state.next;
        state.next += 1;
        Ok(RecordNumber(number - state.base))
    }

    /// Waits until all records appended so far are kept.
    pub(super) fn wait(&self) -> Result<LogFuture<()>, LogError> {
        let mut state = self.writable()?;
        let until = state.next;
        let mut progress = self.shared.progress.subscribe();
        if progress.borrow().kept < until && state.wanted < until {
            state.wanted = until;
            self.shared.arrived.notify_one();
        }
        Ok(Box::pin(async move {
            match progress.wait_for(|now| now.failure.is_some() || now.kept >= until).await {
                Ok(now) if now.kept >= until => Ok(()),
                Ok(now) => Err(now.failure.clone().unwrap_or(LogError::Lost)),
                Err(_) => Err(LogError::Lost),
            }
        }))
    }

    pub(super) fn trim(&self, before: RecordNumber) {
        let Ok(mut state) = self.writable() else { return };
        let before = state.base.saturating_add(before.0).min(state.next);
        // A trim before the first record of this owner counts too: it says that the records of former owners are not
        // needed.
        if before > state.floor {
            state.floor = before;
            if state.floor_rose_at.is_none() {
                state.floor_rose_at = Some(Instant::now());
                self.shared.arrived.notify_one();
            }
        }
    }

    /// Lets the task publish the records that wait, and then end.
    pub(super) fn release(mut self) {
        self.shared.state().is_released = true;
        self.shared.arrived.notify_one();
        self.task = None;
    }

    fn writable(&self) -> Result<MutexGuard<'_, State>, LogError> {
        if let Some(failure) = &self.shared.progress.borrow().failure {
            return Err(failure.clone());
        }
        let state = self.shared.state();
        if state.is_open { Ok(state) } else { Err(LogError::Lost) }
    }
}

impl<S: Subjects> Drop for Owned<S> {
    fn drop(&mut self) {
        self.task.take().into_iter().for_each(|task| task.abort());
    }
}

impl<S> Shared<S> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Drop for Shared<S> {
    fn drop(&mut self) {
        let counted = self.state().counted;
        self.common.waiting_bytes.fetch_sub(counted, Ordering::Relaxed);
    }
}

async fn run<S: Subjects>(shared: Arc<Shared<S>>, owner: u128, epoch: Epoch, answer: oneshot::Sender<Records>) {
    let mut ownership = Ownership::new(shared.clone(), owner, epoch);
    let failure = match ownership.take_over().await {
        Ok(records) => {
            // An error means that nobody waits for the answer, so nobody will append.
            let _ = answer.send(Ok(records));
            match ownership.write().await {
                Ok(Released) => LogError::Lost,
                Err(failure) => failure,
            }
        }
        Err(failure) => {
            let _ = answer.send(Err(failure.clone()));
            failure
        }
    };
    let partition = shared.partition;
    if let LogError::Failed(reason) = &failure {
        tracing::error!(partition, reason, "the log of a partition's matches has failed");
        shared.common.count(|stats| stats.failures += 1);
    }
    shared.progress.send_modify(|progress| progress.failure = Some(failure));
}

/// Says that the log was released, and that all its records are written.
struct Released;

/// The next step of the task that writes a log.
enum NextStep {
    /// Publish the records that wait.
    Publish,
    /// End: the log was released and nothing waits.
    End,
    /// Wait for the shard.
    Wait,
    /// Wait for the shard until this time, and then purge unneeded messages.
    WaitToPurge(Instant),
}

/// A message that is ready to be published.
struct NextMessage {
    stamp: Stamp,
    content: Bytes,
    /// Number of records that the message completes.
    complete: u64,
}

/// One ownership of a log, from the take-over to its end.
struct Ownership<S> {
    shared: Arc<Shared<S>>,
    owner: u128,
    epoch: Epoch,
    /// Number of the last message that was published.
    message: u64,
    /// Sequence of that message in the store.
    last: u64,
    /// Number of the record that the next message begins or continues.
    first: u64,
    /// The floor that was published last.
    floor_told: u64,
    /// Messages that may still be in the store, oldest first.
    stored: VecDeque<StoredMessage>,
    purging: Option<JoinHandle<()>>,
}

/// A message in the store. The first message of the list also stands for all earlier ones.
struct StoredMessage {
    sequence: u64,
    /// Number after the last record that has bytes in this message or an earlier one.
    end: u64,
    bytes: usize,
}

impl<S: Subjects> Ownership<S> {
    fn new(shared: Arc<Shared<S>>, owner: u128, epoch: Epoch) -> Self {
        // A random number, so that no message is mistaken for one of another ownership.
        let message = (shared.common.subjects.identity() as u64) >> 1;
        let (stored, purging) = (VecDeque::new(), None);
        Self { shared, owner, epoch, message, last: 0, first: 0, floor_told: 0, stored, purging }
    }

    async fn take_over(&mut self) -> Records {
        let deadline = Instant::now() + GIVE_UP_AFTER;
        let is_empty = self.claim(deadline).await?;
        let gathered = if is_empty { None } else { Some(self.gather(deadline).await?) };
        let mut bytes = 0;
        let records = gathered.map_or_else(Vec::new, |gathered| {
            self.first = gathered.next();
            gathered.records()
        });
        records.iter().for_each(|record| bytes += record.len());
        self.stored.push_back(StoredMessage { sequence: self.last, end: self.first, bytes });
        let mut state = self.shared.state();
        (state.base, state.next, state.floor) = (self.first, self.first, self.floor_told);
        state.is_open = !state.is_released;
        self.shared.progress.send_modify(|progress| progress.kept = self.first);
        Ok(records)
    }

    /// Shuts out the former owner. Answers whether no record of the log is needed.
    async fn claim(&mut self, deadline: Instant) -> Result<bool, LogError> {
        let (common, partition) = (self.shared.common.clone(), self.shared.partition);
        let subjects = &common.subjects;
        loop {
            let found = match subjects.last(partition).await {
                Ok(found) => found,
                Err(error) => {
                    pause(deadline, &error.0).await?;
                    continue;
                }
            };
            let (expected, last) = found.as_ref().map_or((0, None), |(sequence, message)| (*sequence, Some(message)));
            let claim = Stamp::claim(self.epoch, self.owner, self.message, last);
            if let Some(stamp) = last.and_then(|last| Stamp::of(last)) {
                if stamp.is_same_message(&claim) {
                    // The claim was accepted before, and its answer was lost.
                    self.claimed(expected, &stamp);
                    return Ok(stamp.is_of_empty());
                }
                let is_anothers = stamp.epoch == self.epoch && stamp.owner != self.owner;
                if is_anothers || stamp.epoch > self.epoch {
                    common.count(|stats| stats.lost += 1);
                    return Err(LogError::Lost);
                }
            }
            match subjects.publish(partition, expected, claim.alone(partition)).await {
                Ok(sequence) => {
                    self.claimed(sequence, &claim);
                    return Ok(claim.is_of_empty());
                }
                Err(PublishError::Conflict) => pause(deadline, "others write the log").await?,
                Err(PublishError::Unknown(reason)) => pause(deadline, &reason).await?,
                Err(PublishError::Refused(reason)) => return Err(LogError::Failed(reason)),
            }
        }
    }

    fn claimed(&mut self, sequence: u64, claim: &Stamp) {
        self.last = sequence;
        if claim.is_of_empty() {
            (self.first, self.floor_told) = (claim.first, claim.floor);
        }
    }

    /// Reads the messages before the claim.
    async fn gather(&self, deadline: Instant) -> Result<GatheredRecords, LogError> {
        let (common, partition) = (&self.shared.common, self.shared.partition);
        let _permit = common.reads.acquire().await;
        // The wait for the permit does not count.
        let deadline = deadline.max(Instant::now() + GIVE_UP_AFTER);
        loop {
            let mut gathered = GatheredRecords::default();
            match common.subjects.read(partition, self.last, &mut |_, message| gathered.push(&message)).await {
                Ok(()) => {
                    if gathered.gaps > 0 {
                        tracing::error!(partition, gaps = gathered.gaps, "kept records of matches are missing");
                        common.count(|stats| stats.gaps += gathered.gaps);
                    }
                    return Ok(gathered);
                }
                Err(error) => pause(deadline, &error.0).await?,
            }
        }
    }

    /// Publishes waiting records whenever a caller waits for them, until the log is released.
    async fn write(&mut self) -> Result<Released, LogError> {
        let shared = self.shared.clone();
        loop {
            match self.next_step() {
                NextStep::Publish => self.publish().await?,
                NextStep::End => return Ok(Released),
                NextStep::Wait => shared.arrived.notified().await,
                NextStep::WaitToPurge(purge_at) => tokio::select! {
                    () = shared.arrived.notified() => {}
                    () = tokio::time::sleep_until(purge_at) => self.purge().await?,
                },
            }
        }
    }

    fn next_step(&self) -> NextStep {
        let state = self.shared.state();
        let is_wanted = self.first < state.wanted || state.waiting.bytes >= EAGER_BYTES;
        if !state.waiting.is_empty() && (is_wanted || state.is_released) {
            return NextStep::Publish;
        }
        if state.is_released {
            return NextStep::End;
        }
        self.purge_at(&state).map_or(NextStep::Wait, NextStep::WaitToPurge)
    }

    /// Time of the next purge of unneeded messages, if there is anything to purge.
    fn purge_at(&self, state: &State) -> Option<Instant> {
        let unneeded =
            self.stored.iter().take_while(|stored| stored.end <= state.floor).map(|stored| stored.bytes).sum::<usize>();
        let wait = if unneeded >= PURGE_BYTES { PURGE_SOON } else { PURGE_LATER };
        state.floor_rose_at.map(|rose_at| rose_at + wait)
    }

    async fn purge(&mut self) -> Result<(), LogError> {
        let floor = {
            let mut state = self.shared.state();
            state.floor_rose_at = None;
            state.floor
        };
        // The floor is published before the purge, so that a reader in between knows that nothing is missing.
        while self.floor_told < floor {
            self.publish().await?;
        }
        let mut before = None;
        // The last message stays: the number of the next one is checked against it.
        while self.stored.len() > 1 && self.stored.front().is_some_and(|stored| stored.end <= floor) {
            before = self.stored.pop_front().map(|stored| stored.sequence + 1);
        }
        if self.purging.as_ref().is_none_or(JoinHandle::is_finished) {
            self.purging = before.map(|before| {
                let shared = self.shared.clone();
                tokio::spawn(async move {
                    match shared.common.subjects.purge(shared.partition, before).await {
                        Ok(()) => shared.common.count(|stats| stats.purges += 1),
                        // The next purge deletes these messages too.
                        Err(error) => tracing::debug!(%error, "a log of matches is not trimmed"),
                    }
                })
            });
        }
        Ok(())
    }

    /// Publishes one message with waiting records, or with nothing but a new floor.
    async fn publish(&mut self) -> Result<(), LogError> {
        let common = self.shared.common.clone();
        let NextMessage { stamp, content, complete } = self.next_message();
        let bytes = content.len();
        let began = Instant::now();
        let sequence = self.settle(&stamp, content).await?;
        let took = began.elapsed();
        self.message = stamp.message;
        self.last = sequence;
        self.first += complete;
        self.floor_told = stamp.floor;
        let is_cut = self.shared.state().waiting.is_cut();
        self.stored.push_back(StoredMessage { sequence, end: self.first + u64::from(is_cut), bytes });
        {
            let mut state = self.shared.state();
            let done = state.counted - state.waiting.bytes;
            state.counted -= done;
            common.waiting_bytes.fetch_sub(done, Ordering::Relaxed);
        }
        common.count(|stats| {
            stats.publishes += 1;
            stats.records += complete;
            stats.published_bytes += bytes as u64;
            stats.publish_time += took;
            stats.slowest_publish = stats.slowest_publish.max(took);
        });
        self.shared.progress.send_modify(|progress| progress.kept = self.first);
        Ok(())
    }

    /// Takes as many waiting records as fit into the next message.
    fn next_message(&self) -> NextMessage {
        let mut state = self.shared.state();
        let stamp = Stamp {
            is_claim: false,
            epoch: self.epoch,
            owner: self.owner,
            message: self.message.wrapping_add(1),
            // Unpublished records may get lost, and then the records before them are still needed. So the floor stays
            // below them.
            floor: state.floor.min(self.first),
            first: self.first,
        };
        let bytes_max = self.shared.common.subjects.message_bytes_max();
        let (content, complete) = state.waiting.message(self.shared.partition, &stamp, bytes_max);
        NextMessage { stamp, content, complete }
    }

    /// Publishes a message repeatedly, until the store has certainly kept it once, or certainly never will.
    async fn settle(&self, stamp: &Stamp, message: Bytes) -> Result<u64, LogError> {
        let (common, partition) = (&self.shared.common, self.shared.partition);
        let deadline = Instant::now() + GIVE_UP_AFTER;
        loop {
            let reason = match common.subjects.publish(partition, self.last, message.clone()).await {
                Ok(sequence) => return Ok(sequence),
                Err(PublishError::Refused(reason)) => return Err(LogError::Failed(reason)),
                Err(PublishError::Unknown(reason)) => reason,
                // The last message of the log is either this one, whose acknowledgement was lost, or another owner's.
                Err(PublishError::Conflict) => match common.subjects.last(partition).await {
                    Ok(Some((sequence, found))) if sequence > self.last => {
                        let found = Stamp::of(&found);
                        if found.is_some_and(|found| found.is_same_message(stamp)) {
                            return Ok(sequence);
                        }
                        common.count(|stats| stats.lost += 1);
                        return Err(LogError::Lost);
                    }
                    // The server that answered has not seen the last message yet.
                    Ok(_) => "others write the log".to_owned(),
                    Err(error) => error.0,
                },
            };
            pause(deadline, &reason).await?;
            common.count(|stats| stats.retries += 1);
        }
    }
}

/// Waits a little, or fails with `reason` if the deadline is too near.
async fn pause(deadline: Instant, reason: &str) -> Result<(), LogError> {
    if Instant::now() + PAUSE > deadline {
        return Err(LogError::Failed(format!("the cluster's NATS does not serve the log: {reason}")));
    }
    tokio::time::sleep(PAUSE).await;
    Ok(())
}
