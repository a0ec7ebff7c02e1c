//! Metrics for Prometheus.

use super::super::key::{Key, Kind, PORT, at_least, honoured};

honoured! {
    /// Metrics.
    pub struct Metrics in "metrics." {
        /// TCP port on which Prometheus reads the metrics, on the interface of `socket.address`. 0 is off.
        prometheus_port: u16 = "0", PORT;
        /// Value of the label `namespace`, for telling games apart.
        namespace: String = "", Kind::Text;
        /// Prefix of the metrics' names; empty for none. Characters that names of Prometheus cannot have become `_`.
        /// The default keeps dashboards of the original working.
        prefix: String = "nakama", Kind::Text;
        /// Prefix of the metrics that game code makes, in place of `metrics.prefix`; empty for none.
        custom_prefix: String = "custom", Kind::Text;
        /// Largest number of metrics that game code may make, each with its tags; 0 for no limit.
        custom_scope_limit: usize = "10000", at_least(0);
    }
}

/// The start of the names of metrics under a configured prefix: as in the original, `_` takes the place of each
/// character that names of Prometheus cannot have there.
pub fn names_begin_with(prefix: &str) -> String {
    let fits = |index: usize, character: char| match character {
        '_' => true,
        '0'..='9' => index > 0,
        _ => character.is_ascii_alphabetic(),
    };
    let name = prefix.chars().enumerate().map(|(index, one)| if fits(index, one) { one } else { '_' });
    let separator = if prefix.is_empty() { "" } else { "_" };
    name.chain(separator.chars()).collect()
}

/// Rows of this group that are not honoured.
pub const OTHERS: &[Key] = &[Key::no_meaning(
    "metrics.reporting_freq_sec",
    at_least(1),
    "60",
    "metrics are counted when they are read",
    "Time between two gatherings of metrics, in seconds.",
)];
