//! Metrics of the process that the system counts, under the names that every Prometheus client uses.

use std::fs;

use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::exposition::Exposition;

const NANOSECONDS_PER_SECOND: f64 = 1e9;

/// Adds the metrics of the process to a page without a prefix. Values that the system does not tell are left out.
pub fn render(page: &mut Exposition) {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu_seconds = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / NANOSECONDS_PER_SECOND;
    page.family("process_cpu_seconds_total", "counter", "CPU time of the process, of users and system.");
    page.labelled("process_cpu_seconds_total", &[], cpu_seconds);
    if let Some(bytes) = resident_bytes() {
        page.gauge("process_resident_memory_bytes", "Memory of the process that is in use.", bytes as f64);
    }
    if let Ok(files) = fs::read_dir("/proc/self/fd") {
        // The list itself is an open file.
        let open = files.count().saturating_sub(1);
        page.gauge("process_open_fds", "Open files and sockets.", open as f64);
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        page.gauge("process_max_fds", "Limit of open files and sockets.", most as f64);
    }
}

fn resident_bytes() -> Option<usize> {
    let pages = fs::read_to_string("/proc/self/statm").ok()?;
    Some(pages.split(' ').nth(1)?.parse::<usize>().ok()? * page_size())
}
