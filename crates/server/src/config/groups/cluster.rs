//! Several servers as one cluster.

use std::path::PathBuf;

use super::super::{
    key::{Kind, Origin, honoured, number},
    read::choice,
    secret::Secret,
};

choice! {
    /// Number of NATS servers that keep each value of the cluster.
    pub enum Replicas {
        /// One server: for trials.
        One = "1",
        /// Three servers: one of them may be lost.
        Three = "3",
        /// Five servers: two of them may be lost.
        Five = "5",
    }
}

choice! {
    /// Use of seals between nodes.
    pub enum Seals {
        /// Whatever has no seal is refused.
        Require = "require",
        /// Whatever has no seal is accepted.
        Accept = "accept",
        /// Nothing is sealed, and what has no seal is accepted.
        Off = "off",
    }
}

impl Replicas {
    /// The number of servers.
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::Three => 3,
            Self::Five => 5,
        }
    }
}

/// The roles that a node can have.
pub const ROLES: [&str; 3] = ["gateway", "live", "jobs"];
/// Largest number of characters in a cluster's name.
pub const CLUSTER_NAME_MAX: usize = 32;

impl Cluster {
    /// Whether this server is a node of a cluster.
    pub fn is_joined(&self) -> bool {
        !self.nats.is_empty()
    }

    /// The ways to log in at NATS that are set, by the names of their keys.
    pub(crate) fn nats_logins(&self) -> Vec<&'static str> {
        let ways = [
            ("cluster.nats_user", !self.nats_user.is_empty()),
            ("cluster.nats_token", !self.nats_token.is_empty()),
            ("cluster.nats_nkey_file", self.nats_nkey_file.is_some()),
            ("cluster.nats_credentials_file", self.nats_credentials_file.is_some()),
        ];
        ways.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| key).collect()
    }

    /// Whether the node has a role.
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|of_node| of_node == role)
    }

    /// Whether the name may stand in subjects of NATS and in names of its buckets.
    pub(crate) fn has_plain_name(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (1..=CLUSTER_NAME_MAX).contains(&self.name.len()) && self.name.bytes().all(is_plain)
    }
}

honoured! {
    /// Several servers as one cluster.
    pub struct Cluster in "cluster." {
        /// Servers of one NATS cluster (2.12 or newer, with JetStream), as `nats://host:port` or `tls://host:port`. If
        /// set, this server is a node of a cluster. All nodes need the same PostgreSQL database. One `tls://` among
        /// them makes all connections to NATS encrypted ones.
        nats: Vec<String> = "", Kind::Servers, Origin::Ours;
        /// Name of the cluster, which keeps clusters apart that share servers of NATS, and ends the ids of parties:
        /// ASCII letters, digits, `-` and `_`. The same on all nodes.
        name: String = "muster", Kind::Text, Origin::Ours;
        /// Roles of the node: `gateway` (players connect to it), `live` (it owns streams, parties, rooms and tickets),
        /// `jobs` (it runs periodic jobs). A node without roles here has all of them.
        roles: Vec<String> = "", Kind::List, Origin::Ours;
        /// Weight of the node: live state is shared out over nodes in proportion to it.
        weight: u32 = "100", number(1, 10_000), Origin::Ours;
        /// Load from which on the node is busy, in per cent of one core for each shard, averaged over some ten seconds.
        /// A busy node gives a quarter of what it owns to nodes that are not busy, and gets it back when a minute has
        /// passed and its load is below 60 % of this value. With 0 the node is never busy.
        busy_percent: u32 = "80", number(0, 100), Origin::Ours;
        /// Largest difference between the clocks of this node and of the database, in milliseconds. A node whose clock
        /// differs more does not start; one that runs logs a warning, at most once an hour.
        clock_skew_max_ms: u64 = "5000", number(100, 3_600_000), Origin::Ours;
        /// User name at NATS.
        nats_user: String = "", Kind::Text, Origin::Ours;
        /// Password at NATS.
        nats_password: Secret = "", Kind::Secret, Origin::Ours;
        /// Token for NATS, if it asks for one instead of a user.
        nats_token: Secret = "", Kind::Secret, Origin::Ours;
        /// File with the seed of a user's key (nkey) for NATS, as `nk -gen user` writes it.
        nats_nkey_file: Option<PathBuf> = "", Kind::Path, Origin::Ours;
        /// File with a user's token and key for NATS, as `nsc` writes it.
        nats_credentials_file: Option<PathBuf> = "", Kind::Path, Origin::Ours;
        /// File with the certificate (PEM) that this node shows to NATS; needs `cluster.nats_private_key_file`. If set,
        /// only TLS connections are made. The file is read anew for each connection.
        nats_certificate_file: Option<PathBuf> = "", Kind::Path, Origin::Ours;
        /// File with the private key (PEM) of `cluster.nats_certificate_file`.
        nats_private_key_file: Option<PathBuf> = "", Kind::Path, Origin::Ours;
        /// File with the certificates to trust at NATS instead of the system's. If set, only TLS connections are made.
        /// The file is read anew for each connection.
        nats_ca_file: Option<PathBuf> = "", Kind::Path, Origin::Ours;
        /// Number of NATS servers that keep each value of the cluster.
        nats_replicas: Replicas = "1", Replicas::KIND, Origin::Ours;
        /// Seals of what nodes say to each other over NATS: `require` (whatever has no seal of the servers' keys is
        /// refused); `accept` and `off` are for an upgrade from a release without seals: with `accept` a node seals,
        /// and takes what has no seal too; with `off` it does not seal.
        seals: Seals = "require", Seals::KIND, Origin::Ours;
        /// Whether parties survive the crash of the node that owns them: their state is written to JetStream whenever
        /// it changes. The same on all nodes.
        recover_parties: bool = "true", Kind::Flag, Origin::Ours;
    }
}
