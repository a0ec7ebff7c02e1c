//! `ticks`: matches of game code without players. The figures are the server's own: how late ticks were done, counted
//! between the two ends of the measured part.

use std::rc::Rc;
use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use super::{Connections, names, sockets};
use crate::gauges::{self, Gauges};
use crate::load::http::HttpConnection;
use crate::load::requests;
use crate::pacing::PreciseTimer;
use crate::plan::Event;
use crate::worker::{Worker, say};

/// The function that makes the matches; it is in `tools/bench/modules`.
const FUNCTION: &str = "bench_make_ticks";
/// Matches that one call makes.
const MATCHES_PER_CALL: usize = 100;
/// Parts of the names of the histogram's lines, and of the counter of skipped ticks.
const BUCKETS: &str = "match_tick_lateness_ms_bucket";
const SKIPPED: &str = "match_tick_skipped_count";
/// Functions that never end or take all memory, with the way in which they do, and the expected status: the call was
/// ended, its instance was ended with it, or it made a match that never ends.
const BOMBS: [(&str, &str, u16); 11] = [
    ("bench_bomb_lua", "loop", 500),
    ("bench_bomb_js", "loop", 500),
    ("bench_bomb_go", "loop", 503),
    ("bench_bomb_lua", "memory", 500),
    ("bench_bomb_js", "memory", 500),
    ("bench_bomb_go", "memory", 503),
    ("bench_bomb_lua", "text", 500),
    ("bench_bomb_js", "text", 500),
    ("bench_bomb_lua", "pattern", 500),
    ("bench_bomb_js", "pattern", 500),
    ("bench_bomb_lua", "tick", 200),
];
/// Latency noted for ticks beyond the last bound.
const BEYOND: Duration = Duration::from_secs(10);

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    make_matches(&worker).await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    let timer = PreciseTimer::new()?;
    timer.sleep_until(window.measure_from).await?;
    worker.begin_measuring();
    let before = Counted::read(&worker)?;
    for index in 0..worker.plan.ticks.bombs {
        let worker = worker.clone();
        tokio::task::spawn_local(async move {
            if let Err(error) = throw_bombs(&worker, index).await {
                worker.tally.borrow_mut().fail_many(format!("a bomb: {error:#}"), 1);
            }
        });
    }
    timer.sleep_until(window.measure_to).await?;
    worker.end_measuring();
    let after = Counted::read(&worker)?;
    after.note_since(&before, &worker)?;
    Ok(Connections::new())
}

/// Makes the matches over several connections, since a match stays on the shard that makes it.
async fn make_matches(worker: &Worker) -> anyhow::Result<()> {
    let (plan, options) = (&worker.plan, &worker.plan.ticks);
    let (_, token) = sockets::sign_in(worker, 0).await?;
    let mut connections = Vec::new();
    for index in 0..plan.connections {
        connections.push(HttpConnection::open(&worker.endpoints, index).await?);
    }
    // The matches end by themselves, after the measured part.
    let seconds = (plan.lead() + plan.duration + plan.patience).as_secs_f64();
    let mut left = options.matches;
    for turn in 0.. {
        let count = left.min(MATCHES_PER_CALL);
        if count == 0 {
            break;
        }
        let asked = json!({
            "count": count, "rate": options.tick_rate, "busy_us": options.busy_us, "seconds": seconds,
        });
        let index = turn % connections.len();
        let answer = connections[index].exchange(&requests::rpc(&token, FUNCTION, &asked.to_string())).await?;
        let told = String::from_utf8_lossy(answer.body);
        ensure!(answer.status == 200, "the server makes no matches: {told}");
        left -= count;
    }
    Ok(())
}

/// Calls functions that the server has to end, one after another, until the process ends.
async fn throw_bombs(worker: &Worker, index: usize) -> anyhow::Result<()> {
    let (_, token) = sockets::sign_in(worker, 0).await?;
    let mut connection = HttpConnection::open(&worker.endpoints, index).await?;
    for turn in index.. {
        let (function, kind, status) = BOMBS[turn % BOMBS.len()];
        let answer = connection.exchange(&requests::rpc(&token, function, kind)).await?;
        let told = String::from_utf8_lossy(answer.body);
        ensure!(answer.status == status, "{function} of the kind {kind} ended with {}: {told}", answer.status);
    }
    Ok(())
}

/// Counters of the servers.
struct Counted {
    /// Cumulative histogram: bounds in milliseconds, with the number of ticks done within each; the last bound is
    /// infinite.
    within: Vec<(f64, f64)>,
    skipped: f64,
}

impl Counted {
    fn read(worker: &Worker) -> anyhow::Result<Self> {
        Self::of(&gauges::samples(&worker.plan.metrics)?)
    }

    fn of(samples: &Gauges) -> anyhow::Result<Self> {
        let bound = |name: &str| name.split_once("le=\"")?.1.split_once('"')?.0.parse().ok();
        let buckets = samples.iter().filter(|(name, _)| name.contains(BUCKETS));
        let mut within: Vec<(f64, f64)> = buckets.filter_map(|(name, count)| Some((bound(name)?, *count))).collect();
        within.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        ensure!(!within.is_empty(), "the server does not count how late ticks are");
        let skipped = samples.iter().find(|(name, _)| name.contains(SKIPPED)).map(|(_, count)| *count);
        Ok(Self { within, skipped: skipped.unwrap_or_default() })
    }

    /// Notes the ticks since `before` as latencies; each counts with the bound of its bucket.
    fn note_since(&self, before: &Self, worker: &Worker) -> anyhow::Result<()> {
        let mut tally = worker.tally.borrow_mut();
        let mut counted = 0;
        for ((bound_ms, now), (_, then)) in self.within.iter().zip(&before.within) {
            let within = (now - then) as u64;
            let latency = if bound_ms.is_finite() { Duration::from_secs_f64(bound_ms / 1e3) } else { BEYOND };
            tally.latency.record_many(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX), within - counted);
            counted = within;
        }
        tally.ok = counted;
        tally.served = counted;
        tally.count(names::SKIPPED, (self.skipped - before.skipped) as u64);
        let (options, seconds) = (&worker.plan.ticks, worker.plan.duration.as_secs_f64());
        let due = options.matches as f64 * f64::from(options.tick_rate) * seconds;
        // Skipped ticks are in the figure above; a tick that was neither done nor skipped is an error.
        let missing = due - counted as f64 - (self.skipped - before.skipped);
        ensure!(counted > 0, "no tick came");
        if missing > due / 20.0 {
            tally.fail_many("ticks that did not come".to_owned(), missing as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_read_by_the_bounds_that_they_kept() {
        let lines = [
            ("nakama_match_tick_lateness_ms_bucket{node=\"a\",le=\"+Inf\"}", 7.0),
            ("nakama_match_tick_lateness_ms_bucket{node=\"a\",le=\"10\"}", 6.0),
            ("nakama_match_tick_lateness_ms_bucket{node=\"a\",le=\"5\"}", 4.0),
            ("nakama_live_lateness_ms_bucket{le=\"5\"}", 99.0),
            ("nakama_match_tick_skipped_count", 3.0),
        ];
        let samples = lines.map(|(name, count)| (name.to_owned(), count)).into();
        let counted = Counted::of(&samples).unwrap();
        assert_eq!(counted.within, [(5.0, 4.0), (10.0, 6.0), (f64::INFINITY, 7.0)]);
        assert_eq!(counted.skipped, 3.0);
        assert!(Counted::of(&Gauges::new()).is_err());
    }
}
