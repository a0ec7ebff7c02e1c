//! Options of the connection to NATS: the servers, the login, and the reasons why a connection fails.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ConnectErrorKind, ConnectOptions, ServerAddr};

/// Numbers of replicas that JetStream supports.
pub const REPLICAS: [usize; 3] = [1, 3, 5];

/// Options of the connection to NATS.
#[derive(Clone)]
pub struct NatsOptions {
    /// `cluster.nats`: servers of one NATS cluster, as `nats://host:port` or `tls://host:port`.
    pub urls: Vec<String>,
    /// The login at the server.
    pub login: NatsLogin,
    /// `cluster.nats_ca_file`: certificates to trust instead of the system's. If set, only TLS connections are made.
    pub ca_file: Option<PathBuf>,
    /// `cluster.name`: keeps clusters that share servers apart. ASCII letters, digits, `-` and `_`.
    pub cluster: String,
    /// `cluster.nats_replicas`: number of servers that keep each value of JetStream: 1, 3 or 5.
    pub replicas: usize,
    /// Time limit of a request to the server.
    pub request_wait: Duration,
}

/// The login at the server.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum NatsLogin {
    /// No login.
    #[default]
    None,
    /// `cluster.nats_user` and `cluster.nats_password`.
    Password {
        /// Name of the user.
        user: String,
        /// Password of the user.
        password: String,
    },
    /// `cluster.nats_token`.
    Token(String),
    /// `cluster.nats_credentials_file`: a user's token and key, as `nsc` writes them.
    CredentialsFile(PathBuf),
}

/// Leaves out the secrets.
impl fmt::Debug for NatsLogin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Password { user, .. } => write!(formatter, "Password({user:?})"),
            Self::Token(_) => formatter.write_str("Token"),
            Self::CredentialsFile(file) => write!(formatter, "CredentialsFile({file:?})"),
        }
    }
}

/// Leaves out the secrets.
impl fmt::Debug for NatsOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<&str> = self.urls.iter().map(|url| place(url)).collect();
        let mut told = formatter.debug_struct("NatsOptions");
        told.field("urls", &places).field("login", &self.login).field("ca_file", &self.ca_file);
        told.field("cluster", &self.cluster).field("replicas", &self.replicas).finish_non_exhaustive()
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
         cluster.nats_token or cluster.nats_credentials_file ({reason})"
    )]
    LoginRefused {
        /// Addresses of the servers.
        urls: String,
        /// Answer of the server.
        reason: String,
    },
    /// No TLS connection could be made.
    #[error(
        "no TLS with the NATS server at {urls}: correct cluster.nats_ca_file or the server's certificate ({reason})"
    )]
    Tls {
        /// Addresses of the servers.
        urls: String,
        /// Error of TLS.
        reason: String,
    },
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
            url.parse::<ServerAddr>().map_err(|error| {
                let place = place(url);
                NatsError::Setting(format!("cluster.nats: `{place}` is not like nats://host:port: {error}"))
            })
        };
        self.urls.iter().map(parse).collect()
    }

    /// Refuses settings that no server could accept.
    pub(super) fn check(&self) -> Result<(), NatsError> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if self.cluster.is_empty() || !self.cluster.bytes().all(is_word) {
            let text = format!("cluster.name: `{}` is not of ASCII letters, digits, `-` and `_`", self.cluster);
            return Err(NatsError::Setting(text));
        }
        if !REPLICAS.contains(&self.replicas) {
            let text = format!("cluster.nats_replicas: {} is not 1, 3 or 5", self.replicas);
            return Err(NatsError::Setting(text));
        }
        Ok(())
    }

    /// Options of the client for login and TLS.
    pub(super) async fn authenticate(&self, mut options: ConnectOptions) -> Result<ConnectOptions, NatsError> {
        if let Some(file) = &self.ca_file {
            let unreadable = |error| NatsError::Setting(format!("cluster.nats_ca_file: {}: {error}", file.display()));
            std::fs::metadata(file).map_err(unreadable)?;
            options = options.add_root_certificates(file.clone()).require_tls(true);
        }
        match &self.login {
            NatsLogin::None => Ok(options),
            NatsLogin::Password { user, password } => Ok(options.user_and_password(user.clone(), password.clone())),
            NatsLogin::Token(token) => Ok(options.token(token.clone())),
            NatsLogin::CredentialsFile(file) => options.credentials_file(file).await.map_err(|error| {
                NatsError::Setting(format!("cluster.nats_credentials_file: {}: {error}", file.display()))
            }),
        }
    }

    /// The error for a failed attempt to connect.
    pub(super) fn explain(&self, error: &async_nats::ConnectError) -> NatsError {
        let urls = self.urls.iter().map(|url| place(url)).collect::<Vec<_>>().join(", ");
        let reason = error.to_string();
        match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                NatsError::LoginRefused { urls, reason }
            }
            ConnectErrorKind::Tls => NatsError::Tls { urls, reason },
            _ if reason.contains("certificate") => NatsError::Tls { urls, reason },
            _ => NatsError::Unreachable { urls, reason },
        }
    }
}
