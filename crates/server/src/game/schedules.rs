//! When scheduled functions of game code are looked at: by the one shard of the one node that runs them.

use std::rc::Weak;
use std::time::Duration;

use muster_domain::ports::clock::Clock as _;
use muster_script::Languages;
use tokio::time::sleep;

use crate::jobs::Jobs;
use crate::system::System;

/// What the job is called by which nodes settle who does it.
const JOB: &str = "schedules";

/// The longest between two looks: who does it may change, and the functions.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Runs what is due, as long as there are functions.
pub(super) async fn keep(functions: Weak<Languages>, jobs: Jobs) {
    while let Some(functions) = functions.upgrade() {
        let next = functions.turn_schedules(jobs.term(JOB).is_some());
        drop(functions);
        let left = next.map(|at| at.saturating_mul(1_000_000).saturating_sub(System.now().0));
        let left = left.and_then(|left| u64::try_from(left).ok()).map(Duration::from_micros);
        sleep(left.unwrap_or(LOOK_INTERVAL).min(LOOK_INTERVAL)).await;
    }
}
