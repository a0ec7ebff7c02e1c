//! Where NATS is and how to get in, and why that did not work.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::{ConnectErrorKind, ConnectOptions, ServerAddr};

/// Replicas that JetStream can keep.
pub const REPLICAS: [usize; 3] = [1, 3, 5];

/// How to reach NATS, and what to be there.
#[derive(Clone)]
pub struct NatsOptions {
    /// `cluster.nats`: servers of one NATS cluster, as `nats://host:port` or `tls://host:port`.
    pub urls: Vec<String>,
    /// How to log in.
    pub login: NatsLogin,
    /// `cluster.nats_ca_file`: certificates to trust instead of the system's. With it nothing goes without TLS.
    pub ca_file: Option<PathBuf>,
    /// `cluster.name`: keeps clusters apart that share servers. ASCII letters, digits, `-` and `_`.
    pub cluster: String,
    /// `cluster.nats_replicas`: how many servers keep what JetStream holds: 1, 3 or 5.
    pub replicas: usize,
    /// How long a request to the server may take.
    pub request_wait: Duration,
}

/// How to log in.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum NatsLogin {
    /// The server asks for nothing.
    #[default]
    None,
    /// `cluster.nats_user` and `cluster.nats_password`.
    Password {
        /// The user's name.
        user: String,
        /// Its password.
        password: String,
    },
    /// `cluster.nats_token`.
    Token(String),
    /// `cluster.nats_credentials_file`: a user's token and key, as `nsc` writes them.
    CredentialsFile(PathBuf),
}

/// Without what lets somebody in.
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

/// Without what lets somebody in.
impl fmt::Debug for NatsOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places: Vec<&str> = self.urls.iter().map(|url| place(url)).collect();
        let mut told = formatter.debug_struct("NatsOptions");
        told.field("urls", &places).field("login", &self.login).field("ca_file", &self.ca_file);
        told.field("cluster", &self.cluster).field("replicas", &self.replicas).finish_non_exhaustive()
    }
}

/// A URL without what may stand before its host: a user and a password.
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

/// Why there is no connection to NATS, or none that is of use.
#[derive(Debug, thiserror::Error)]
pub enum NatsError {
    /// A setting is wrong by itself.
    #[error("{0}")]
    Setting(String),
    /// Nobody answers.
    #[error("no NATS server answers at {urls}: start one there, or correct cluster.nats ({reason})")]
    Unreachable {
        /// Where we looked.
        urls: String,
        /// What happened there.
        reason: String,
    },
    /// The server does not let us in.
    #[error(
        "the NATS server at {urls} refuses the login: correct cluster.nats_user and cluster.nats_password, \
         cluster.nats_token or cluster.nats_credentials_file ({reason})"
    )]
    LoginRefused {
        /// Where.
        urls: String,
        /// What it said.
        reason: String,
    },
    /// There is no TLS between us.
    #[error(
        "no TLS with the NATS server at {urls}: correct cluster.nats_ca_file or the server's certificate ({reason})"
    )]
    Tls {
        /// Where.
        urls: String,
        /// What went wrong.
        reason: String,
    },
    /// An older server lacks what we need.
    #[error(
        "the NATS server is version {0}, and Muster needs 2.12 or newer: install that, or name another server in cluster.nats"
    )]
    TooOld(String),
    /// The server passes messages on and keeps nothing.
    #[error(
        "JetStream is off at the NATS server, or for this user: start nats-server with --jetstream, or add `jetstream {{}}` to its configuration ({0})"
    )]
    NoJetStream(String),
    /// What keeps the cluster's values could not be made.
    #[error("JetStream does not make the bucket {bucket}: {reason}")]
    Bucket {
        /// Its name.
        bucket: String,
        /// What JetStream said, and what to do.
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

    /// Refuses what no server could make good.
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

    /// What a failed connection means.
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
