//! What the kernel knows: CPU time and memory of the server, our own CPU time, cores and file limits.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rustix::process::Resource;
use rustix::thread::CpuSet;
use rustix::time::ClockId;

/// Files a worker needs besides its connections: pipes, timers, the runtime's own.
const FILES_BESIDES_CONNECTIONS: u64 = 64;

/// CPU time and resident memory of the server's processes at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerSample {
    pub cpu: Duration,
    /// Time its threads were ready to run while others had the cores. Threads that have ended are not in it.
    pub waited: Duration,
    pub rss_kb: u64,
}

/// Sums up all `pids`; an error if one of them is gone.
pub fn sample_server(pids: &[u32]) -> anyhow::Result<ServerSample> {
    let mut sum = ServerSample::default();
    for pid in pids {
        let read = |file| {
            fs::read_to_string(format!("/proc/{pid}/{file}")).with_context(|| format!("server process {pid} is gone"))
        };
        sum.cpu += cpu_time(&read("stat")?)?;
        sum.waited += run_queue_wait(&pid.to_string());
        sum.rss_kb += resident_kb(&read("status")?)?;
    }
    Ok(sum)
}

/// User and system time of `/proc/PID/stat`, in ticks of the clock that the kernel shows to programs.
fn cpu_time(stat: &str) -> anyhow::Result<Duration> {
    // The second field is the program's name, which may hold spaces and brackets.
    let (_, fields) = stat.rsplit_once(')').context("unknown form of /proc/PID/stat")?;
    let mut times = fields.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let (Some(Ok(user)), Some(Ok(system))) = (times.next(), times.next()) else {
        bail!("unknown form of /proc/PID/stat");
    };
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64((user + system) as f64 / ticks_per_second as f64))
}

fn resident_kb(status: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc/PID/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// What this process has had of its core so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnUse {
    pub cpu: Duration,
    /// As [`ServerSample::waited`].
    pub waited: Duration,
}

pub fn own_use() -> OwnUse {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    let cpu = Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec.try_into().unwrap_or_default());
    OwnUse { cpu, waited: run_queue_wait("self") }
}

/// The second figure of each thread's `schedstat`, in nanoseconds; nothing on kernels that do not keep it.
fn run_queue_wait(process: &str) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let waits = threads.filter_map(|thread| {
        let schedule = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        schedule.split_ascii_whitespace().nth(1)?.parse::<u64>().ok()
    });
    Duration::from_nanos(waits.sum())
}

/// Keeps this thread, and those it starts, on one core.
pub fn pin_to_core(core: usize) -> anyhow::Result<()> {
    ensure!(core < CpuSet::MAX_CPU, "there is no core {core}");
    let mut cores = CpuSet::new();
    cores.set(core);
    rustix::thread::sched_setaffinity(None, &cores).with_context(|| format!("cannot run on core {core}"))
}

/// Connections that one process may hold: its hard file limit, less what else it needs.
pub fn connections_per_process_max() -> u64 {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    limit.maximum.unwrap_or(u64::MAX).saturating_sub(FILES_BESIDES_CONNECTIONS)
}

/// Raises the soft file limit to the hard one.
pub fn raise_file_limit() -> anyhow::Result<()> {
    let mut limit = rustix::process::getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    rustix::process::setrlimit(Resource::Nofile, limit).context("cannot raise the limit of open files")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_survives_odd_program_names() {
        let stat = "1 (a) b) S 1 1 1 0 -1 4194560 3 0 0 0 150 50 0 0 20 0 1 0 9 9 9";
        assert_eq!(cpu_time(stat).unwrap(), Duration::from_secs(2));
        assert!(cpu_time("1 (x").is_err());
    }

    #[test]
    fn own_process_can_be_sampled() {
        let sample = sample_server(&[std::process::id()]).unwrap();
        assert!(sample.rss_kb > 100);
        assert!(own_use().cpu > Duration::ZERO);
    }
}
