//! What an instance writes to the log: by its logger, and to its standard output and error.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::host::{LINE_BYTES_MAX, LINE_OVERHEAD_BYTES, line_of};
use crate::metrics::ScriptMetrics;

/// What belongs to no call may write so much in this time.
const WINDOW: Duration = Duration::from_secs(1);

/// A line's level, by the SDK's numbers.
const DEBUG: u8 = 0;
const INFO: u8 = 1;
const WARN: u8 = 2;

/// What a line counts with its fields, as far as they are written.
pub(super) fn bytes_of(line: &str, fields: &str) -> usize {
    line_of(line).len() + line_of(fields).len() + LINE_OVERHEAD_BYTES
}

/// See the module.
pub(super) struct Lines {
    bytes_max: usize,
    written: usize,
    window: Instant,
    /// Output and error, as far as their lines are not complete.
    rest: [Vec<u8>; 2],
    metrics: Arc<ScriptMetrics>,
}

impl Lines {
    pub(super) fn new(bytes_max: usize, metrics: Arc<ScriptMetrics>) -> Self {
        Self { bytes_max, written: 0, window: Instant::now(), rest: Default::default(), metrics }
    }

    /// A line of its logger. `may` is whether its call may write it, if it is of one.
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

    /// It writes to its output or its error, which is where Go tells of panics.
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
