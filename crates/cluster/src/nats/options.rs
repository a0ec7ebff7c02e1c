//! Options of the connection to NATS: the servers, what is asked of them, and the reasons why a connection fails.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ConnectErrorKind, ServerAddr};

use super::login::{NatsLogin, NodeCertificate};

/// Numbers of replicas that JetStream supports.
pub const REPLICAS: [usize; 3] = [1, 3, 5];

/// Options of the connection to NATS.
#[derive(Clone)]
pub struct NatsOptions {
    /// `cluster.nats`: servers of one NATS cluster, as `nats://host:port` or `tls://host:port`.
    pub urls: Vec<String>,
    /// The login at the server.
    pub login: NatsLogin,
    /// `cluster.nats_ca_file`: certificates to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// The certificate that this node shows to servers.
    pub certificate: Option<NodeCertificate>,
    /// `cluster.name`: keeps clusters that share servers apart. ASCII letters, digits, `-` and `_`.
    pub cluster: String,
    /// `cluster.nats_replicas`: number of servers that keep each value of JetStream: 1, 3 or 5.
    pub replicas: usize,
    /// Time limit of a request to the server.
    pub request_wait: Duration,
}

/// Leaves out the secrets.
impl fmt::Debug for NatsOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<&str> = self.urls.iter().map(|url| place(url)).collect();
        let mut told = formatter.debug_struct("NatsOptions");
        told.field("urls", &places).field("login", &self.login).field("ca_file", &self.ca_file);
        told.field("certificate", &self.certificate)
            .field("cluster", &self.cluster)
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

/// A URL without the user and password that may stand before its host.
fn place(url: &str) -> &str {
    url.rsplit('@').next().unwrap_or_default()
}

impl Default for NatsOptions {
    fn default() -> Self {
        Self {
            urls: vec!["nats://127.0.0.1:4222".to_owned()],
            login: NatsLogin::None,
            ca_file: None,
            certificate: None,
            cluster: "muster".to_owned(),
            replicas: 1,
            request_wait: Duration::from_secs(2),
        }
    }
}

/// Explains why there is no usable connection to NATS.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// A setting is invalid by itself.
    #[error("{0}")]
    Setting(String),
    /// No server answers.
    #[error("no NATS server answers at {urls}: start one there, or correct cluster.nats ({reason})")]
    Unreachable {
        /// Addresses of the servers.
        urls: String,
        /// Error of the last attempt.
        reason: String,
    },
    /// The server refuses the login.
    #[error(
        "the NATS server at {urls} refuses the login: correct cluster.nats_user and cluster.nats_password, \
         cluster.nats_token, cluster.nats_nkey_file, cluster.nats_credentials_file or cluster.nats_certificate_file, \
         whichever the server asks for ({reason})"
    )]
    LoginRefused {
        /// Addresses of the servers.
        urls: String,
        /// Answer of the server.
        reason: String,
    },
    /// No TLS connection could be made.
    #[error(
        "no TLS with the NATS server at {urls}: correct cluster.nats_ca_file or the server's certificate, and \
         cluster.nats_certificate_file if the server asks for one ({reason})"
    )]
    Tls {
        /// Addresses of the servers.
        urls: String,
        /// Error of TLS.
        reason: String,
    },
    /// The user lacks permissions.
    #[error("the user at NATS lacks a permission ({0}): docs/guide/cluster.md lists those that a node needs")]
    NotPermitted(String),
    /// The server's version is too old.
    #[error(
        "the NATS server is version {0}, and Muster needs 2.12 or newer: install that, or name another server in cluster.nats"
    )]
    TooOld(String),
    /// JetStream is off: the server passes messages on and keeps nothing.
    #[error(
        "JetStream is off at the NATS server, or for this user: start nats-server with --jetstream, or add `jetstream {{}}` to its configuration ({0})"
    )]
    NoJetStream(String),
    /// A bucket could not be made.
    #[error("JetStream does not make the bucket {bucket}: {reason}")]
    Bucket {
        /// Name of the bucket.
        bucket: String,
        /// Answer of JetStream, and what to do.
        reason: String,
    },
}

impl NatsOptions {
    /// The addresses, all of them valid.
    pub(super) fn addresses(&self) -> Result<Vec<ServerAddr>, NatsError> {
        if self.urls.is_empty() {
            return Err(NatsError::Setting("cluster.nats is empty: name at least one NATS server".to_owned()));
        }
        let parse = |url: &String| {
            let place = place(url);
            let address = url.parse::<ServerAddr>().map_err(|error| {
                NatsError::Setting(format!("cluster.nats: `{place}` is not like nats://host:port: {error}"))
            })?;
            if !matches!(address.scheme(), "nats" | "tls") {
                let text = format!("cluster.nats: `{place}` begins neither with nats:// nor with tls://");
                return Err(NatsError::Setting(text));
            }
            // The client would ignore the login.
            if url.contains('@') {
                let text = format!("cluster.nats: a login stands before `{place}`: set cluster.nats_user instead");
                return Err(NatsError::Setting(text));
            }
            Ok(address)
        };
        self.urls.iter().map(parse).collect()
    }

    /// Refuses settings that no server could accept, and files that cannot be used.
    ///
    /// # Errors
    /// [`NatsError::Setting`].
    pub fn check(&self) -> Result<(), NatsError> {
        self.addresses()?;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if self.cluster.is_empty() || !self.cluster.bytes().all(is_word) {
            let text = format!("cluster.name: `{}` is not of ASCII letters, digits, `-` and `_`", self.cluster);
            return Err(NatsError::Setting(text));
        }
        if !REPLICAS.contains(&self.replicas) {
            let text = format!("cluster.nats_replicas: {} is not 1, 3 or 5", self.replicas);
            return Err(NatsError::Setting(text));
        }
        self.check_files()
    }

    /// Whether connections without TLS are refused. One address that asks for TLS binds the connections to all servers:
    /// servers name each other, without a scheme, to clients that have not seen a certificate yet.
    pub(super) fn requires_tls(&self) -> bool {
        let is_tls = |url: &String| url.starts_with("tls://");
        self.ca_file.is_some() || self.certificate.is_some() || self.urls.iter().any(is_tls)
    }

    /// The error for a failed attempt to connect.
    pub(super) fn explain(&self, error: &async_nats::ConnectError) -> NatsError {
        let urls = self.urls.iter().map(|url| place(url)).collect::<Vec<_>>().join(", ");
        let reason = error.to_string();
        // Errors of TLS reach the client as errors of the connection. A server without TLS answers in plain text.
        let is_of_tls = |reason: &str| {
            ["certificate", "corrupt message", "fatal alert", "handshake"].iter().any(|part| reason.contains(part))
        };
        match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                NatsError::LoginRefused { urls, reason }
            }
            ConnectErrorKind::Tls => NatsError::Tls { urls, reason },
            _ if is_of_tls(&reason.to_lowercase()) => NatsError::Tls { urls, reason },
            _ => NatsError::Unreachable { urls, reason },
        }
    }
}
