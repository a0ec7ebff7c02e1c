//! Points in time as microseconds since the Unix epoch: what PostgreSQL stores, exactly.

/// Microseconds since 1970-01-01 00:00:00 UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

/// Seconds of a day.
pub const DAY_SEC: i64 = 86_400;

impl Timestamp {
    /// The epoch, which the schema uses for «never».
    pub const EPOCH: Timestamp = Timestamp(0);

    /// From whole seconds.
    pub fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000))
    }

    /// Whole seconds, rounded down.
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Whole days, rounded down.
    pub fn days(self) -> i64 {
        self.seconds().div_euclid(DAY_SEC)
    }

    /// The sub-second part in nanoseconds, 0 to 999,999,000.
    pub fn nanos(self) -> i32 {
        // A remainder of a million times a thousand fits.
        (self.0.rem_euclid(1_000_000) * 1_000) as i32
    }

    /// This moment and `seconds` more.
    pub fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }
}
