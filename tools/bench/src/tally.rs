//! Counts of a run: latencies in histograms, successes, errors by reason. Tallies of several workers add up.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::load::Fault;

/// Range of latencies: from one microsecond to ten minutes.
const LATENCY_US_MAX: u64 = 600 * 1_000_000;
/// Distinct reasons that are kept; all further ones are counted together.
const REASONS_MAX: usize = 20;

/// Latencies in microseconds, with a number of significant figures: three for reports, one for the thousands of
/// histograms of single seconds, which are only plotted (6 % per step).
#[derive(Debug, Clone)]
pub struct Latencies<const FIGURES: u8 = 3>(Histogram<u64>);

impl<const FIGURES: u8> Default for Latencies<FIGURES> {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LATENCY_US_MAX, FIGURES);
        #[expect(clippy::expect_used, reason = "the bounds are constants that a test builds too")]
        Self(histogram.expect("constant bounds are valid"))
    }
}

impl<const FIGURES: u8> Latencies<FIGURES> {
    pub fn record(&mut self, latency: Duration) {
        self.record_many(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX), 1);
    }

    pub fn record_many(&mut self, latency_us: u64, count: u64) {
        self.0.saturating_record_n(latency_us.clamp(1, LATENCY_US_MAX), count);
    }

    pub fn merge(&mut self, other: &Self) {
        for step in other.0.iter_recorded() {
            self.record_many(step.value_iterated_to(), step.count_at_value());
        }
    }

    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Milliseconds below which `percent` of the latencies lie; `None` if there are none.
    pub fn percentile_ms(&self, percent: f64) -> Option<f64> {
        (self.count() > 0).then(|| self.0.value_at_percentile(percent) as f64 / 1000.0)
    }

    pub fn max_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.0.max() as f64 / 1000.0)
    }

    pub fn mean_ms(&self) -> Option<f64> {
        (self.count() > 0).then(|| self.0.mean() / 1000.0)
    }
}

impl<const FIGURES: u8> Serialize for Latencies<FIGURES> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())))
    }
}

impl<'de, const FIGURES: u8> Deserialize<'de> for Latencies<FIGURES> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut latencies = Self::default();
        for (latency_us, count) in Vec::<(u64, u64)>::deserialize(deserializer)? {
            latencies.record_many(latency_us, count);
        }
        Ok(latencies)
    }
}

/// Figures of the honest players in one part of `attack`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Met {
    pub ping: Latencies,
    /// Requests over HTTP: storage writes and reads.
    pub request: Latencies,
    /// New players: sign-in, socket, first pong.
    pub arrival: Latencies,
    /// Sign-ins with a password.
    pub sign_in: Latencies,
    /// Deliveries of chat and match data.
    pub delivery: Latencies,
    /// Sockets that the server closed.
    pub closes: u64,
    /// Answers that name a limit, or ask to come back later.
    pub limits: u64,
    /// Other faults.
    pub errors: u64,
    /// Acknowledged writes.
    pub writes: u64,
    /// Acknowledged writes that were not found in the end.
    pub lost: u64,
}

impl Met {
    fn merge(&mut self, other: &Self) {
        self.ping.merge(&other.ping);
        self.request.merge(&other.request);
        self.arrival.merge(&other.arrival);
        self.sign_in.merge(&other.sign_in);
        self.delivery.merge(&other.delivery);
        self.closes += other.closes;
        self.limits += other.limits;
        self.errors += other.errors;
        self.writes += other.writes;
        self.lost += other.lost;
    }
}

/// The counts of one worker, or the sum over workers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Right answers of the measured window.
    pub ok: u64,
    /// Right answers that arrived within the window, whenever their requests were meant to start. The server's CPU time
    /// of the window is divided by this number.
    pub served: u64,
    /// Latencies of the operations counted in `ok`.
    pub latency: Latencies,
    /// Latencies of other kinds, by name.
    pub others: BTreeMap<String, Latencies>,
    /// Further counts, by name.
    pub counts: BTreeMap<String, u64>,
    /// `attack`: figures of the honest players, by part.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Met>,
    /// Failed operations of the whole run, warm-up included, by reason.
    pub errors: BTreeMap<String, u64>,
}

impl Tally {
    pub fn fail(&mut self, fault: &Fault) {
        self.fail_many(fault.to_string(), 1);
    }

    pub fn fail_many(&mut self, reason: String, count: u64) {
        if count == 0 {
            return;
        }
        let known = self.errors.contains_key(&reason) || self.errors.len() < REASONS_MAX;
        *self.errors.entry(if known { reason } else { "other".to_owned() }).or_default() += count;
    }

    pub fn count(&mut self, name: &str, count: u64) {
        *self.counts.entry(name.to_owned()).or_default() += count;
    }

    pub fn record_other(&mut self, name: &str, latency: Duration) {
        if let Some(latencies) = self.others.get_mut(name) {
            latencies.record(latency);
        } else {
            self.others.entry(name.to_owned()).or_default().record(latency);
        }
    }

    pub fn errors_total(&self) -> u64 {
        self.errors.values().sum()
    }

    pub fn merge(&mut self, other: &Tally) {
        self.ok += other.ok;
        self.served += other.served;
        self.latency.merge(&other.latency);
        for (name, latencies) in &other.others {
            self.others.entry(name.clone()).or_default().merge(latencies);
        }
        for (name, count) in &other.counts {
            self.count(name, *count);
        }
        for (part, met) in &other.parts {
            self.parts.entry(part.clone()).or_default().merge(met);
        }
        for (reason, count) in &other.errors {
            self.fail_many(reason.clone(), *count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tallies_add_up_through_the_pipe() {
        let mut first = Tally { ok: 3, served: 4, ..Tally::default() };
        for latency_ms in [1, 2, 300] {
            first.latency.record(Duration::from_millis(latency_ms));
        }
        first.fail(&Fault::Closed);
        let text = serde_json::to_string(&first).unwrap();
        let mut sum: Tally = serde_json::from_str(&text).unwrap();
        sum.merge(&first);
        assert_eq!((sum.ok, sum.served, sum.latency.count(), sum.errors_total()), (6, 8, 6, 2));
        assert_eq!(sum.latency.percentile_ms(50.0).map(f64::round), Some(2.0));
        assert_eq!(sum.latency.max_ms().map(f64::round), Some(300.0));
    }

    #[test]
    fn no_latency_is_no_figure() {
        assert_eq!(Latencies::<3>::default().percentile_ms(99.0), None);
        assert_eq!(Latencies::<1>::default().max_ms(), None);
    }

    #[test]
    fn reasons_are_bounded() {
        let mut tally = Tally::default();
        for number in 0..100 {
            tally.fail_many(format!("reason {number}"), 1);
        }
        assert_eq!((tally.errors.len(), tally.errors_total()), (REASONS_MAX + 1, 100));
    }
}
