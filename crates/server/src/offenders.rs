//! Tells the operator, in the log, which addresses take more than they may.

use std::sync::Arc;
use std::time::Duration;

use muster_domain::admission::SharedAdmission;

/// Time between two looks. Refusals may come by the thousand in a second.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Largest number of lines of one look.
const LINES_MAX: usize = 4;

/// Writes the addresses that were refused most into the log, until the future is dropped.
pub async fn tell(admission: Arc<SharedAdmission>) {
    let mut look = tokio::time::interval(LOOK_INTERVAL);
    loop {
        look.tick().await;
        let offenders = admission.take_offenders();
        let others = offenders.len().saturating_sub(LINES_MAX);
        for offender in offenders.iter().take(LINES_MAX) {
            tracing::warn!(
                address = %offender.address,
                limit = offender.limit,
                refusals = offender.refusals,
                others,
                "an address takes more than it may, and is refused"
            );
        }
    }
}
