//! Tests of the tables of metrics: their names, their page, and what other pages say of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use muster_wire::operations::OPERATIONS;

use super::reference::{markdown, sections};

/// Names of the original, release 3.40, that Muster has too.
const ORIGINAL: &[&str] = &[
    "overall_count",
    "overall_errors",
    "overall_recv_bytes",
    "overall_sent_bytes",
    "overall_latency_ms",
    "overall_request_count",
    "overall_request_errors",
    "overall_request_recv_bytes",
    "overall_request_sent_bytes",
    "overall_message_count",
    "overall_message_errors",
    "overall_message_recv_bytes",
    "overall_message_sent_bytes",
    "<Operation>_count",
    "<Operation>_errors",
    "<Operation>_recv_bytes",
    "<Operation>_sent_bytes",
    "<Operation>_latency_ms",
    "sessions",
    "presences",
    "authoritative_matches",
    "parties",
    "matchmaker_tickets",
    "matchmaker_active_tickets",
    "dropped_events",
    "socket_ws_opened",
    "socket_ws_closed",
];

/// Ends of words that are no names of metrics, but end as those do.
const NO_METRICS: &[&str] = &["proxy_count", "min_count", "max_count", "edge_count"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn names() -> BTreeSet<String> {
    sections().into_iter().flat_map(|section| section.entries).map(|entry| entry.name).collect()
}

#[test]
fn the_reference_page_of_metrics_is_up_to_date() {
    let page = root().join("docs/reference/metrics.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&page, markdown()).expect("the page can be written");
    }
    let committed = fs::read_to_string(&page).unwrap_or_default();
    assert!(committed == markdown(), "run: UPDATE_DOCS=1 cargo test -p muster-server reference");
}

#[test]
fn every_metric_stands_once() {
    let entries = sections().iter().map(|section| section.entries.len()).sum::<usize>();
    assert_eq!(names().len(), entries);
}

#[test]
fn metrics_are_marked_that_the_original_has() {
    let sections = sections();
    let marked: BTreeSet<&str> = sections
        .iter()
        .flat_map(|section| &section.entries)
        .filter(|entry| entry.is_the_originals)
        .map(|entry| entry.name.as_str())
        .collect();
    assert_eq!(marked, ORIGINAL.iter().copied().collect());
}

/// The words between single backticks of a text outside of samples, without labels in braces.
fn quoted(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside
        .flat_map(|part| part.split('`').skip(1).step_by(2))
        .map(|word| word.split('{').next().unwrap_or(""))
        .collect()
}

/// The words that columns headed as metrics hold, but for values of labels, which follow the word `reason`.
fn in_columns(text: &str) -> Vec<&str> {
    let mut column = None;
    let mut found = Vec::new();
    for line in text.lines() {
        let cells: Vec<_> = line.split('|').collect();
        if cells.len() < 3 {
            column = None;
        } else if column.is_none() {
            column = cells.iter().position(|cell| cell.trim() == "metric").or(Some(usize::MAX));
        } else if let Some(cell) = column.and_then(|column| cells.get(column)) {
            let reasons: BTreeSet<_> =
                cell.split("reason ").skip(1).filter_map(|rest| quoted(rest).first().copied()).collect();
            found.extend(quoted(cell).into_iter().filter(|word| !word.contains('…') && !reasons.contains(word)));
        }
    }
    found
}

fn is_metric(word: &str, names: &BTreeSet<String>) -> bool {
    let template = |operation: &&str| word.strip_prefix(*operation).map(|rest| format!("<Operation>{rest}"));
    let of_operation = OPERATIONS.iter().map(|row| row.name).find_map(|name| template(&name));
    names.contains(word) || of_operation.is_some_and(|name| names.contains(&name))
}

#[test]
fn metrics_that_pages_name_exist() {
    let names = names();
    let mut found = 0;
    for folder in ["docs", "docs/guide", "docs/reference", "docs/adr", "."] {
        for file in fs::read_dir(root().join(folder)).expect("a folder of the repository") {
            let path = file.expect("an entry").path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = fs::read_to_string(&path).expect("a page");
            let by_name = quoted(&text).into_iter().filter(|word| {
                word.ends_with("_count")
                    && !word.contains(['.', '…'])
                    && !NO_METRICS.iter().any(|end| word.ends_with(end))
            });
            for word in by_name.chain(in_columns(&text)) {
                found += 1;
                assert!(is_metric(word, &names), "{}: `{word}` is no metric", path.display());
            }
        }
    }
    assert!(found > 100, "{found}");
}
