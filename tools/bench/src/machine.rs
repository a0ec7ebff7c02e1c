//! Figures of the kernel: CPU time and memory of the server, our own CPU time, cores and file limits.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use rustix::process::Resource;
use rustix::thread::CpuSet;
use rustix::time::ClockId;

/// Files that a worker needs besides its connections: pipes, timers, the runtime's own.
const FILES_BESIDES_CONNECTIONS: u64 = 64;

/// The lowest priority.
const NICE_MAX: i32 = 19;

/// CPU time and resident memory of the server's processes at one moment.
#[derive(Debug, Clone, Default)]
pub struct ServerSample {
    pub cpu: Duration,
    /// Use of the cores by each thread. Threads that have ended are missing.
    threads: BTreeMap<u32, ThreadUse>,
    pub rss_kb: u64,
}

/// Use of the cores by a thread so far, according to the kernel's scheduler.
#[derive(Debug, Clone, Copy, Default)]
struct ThreadUse {
    cpu: Duration,
    /// Time it was ready to run while others had the cores.
    waited: Duration,
}

/// Use of the cores by the server's processes between two moments.
#[derive(Debug, Clone, Copy)]
pub struct ServerUse {
    pub cpu: Duration,
    /// Time that threads were ready to run while others had the cores.
    pub waited: Duration,
    /// CPU time of the busiest thread: a shard that has all of one core can do no more.
    pub busiest_thread: Duration,
}

impl ServerSample {
    /// The use since an earlier sample.
    pub fn since(&self, earlier: &Self) -> ServerUse {
        let mut used = ServerUse {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            waited: Duration::ZERO,
            busiest_thread: Duration::ZERO,
        };
        for (thread, now) in &self.threads {
            let before = earlier.threads.get(thread).copied().unwrap_or_default();
            used.waited += now.waited.saturating_sub(before.waited);
            used.busiest_thread = used.busiest_thread.max(now.cpu.saturating_sub(before.cpu));
        }
        used
    }
}

/// Sums up all `pids`; an error if one of them is gone.
pub fn sample_server(pids: &[u32]) -> anyhow::Result<ServerSample> {
    let mut sum = ServerSample::default();
    for pid in pids {
        let read = |file| {
            fs::read_to_string(format!("/proc/{pid}/{file}")).with_context(|| format!("server process {pid} is gone"))
        };
        sum.cpu += cpu_time(&read("stat")?)?;
        sum.threads.extend(threads_of(&pid.to_string()));
        sum.rss_kb += resident_kb(&read("status")?)?;
    }
    Ok(sum)
}

/// User and system time in `/proc/PID/stat`, whose unit is the clock tick of `sysconf`.
fn cpu_time(stat: &str) -> anyhow::Result<Duration> {
    // The second field is the program's name, which may contain spaces and brackets.
    let (_, fields) = stat.rsplit_once(')').context("unknown form of /proc/PID/stat")?;
    let mut times = fields.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let (Some(Ok(user)), Some(Ok(system))) = (times.next(), times.next()) else {
        bail!("unknown form of /proc/PID/stat");
    };
    let ticks_per_second = rustix::param::clock_ticks_per_second();
    Ok(Duration::from_secs_f64((user + system) as f64 / ticks_per_second as f64))
}

/// Resident kilobytes of all `pids`.
pub fn sample_memory_kb(pids: &[u32]) -> anyhow::Result<u64> {
    let of = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        resident_kb(&status.with_context(|| format!("server process {pid} is gone"))?)
    };
    pids.iter().map(of).sum()
}

fn resident_kb(status: &str) -> anyhow::Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc/PID/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Use of its core by this process so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnUse {
    pub cpu: Duration,
    /// Time that this process was ready to run while others had its core.
    pub waited: Duration,
}

pub fn own_use() -> OwnUse {
    let time = rustix::time::clock_gettime(ClockId::ProcessCPUTime);
    let cpu = Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec.try_into().unwrap_or_default());
    OwnUse { cpu, waited: threads_of("self").map(|(_, used)| used.waited).sum() }
}

/// The threads of a process by id; nothing on kernels that do not keep `schedstat`.
fn threads_of(process: &str) -> impl Iterator<Item = (u32, ThreadUse)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| {
        let schedule = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut figures = schedule.split_ascii_whitespace().map(|figure| figure.parse().map(Duration::from_nanos));
        let (cpu, waited) = (figures.next()?.ok()?, figures.next()?.ok()?);
        Some((thread.file_name().to_str()?.parse().ok()?, ThreadUse { cpu, waited }))
    })
}

/// Description of the machine for reports: processor, cores, memory, system. Parts that cannot be read are left out.
pub fn description() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let after_colon = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let memory = after_colon(&read("/proc/meminfo"), "MemTotal")
        .and_then(|total| total.trim_end_matches(" kB").parse::<f64>().ok())
        .map(|kb| format!("{:.1} GB", kb / 1024.0 / 1024.0));
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel = (!kernel.is_empty()).then(|| format!("Linux {}", kernel.trim()));
    let parts = [after_colon(&read("/proc/cpuinfo"), "model name"), Some(format!("{cores} cores")), memory, kernel];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Pins this thread, and those that it starts, to one core.
pub fn pin_to_core(core: usize) -> anyhow::Result<()> {
    ensure!(core < CpuSet::MAX_CPU, "there is no core {core}");
    let mut cores = CpuSet::new();
    cores.set(core);
    rustix::thread::sched_setaffinity(None, &cores).with_context(|| format!("cannot run on core {core}"))
}

/// Lets all other processes go first, as far as they want the cores.
pub fn give_way() -> anyhow::Result<()> {
    rustix::process::nice(NICE_MAX).context("cannot lower the priority").map(drop)
}

/// Connections that one process may hold: its hard file limit, less the files for other purposes.
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
        let used = sample_server(&[std::process::id()]).unwrap().since(&sample);
        assert!(used.busiest_thread <= used.cpu + Duration::from_millis(20), "{used:?}");
    }
}
