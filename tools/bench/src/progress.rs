//! A line that shows the progress of a run. It appears only on a terminal, and disappears when the run ends.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

const BAR_LEN: usize = 30;

pub struct ProgressLine {
    title: &'static str,
    shown: bool,
}

impl ProgressLine {
    pub fn new(title: &'static str) -> Self {
        Self { title, shown: io::stderr().is_terminal() }
    }

    /// `expected` is the length of the whole run, if it is known.
    pub fn show(&self, elapsed: Duration, expected: Option<Duration>, done: u64) {
        if !self.shown {
            return;
        }
        let line = match expected {
            Some(expected) => bar(self.title, elapsed, expected, done),
            None => format!("{} {:.0} s, {done} done", self.title, elapsed.as_secs_f64()),
        };
        // A terminal that has gone away is no reason to stop measuring.
        let _ = write!(io::stderr(), "\r\x1b[K{line}");
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn bar(title: &str, elapsed: Duration, expected: Duration, done: u64) -> String {
    let share = (elapsed.as_secs_f64() / expected.as_secs_f64().max(0.001)).min(1.0);
    let filled = (share * BAR_LEN as f64) as usize;
    format!("{title} [{}{}] {:3.0} %, {done} done", "#".repeat(filled), "-".repeat(BAR_LEN - filled), share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_never_leaves_its_box() {
        let show = |elapsed| bar("x", Duration::from_secs(elapsed), Duration::from_secs(10), 7);
        assert_eq!(show(0), "x [------------------------------]   0 %, 7 done");
        assert_eq!(show(5), "x [###############---------------]  50 %, 7 done");
        assert_eq!(show(99), "x [##############################] 100 %, 7 done");
    }
}
