//! Start times of operations: arrival times of an open loop, and a timer exact enough to keep them.
//!
//! The runtime's own timer counts in milliseconds, which would add up to a millisecond to every latency, since these
//! count from the intended start.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use serde::{Deserialize, Serialize};
use tokio::io::unix::AsyncFd;

/// Starts that are begun together before the other tasks of the worker get a turn.
const BURST_LEN_MAX: u32 = 64;

/// Spread of the starts in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Spread {
    /// Exponential gaps, as between independent players.
    #[default]
    Poisson,
    /// Equal gaps.
    Fixed,
}

/// An endless sequence of intended start times.
pub struct Arrivals {
    next: Instant,
    mean_gap: Duration,
    spread: Spread,
    random: fastrand::Rng,
}

impl Arrivals {
    /// `rate` is in starts per second and must be above zero.
    pub fn new(begin: Instant, rate: f64, spread: Spread, seed: u64) -> Self {
        let mean_gap = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::MAX);
        let mut random = fastrand::Rng::with_seed(seed);
        // The first gap is random: workers that begin together must not tick together.
        let first = mean_gap.min(Duration::from_secs(3600)).mul_f64(random.f64());
        Self { next: begin + first, mean_gap, spread, random }
    }

    /// The next intended start.
    pub fn take(&mut self) -> Instant {
        let start = self.next;
        let gap = match self.spread {
            Spread::Fixed => self.mean_gap,
            Spread::Poisson => self.mean_gap.mul_f64(-(1.0 - self.random.f64()).ln()),
        };
        self.next = start + gap;
        start
    }
}

/// Calls `begin` with every intended start before `end`, at that time or as soon after as the worker can. Stops early
/// if `begin` answers false.
pub async fn run_arrivals(
    mut arrivals: Arrivals,
    end: Instant,
    mut begin: impl FnMut(Instant) -> bool,
) -> std::io::Result<()> {
    let timer = PreciseTimer::new()?;
    let mut burst_len = 0;
    loop {
        let start = arrivals.take();
        if start >= end {
            return Ok(());
        }
        if timer.sleep_until(start).await? {
            burst_len = 0;
        } else {
            burst_len += 1;
        }
        if burst_len >= BURST_LEN_MAX {
            burst_len = 0;
            tokio::task::yield_now().await;
        }
        if !begin(start) {
            return Ok(());
        }
    }
}

/// A timer of the kernel, in nanoseconds.
pub struct PreciseTimer(AsyncFd<OwnedFd>);

impl PreciseTimer {
    pub fn new() -> std::io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        // SAFETY: an owned descriptor names the same open file for as long as it lives, and it lives in the `AsyncFd`.
        #[expect(unsafe_code, reason = "the only way to wait for a kernel timer that is not deprecated")]
        let timer = unsafe { AsyncFd::register(timer) }?;
        Ok(Self(timer))
    }

    /// Waits until `deadline`. Answers false if it has passed already.
    pub async fn sleep_until(&self, deadline: Instant) -> std::io::Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let value = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        rustix::time::timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        loop {
            let mut guard = self.0.readable().await?;
            let mut expirations = [0; 8];
            match rustix::io::read(&self.0, &mut expirations) {
                Ok(_) => return Ok(true),
                Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(spread: Spread, count: u32) -> Vec<Duration> {
        let begin = Instant::now();
        let mut arrivals = Arrivals::new(begin, 1000.0, spread, 7);
        (0..count).map(|_| arrivals.take() - begin).collect()
    }

    #[test]
    fn fixed_gaps_are_equal() {
        let starts = starts(Spread::Fixed, 100);
        assert!(starts[0] < Duration::from_millis(1));
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == Duration::from_millis(1)));
    }

    #[test]
    fn poisson_gaps_keep_the_rate() {
        let starts = starts(Spread::Poisson, 20_000);
        let seconds = starts[19_999].as_secs_f64();
        assert!((19.0..21.0).contains(&seconds), "{seconds}");
        let below_mean = starts.windows(2).filter(|pair| pair[1] - pair[0] < Duration::from_millis(1)).count();
        assert!((12_200..13_100).contains(&below_mean), "63.2 % of exponential gaps are shorter than the mean");
    }
}
