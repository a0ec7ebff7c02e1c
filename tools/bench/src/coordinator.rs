//! Starts the generator processes, tells them when to begin, watches the server from outside, and adds up the results.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Serialize;

use crate::options::Target;
use crate::plan::{Event, Go, Plan, Scenario, WorkerReport, machine_clock};
use crate::progress::ProgressLine;
use crate::report::{Outcome, Report};
use crate::sampler::Sampler;
use crate::siege::Siege;
use crate::{gauges, machine};

/// Time from the order to begin until the run begins: every worker has read the order by then.
const HEAD_START: Duration = Duration::from_millis(50);
/// Silence after which a worker counts as hung, in addition to the time that its plan takes.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// Events that may wait to be read; further events make their workers wait.
const EVENTS_LEN_MAX: usize = 1024;
/// Interval at which the coordinator wakes up when no event comes.
const TICK: Duration = Duration::from_millis(100);

/// Makes one whole run. Errors are those of the machine or of this program; faults of the server are in the report.
pub fn run(target: &Target<'_>) -> anyhow::Result<Report> {
    let before = machine::sample_server(&target.pids)?;
    let is_watched = target.options.scenario == Scenario::Churn;
    let watched = if is_watched { &*target.metrics } else { &[] };
    let gauges = gauges::read(watched)?;
    let plans = target.plans();
    let mut crew = Crew::start(&plans)?;
    let mut outcome = match crew.set_up(&plans)? {
        Some(reason) => Outcome::nothing_measured(reason, target.options.connections()),
        None => crew.drive(target, &plans)?,
    };
    let after = machine::sample_server(&target.pids)?;
    crew.dismiss()?;
    let patience = plans.first().map(|plan| plan.patience).unwrap_or_default();
    for (name, above) in gauges::left_behind(watched, &gauges, patience)? {
        outcome.fail(format!("gauge {name} is {above} above where it began"));
    }
    let with_all = outcome.rss_kb.unwrap_or(after.rss_kb);
    let memory = (!target.pids.is_empty()).then_some((before.rss_kb, with_all));
    Ok(Report::new(target.options, &plans, outcome, memory))
}

/// Generator processes.
pub struct Crew {
    workers: Vec<Child>,
    inputs: Vec<ChildStdin>,
    events: mpsc::Receiver<(usize, Event)>,
}

impl Crew {
    pub fn start(plans: &[Plan]) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot find this program to start workers")?;
        let (sender, events) = mpsc::sync_channel(EVENTS_LEN_MAX);
        let mut crew = Self { workers: Vec::new(), inputs: Vec::new(), events };
        for (index, plan) in plans.iter().enumerate() {
            let mut command = Command::new(&program);
            command.arg(crate::WORKER_ROLE).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut worker = command.spawn().context("cannot start a worker")?;
            let pipes = worker.stdin.take().zip(worker.stdout.take());
            crew.workers.push(worker);
            let (input, output) = pipes.context("a worker has no pipes")?;
            crew.inputs.push(input);
            say(&mut crew.inputs[index], plan)?;
            let sender = sender.clone();
            std::thread::spawn(move || forward_events(index, output, &sender));
        }
        Ok(crew)
    }

    /// Waits until all workers are ready. Answers a reason if nothing can be measured.
    fn set_up(&mut self, plans: &[Plan]) -> anyhow::Result<Option<String>> {
        let progress = ProgressLine::new("setting up");
        let begin = Instant::now();
        let allowed: Duration = plans.iter().map(set_up_time_max).max().unwrap_or_default();
        let mut ready = 0;
        while ready < plans.len() {
            progress.show(begin.elapsed(), None, ready as u64);
            match self.next_event(TICK)? {
                Some((_, Event::Ready)) => ready += 1,
                Some((_, Event::Failed(reason))) => return Ok(Some(reason)),
                Some((_, event)) => bail!("a worker said {event:?} before the word"),
                None if begin.elapsed() > allowed => return Ok(Some("the set-up took too long".to_owned())),
                None => {}
            }
        }
        Ok(None)
    }

    /// Tells the workers to begin and collects their reports, sampling the server at both ends of the measured part.
    fn drive(&mut self, target: &Target<'_>, plans: &[Plan]) -> anyhow::Result<Outcome> {
        let plan = &plans[0];
        let begin = Instant::now() + HEAD_START;
        self.go()?;
        let mut siege = (plan.scenario == Scenario::Attack).then(|| Siege::new(plan, &target.pids));
        let mut sampler = Sampler::new(&target.pids, plan, begin)?;
        let mut done = vec![0; plans.len()];
        let mut reports: Vec<WorkerReport> = Vec::new();
        let (mut measured, mut heard) = (0, Instant::now());
        let progress = ProgressLine::new(plan.scenario.as_str());
        while reports.len() < plans.len() {
            let expected = plan.scenario.is_timed().then_some(plan.lead() + plan.duration);
            progress.show(begin.elapsed(), expected, done.iter().sum());
            let event = self.next_event(sampler.next_due().min(TICK))?;
            sampler.sample_if_due()?;
            if let Some(part) = siege.as_mut().map(Siege::step).transpose()?.flatten() {
                self.tell(&part)?;
            }
            if event.is_none() && heard.elapsed() > SILENCE_MAX + plan.patience {
                bail!("the workers fell silent");
            }
            heard = if event.is_some() { Instant::now() } else { heard };
            match event {
                None => {}
                Some((worker, Event::Progress(count))) => done[worker] = count,
                Some((_, Event::Second(second))) => sampler.timeline.add(&second),
                Some((_, Event::Measured)) => {
                    measured += 1;
                    if measured == plans.len() {
                        sampler.sample_end()?;
                    }
                }
                Some((_, Event::Report(report))) => reports.push(*report),
                Some((_, Event::Failed(reason))) => {
                    return Ok(Outcome::nothing_measured(reason, target.options.connections()));
                }
                Some((_, Event::Ready)) => bail!("a worker was ready twice"),
            }
        }
        let (server, halves) = (sampler.used(), sampler.used_by_half());
        let parts = siege.map(Siege::into_logs).unwrap_or_default();
        let mut outcome =
            Outcome { reports, server, halves, rss_kb: sampler.rss_kb(), timeline: sampler.timeline, parts };
        let failures =
            outcome.parts.iter().filter_map(|part| Some(format!("{}: {}", part.name, part.failure.as_ref()?)));
        failures.collect::<Vec<_>>().into_iter().for_each(|failure| outcome.fail(failure));
        Ok(outcome)
    }

    /// Tells the workers to begin.
    pub fn go(&mut self) -> anyhow::Result<()> {
        self.tell(&Go { begin: machine_clock() + HEAD_START })
    }

    /// Tells all workers something.
    pub fn tell(&mut self, word: &impl Serialize) -> anyhow::Result<()> {
        self.inputs.iter_mut().try_for_each(|input| say(input, word))
    }

    /// The next event of a worker, if one comes within this time.
    pub fn next_event(&mut self, within: Duration) -> anyhow::Result<Option<(usize, Event)>> {
        match self.events.recv_timeout(within) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("all workers ended early"),
        }
    }

    /// Ends the workers: they end when their input does.
    fn dismiss(mut self) -> anyhow::Result<()> {
        self.inputs.clear();
        for mut worker in self.workers.drain(..) {
            worker.wait().context("cannot wait for a worker")?;
        }
        Ok(())
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            // After an error only; a worker that has ended already cannot be killed.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

fn say(input: &mut ChildStdin, word: &impl Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    input.write_all(&line).context("a worker ended early")
}

fn forward_events(index: usize, output: ChildStdout, sender: &mpsc::SyncSender<(usize, Event)>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let event = serde_json::from_str(&line)
            .unwrap_or_else(|error| Event::Failed(format!("a worker said something unknown: {error}")));
        if sender.send((index, event)).is_err() {
            return;
        }
    }
    // A worker that has reported is not waited for; for any other this is the last event.
    let _ = sender.send((index, Event::Failed("a worker ended early".to_owned())));
}

/// The limit is generous: a server may need milliseconds for each account.
fn set_up_time_max(plan: &Plan) -> Duration {
    let arrivals = Duration::from_secs_f64(plan.connections as f64 / plan.connect_rate);
    let accounts = Duration::from_millis(10) * u32::try_from(plan.users + plan.connections).unwrap_or(u32::MAX);
    SILENCE_MAX + plan.patience + arrivals + accounts
}
