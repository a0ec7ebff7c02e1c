//! Metrics of the process that the system counts, under the names that every Prometheus client uses.

use std::fs;

use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::metric::{Metric, amount, told};

const NANOSECONDS_PER_SECOND: f64 = 1e9;

/// Values that the system counts. Their names have no prefix.
pub(super) const PROCESS: &[Metric<()>] = &[
    amount("process_cpu_seconds_total", "CPU time of the process, of users and system.", |()| cpu_seconds()),
    told("process_resident_memory_bytes", "Memory of the process that is in use.", |()| resident_bytes()),
    told("process_open_fds", "Open files and sockets.", |()| open_files()),
    told("process_max_fds", "Limit of open files and sockets.", |()| {
        getrlimit(Resource::Nofile).current.map(|most| most as f64)
    }),
];

fn cpu_seconds() -> f64 {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    cpu.tv_sec as f64 + cpu.tv_nsec as f64 / NANOSECONDS_PER_SECOND
}

fn open_files() -> Option<f64> {
    let files = fs::read_dir("/proc/self/fd").ok()?;
    // The list itself is an open file.
    Some(files.count().saturating_sub(1) as f64)
}

fn resident_bytes() -> Option<f64> {
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    Some((pages.split(' ').nth(1)?.parse::<usize>().ok()? * page_size()) as f64)
}
