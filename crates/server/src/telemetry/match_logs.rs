//! Metrics of the logs of durable matches.

use std::time::Duration;

use super::exposition::Exposition;
use crate::game::MatchLogs;

impl MatchLogs {
    pub(super) fn render(&self, page: &mut Exposition) {
        let (records, bytes, refused, failures, syncs, time, slowest) = match self {
            Self::Files(logs) => {
                let stats = logs.stats();
                page.gauge("match_log_files", "Files of the log of durable matches.", stats.segments as f64);
                page.gauge("match_log_kept_bytes", "Bytes of these files.", stats.bytes as f64);
                let (time, slowest) = (stats.sync_time, stats.slowest_sync);
                (stats.records, stats.appended_bytes, stats.refused, stats.failures, stats.syncs, time, slowest)
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
                let (time, slowest) = (stats.publish_time, stats.slowest_publish);
                (stats.records, stats.published_bytes, stats.refused, stats.failures, stats.publishes, time, slowest)
            }
        };
        page.counter("match_log_record_count", "Records of durable matches that were kept.", records);
        page.counter("match_log_bytes_count", "Bytes of these records.", bytes);
        page.counter("match_log_refused_count", "Records refused, too many waiting: their matches failed.", refused);
        page.counter("match_log_failure_count", "Times that a log could not be written.", failures);
        page.counter("match_log_sync_count", "Syncs, or messages that JetStream took; each for many records.", syncs);
        let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
        page.gauge("match_log_sync_ms_sum", "Time of all syncs together, in milliseconds.", milliseconds(time));
        page.gauge("match_log_sync_ms_max", "Time of the longest sync, in milliseconds.", milliseconds(slowest));
    }
}
