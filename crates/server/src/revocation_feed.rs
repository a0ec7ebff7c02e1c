//! Revocations on their way: from the database into this process, and from whichever thread applied them to every shard.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_domain::Timestamp;
use muster_domain::ports::clock::Clock as _;
use muster_domain::ports::revocations::Revocation;
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;
use muster_gateway::shard::{Command, ShardHandle};
use tokio::sync::Notify;

use crate::jobs::Jobs;
use crate::system::System;

/// How often what other servers of the same database revoked is read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How often expired revocations are removed.
const PRUNE_INTERVAL: Duration = Duration::from_secs(3_600);

/// How far the wall clock may drift from the monotonic one between two removals and still be believed.
const CLOCK_JUMP_MAX_SEC: i64 = 60;

/// The job that removes expired revocations.
const PRUNE_JOB: &str = "prune_revocations";

/// Applies what other servers of the same database revoke, and forgets what has expired.
pub async fn follow(store: Rc<dyn Store>, revocations: Arc<Revocations>, jobs: Jobs) {
    let mut poll = tokio::time::interval(POLL_INTERVAL);
    let mut pruning = Pruning::begin(Instant::now(), System.now());
    let mut is_failing = false;
    loop {
        poll.tick().await;
        let outcome = revocations.refresh(&*store, &System).await;
        match &outcome {
            Err(error) if !is_failing => tracing::warn!(%error, "cannot read revocations; trying again"),
            Ok(_) if is_failing => tracing::info!("reading revocations again"),
            _ => {}
        }
        is_failing = outcome.is_err();
        if pruning.is_due(Instant::now(), System.now()) {
            revocations.prune(&System);
            if let Some(term) = jobs.term(PRUNE_JOB)
                && let Err(error) = store.prune_revocations(System.now(), term).await
            {
                tracing::warn!(%error, "cannot remove expired revocations; trying again in an hour");
            }
        }
    }
}

/// When to remove what has expired: every interval in which the wall clock ran as the monotonic one did. After a jump it
/// is not believed for one interval: ahead by mistake, it would take back revocations whose tokens live on.
struct Pruning {
    since: Instant,
    wall: Timestamp,
}

impl Pruning {
    fn begin(since: Instant, wall: Timestamp) -> Self {
        Self { since, wall }
    }

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

/// Revocations on their way from whichever thread applied them to every shard.
///
/// Bounded by the requests under way: each one that revokes waits for its own to be applied. Lock: held to push or
/// to take, never across an await.
#[derive(Default)]
pub struct Mailbox {
    waiting: Mutex<Vec<Revocation>>,
    news: Notify,
}

impl Mailbox {
    /// What puts a revocation in; given to [`Revocations`].
    pub fn observer(self: &Arc<Self>) -> Box<dyn Fn(&Revocation) + Send + Sync> {
        let mailbox = self.clone();
        Box::new(move |revocation| {
            mailbox.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(*revocation);
            mailbox.news.notify_one();
        })
    }

    /// Takes revocations to every shard until dropped, or a shard has ended.
    pub async fn deliver(self: Arc<Self>, shards: Arc<[ShardHandle]>) {
        loop {
            let revocations = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            for revocation in revocations {
                for shard in shards.iter() {
                    if shard.send(Command::Revoked(revocation)).await.is_err() {
                        return;
                    }
                }
            }
            self.news.notified().await;
        }
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
