//! The figures of a run: verdict first, then the table, or one line of JSON with names that stay.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

use crate::options::Options;
use crate::plan::{Plan, Scenario, WorkerReport};
use crate::scenario::names;
use crate::tally::Tally;

/// A generator busier than this share of a core measures itself.
const GENERATOR_CPU_SHARE_MAX: f64 = 0.9;
const EXIT_VOID: u8 = 3;

/// What the workers counted and what the server used meanwhile.
pub struct Outcome {
    pub reports: Vec<WorkerReport>,
    /// Known if the server's processes are.
    pub server: Option<ServerUse>,
}

/// What the server's processes had of the cores in the measured part.
#[derive(Debug, Clone, Copy)]
pub struct ServerUse {
    pub cpu: Duration,
    /// Time that threads were ready to run while others had the cores.
    pub waited: Duration,
}

impl Outcome {
    /// A run that failed before anything could be counted: every connection is an error.
    pub fn nothing_measured(reason: String, connections: usize) -> Self {
        let mut report = WorkerReport::default();
        report.tally.fail_many(reason, connections as u64);
        Self { reports: vec![report], server: None }
    }
}

/// One run. The names of the fields are those of the JSON and do not change; times of figures that do not exist are
/// null.
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
    /// What the open loop was asked for.
    pub target_rate_per_s: Option<f64>,
    /// What the server promises of writes, as the command states it; null if the scenario writes nothing.
    pub durability: Option<String>,
    /// Busiest core of the generator, 1 is all of it.
    pub generator_cpu_share: f64,
    pub void: bool,
    /// Share of the time that the generator was ready to run while others had its core: above a few percent the
    /// latencies are the machine's, not the server's.
    pub generator_wait_share: f64,
    /// CPU time of the server in cores, one being all of one core.
    pub server_cpu_share: Option<f64>,
    /// As `generator_wait_share`, summed over the server's threads.
    pub server_wait_share: Option<f64>,
    pub errors_by_reason: BTreeMap<String, u64>,
    /// Figures of one scenario only.
    #[serde(flatten)]
    pub more: BTreeMap<String, f64>,
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
        // In `passwords` the server does two kinds of work at once; CPU time belongs to neither.
        let served = if scenario == Scenario::Passwords { 0 } else { tally.served };
        let cpu_per_op = |server: ServerUse| (served > 0).then(|| server.cpu.as_secs_f64() * 1e6 / served as f64);
        let share = |part: Duration| if duration_s > 0.0 { rounded(part.as_secs_f64() / duration_s) } else { 0.0 };
        let per_connection = |(before, with_all): (u64, u64)| {
            let grown = with_all.saturating_sub(before) as f64;
            scenario.holds_sockets().then(|| rounded(grown / options.connections() as f64))
        };
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
            target_rate_per_s: options.rate,
            durability: scenario.writes_accounts().then(durability),
            generator_cpu_share: rounded(generator_cpu_share),
            void: generator_cpu_share > GENERATOR_CPU_SHARE_MAX,
            generator_wait_share: rounded(worst_wait(&outcome.reports)),
            server_cpu_share: outcome.server.map(|server| share(server.cpu)),
            server_wait_share: outcome.server.map(|server| share(server.waited)),
            more: more_figures(scenario, &tally),
            errors_by_reason: tally.errors,
        }
    }

    /// The middle one of several runs by the server's CPU time, or by rate if that is unknown. The errors of all runs
    /// stand in it, and one void run makes it void.
    pub fn median(mut runs: Vec<Self>) -> Self {
        let errors = runs.iter().map(|run| run.errors).sum();
        let void = runs.iter().any(|run| run.void);
        let mut errors_by_reason = BTreeMap::new();
        for (reason, count) in runs.iter().flat_map(|run| &run.errors_by_reason) {
            *errors_by_reason.entry(reason.clone()).or_default() += count;
        }
        let key = |run: &Self| run.server_cpu_us_per_op.unwrap_or(-run.rate_per_s);
        runs.sort_by(|one, other| key(one).total_cmp(&key(other)));
        let count = runs.len();
        let mut middle = runs.swap_remove(count / 2);
        (middle.errors, middle.errors_by_reason, middle.void) = (errors, errors_by_reason, void);
        middle.more.insert("runs".to_owned(), count as f64);
        middle
    }

    /// Sets the figures beside those of the bare reference.
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

    /// The verdict goes first; with JSON it goes to standard error, so that the output is JSON alone.
    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            eprintln!("{}", self.verdict());
            writeln!(io::stdout(), "{}", serde_json::to_string(self)?)?;
        } else {
            write!(io::stdout(), "{}\n{}", self.verdict(), self.table())?;
        }
        Ok(())
    }

    /// The first line: errors and void before anything that sounds good.
    pub fn verdict(&self) -> String {
        let mut line = self.scenario.to_owned();
        if self.errors > 0 {
            let mut reasons: Vec<_> = self.errors_by_reason.iter().collect();
            reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let reasons: Vec<_> = reasons.iter().map(|(reason, count)| format!("{count} x {reason}")).collect();
            let _ = write!(line, ": {} ERRORS ({})", self.errors, reasons.join("; "));
        }
        if self.void {
            let busy = self.generator_cpu_share * 100.0;
            let _ = write!(line, ": VOID, the generator used {busy:.0} % of its core");
        }
        let _ = write!(line, ": {} ok, {:.0}/s", self.ok, self.rate_per_s);
        line
    }

    fn table(&self) -> String {
        let mut table = String::new();
        let mut row = |name: &str, value: String| {
            let _ = writeln!(table, "  {name:<34} {value:>14}");
        };
        let figure =
            |value: Option<f64>, unit: &str| value.map_or("-".to_owned(), |value| format!("{value:.3} {unit}"));
        row("loop", self.r#loop.to_owned());
        row("connections", self.connections.to_string());
        row("measured", format!("{:.1} s", self.duration_s));
        for (name, value) in [
            ("p50", self.p50_ms),
            ("p95", self.p95_ms),
            ("p99", self.p99_ms),
            ("p99.9", self.p999_ms),
            ("max", self.max_ms),
        ] {
            row(name, figure(value, "ms"));
        }
        row("server CPU per operation", figure(self.server_cpu_us_per_op, "us"));
        row("server memory", figure(self.rss_kb.map(|kb| kb as f64 / 1024.0), "MB"));
        row("server memory per connection", figure(self.rss_kb_per_connection, "KB"));
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        row("generator, share of its core", percent(self.generator_cpu_share));
        row("generator waited for its core", percent(self.generator_wait_share));
        row("server, share of one core", self.server_cpu_share.map_or("-".to_owned(), percent));
        row("server waited for its cores", self.server_wait_share.map_or("-".to_owned(), percent));
        if let Some(durability) = &self.durability {
            row("durability", durability.clone());
        }
        for (name, value) in &self.more {
            row(name, format!("{value:.3}"));
        }
        table
    }
}

fn loop_kind(options: &Options) -> &'static str {
    let is_open = options.rate.is_some() || matches!(options.scenario, Scenario::Ccu | Scenario::Passwords);
    if is_open { "open" } else { "closed" }
}

/// Workers pinned to one core share it; the others have the machine's cores between them.
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

fn more_figures(scenario: Scenario, tally: &Tally) -> BTreeMap<String, f64> {
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
    if scenario == Scenario::Passwords {
        let quiet = tally.others.get(names::QUIET).and_then(|quiet| quiet.percentile_ms(99.0));
        let ratio = tally.latency.percentile_ms(99.0).zip(quiet).map(|(busy, quiet)| busy / quiet);
        ratio.map(|ratio| more.insert("ratio_busy_to_quiet_p99".to_owned(), rounded(ratio)));
    }
    more
}

/// Three decimals: more would be noise.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    /// The report of workers with these shares of a core, one operation right and `errors` wrong.
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
        let server = Some(ServerUse { cpu, waited: Duration::ZERO });
        Report::new(&options, &plans, Outcome { reports, server }, Some((1_000, 3_000)))
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
