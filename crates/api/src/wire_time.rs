//! Moments in the protocol's form.

use muster_domain::Timestamp;

/// A moment in the protocol's form.
pub(crate) fn time(time: Timestamp) -> muster_wire::Timestamp {
    muster_wire::Timestamp::from_unix_us(time.0)
}

/// A moment in the protocol's form, without the fraction of its second, which the original leaves out in most places.
pub(crate) fn whole_time(time: Timestamp) -> muster_wire::Timestamp {
    self::time(Timestamp::from_seconds(time.seconds()))
}
