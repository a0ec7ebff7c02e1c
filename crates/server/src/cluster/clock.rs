//! The difference between this node's clock and the database's, which all nodes of a cluster share: nodes whose clocks
//! differ refuse each other's tokens as expired, or as not valid yet.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use muster_domain::Timestamp;
use muster_domain::ports::clock::Clock as _;
use muster_domain::ports::store::{DatabaseOrigin, Store, StoreError};
use tokio::time::Instant;

use crate::system::System;

/// Time between two looks at the database's clock.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Shortest time between two warnings of a clock that stays wrong.
const WARN_EVERY: Duration = Duration::from_secs(3_600);

/// Reads the origin of the database, and by how many milliseconds this machine's clock is ahead of the database's.
///
/// # Errors
/// When the database does not answer.
pub async fn compare(store: &dyn Store) -> Result<(DatabaseOrigin, i64), StoreError> {
    let before = System.now();
    let origin = store.origin().await?;
    Ok((origin, skew_ms(before, origin.now, System.now())))
}

/// The least difference of the clocks that explains a reading of the database's clock between two of this machine's.
fn skew_ms(before: Timestamp, there: Timestamp, after: Timestamp) -> i64 {
    if there < before {
        (before.0 - there.0) / 1_000
    } else if there > after {
        (after.0 - there.0) / 1_000
    } else {
        0
    }
}

/// The sentence about a clock that differs too much, if it does.
pub fn complaint(skew_ms: i64, skew_max_ms: u64) -> Option<String> {
    let direction = if skew_ms > 0 { "ahead of" } else { "behind" };
    let seconds = skew_ms.unsigned_abs() as f64 / 1_000.0;
    (skew_ms.unsigned_abs() > skew_max_ms).then(|| {
        format!(
            "the clock of this machine is {seconds:.1} s {direction} the database's, and cluster.clock_skew_max_ms is \
             {skew_max_ms}: nodes would refuse each other's tokens. Synchronise the clocks of both machines, for \
             example by NTP"
        )
    })
}

/// Decides when a node that runs warns of its clock.
#[derive(Debug, Default)]
struct Warnings {
    last: Option<Instant>,
}

impl Warnings {
    /// Whether to warn now.
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.last.is_none_or(|last| now >= last + WARN_EVERY);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

/// Compares the clocks once a minute. `measured_ms` is the last result, for metrics.
pub async fn watch(store: Rc<dyn Store>, measured_ms: Arc<AtomicI64>, skew_max_ms: u64) {
    let mut look = tokio::time::interval(LOOK_EVERY);
    let mut warnings = Warnings::default();
    loop {
        look.tick().await;
        // A database that is away is told elsewhere.
        let Ok((_, skew_ms)) = compare(&*store).await else { continue };
        measured_ms.store(skew_ms, Ordering::Relaxed);
        if let Some(complaint) = complaint(skew_ms, skew_max_ms)
            && warnings.is_due(Instant::now())
        {
            tracing::warn!(skew_ms, "{complaint}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_the_database_and_back_is_no_skew() {
        let check = |before: i64, there: i64, after: i64, expect: i64| {
            let at = |ms: i64| Timestamp(ms * 1_000);
            assert_eq!(skew_ms(at(before), at(there), at(after)), expect, "{before} {there} {after}");
        };
        check(1_000, 1_000, 1_000, 0);
        check(1_000, 1_400, 1_900, 0);
        check(71_000, 1_000, 71_100, 70_000);
        check(1_000, 71_000, 1_100, -69_900);
    }

    #[test]
    fn a_clock_within_the_bound_is_fine() {
        assert_eq!(complaint(5_000, 5_000), None);
        assert_eq!(complaint(-5_000, 5_000), None);
        assert!(complaint(5_001, 5_000).is_some_and(|text| text.contains("5.0 s ahead of the database's")));
        assert!(complaint(-70_000, 5_000).is_some_and(|text| text.contains("70.0 s behind the database's")));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_stays_wrong_is_told_once_an_hour() {
        let mut warnings = Warnings::default();
        let begun = Instant::now();
        let told = (0..=120).filter(|minute| warnings.is_due(begun + LOOK_EVERY * *minute));
        assert_eq!(told.collect::<Vec<u32>>(), [0, 60, 120]);
    }
}
