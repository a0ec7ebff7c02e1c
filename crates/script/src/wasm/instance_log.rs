//! The log of an instance: lines of its logger, and its standard output and error. Lines of a call count for the call,
//! all others for the instance. Lines over the limit of bytes are dropped and counted.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::host::{LINE_BYTES_MAX, LINE_OVERHEAD_BYTES, line_of};
use crate::metrics::ScriptMetrics;

/// Period in which lines that belong to no call share one budget of bytes.
const WINDOW: Duration = Duration::from_secs(1);

/// Levels of lines, by the SDK's numbers.
const DEBUG: u8 = 0;
const INFO: u8 = 1;
const WARN: u8 = 2;

/// The bytes that a line and its fields count as. Parts that are too long to be written do not count.
pub(super) fn bytes_of(line: &str, fields: &str) -> usize {
    line_of(line).len() + line_of(fields).len() + LINE_OVERHEAD_BYTES
}

/// The log of one instance, see the module.
pub(super) struct InstanceLog {
    bytes_max: usize,
    written: usize,
    window: Instant,
    /// Incomplete last lines of standard output and error.
    rest: [Vec<u8>; 2],
    metrics: Arc<ScriptMetrics>,
}

impl InstanceLog {
    pub(super) fn new(bytes_max: usize, metrics: Arc<ScriptMetrics>) -> Self {
        Self { bytes_max, written: 0, window: Instant::now(), rest: Default::default(), metrics }
    }

    /// Writes a line of the instance's logger. `may` says whether the line's call may write it; `None` for a line of no
    /// call.
    pub(super) fn log(&mut self, may: Option<bool>, level: u8, line: &str, fields: &str) {
        let (line, fields) = (line_of(line), line_of(fields));
        if !may.unwrap_or_else(|| self.take(bytes_of(line, fields))) {
            self.metrics.log_lines_dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let fields = (!fields.is_empty()).then_some(fields);
        match level {
            DEBUG => tracing::debug!(message = line, runtime = "go", fields),
            INFO => tracing::info!(message = line, runtime = "go", fields),
            WARN => tracing::warn!(message = line, runtime = "go", fields),
            _ => tracing::error!(message = line, runtime = "go", fields),
        }
    }

    /// Takes bytes that the instance writes to its standard output or error. Go reports panics to standard error.
    pub(super) fn write(&mut self, is_error: bool, bytes: &[u8]) {
        let mut rest = std::mem::take(&mut self.rest[usize::from(is_error)]);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_BYTES_MAX.saturating_sub(rest.len());
            rest.extend(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                let line = String::from_utf8_lossy(&rest).trim_end().to_owned();
                rest.clear();
                if !line.is_empty() {
                    self.log(None, if is_error { WARN } else { INFO }, &line, "");
                }
            }
        }
        self.rest[usize::from(is_error)] = rest;
    }

    fn take(&mut self, bytes: usize) -> bool {
        if self.window.elapsed() > WINDOW {
            (self.window, self.written) = (Instant::now(), 0);
        }
        self.written = self.written.saturating_add(bytes);
        self.written <= self.bytes_max
    }
}
