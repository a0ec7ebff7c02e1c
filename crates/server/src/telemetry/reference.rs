//! The reference page of metrics, made from their tables.

use std::fmt::Write as _;

use muster_store::{StoreMetricKind, StoreMetrics};

use super::metric::Metric;
use super::tables::requests::OPERATION;
use super::{DATABASE_PREFIX, TABLES, cluster, match_logs, process};

const HEAD: &str = "\
# Metrics

<!-- Generated from the tables of metrics. To rewrite it: UPDATE_DOCS=1 cargo test -p muster-server --lib reference -->

`metrics.prometheus_port` serves these [to Prometheus](../guide/operating.md#metrics). Names stand without their prefix,
which is `nakama_` unless `metrics.prefix` says otherwise; the labels `node_name` and `namespace` stand at every value.
Counters count from the start of the process. Metrics marked with * are Nakama's too. [The limits](limits.md) name the
metric of each limit, and [the guide](../guide/operating.md#metrics) those to watch.

Metrics that game code makes stand on the same page under `metrics.custom_prefix`, with the tags that it gives them.
";

const EACH_OPERATION: &str = "`<Operation>` is [an operation's name](operations.md), as in `AuthenticateDevice_count`. \
An operation that nobody asked for yet has none.";
const DATABASE: &str = "Those of SQLite stay 0 with PostgreSQL, and the other way round.";
const JETSTREAM: &str = "In place of the two that speak of files.";
const CLUSTER: &str = "Only a node of a [cluster](../guide/cluster.md) has these.";
const PROCESS: &str = "These have no prefix, as everywhere. Values that the system does not tell are left out.";

/// A row of the page.
pub(super) struct Entry {
    /// Name without the configured prefix; a template has `<Operation>` in it.
    pub name: String,
    kind: &'static str,
    label: Option<&'static str>,
    pub is_the_originals: bool,
    sentence: String,
}

/// A section of the page.
pub(super) struct Section {
    title: &'static str,
    /// A sentence above the table, or nothing.
    note: &'static str,
    pub entries: Vec<Entry>,
}

/// All metrics of the server, in the order of the page.
pub(super) fn sections() -> Vec<Section> {
    let section = |title, note, entries| Section { title, note, entries };
    let mut sections: Vec<_> =
        TABLES.iter().map(|table| section(table.title, "", entries(table.rows, "").collect())).collect();
    let templates = entries(OPERATION, "<Operation>_").collect();
    sections.insert(2, section("Each operation", EACH_OPERATION, templates));
    let logs = entries(match_logs::BOTH, "").chain(entries(match_logs::FILES, "")).collect();
    sections.push(section("Logs of durable matches", "", logs));
    let messages = entries(match_logs::JETSTREAM, "").collect();
    sections.push(section("Logs of durable matches in a cluster", JETSTREAM, messages));
    sections.push(section("The database", DATABASE, database()));
    let of_a_node =
        [("A node of a cluster", cluster::NODE), ("Links between nodes", cluster::LINKS), ("NATS", cluster::NATS)];
    sections.extend(of_a_node.map(|(title, rows)| section(title, CLUSTER, entries(rows, "").collect())));
    sections.push(section("The process", PROCESS, entries(process::PROCESS, "").collect()));
    sections
}

fn entries<S>(rows: &'static [Metric<S>], prefix: &'static str) -> impl Iterator<Item = Entry> {
    rows.iter().map(move |row| Entry {
        name: format!("{prefix}{}", row.name),
        kind: row.kind(),
        label: row.label(),
        is_the_originals: row.is_the_originals,
        sentence: row.sentence.to_owned(),
    })
}

fn database() -> Vec<Entry> {
    let entry = |row: &muster_store::StoreMetric| Entry {
        name: format!("{DATABASE_PREFIX}{}", row.name),
        kind: match row.kind {
            StoreMetricKind::Counter => "counter",
            StoreMetricKind::Gauge => "gauge",
        },
        label: None,
        is_the_originals: false,
        sentence: row.sentence(),
    };
    StoreMetrics::ALL.iter().map(entry).collect()
}

/// The reference page, `docs/reference/metrics.md`.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for Section { title, note, entries } in sections() {
        let _ = writeln!(page, "\n## {title}\n");
        if !note.is_empty() {
            let _ = writeln!(page, "{note}\n");
        }
        page.push_str("| metric | kind | unit | meaning |\n|---|---|---|---|\n");
        for Entry { name, kind, label, is_the_originals, sentence } in entries {
            let label = label.map(|label| format!("{{{label}=…}}")).unwrap_or_default();
            let star = if is_the_originals { " *" } else { "" };
            let _ = writeln!(page, "| `{name}{label}`{star} | {kind} | {} | {sentence} |", unit(&name));
        }
    }
    page
}

/// The unit that a name tells; none where the metric is a number of what its sentence names.
fn unit(name: &str) -> &'static str {
    let mut units = name.rsplit('_').filter_map(|word| match word {
        "ms" => Some("milliseconds"),
        "us" => Some("microseconds"),
        "seconds" => Some("seconds"),
        "bytes" => Some("bytes"),
        "percent" => Some("per cent"),
        _ => None,
    });
    units.next().unwrap_or("-")
}
