//! The table of `attack`: what honest players met in each part, and what the attacker got done.

use std::collections::BTreeMap;

use serde::Serialize;

use super::rounded;
use crate::scenario::names;
use crate::siege::PartLog;
use crate::tally::{Latencies, Met};

/// One part of the run. Field names are those of the JSON and do not change.
#[derive(Debug, Clone, Serialize)]
pub struct AttackRow {
    /// The kind of attack, or `quiet`.
    pub part: String,
    pub ping_p50_ms: Option<f64>,
    pub ping_p99_ms: Option<f64>,
    /// The p99 of pings, divided by that of the quiet part.
    pub ratio_to_quiet_p99: Option<f64>,
    pub request_p99_ms: Option<f64>,
    pub delivery_p99_ms: Option<f64>,
    pub arrival_p99_ms: Option<f64>,
    pub sign_in_p99_ms: Option<f64>,
    pub pings: u64,
    pub acknowledged_writes: u64,
    pub lost_writes: u64,
    pub honest_closes: u64,
    pub honest_limits: u64,
    pub honest_errors: u64,
    pub rss_peak_kb: Option<u64>,
    pub attacker_done: u64,
    pub attacker_refused: u64,
    pub attacker_refused_by_reason: BTreeMap<String, u64>,
    /// Why the attack did not take place.
    pub failure: Option<String>,
}

/// The rows of a run, in its order.
pub fn rows(logs: &[PartLog], parts: &BTreeMap<String, Met>) -> Vec<AttackRow> {
    let quiet = parts.get(names::QUIET).and_then(|met| met.ping.percentile_ms(99.0));
    let nothing = Met::default();
    let row = |log: &PartLog| row(log, parts.get(&log.name).unwrap_or(&nothing), quiet);
    logs.iter().map(row).collect()
}

fn row(log: &PartLog, met: &Met, quiet: Option<f64>) -> AttackRow {
    let p99 = |latencies: &Latencies| latencies.percentile_ms(99.0).map(rounded);
    let ratio = met.ping.percentile_ms(99.0).zip(quiet).map(|(attacked, quiet)| rounded(attacked / quiet));
    AttackRow {
        part: log.name.clone(),
        ping_p50_ms: met.ping.percentile_ms(50.0).map(rounded),
        ping_p99_ms: p99(&met.ping),
        ratio_to_quiet_p99: ratio,
        request_p99_ms: p99(&met.request),
        delivery_p99_ms: p99(&met.delivery),
        arrival_p99_ms: p99(&met.arrival),
        sign_in_p99_ms: p99(&met.sign_in),
        pings: met.ping.count(),
        acknowledged_writes: met.writes,
        lost_writes: met.lost,
        honest_closes: met.closes,
        honest_limits: met.limits,
        honest_errors: met.errors,
        rss_peak_kb: log.rss_peak_kb,
        attacker_done: log.done,
        attacker_refused: log.refused.values().sum(),
        attacker_refused_by_reason: log.refused.clone(),
        failure: log.failure.clone(),
    }
}

/// The rows of several runs as one table: medians of latencies and of what the attacker got done, sums of everything
/// that should be nothing, and the highest memory.
pub fn median(runs: &[Vec<AttackRow>]) -> Vec<AttackRow> {
    let Some(first) = runs.first() else { return Vec::new() };
    let merge = |(place, row): (usize, &AttackRow)| {
        let all: Vec<&AttackRow> = runs.iter().filter_map(|rows| rows.get(place)).collect();
        let middle = |pick: fn(&AttackRow) -> Option<f64>| {
            let mut values: Vec<f64> = all.iter().filter_map(|row| pick(row)).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let middle_count = |pick: fn(&AttackRow) -> u64| {
            let mut values: Vec<u64> = all.iter().map(|row| pick(row)).collect();
            values.sort_unstable();
            values[values.len() / 2]
        };
        let sum = |pick: fn(&AttackRow) -> u64| all.iter().map(|row| pick(row)).sum();
        AttackRow {
            ping_p50_ms: middle(|row| row.ping_p50_ms),
            ping_p99_ms: middle(|row| row.ping_p99_ms),
            ratio_to_quiet_p99: middle(|row| row.ratio_to_quiet_p99),
            request_p99_ms: middle(|row| row.request_p99_ms),
            delivery_p99_ms: middle(|row| row.delivery_p99_ms),
            arrival_p99_ms: middle(|row| row.arrival_p99_ms),
            sign_in_p99_ms: middle(|row| row.sign_in_p99_ms),
            lost_writes: sum(|row| row.lost_writes),
            honest_closes: sum(|row| row.honest_closes),
            honest_limits: sum(|row| row.honest_limits),
            honest_errors: sum(|row| row.honest_errors),
            rss_peak_kb: all.iter().filter_map(|row| row.rss_peak_kb).max(),
            attacker_done: middle_count(|row| row.attacker_done),
            attacker_refused: middle_count(|row| row.attacker_refused),
            failure: all.iter().find_map(|row| row.failure.clone()),
            ..row.clone()
        }
    };
    first.iter().enumerate().map(merge).collect()
}

/// Names of the columns for people.
pub const COLUMNS: [&str; 12] = [
    "part",
    "ping p99 ms",
    "ratio",
    "request p99 ms",
    "sign-in p99 ms",
    "closes",
    "limits",
    "errors",
    "lost of written",
    "RSS peak MB",
    "attacker: done",
    "refused",
];

impl AttackRow {
    /// The values of [`COLUMNS`].
    pub fn cells(&self) -> [String; COLUMNS.len()] {
        let figure = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let mut reasons: Vec<_> = self.attacker_refused_by_reason.iter().collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let reasons: Vec<_> = reasons.iter().take(3).map(|(reason, count)| format!("{count} x {reason}")).collect();
        let refused = match &self.failure {
            Some(failure) => failure.clone(),
            None if reasons.is_empty() => "0".to_owned(),
            None => format!("{} ({})", self.attacker_refused, reasons.join("; ")),
        };
        [
            self.part.clone(),
            figure(self.ping_p99_ms),
            figure(self.ratio_to_quiet_p99),
            figure(self.request_p99_ms),
            figure(self.sign_in_p99_ms),
            self.honest_closes.to_string(),
            self.honest_limits.to_string(),
            self.honest_errors.to_string(),
            format!("{} of {}", self.lost_writes, self.acknowledged_writes),
            figure(self.rss_peak_kb.map(|kb| kb as f64 / 1024.0)),
            self.attacker_done.to_string(),
            refused,
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn run(ping_ms: u64, lost: u64) -> Vec<AttackRow> {
        let met = |ping_ms, lost| {
            let mut met = Met { lost, writes: 9, ..Met::default() };
            met.ping.record(Duration::from_millis(ping_ms));
            met
        };
        let parts = [("quiet".to_owned(), met(10, 0)), ("chat".to_owned(), met(ping_ms, lost))].into();
        let refused = BTreeMap::from([("error 8".to_owned(), 5), ("status 429".to_owned(), 7)]);
        let chat = PartLog { name: "chat".to_owned(), done: ping_ms, refused, ..PartLog::default() };
        rows(&[PartLog { name: "quiet".to_owned(), ..PartLog::default() }, chat], &parts)
    }

    #[test]
    fn attacks_stand_beside_the_quiet_part() {
        let rows = run(20, 1);
        assert_eq!((rows[0].ratio_to_quiet_p99, rows[1].ratio_to_quiet_p99.map(f64::round)), (Some(1.0), Some(2.0)));
        assert_eq!(rows[1].attacker_refused, 12);
        assert_eq!(rows[1].cells()[8..], ["1 of 9", "-", "20", "12 (7 x status 429; 5 x error 8)"]);
    }

    #[test]
    fn the_median_hides_no_loss() {
        let rows = median(&[run(40, 0), run(20, 1), run(30, 2)]);
        assert_eq!((rows[1].lost_writes, rows[1].attacker_done), (3, 30));
        assert_eq!(rows[1].ping_p99_ms.map(f64::round), Some(30.0));
    }
}
