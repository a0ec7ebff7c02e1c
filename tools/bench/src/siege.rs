//! `attack` from the coordinator's side: the parts of the run, one after the other, each attacker in a process of its
//! own.
//!
//! An attacker is set up while the honest players go on, begins when its first step has succeeded, and ends after the
//! measured seconds.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use crate::coordinator::Crew;
use crate::machine;
use crate::options::Kind;
use crate::plan::{Event, Part, Plan};
use crate::scenario::names;

/// The pause between two attacks, in which the server gets rid of the last one.
const CALM: Duration = Duration::from_secs(1);
/// Longest set-up of an attacker, and longest wait for its report, beyond the plan's patience.
const SET_UP_MAX: Duration = Duration::from_secs(60);

/// The record of one part.
#[derive(Debug, Clone, Default)]
pub struct PartLog {
    pub name: String,
    /// Highest resident memory of the server, if its processes are known.
    pub rss_peak_kb: Option<u64>,
    /// Steps of the attacker that the server carried out.
    pub done: u64,
    /// Steps that it refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Length of the measured part.
    pub elapsed: Duration,
    /// Why the attack did not take place, or did not end in order.
    pub failure: Option<String>,
}

pub struct Siege {
    /// The plan of the honest players.
    plan: Plan,
    pids: Vec<u32>,
    kinds: VecDeque<Kind>,
    stage: Stage,
    since: Instant,
    logs: Vec<PartLog>,
}

enum Stage {
    /// Nothing is measured: at first, and between two attacks.
    Calm(Duration),
    /// Honest players are measured alone.
    Quiet,
    SettingUp(Box<Crew>),
    Attacking(Box<Crew>),
    /// The attacker was told to end, and is to report.
    Ending(Box<Crew>),
    Over,
}

/// The part that the honest players are to be told of, if a new one begins.
pub type Word = Option<Part>;

impl Siege {
    pub fn new(plan: &Plan, pids: &[u32]) -> Self {
        let kinds = plan.attack.kinds().into();
        let stage = Stage::Calm(plan.warmup);
        Self { plan: plan.clone(), pids: pids.to_vec(), kinds, stage, since: Instant::now(), logs: Vec::new() }
    }

    pub fn into_logs(self) -> Vec<PartLog> {
        self.logs
    }

    /// Does what is due.
    pub fn step(&mut self) -> anyhow::Result<Word> {
        let passed = self.since.elapsed();
        match &mut self.stage {
            Stage::Over => Ok(None),
            Stage::Calm(wait) if passed < *wait => Ok(None),
            Stage::Calm(_) if self.logs.is_empty() => {
                self.log(names::QUIET.to_owned());
                self.enter(Stage::Quiet, true)
            }
            Stage::Calm(_) => self.next_attack(),
            Stage::Quiet if passed < self.plan.duration => self.watch_memory(),
            Stage::Quiet => self.rest(),
            Stage::SettingUp(crew) => match news(crew)? {
                Some(Event::Ready) => {
                    crew.go()?;
                    let Stage::SettingUp(crew) = std::mem::replace(&mut self.stage, Stage::Over) else {
                        return Ok(None);
                    };
                    self.enter(Stage::Attacking(crew), true)
                }
                Some(Event::Failed(reason)) => self.fail(format!("never began, since {reason}")),
                _ if passed > SET_UP_MAX + self.plan.patience => self.fail("never began".to_owned()),
                _ => Ok(None),
            },
            Stage::Attacking(crew) => {
                if let Some(Event::Failed(reason)) = news(crew)? {
                    return self.fail(format!("ended early, since {reason}"));
                }
                if passed < self.plan.duration {
                    return self.watch_memory();
                }
                crew.tell(&Part { is_over: true, ..Part::default() })?;
                let Stage::Attacking(crew) = std::mem::replace(&mut self.stage, Stage::Over) else { return Ok(None) };
                self.enter(Stage::Ending(crew), false)
            }
            Stage::Ending(crew) => match news(crew)? {
                Some(Event::Report(report)) => {
                    if let Some(log) = self.logs.last_mut() {
                        log.done = report.tally.counts.get(names::DONE).copied().unwrap_or_default();
                        log.refused = report.tally.errors;
                        log.elapsed = report.elapsed;
                    }
                    self.rest()
                }
                Some(Event::Failed(reason)) => self.fail(format!("did not report, since {reason}")),
                _ if passed > SET_UP_MAX + self.plan.patience => self.fail("did not report".to_owned()),
                _ => Ok(None),
            },
        }
    }

    /// Begins a stage. The honest players are told of it.
    fn enter(&mut self, stage: Stage, is_measured: bool) -> anyhow::Result<Word> {
        let is_over = matches!(stage, Stage::Over);
        self.stage = stage;
        self.since = Instant::now();
        let name = self.logs.last().map(|log| log.name.clone()).unwrap_or_default();
        Ok(Some(Part { name, is_measured, is_over }))
    }

    fn log(&mut self, name: String) {
        self.logs.push(PartLog { name, ..PartLog::default() });
    }

    /// Lets the server come to rest. A process under way ends with its crew.
    fn rest(&mut self) -> anyhow::Result<Word> {
        self.enter(Stage::Calm(CALM), false)
    }

    fn fail(&mut self, reason: String) -> anyhow::Result<Word> {
        if let Some(log) = self.logs.last_mut() {
            log.failure = Some(reason);
        }
        self.rest()
    }

    fn next_attack(&mut self) -> anyhow::Result<Word> {
        let Some(kind) = self.kinds.pop_front() else { return self.enter(Stage::Over, false) };
        self.log(kind.name());
        let plan = Plan {
            attacker: Some(kind),
            worker: self.plan.worker + 1,
            connections: self.plan.attack.attackers,
            seed: fastrand::u64(..),
            format: crate::load::Format::Json,
            ..self.plan.clone()
        };
        let crew = Crew::start(&[plan])?;
        self.enter(Stage::SettingUp(Box::new(crew)), false)
    }

    fn watch_memory(&mut self) -> anyhow::Result<Word> {
        if let Some(log) = self.logs.last_mut().filter(|_| !self.pids.is_empty()) {
            log.rss_peak_kb = log.rss_peak_kb.max(Some(machine::sample_memory_kb(&self.pids)?));
        }
        Ok(None)
    }
}

/// The next event of an attacker that is more than a sign of life.
fn news(crew: &mut Crew) -> anyhow::Result<Option<Event>> {
    loop {
        match crew.next_event(Duration::ZERO)? {
            Some((_, Event::Progress(_) | Event::Second(_))) => {}
            event => return Ok(event.map(|(_, event)| event)),
        }
    }
}
