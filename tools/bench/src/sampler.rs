//! Watches the server's processes from outside: at both ends of the measured part, and every second for the timeline.

use std::time::{Duration, Instant};

use crate::machine::{self, ServerSample, ServerUse};
use crate::plan::{Plan, Scenario};
use crate::timeline::{ServerSecond, Timeline};

const SECOND: Duration = Duration::from_secs(1);

pub struct Sampler {
    pids: Vec<u32>,
    run_begin: Instant,
    begin_at: Instant,
    /// End of the measured part; known beforehand for timed scenarios only.
    end_at: Option<Instant>,
    begin: Option<ServerSample>,
    /// `hop`: the moment between its halves.
    middle_at: Option<Instant>,
    middle: Option<ServerSample>,
    end: Option<ServerSample>,
    /// The last sample of the timeline, with its time.
    last: (Instant, ServerSample),
    /// Number of the timeline's current second.
    number: u32,
    /// Figures of the workers and of this sampler.
    pub timeline: Timeline,
}

impl Sampler {
    /// A sampler for a run that starts at `begin`.
    pub fn new(pids: &[u32], plan: &Plan, begin: Instant) -> anyhow::Result<Self> {
        let is_timed = plan.scenario.is_timed();
        let begin_at = if is_timed { begin + plan.lead() } else { begin };
        Ok(Self {
            pids: pids.to_vec(),
            run_begin: begin,
            begin_at,
            end_at: is_timed.then(|| begin_at + plan.duration),
            begin: None,
            middle_at: (plan.scenario == Scenario::Hop).then(|| begin_at + plan.duration / 2),
            middle: None,
            end: None,
            last: (Instant::now(), machine::sample_server(pids)?),
            number: 0,
            timeline: Timeline::default(),
        })
    }

    /// Time until the next end of the measured part.
    pub fn next_due(&self) -> Duration {
        let moments = [(Some(self.begin_at), &self.begin), (self.middle_at, &self.middle), (self.end_at, &self.end)];
        let due = moments.into_iter().filter(|(_, sample)| sample.is_none()).filter_map(|(at, _)| at).min();
        due.unwrap_or_else(|| self.second_end()).min(self.second_end()).saturating_duration_since(Instant::now())
    }

    pub fn sample_if_due(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        if self.begin.is_none() && now >= self.begin_at {
            self.begin = Some(machine::sample_server(&self.pids)?);
        }
        if self.middle.is_none() && self.middle_at.is_some_and(|middle_at| now >= middle_at) {
            self.middle = Some(machine::sample_server(&self.pids)?);
        }
        if self.end_at.is_some_and(|end_at| now >= end_at) {
            self.sample_end()?;
        }
        if now >= self.second_end() {
            self.sample_second(now)?;
        }
        Ok(())
    }

    pub fn sample_end(&mut self) -> anyhow::Result<()> {
        if self.end.is_none() {
            self.end = Some(machine::sample_server(&self.pids)?);
        }
        Ok(())
    }

    /// The server's use of the cores in the measured part, if its processes are known.
    pub fn used(&self) -> Option<ServerUse> {
        let (begin, end) = self.begin.as_ref().zip(self.end.as_ref())?;
        (!self.pids.is_empty()).then(|| end.since(begin))
    }

    /// The same for each half, in scenarios with two halves.
    pub fn used_by_half(&self) -> Option<[ServerUse; 2]> {
        let middle = self.middle.as_ref().filter(|_| !self.pids.is_empty())?;
        Some([middle.since(self.begin.as_ref()?), self.end.as_ref()?.since(middle)])
    }

    /// Memory of the servers at the end of the measured part.
    pub fn rss_kb(&self) -> Option<u64> {
        self.end.as_ref().map(|end| end.rss_kb)
    }

    fn second_end(&self) -> Instant {
        self.run_begin + SECOND * (self.number + 1)
    }

    fn sample_second(&mut self, now: Instant) -> anyhow::Result<()> {
        let (then, before) = &self.last;
        let sample = machine::sample_server(&self.pids)?;
        if !self.pids.is_empty() {
            let cpu_share = sample.since(before).cpu.as_secs_f64() / (now - *then).as_secs_f64();
            self.timeline.add_server(self.number, ServerSecond { cpu_share, rss_kb: sample.rss_kb });
        }
        self.last = (now, sample);
        // A coordinator that was held up goes on with the current second.
        let passed = u32::try_from((now - self.run_begin).as_secs()).unwrap_or(u32::MAX);
        self.number = passed.max(self.number + 1);
        Ok(())
    }
}
