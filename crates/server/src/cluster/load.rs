//! Measures the share of its cores that this process uses, and decides whether the node is busy.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time between two samples of the load.
pub const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// Time in seconds over which samples are averaged.
const MEMORY: f64 = 10.0;
/// Part of `cluster.busy_percent`: a busy node stays busy until its load is below this part.
const CALM_PART: f64 = 0.6;
/// Shortest time for which a node is busy: moving partitions costs, and the cause of the load may come back.
const CALM_AFTER: Duration = Duration::from_secs(60);

/// The averaged load of this process, and whether it counts as busy.
#[derive(Debug)]
pub struct Load {
    /// Number of cores that count as full load: one for each shard.
    cores: f64,
    /// Load from which on the node is busy, 1 being all cores; `None` if it never is.
    busy_from: Option<f64>,
    load: f64,
    busy_since: Option<Duration>,
    /// Times of the last sample: the wall clock, and the CPU time that the process had used by then.
    last: Option<(Duration, Duration)>,
}

impl Load {
    /// The load of a process with `shards` shards. It is busy from `busy_percent` on; 0 stands for never.
    pub fn new(shards: u16, busy_percent: u32) -> Self {
        let busy_from = (busy_percent > 0).then(|| f64::from(busy_percent) / 100.0);
        Self { cores: f64::from(shards.max(1)), busy_from, load: 0.0, busy_since: None, last: None }
    }

    /// Average load of the last seconds, in per cent of one core for each shard.
    pub fn percent(&self) -> u32 {
        (self.load * 100.0).round() as u32
    }

    /// Takes a sample. Answers whether the process is busy, if that has changed.
    pub fn look(&mut self) -> Option<bool> {
        let read = |clock| Duration::try_from(clock_gettime(clock)).unwrap_or_default();
        self.sample(read(ClockId::Monotonic), read(ClockId::ProcessCPUTime))
    }

    fn sample(&mut self, now: Duration, used: Duration) -> Option<bool> {
        let (before, used_before) = self.last.replace((now, used))?;
        let seconds = now.saturating_sub(before).as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let sample = (used.saturating_sub(used_before).as_secs_f64() / seconds / self.cores).min(1.0);
        self.load += (sample - self.load) * (seconds / MEMORY).min(1.0);
        let busy_from = self.busy_from?;
        match self.busy_since {
            None if self.load >= busy_from => {
                self.busy_since = Some(now);
                Some(true)
            }
            Some(since) if self.load < busy_from * CALM_PART && now >= since + CALM_AFTER => {
                self.busy_since = None;
                Some(false)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples a process of two shards once a second while it uses `cores` cores. Answers each change, with the second.
    fn told(load: &mut Load, seconds: std::ops::Range<u64>, cores: f64) -> Vec<(u64, bool)> {
        let used_before = load.last.map_or(Duration::ZERO, |(_, used)| used);
        let start = seconds.start;
        let at = |second: u64| used_before + Duration::from_secs_f64(cores * (second - start + 1) as f64);
        seconds.filter_map(|second| Some((second, load.sample(Duration::from_secs(second), at(second))?))).collect()
    }

    #[test]
    fn a_short_burst_makes_nobody_busy_and_a_long_one_does_once() {
        let mut load = Load::new(2, 80);
        assert_eq!(told(&mut load, 0..100, 0.2), []);
        assert_eq!(load.percent(), 10);
        assert_eq!(told(&mut load, 100..105, 2.0), []);
        assert_eq!(told(&mut load, 105..160, 0.2), []);
        let busy = told(&mut load, 160..300, 1.9);
        assert!(matches!(busy[..], [(165..185, true)]), "{busy:?}");
    }

    #[test]
    fn who_is_busy_stays_so_until_the_load_is_well_below_and_a_minute_has_passed() {
        let mut load = Load::new(2, 80);
        let busy = told(&mut load, 0..30, 2.0);
        assert!(matches!(busy[..], [(_, true)]), "{busy:?}");
        assert_eq!(told(&mut load, 30..55, 0.2), [], "it has just become so");
        assert_eq!(
            told(&mut load, 55..200, 1.2),
            [],
            "60 % is not well below 80 %: who gave a quarter away has so much"
        );
        let calm = told(&mut load, 200..260, 0.6);
        assert!(matches!(calm[..], [(_, false)]), "{calm:?}");
    }

    #[test]
    fn at_0_per_cent_nobody_is_ever_busy() {
        let mut load = Load::new(1, 0);
        assert_eq!(told(&mut load, 0..100, 1.0), []);
        assert_eq!(load.percent(), 100);
    }

    #[test]
    fn it_measures_this_process() {
        let mut load = Load::new(1, 1);
        assert_eq!(load.look(), None);
        let used = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap();
        let before = used();
        while used() < before + Duration::from_millis(20) {}
        load.look();
        assert!(load.load > 0.0);
    }
}
