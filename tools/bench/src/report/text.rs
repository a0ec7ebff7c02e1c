//! A report as text for people: the verdict in the first line, then the table.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use super::Report;
use super::attacks::{AttackRow, COLUMNS};

impl Report {
    /// Prints the report. With `json` the verdict goes to standard error, so that standard output is JSON alone.
    pub fn print(&self, json: bool) -> anyhow::Result<()> {
        if json {
            eprintln!("{}", self.verdict());
            writeln!(io::stdout(), "{}", serde_json::to_string(self)?)?;
        } else {
            write!(io::stdout(), "{}\n{}", self.verdict(), self.table())?;
        }
        Ok(())
    }

    /// The first line: errors and voidness come before anything favourable.
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
        for (name, value) in self.rows() {
            let _ = writeln!(table, "  {name:<34} {value:>14}");
        }
        self.write_attacks(&mut table);
        table
    }

    /// Appends the table of attacks, each column as wide as its widest cell.
    fn write_attacks(&self, table: &mut String) {
        if self.attacks.is_empty() {
            return;
        }
        let mut lines = vec![COLUMNS.map(str::to_owned)];
        lines.extend(self.attacks.iter().map(AttackRow::cells));
        let width = |column: usize| lines.iter().map(|cells| cells[column].len()).max().unwrap_or_default();
        let widths: [usize; COLUMNS.len()] = std::array::from_fn(width);
        for cells in &lines {
            let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            let _ = writeln!(table, "  {}", padded.collect::<Vec<_>>().join("  ").trim_end());
        }
    }

    /// The figures by name, formatted for people.
    pub fn rows(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push((name.to_owned(), value));
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
        row("server, busiest thread", self.server_busiest_thread_share.map_or("-".to_owned(), percent));
        row("saturated", if self.saturated.is_empty() { "nothing".to_owned() } else { self.saturated.clone() });
        if let Some(durability) = &self.durability {
            row("durability", durability.clone());
        }
        for (name, value) in &self.more {
            row(name, format!("{value:.3}"));
        }
        rows
    }
}
