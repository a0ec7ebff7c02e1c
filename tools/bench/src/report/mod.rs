//! The figures of a run: as one line of JSON with stable names ([`Report`]), as [`text`], and as a page ([`html`]).

mod attacks;
mod chart;
mod html;
mod text;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;

use crate::machine::ServerUse;
use crate::options::Options;
use crate::plan::{Plan, Scenario, WorkerReport};
use crate::scenario::names;
use crate::siege::PartLog;
use crate::tally::{Latencies, Tally};
use crate::timeline::Timeline;

use attacks::AttackRow;

/// Share of a core above which a generator process measures mostly itself.
const GENERATOR_CPU_SHARE_MAX: f64 = 0.9;
/// Share of a core above which the server's busiest thread counts as saturated.
const SERVER_THREAD_SHARE_MAX: f64 = 0.9;
/// Share of the time spent waiting for a core from which on the machine counts as overloaded.
const WAIT_SHARE_MAX: f64 = 0.1;
const EXIT_VOID: u8 = 3;

/// Counts of the workers, and the server's use of the machine meanwhile.
pub struct Outcome {
    pub reports: Vec<WorkerReport>,
    /// The server's use of the cores, if its processes are known.
    pub server: Option<ServerUse>,
    /// The same for each half of the measured part, in scenarios with two halves.
    pub halves: Option<[ServerUse; 2]>,
    /// Resident kilobytes of the server at the end of the measured part, if the scenario has one.
    pub rss_kb: Option<u64>,
    pub timeline: Timeline,
    /// `attack`: its parts.
    pub parts: Vec<PartLog>,
}

impl Outcome {
    /// A run that failed before anything could be counted: every connection is an error.
    pub fn nothing_measured(reason: String, connections: usize) -> Self {
        let mut report = WorkerReport::default();
        report.tally.fail_many(reason, connections as u64);
        Self {
            reports: vec![report],
            server: None,
            halves: None,
            rss_kb: None,
            timeline: Timeline::default(),
            parts: Vec::new(),
        }
    }

    /// Adds an error that no worker has reported.
    pub fn fail(&mut self, reason: String) {
        if let Some(report) = self.reports.first_mut() {
            report.tally.fail_many(reason, 1);
        }
    }
}

/// The result of one run. Field names are those of the JSON and do not change; figures that do not exist are null.
#[derive(Debug, Serialize)]
pub struct Report {
    pub scenario: &'static str,
    pub ok: u64,
    pub errors: u64,
    pub rate_per_s: f64,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub p999_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub server_cpu_us_per_op: Option<f64>,
    pub rss_kb: Option<u64>,
    pub rss_kb_per_connection: Option<f64>,
    pub mean_ms: Option<f64>,
    pub duration_s: f64,
    pub connections: usize,
    pub processes: usize,
    pub format: &'static str,
    /// `closed` or `open`.
    pub r#loop: &'static str,
    /// The rate that the open loop was told to reach.
    pub target_rate_per_s: Option<f64>,
    /// The server's promise about writes, as stated on the command line; null if the scenario writes nothing.
    pub durability: Option<String>,
    /// Share that the generator used of its busiest core; 1 is all of it.
    pub generator_cpu_share: f64,
    pub void: bool,
    /// Share of the time in which the generator was ready to run while others had its core. Above a few percent the
    /// latencies are the machine's, not the server's.
    pub generator_wait_share: f64,
    /// CPU time of the server in cores, one being all of one core.
    pub server_cpu_share: Option<f64>,
    /// Share of the time in which threads of the server were ready to run while others had the cores, summed over
    /// threads.
    pub server_wait_share: Option<f64>,
    /// Share of one core that the server's busiest thread used.
    pub server_busiest_thread_share: Option<f64>,
    /// Bottlenecks, with commas: `generator`, `server`, `machine` (its cores were shared by too many); empty if there
    /// were none.
    pub saturated: String,
    pub errors_by_reason: BTreeMap<String, u64>,
    /// `attack`: the quiet part and each attack.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attacks: Vec<AttackRow>,
    /// Figures of one scenario only.
    #[serde(flatten)]
    pub more: BTreeMap<String, f64>,
    #[serde(skip)]
    pub timeline: Timeline,
}

impl Report {
    /// `memory`: resident kilobytes of the server before the first connection and with all of them open.
    pub fn new(options: &Options, plans: &[Plan], outcome: Outcome, memory: Option<(u64, u64)>) -> Self {
        let scenario = options.scenario;
        let mut tally = Tally::default();
        for report in &outcome.reports {
            tally.merge(&report.tally);
        }
        let elapsed = outcome.reports.iter().map(|report| report.elapsed).max().unwrap_or_default();
        let duration_s = if scenario.is_timed() { options.duration } else { elapsed.as_secs_f64() };
        let generator_cpu_share = busiest_core(plans, &outcome.reports);
        // Here the server does several kinds of work at once, so its CPU time is not divided by operations.
        let served = if matches!(scenario, Scenario::Passwords | Scenario::Attack) { 0 } else { tally.served };
        let cpu_per_op = |server: ServerUse| (served > 0).then(|| server.cpu.as_secs_f64() * 1e6 / served as f64);
        let share = |part: Duration| if duration_s > 0.0 { rounded(part.as_secs_f64() / duration_s) } else { 0.0 };
        let per_connection = |(before, with_all): (u64, u64)| {
            let grown = with_all.saturating_sub(before) as f64;
            options.holds_sockets().then(|| rounded(grown / options.connections() as f64))
        };
        let more = more_figures(options, &tally, &outcome, duration_s);
        let thread_share = outcome.server.map(|server| share(server.busiest_thread));
        let generator_wait_share = rounded(worst_wait(&outcome.reports));
        let server_wait_share = outcome.server.map(|server| share(server.waited));
        let saturated =
            saturated(generator_cpu_share, thread_share, generator_wait_share.max(server_wait_share.unwrap_or(0.0)));
        let durability = || options.durability.clone().unwrap_or_else(|| "not stated".to_owned());
        Self {
            scenario: scenario.as_str(),
            ok: tally.ok,
            errors: tally.errors_total(),
            rate_per_s: if duration_s > 0.0 { rounded(tally.ok as f64 / duration_s) } else { 0.0 },
            p50_ms: tally.latency.percentile_ms(50.0),
            p95_ms: tally.latency.percentile_ms(95.0),
            p99_ms: tally.latency.percentile_ms(99.0),
            p999_ms: tally.latency.percentile_ms(99.9),
            max_ms: tally.latency.max_ms(),
            server_cpu_us_per_op: outcome.server.and_then(cpu_per_op).map(rounded),
            rss_kb: memory.map(|(_, with_all)| with_all),
            rss_kb_per_connection: memory.and_then(per_connection),
            mean_ms: tally.latency.mean_ms().map(rounded),
            duration_s: rounded(duration_s),
            connections: options.connections(),
            processes: plans.len(),
            format: options.format.as_str(),
            r#loop: loop_kind(options),
            target_rate_per_s: options.rate(),
            durability: (scenario.writes_accounts() || options.talk.persistent).then(durability),
            generator_cpu_share: rounded(generator_cpu_share),
            void: generator_cpu_share > GENERATOR_CPU_SHARE_MAX,
            generator_wait_share,
            server_cpu_share: outcome.server.map(|server| share(server.cpu)),
            server_wait_share,
            server_busiest_thread_share: thread_share,
            saturated,
            more,
            attacks: attacks::rows(&outcome.parts, &tally.parts),
            errors_by_reason: tally.errors,
            timeline: outcome.timeline,
        }
    }

    /// The median of several runs, by the server's CPU time, or by rate if that is unknown. It has the errors of all
    /// runs, and one void run makes it void.
    pub fn median(mut runs: Vec<Self>) -> Self {
        let errors = runs.iter().map(|run| run.errors).sum();
        let void = runs.iter().any(|run| run.void);
        let mut errors_by_reason = BTreeMap::new();
        for (reason, count) in runs.iter().flat_map(|run| &run.errors_by_reason) {
            *errors_by_reason.entry(reason.clone()).or_default() += count;
        }
        let attacks = attacks::median(&runs.iter().map(|run| run.attacks.clone()).collect::<Vec<_>>());
        let key = |run: &Self| run.server_cpu_us_per_op.unwrap_or(-run.rate_per_s);
        runs.sort_by(|one, other| key(one).total_cmp(&key(other)));
        let count = runs.len();
        let mut middle = runs.swap_remove(count / 2);
        (middle.errors, middle.errors_by_reason, middle.void) = (errors, errors_by_reason, void);
        middle.attacks = attacks;
        middle.more.insert("runs".to_owned(), count as f64);
        middle
    }

    /// Adds the comparison with the reference server.
    pub fn compare_with(&mut self, reference: &Self) {
        let mut add = |name: &str, value: Option<f64>| {
            if let Some(value) = value {
                self.more.insert(name.to_owned(), rounded(value));
            }
        };
        let ours = self.server_cpu_us_per_op;
        add("reference_server_cpu_us_per_op", reference.server_cpu_us_per_op);
        add("reference_rate_per_s", Some(reference.rate_per_s));
        add("reference_p99_ms", reference.p99_ms);
        add("reference_rss_kb_per_connection", reference.rss_kb_per_connection);
        add("reference_errors", Some(reference.errors as f64));
        add("reference_generator_cpu_share", Some(reference.generator_cpu_share));
        add("ratio_to_reference", ours.zip(reference.server_cpu_us_per_op).map(|(ours, bare)| ours / bare));
        self.void |= reference.void;
    }

    pub fn exit_code(&self) -> ExitCode {
        match (self.errors > 0 || self.ok == 0, self.void) {
            (true, _) => ExitCode::FAILURE,
            (false, true) => ExitCode::from(EXIT_VOID),
            (false, false) => ExitCode::SUCCESS,
        }
    }

    /// Writes the page of [`html`] to `path`.
    pub fn write_page(&self, path: &Path, options: &Options) -> anyhow::Result<()> {
        fs::write(path, html::page(self, options)).with_context(|| format!("cannot write {}", path.display()))
    }
}

fn saturated(generator: f64, server_thread: Option<f64>, wait: f64) -> String {
    let parts = [
        (generator > GENERATOR_CPU_SHARE_MAX, "generator"),
        (server_thread.is_some_and(|share| share > SERVER_THREAD_SHARE_MAX), "server"),
        (wait > WAIT_SHARE_MAX, "machine"),
    ];
    parts.into_iter().filter_map(|(is, name)| is.then_some(name)).collect::<Vec<_>>().join(",")
}

fn loop_kind(options: &Options) -> &'static str {
    let is_paced = matches!(
        options.scenario,
        Scenario::Ccu | Scenario::Passwords | Scenario::Takeover | Scenario::Failover | Scenario::Attack
    );
    let is_open = options.rate().is_some() || is_paced;
    if is_open { "open" } else { "closed" }
}

/// Share of the busiest core. Workers pinned to one core share it; the others are assumed to have the machine's cores
/// between them.
fn busiest_core(plans: &[Plan], reports: &[WorkerReport]) -> f64 {
    let mut pinned: BTreeMap<usize, f64> = BTreeMap::new();
    let mut busiest: f64 = 0.0;
    let mut free = 0.0;
    for report in reports {
        let pin = plans.get(report.worker).and_then(|plan| plan.pin);
        match pin {
            Some(core) => *pinned.entry(core).or_default() += report.cpu_share,
            None => {
                busiest = busiest.max(report.cpu_share);
                free += report.cpu_share;
            }
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    pinned.into_values().fold(busiest.max(free / cores as f64), f64::max)
}

fn worst_wait(reports: &[WorkerReport]) -> f64 {
    reports.iter().map(|report| report.wait_share).fold(0.0, f64::max)
}

fn more_figures(options: &Options, tally: &Tally, outcome: &Outcome, duration_s: f64) -> BTreeMap<String, f64> {
    let mut more = BTreeMap::new();
    for (name, count) in &tally.counts {
        more.insert(name.clone(), *count as f64);
    }
    for (name, latencies) in &tally.others {
        more.insert(format!("{name}_count"), latencies.count() as f64);
        let figures = [
            ("mean", latencies.mean_ms()),
            ("p50", latencies.percentile_ms(50.0)),
            ("p99", latencies.percentile_ms(99.0)),
            ("max", latencies.max_ms()),
        ];
        for (figure, value) in figures {
            value.map(|value| more.insert(format!("{name}_{figure}_ms"), rounded(value)));
        }
    }
    if options.scenario.counts_messages() && duration_s > 0.0 {
        more.insert(
            "messages_in_per_s".to_owned(),
            rounded((tally.served - tally.ok.min(tally.served)) as f64 / duration_s),
        );
        let cpu =
            outcome.server.filter(|_| tally.ok > 0).map(|server| server.cpu.as_secs_f64() * 1e6 / tally.ok as f64);
        cpu.map(|cpu| more.insert("server_cpu_us_per_delivery".to_owned(), rounded(cpu)));
    }
    if options.cluster.is_cluster(options.scenario) {
        more.insert("nodes".to_owned(), options.addr.len() as f64);
    }
    if let Some(halves) = outcome.halves {
        more.extend(hop_figures(tally, halves));
    }
    if options.scenario == Scenario::Churn {
        let end = options.ramp().as_secs_f64() + options.warmup + options.duration;
        let half = (end - options.duration / 2.0) as u32..end as u32;
        let growth = outcome.timeline.memory_growth(half);
        growth.map(|growth| more.insert("rss_growth_last_half_percent".to_owned(), rounded(growth * 100.0)));
    }
    if options.scenario == Scenario::Passwords {
        let quiet = tally.others.get(names::QUIET).and_then(|quiet| quiet.percentile_ms(99.0));
        let ratio = tally.latency.percentile_ms(99.0).zip(quiet).map(|(busy, quiet)| busy / quiet);
        ratio.map(|ratio| more.insert("ratio_busy_to_quiet_p99".to_owned(), rounded(ratio)));
    }
    more
}

/// Server cost of a delivery within a node and of one between two nodes, and the difference.
fn hop_figures(tally: &Tally, halves: [ServerUse; 2]) -> Vec<(String, f64)> {
    let names = [names::LOCAL, names::REMOTE];
    let costs = names.into_iter().zip(halves).filter_map(|(name, server)| {
        let count = tally.others.get(name).map(Latencies::count).filter(|count| *count > 0)?;
        Some((name, server.cpu.as_secs_f64() * 1e6 / count as f64))
    });
    let costs: Vec<(&str, f64)> = costs.collect();
    let mut figures: Vec<(String, f64)> =
        costs.iter().map(|(name, cost)| (format!("{name}_server_cpu_us_per_delivery"), rounded(*cost))).collect();
    if let [(_, local), (_, remote)] = costs[..] {
        figures.push(("hop_server_cpu_us".to_owned(), rounded(remote - local)));
    }
    figures
}

/// Rounds to three decimals; further ones would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// The report of workers with these shares of a core, with one right operation and `errors` wrong ones.
    fn report(arguments: &str, cpu_shares: &[f64], errors: u64, cpu: Duration) -> Report {
        let arguments = ["muster-bench"].into_iter().chain(arguments.split_ascii_whitespace());
        let options = Options::parse_from(arguments);
        let plans = options.target().unwrap().plans();
        let mut reports: Vec<WorkerReport> = Vec::new();
        for (worker, cpu_share) in cpu_shares.iter().copied().enumerate() {
            reports.push(WorkerReport { worker, cpu_share, ..WorkerReport::default() });
        }
        let mut tally = Tally { ok: 1, served: 1, ..Tally::default() };
        tally.fail_many("status 500".to_owned(), errors);
        reports[0].tally = tally;
        let server = Some(ServerUse { cpu, waited: Duration::ZERO, busiest_thread: cpu });
        let timeline = Timeline::default();
        let outcome = Outcome { reports, server, halves: None, rss_kb: None, timeline, parts: Vec::new() };
        Report::new(&options, &plans, outcome, Some((1_000, 3_000)))
    }

    #[test]
    fn a_busy_generator_makes_a_run_void() {
        let micros = Duration::from_micros(9);
        assert!(!report("heartbeat", &[0.9], 0, micros).void);
        assert!(report("heartbeat", &[0.91], 0, micros).void);
        assert!(report("heartbeat -p 2 --pin 1", &[0.5, 0.5], 0, micros).void, "they share a core");
        assert!(!report("heartbeat -p 2 --pin 1,2", &[0.5, 0.5], 0, micros).void);
        let verdict = report("heartbeat", &[0.97], 0, micros).verdict();
        assert_eq!(verdict, "heartbeat: VOID, the generator used 97 % of its core: 1 ok, 0/s");
    }

    #[test]
    fn errors_stand_first() {
        let verdict = report("heartbeat", &[0.5], 7, Duration::ZERO).verdict();
        assert_eq!(verdict, "heartbeat: 7 ERRORS (7 x status 500): 1 ok, 0/s");
    }

    #[test]
    fn server_figures_are_per_operation_and_connection() {
        let report = report("heartbeat -c 100", &[0.5], 0, Duration::from_micros(9));
        assert_eq!(report.server_cpu_us_per_op, Some(9.0));
        assert_eq!((report.rss_kb, report.rss_kb_per_connection), (Some(3_000), Some(20.0)));
    }

    #[test]
    fn the_median_hides_no_error() {
        let run = |micros, errors| report("heartbeat", &[0.5], errors, Duration::from_micros(micros));
        let median = Report::median(vec![run(30, 0), run(10, 2), run(20, 0)]);
        assert_eq!((median.server_cpu_us_per_op, median.errors, median.more["runs"]), (Some(20.0), 2, 3.0));
    }
}
