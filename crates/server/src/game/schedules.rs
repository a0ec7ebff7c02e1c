//! Runs scheduled functions of game code, on one shard of the one node that has the job.

use std::rc::Weak;
use std::time::Duration;

use muster_domain::ports::clock::Clock as _;
use muster_script::Languages;
use tokio::time::sleep;

use crate::jobs::Jobs;
use crate::system::System;

/// Name of the job, by which nodes agree on the one that runs it.
const JOB: &str = "schedules";

/// Longest time between two looks at the schedules, since the node that has the job may change, and the functions too.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs functions that are due, as long as the functions exist.
pub(super) async fn keep(functions: Weak<Languages>, jobs: Jobs) {
    while let Some(functions) = functions.upgrade() {
        let next = functions.turn_schedules(jobs.epoch(JOB).is_some());
        drop(functions);
        let left = next.map(|at| at.saturating_mul(1_000_000).saturating_sub(System.now().0));
        let left = left.and_then(|left| u64::try_from(left).ok()).map(Duration::from_micros);
        sleep(left.unwrap_or(LOOK_INTERVAL).min(LOOK_INTERVAL)).await;
    }
}
