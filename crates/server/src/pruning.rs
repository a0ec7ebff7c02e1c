//! Removes expired data, once an hour, by a clock that is checked first.

use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_domain::Timestamp;
use muster_domain::limits::KEYED_WRITE_LIFE_SEC;
use muster_domain::ports::clock::Clock as _;
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;

use crate::jobs::Jobs;
use crate::system::System;

/// Time between two removals.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3_600);

/// Time between two checks whether a removal is due.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// Largest drift between the wall clock and the monotonic clock over one interval, in seconds. A wall clock that drifts
/// more is not trusted.
const CLOCK_JUMP_MAX_SEC: i64 = 60;

/// The job that removes expired revocations.
const REVOCATIONS_JOB: &str = "prune_revocations";

/// The job that removes outcomes of keyed writes that no match will replay.
const KEYED_WRITES_JOB: &str = "prune_effects";

/// Removes expired revocations, from the database and from this process, and outcomes of keyed writes that are older
/// than any replay. A running match removes its own old outcomes at each snapshot; this task removes the outcomes of
/// matches that ended.
pub async fn prune(store: Rc<dyn Store>, revocations: Arc<Revocations>, jobs: Jobs) {
    let mut look = tokio::time::interval(LOOK_INTERVAL);
    let mut pruning = Pruning::begin(Instant::now(), System.now());
    loop {
        look.tick().await;
        let now = System.now();
        if !pruning.is_due(Instant::now(), now) {
            continue;
        }
        revocations.prune(&System);
        if let Some(job_epoch) = jobs.epoch(REVOCATIONS_JOB)
            && let Err(error) = store.prune_revocations(now, job_epoch).await
        {
            tracing::warn!(%error, "cannot remove expired revocations; trying again in an hour");
        }
        if let Some(job_epoch) = jobs.epoch(KEYED_WRITES_JOB)
            && let Err(error) = store.prune_keyed_writes(now.plus_seconds(-KEYED_WRITE_LIFE_SEC), job_epoch).await
        {
            tracing::warn!(%error, "cannot remove old outcomes of writes; trying again in an hour");
        }
    }
}

/// Decides when to remove expired data: after every interval in which the wall clock ran like the monotonic one. After
/// a jump the wall clock is not trusted for one interval: if it were ahead, revocations of valid tokens would be
/// removed, and writes repeated.
struct Pruning {
    since: Instant,
    wall: Timestamp,
}

impl Pruning {
    /// Waits for the first interval to pass.
    fn begin(since: Instant, wall: Timestamp) -> Self {
        Self { since, wall }
    }

    /// Whether an interval has passed and the wall clock is trusted.
    fn is_due(&mut self, now: Instant, wall: Timestamp) -> bool {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed < PRUNE_INTERVAL {
            return false;
        }
        let elapsed_sec = i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX);
        let is_steady = (wall.seconds() - self.wall.seconds() - elapsed_sec).abs() <= CLOCK_JUMP_MAX_SEC;
        *self = Self::begin(now, wall);
        is_steady
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_jumped_is_believed_an_interval_later() {
        let start = Instant::now();
        let at = |intervals: u32| start + intervals * PRUNE_INTERVAL;
        let wall = |seconds: i64| Timestamp::from_seconds(seconds);
        let mut pruning = Pruning::begin(start, wall(0));
        assert!(!pruning.is_due(start + PRUNE_INTERVAL / 2, wall(1_800)));
        assert!(pruning.is_due(at(1), wall(3_600)));
        assert!(!pruning.is_due(at(2), wall(1_000_000)), "ahead by days");
        assert!(!pruning.is_due(at(3), wall(10_800)), "and back");
        assert!(pruning.is_due(at(4), wall(14_400)));
    }
}
