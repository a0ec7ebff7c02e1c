//! Moments in the protocol's form.

use muster_domain::Timestamp;

/// A moment in the protocol's form.
pub(crate) fn time(time: Timestamp) -> muster_wire::Timestamp {
    muster_wire::Timestamp::from_unix_us(time.0)
}
