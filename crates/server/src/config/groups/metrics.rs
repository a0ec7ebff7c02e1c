//! Metrics for Prometheus.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::super::key::{Key, Kind, Origin, PORT, at_least, honoured};
use super::super::secret::Secret;

honoured! {
    /// Metrics.
    pub struct Metrics in "metrics." {
        /// TCP port on which Prometheus reads the metrics, on the interface of `metrics.address`. 0 is off.
        prometheus_port: u16 = "0", PORT;
        /// IP address of the interface on which Prometheus reads the metrics; empty for all interfaces. Players need
        /// not reach it.
        address: Option<IpAddr> = "127.0.0.1", Kind::Interface, Origin::Ours;
        /// Token that Prometheus has to send (`authorization` in its configuration); empty for none.
        token: Secret = "", Kind::Secret, Origin::Ours;
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

impl Metrics {
    /// The address to listen on.
    pub fn listen_address(&self) -> SocketAddr {
        SocketAddr::new(self.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)), self.prometheus_port)
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
