//! A report as one self-contained page: the verdict in the first line, the figures, and plots over time.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use muster_wire::Timestamp;
use serde_json::json;

use super::Report;
use super::attacks::COLUMNS;
use super::chart::{self, Chart, Line, Scale};
use crate::machine;
use crate::options::Options;
use crate::timeline::{Point, ServerSecond};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// An argument whose value is kept out of reports.
const SECRET_FLAG: &str = "--server-key";

/// The whole page.
pub fn page(report: &Report, options: &Options) -> String {
    let points: Vec<Point> = report.timeline.points().collect();
    let verdict = escape(&report.verdict());
    let kind = match (report.errors > 0 || report.ok == 0, report.void) {
        (true, _) => "errors",
        (false, true) => "void",
        (false, false) => "good",
    };
    let title = escape(&format!("muster-bench {}", report.scenario));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>\n{STYLE}</style></head>\n\
         <body><p class=\"verdict {kind}\">{verdict}</p>\n"
    );
    write_facts(&mut page, report);
    write_attacks(&mut page, report);
    write_charts(&mut page, &points, measured(options));
    write_table(&mut page, report);
    // `</` would end the script early; JSON allows escaping the slash.
    let data = json!({ "report": report, "seconds": points }).to_string().replace("</", "<\\/");
    let _ = write!(
        page,
        "<script type=\"application/json\" id=\"run\">{data}</script>\n<script>\n{SCRIPT}</script></body></html>\n"
    );
    page
}

fn write_facts(page: &mut String, report: &Report) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp::from_unix_sec(now.as_secs().cast_signed()).rfc3339();
    let command = command_line(std::env::args());
    let facts = [
        ("command", format!("<code>{}</code>", escape(&command))),
        ("machine", escape(&machine::description())),
        ("when", escape(&String::from_utf8_lossy(now.as_bytes()))),
        ("durability", escape(report.durability.as_deref().unwrap_or("nothing is written in the measured part"))),
        ("saturated", escape(if report.saturated.is_empty() { "nothing" } else { &report.saturated })),
    ];
    page.push_str("<dl>");
    for (name, value) in facts {
        let _ = write!(page, "<dt>{name}</dt><dd>{value}</dd>");
    }
    page.push_str("</dl>\n");
}

fn write_table(page: &mut String, report: &Report) {
    page.push_str("<h2>Figures</h2><table>");
    for (name, value) in report.rows() {
        let _ = write!(page, "<tr><td>{}</td><td>{}</td></tr>", escape(&name), escape(&value));
    }
    page.push_str("</table>\n");
}

fn write_attacks(page: &mut String, report: &Report) {
    if report.attacks.is_empty() {
        return;
    }
    let row = |tag: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escape(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let head = row("th", &COLUMNS.map(str::to_owned));
    let rows: String = report.attacks.iter().map(|attack| row("td", &attack.cells())).collect();
    let _ = writeln!(page, "<h2>Attacks</h2><table>{head}{rows}</table>");
}

fn write_charts(page: &mut String, points: &[Point], measured: Option<Range<f64>>) {
    if points.is_empty() {
        return page.push_str("<p>Nothing was measured over time.</p>\n");
    }
    let seconds: Vec<u32> = points.iter().map(|point| point.second).collect();
    page.push_str("<div class=\"charts\">");
    for mut chart in charts(points, &seconds) {
        chart.measured.clone_from(&measured);
        if chart.has_values() {
            write_chart(page, &chart);
        }
    }
    page.push_str("</div>\n");
    if measured.is_some() {
        page.push_str("<p>Shaded: the measured part.</p>\n");
    }
}

fn write_chart(page: &mut String, chart: &Chart<'_>) {
    let names: Vec<_> = chart.lines.iter().map(|line| (line.name, line.label)).collect();
    let axis = json!({ "left": chart::LEFT, "right": chart::RIGHT, "names": names }).to_string();
    let _ = write!(page, "<figure data-axis=\"{}\"><figcaption>{}", escape(&axis), chart.title);
    for (index, line) in chart.lines.iter().enumerate() {
        let _ = write!(page, "<span class=\"line-{index}\">{} {}</span>", line.label, chart.unit);
    }
    let _ = writeln!(page, "</figcaption>{}<output></output></figure>", chart.svg());
}

fn charts<'a>(points: &[Point], seconds: &'a [u32]) -> [Chart<'a>; 5] {
    let line = |name, label, value: &dyn Fn(&Point) -> Option<f64>| {
        let values = points.iter().map(value).collect();
        Line { name, label, values }
    };
    let chart = |title, unit, scale, lines| Chart { title, unit, scale, seconds, measured: None, lines };
    let server = |value: fn(ServerSecond) -> f64| move |point: &Point| point.server.map(value);
    [
        chart(
            "Latency",
            "ms",
            Scale::Logarithmic,
            vec![
                line("p50_ms", "p50", &|point| point.p50_ms),
                line("p95_ms", "p95", &|point| point.p95_ms),
                line("p99_ms", "p99", &|point| point.p99_ms),
                line("p999_ms", "p99.9", &|point| point.p999_ms),
                line("max_ms", "max", &|point| point.max_ms),
            ],
        ),
        chart(
            "Throughput",
            "per s",
            Scale::Linear,
            vec![
                line("received", "answers, or messages out,", &|point| Some(point.received as f64)),
                line("sent", "requests, or messages in,", &|point| Some(point.sent as f64)),
            ],
        ),
        chart(
            "Connected",
            "players",
            Scale::Linear,
            vec![line("connected", "", &|point| Some(point.connected as f64))],
        ),
        chart(
            "Server CPU",
            "cores",
            Scale::Linear,
            vec![line("server.cpu_share", "", &server(|server| server.cpu_share))],
        ),
        chart(
            "Server memory",
            "MB",
            Scale::Linear,
            vec![line("server.rss_kb", "", &server(|server| server.rss_kb as f64 / 1024.0))],
        ),
    ]
}

/// The measured part in seconds of the run, if it is known beforehand.
fn measured(options: &Options) -> Option<Range<f64>> {
    let from = options.ramp().as_secs_f64() + options.warmup;
    options.scenario.is_timed().then_some(from..from + options.duration)
}

fn command_line(arguments: impl Iterator<Item = String>) -> String {
    let mut shown = Vec::new();
    let mut secret_follows = false;
    for argument in arguments {
        let is_secret = std::mem::replace(&mut secret_follows, argument == SECRET_FLAG);
        let with_secret = argument.strip_prefix(SECRET_FLAG).is_some_and(|rest| rest.starts_with('='));
        shown.push(match (is_secret, with_secret) {
            (true, _) => "***".to_owned(),
            (_, true) => format!("{SECRET_FLAG}=***"),
            _ => argument,
        });
    }
    // The path of the program is left out.
    if let Some(program) = shown.first_mut() {
        *program = "muster-bench".to_owned();
    }
    shown.join(" ")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_off_the_page() {
        let shown = |line: &str| command_line(line.split(' ').map(str::to_owned));
        assert_eq!(shown("/x/muster-bench chat --server-key s3 -c 5"), "muster-bench chat --server-key *** -c 5");
        assert_eq!(shown("muster-bench chat --server-key=s3"), "muster-bench chat --server-key=***");
    }
}
