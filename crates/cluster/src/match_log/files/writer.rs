//! The thread that writes the log: it writes all waiting records together and syncs once, then answers take-overs from
//! the files.

use std::time::Instant;

use muster_live::matches::LogError;

use super::segments::{Batch, Segments};
use super::state::{Shared, USUAL_BYTES, Work};

/// Writes until the log is closed.
pub(super) fn run(shared: &Shared, mut segments: Segments) {
    let _end = End(shared);
    let mut spare = Batch::default();
    loop {
        let mut work = shared.work(spare);
        if !work.batch.is_empty() && shared.failure().is_none() {
            write(shared, &mut segments, &mut work);
        }
        for take_over in std::mem::take(&mut work.take_overs) {
            let records = match repair(shared, &mut segments) {
                Ok(()) => segments.records(take_over.partition).map_err(|error| failed(shared, &error)),
                Err(error) => Err(error),
            };
            shared.answer(take_over, records);
        }
        if work.is_closed {
            return;
        }
        spare = work.batch;
        spare.clear(USUAL_BYTES);
    }
}

fn write(shared: &Shared, segments: &mut Segments, work: &mut Work) {
    let began = Instant::now();
    if let Err(error) = segments.write(&mut work.batch) {
        tracing::error!(%error, folder = %shared.folder.display(), "the log of matches cannot be written");
        shared.fail(&sentence(shared, &error), |partition| segments.index.next(partition));
        return;
    }
    let took = began.elapsed();
    // Segments that cannot be removed now are tried again after the next batch.
    if let Err(error) = segments.remove_unneeded() {
        tracing::warn!(%error, folder = %shared.folder.display(), "a segment of the log of matches is not removed");
    }
    let (records, bytes) = (work.batch.entries.len() as u64, work.batch.bytes.len() as u64);
    shared.kept(work, segments, |stats| {
        stats.syncs += 1;
        stats.records += records;
        stats.appended_bytes += bytes;
        stats.sync_time += took;
        stats.slowest_sync = stats.slowest_sync.max(took);
    });
}

/// Makes a failed log writable again, if the disk allows it by now.
fn repair(shared: &Shared, segments: &mut Segments) -> Result<(), LogError> {
    if shared.failure().is_none() {
        return Ok(());
    }
    segments.repair().map_err(|error| failed(shared, &error))?;
    tracing::info!(folder = %shared.folder.display(), "the log of matches can be written again");
    shared.repaired();
    Ok(())
}

fn failed(shared: &Shared, error: &std::io::Error) -> LogError {
    LogError::Failed(sentence(shared, error))
}

fn sentence(shared: &Shared, error: &std::io::Error) -> String {
    format!("{}: {error}; check the disk", shared.folder.display())
}

/// Ends the shared state when the thread ends, even by a panic: waiters are told, and no more records are taken.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
