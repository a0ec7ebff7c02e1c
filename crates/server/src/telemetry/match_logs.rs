//! Metrics of the logs of durable matches.

use std::time::Duration;

use super::exposition::Exposition;
use crate::game::MatchLogs;

/// Totals that logs in files and logs in messages both have.
struct LogTotals {
    records: u64,
    bytes: u64,
    refused: u64,
    failures: u64,
    /// Number of syncs, or of messages that JetStream took.
    syncs: u64,
    sync_time: Duration,
    slowest_sync: Duration,
}

impl MatchLogs {
    pub(super) fn render(&self, page: &mut Exposition) {
        let totals = match self {
            Self::Files(logs) => {
                let stats = logs.stats();
                page.gauge("match_log_files", "Files of the log of durable matches.", stats.segments as f64);
                page.gauge("match_log_kept_bytes", "Bytes of these files.", stats.bytes as f64);
                LogTotals {
                    records: stats.records,
                    bytes: stats.appended_bytes,
                    refused: stats.refused,
                    failures: stats.failures,
                    syncs: stats.syncs,
                    sync_time: stats.sync_time,
                    slowest_sync: stats.slowest_sync,
                }
            }
            Self::Cluster(logs) => {
                let stats = logs.stats();
                page.gauge("match_log_waiting_bytes", "Bytes that wait for JetStream.", stats.waiting_bytes as f64);
                page.counter(
                    "match_log_retry_count",
                    "Messages published again because no answer came.",
                    stats.retries,
                );
                let help = "Logs of partitions that others took over while they were written here.";
                page.counter("match_log_taken_count", help, stats.lost);
                let help = "Times that acknowledged messages were missing: JetStream has lost some.";
                page.counter("match_log_gap_count", help, stats.gaps);
                LogTotals {
                    records: stats.records,
                    bytes: stats.published_bytes,
                    refused: stats.refused,
                    failures: stats.failures,
                    syncs: stats.publishes,
                    sync_time: stats.publish_time,
                    slowest_sync: stats.slowest_publish,
                }
            }
        };
        page.counter("match_log_record_count", "Records of durable matches that were kept.", totals.records);
        page.counter("match_log_bytes_count", "Bytes of these records.", totals.bytes);
        page.counter(
            "match_log_refused_count",
            "Records refused, too many waiting: their matches failed.",
            totals.refused,
        );
        page.counter("match_log_failure_count", "Times that a log could not be written.", totals.failures);
        page.counter(
            "match_log_sync_count",
            "Syncs, or messages that JetStream took; each for many records.",
            totals.syncs,
        );
        let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
        page.gauge(
            "match_log_sync_ms_sum",
            "Time of all syncs together, in milliseconds.",
            milliseconds(totals.sync_time),
        );
        page.gauge(
            "match_log_sync_ms_max",
            "Time of the longest sync, in milliseconds.",
            milliseconds(totals.slowest_sync),
        );
    }
}
