//! Metrics of the logs of durable matches.

use std::time::Duration;

use muster_cluster::match_log::files::FileStats;
use muster_cluster::match_log::subjects::SubjectStats;

use super::exposition::Exposition;
use super::metric::{Metric, counter, gauge, render};
use crate::game::MatchLogs;

/// Totals that logs in files and logs in messages both have.
pub(super) struct LogTotals {
    records: u64,
    bytes: u64,
    refused: u64,
    failures: u64,
    /// Number of syncs, or of messages that JetStream took.
    syncs: u64,
    sync_time: Duration,
    slowest_sync: Duration,
}

pub(super) const FILES: &[Metric<FileStats>] = &[
    gauge("match_log_files", "Files of the log of durable matches.", |log| log.segments as f64),
    gauge("match_log_kept_bytes", "Bytes of these files.", |log| log.bytes as f64),
];

pub(super) const JETSTREAM: &[Metric<SubjectStats>] = &[
    gauge("match_log_waiting_bytes", "Bytes that wait for JetStream.", |log| log.waiting_bytes as f64),
    counter("match_log_retry_count", "Messages published again because no answer came.", |log| log.retries),
    counter("match_log_taken_count", "Logs of partitions that others took over while they were written here.", |log| {
        log.lost
    }),
    counter("match_log_gap_count", "Times that acknowledged messages were missing: JetStream has lost some.", |log| {
        log.gaps
    }),
];

pub(super) const BOTH: &[Metric<LogTotals>] = &[
    counter("match_log_record_count", "Records of durable matches that were kept.", |log| log.records),
    counter("match_log_bytes_count", "Bytes of these records.", |log| log.bytes),
    counter("match_log_refused_count", "Records refused because too many waited: their matches failed.", |log| {
        log.refused
    }),
    counter("match_log_failure_count", "Times that a log could not be written.", |log| log.failures),
    counter("match_log_sync_count", "Syncs, or messages that JetStream took; each for many records.", |log| log.syncs),
    gauge("match_log_sync_ms_sum", "Time of all syncs together.", |log| milliseconds(log.sync_time)),
    gauge("match_log_sync_ms_max", "Time of the longest sync.", |log| milliseconds(log.slowest_sync)),
];

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

impl MatchLogs {
    pub(super) fn render(&self, page: &mut Exposition) {
        let totals = match self {
            Self::Files(logs) => {
                let stats = logs.stats();
                render(FILES, &stats, "", page);
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
                render(JETSTREAM, &stats, "", page);
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
        render(BOTH, &totals, "", page);
    }
}
