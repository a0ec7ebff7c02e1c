//! Estimates how long to wait for an acknowledgement: a smoothed round trip and its variation (RFC 6298), within bounds
//! of our own.

use muster_live::Millis;

/// The wait for an acknowledgement before any round trip was measured.
const FIRST_MS: Millis = 200;
/// The shortest wait. An acknowledgement may be held back for a few milliseconds, and the peer's thread may have to
/// wait for a core.
const LEAST_MS: Millis = 50;
/// The longest wait, after any number of silences.
const MOST_MS: Millis = 1_000;
/// Lower bound of the variation: acknowledgements are held back so that one can cover several frames.
const VARIATION_LEAST_MS: f64 = 10.0;

#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    /// Smoothed round trip and its mean deviation, in milliseconds.
    measured: Option<(f64, f64)>,
    /// Number of waits that ended without an acknowledgement, since the last acknowledgement.
    silences: u32,
}

impl RoundTrip {
    pub(super) fn measure(&mut self, took: Millis) {
        let took = took as f64;
        self.measured = Some(match self.measured {
            None => (took, took / 2.0),
            Some((mean, variation)) => (mean * 0.875 + took * 0.125, variation * 0.75 + (mean - took).abs() * 0.25),
        });
    }

    /// Time after which a frame that was sent again may be sent once more because of a report.
    pub(super) fn usual(&self) -> Millis {
        self.measured.map_or(FIRST_MS, |(mean, _)| mean.ceil() as Millis + 1)
    }

    /// Time to wait for the next acknowledgement. Each silence doubles it.
    pub(super) fn patience(&self) -> Millis {
        let once = self
            .measured
            .map_or(FIRST_MS, |(mean, variation)| (mean + (4.0 * variation).max(VARIATION_LEAST_MS)).ceil() as Millis);
        (once.max(LEAST_MS) << self.silences.min(8)).min(MOST_MS)
    }

    pub(super) fn was_silent(&mut self) {
        self.silences += 1;
    }

    pub(super) fn was_answered(&mut self) {
        self.silences = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_follows_the_round_trip_and_doubles_with_each_silence_within_bounds() {
        let mut round_trip = RoundTrip::default();
        assert_eq!(round_trip.patience(), 200);
        (0..50).for_each(|_| round_trip.measure(2));
        assert_eq!(round_trip.patience(), 50);
        (0..50).for_each(|_| round_trip.measure(100));
        assert!((110..120).contains(&round_trip.patience()), "{}", round_trip.patience());
        let once = round_trip.patience();
        round_trip.was_silent();
        assert_eq!(round_trip.patience(), once * 2);
        (0..40).for_each(|_| round_trip.was_silent());
        assert_eq!(round_trip.patience(), 1_000);
        round_trip.was_answered();
        assert_eq!(round_trip.patience(), once);
    }
}
