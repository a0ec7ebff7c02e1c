//! Figures of each second of a run: recorded by every worker, added up by the coordinator, plotted by the report.
//!
//! A worker keeps only the second under way and those that it has not sent yet.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::tally::Latencies;

/// Empty seconds that a worker which was held up fills in; a longer gap stays a gap.
const GAP_LEN_MAX: u32 = 3600;

/// One second of one worker or, added up, of the whole run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Second {
    /// Number of the second, counted from the begin of the run.
    pub number: u32,
    /// Connections open at the end of the second.
    pub connected: u64,
    /// Operations begun, or messages sent.
    pub sent: u64,
    /// Right answers, or messages delivered.
    pub received: u64,
    /// Latencies of the answers that came in this second, whenever their operations were meant to begin.
    pub latency: Latencies<1>,
}

impl Second {
    fn merge(&mut self, other: &Self) {
        self.connected += other.connected;
        self.sent += other.sent;
        self.received += other.received;
        self.latency.merge(&other.latency);
    }
}

/// Assigns a worker's operations to seconds.
#[derive(Debug, Default)]
pub struct Recorder {
    begin: Option<Instant>,
    connected: u64,
    current: Second,
    finished: Vec<Second>,
}

impl Recorder {
    /// Begins the first second. Of everything before, only open connections count.
    pub fn begin(&mut self, begin: Instant) {
        self.begin.get_or_insert(begin);
    }

    pub fn connect(&mut self) {
        self.connected += 1;
    }

    pub fn disconnect(&mut self) {
        self.connected = self.connected.saturating_sub(1);
    }

    /// Counts operations in the second under way, which [`Recorder::roll`] and [`Recorder::receive`] keep up to date.
    pub fn send(&mut self, count: u64) {
        if self.begin.is_some() {
            self.current.sent += count;
        }
    }

    pub fn receive(&mut self, now: Instant, latency: Duration) {
        if self.begin.is_some() {
            self.roll(now);
            self.current.received += 1;
            self.current.latency.record(latency);
        }
    }

    /// Ends the seconds that are over.
    pub fn roll(&mut self, now: Instant) {
        let Some(begin) = self.begin else { return };
        let number = u32::try_from(now.saturating_duration_since(begin).as_secs()).unwrap_or(u32::MAX);
        let gap = number.saturating_sub(self.current.number);
        for _ in 0..gap.min(GAP_LEN_MAX) {
            self.end_second();
        }
        self.current.number = self.current.number.max(number);
    }

    /// The seconds that have ended since the last call.
    pub fn take_finished(&mut self) -> Vec<Second> {
        std::mem::take(&mut self.finished)
    }

    /// All seconds since the last call, including the incomplete one under way.
    pub fn take_all(&mut self) -> Vec<Second> {
        if self.begin.take().is_some() {
            self.end_second();
        }
        self.take_finished()
    }

    fn end_second(&mut self) {
        self.current.connected = self.connected;
        let next = Second { number: self.current.number + 1, ..Second::default() };
        self.finished.push(std::mem::replace(&mut self.current, next));
    }
}

/// Figures of the server's processes in one second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ServerSecond {
    /// CPU time in cores.
    pub cpu_share: f64,
    pub rss_kb: u64,
}

/// The whole run, second by second.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    seconds: BTreeMap<u32, (Second, Option<ServerSecond>)>,
}

/// One second as plotted; figures that were not measured are null.
#[derive(Debug, Clone, Serialize)]
pub struct Point {
    pub second: u32,
    pub connected: u64,
    pub sent: u64,
    pub received: u64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub p999_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub server: Option<ServerSecond>,
}

impl Timeline {
    pub fn add(&mut self, second: &Second) {
        let (sum, _) = self.seconds.entry(second.number).or_default();
        sum.number = second.number;
        sum.merge(second);
    }

    pub fn add_server(&mut self, number: u32, server: ServerSecond) {
        let (sum, known) = self.seconds.entry(number).or_default();
        sum.number = number;
        *known = Some(server);
    }

    pub fn points(&self) -> impl Iterator<Item = Point> {
        self.seconds.values().map(|(second, server)| Point {
            second: second.number,
            connected: second.connected,
            sent: second.sent,
            received: second.received,
            p50_ms: second.latency.percentile_ms(50.0),
            p95_ms: second.latency.percentile_ms(95.0),
            p99_ms: second.latency.percentile_ms(99.0),
            p999_ms: second.latency.percentile_ms(99.9),
            max_ms: second.latency.max_ms(),
            server: *server,
        })
    }

    /// Growth of the server's memory over the seconds of `range`, as a share of its mean, by a linear fit. `None` for
    /// fewer than two samples.
    pub fn memory_growth(&self, range: std::ops::Range<u32>) -> Option<f64> {
        let samples: Vec<(f64, f64)> = self
            .seconds
            .range(range)
            .filter_map(|(number, (_, server))| server.map(|server| (f64::from(*number), server.rss_kb as f64)))
            .collect();
        let count = samples.len() as f64;
        let mean = |pick: fn(&(f64, f64)) -> f64| samples.iter().map(pick).sum::<f64>() / count;
        let (mean_at, mean_kb) = (mean(|sample| sample.0), mean(|sample| sample.1));
        let (mut products, mut squares) = (0.0, 0.0);
        for (at, kb) in &samples {
            products += (at - mean_at) * (kb - mean_kb);
            squares += (at - mean_at) * (at - mean_at);
        }
        let length = samples.last()?.0 - samples.first()?.0;
        (squares > 0.0 && mean_kb > 0.0).then(|| products / squares * length / mean_kb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_is_sorted_into_seconds() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut recorder = Recorder::default();
        recorder.connect();
        recorder.send(5);
        recorder.begin(begin);
        recorder.send(2);
        recorder.receive(at(500), Duration::from_millis(3));
        recorder.connect();
        recorder.receive(at(2_100), Duration::from_millis(8));
        recorder.disconnect();
        let mut timeline = Timeline::default();
        for second in recorder.take_all() {
            timeline.add(&second);
        }
        let points: Vec<_> = timeline.points().collect();
        let figures: Vec<_> = points.iter().map(|point| (point.second, point.sent, point.received)).collect();
        assert_eq!(figures, [(0, 2, 1), (1, 0, 0), (2, 0, 1)], "what came before the begin is not in it");
        assert_eq!(points.iter().map(|point| point.connected).collect::<Vec<_>>(), [2, 2, 1]);
        assert_eq!(points[1].p50_ms, None);
        assert!((7.5..8.6).contains(&points[2].p99_ms.unwrap()), "{:?}", points[2]);
    }

    #[test]
    fn workers_add_up() {
        let mut timeline = Timeline::default();
        let second = Second { number: 4, connected: 10, sent: 3, received: 2, ..Second::default() };
        timeline.add(&second);
        timeline.add(&second);
        timeline.add_server(4, ServerSecond { cpu_share: 0.5, rss_kb: 9 });
        let point = timeline.points().next().unwrap();
        assert_eq!((point.second, point.connected, point.sent, point.received), (4, 20, 6, 4));
        assert_eq!(point.server, Some(ServerSecond { cpu_share: 0.5, rss_kb: 9 }));
    }

    #[test]
    fn memory_growth_is_a_share_of_the_mean() {
        let mut timeline = Timeline::default();
        for number in 0..11_u32 {
            let rss_kb = 1_000 + u64::from(number) * 2;
            timeline.add_server(number, ServerSecond { cpu_share: 0.0, rss_kb });
        }
        let growth = timeline.memory_growth(0..11).unwrap();
        assert!((growth - 20.0 / 1_010.0).abs() < 1e-9, "{growth}");
        assert_eq!(timeline.memory_growth(3..4), None);
        assert_eq!(timeline.memory_growth(20..30), None);
    }
}
