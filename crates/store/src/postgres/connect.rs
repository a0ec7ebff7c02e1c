//! Connecting: the servers are tried in turn, until one takes writes.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode as DriverMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use super::fault::describe;
use super::servers::{Server, Servers, SslMode};
use super::tls::Encrypting;

/// Asks for the state of a new connection: whether it takes no writes, and whether its settings came through.
const STATE: &str = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool, \
                     current_setting('muster.connection', true)";

/// The setting by which a new connection knows that its settings came through.
const MARK: &str = "-c muster.connection=on";

const THROUGH_A_POOLER: &str = "a pooler such as PgBouncer stands between, and keeps settings from the connection: \
                                give Muster the address of PostgreSQL itself, for it pools its connections";

/// The settings of a connection.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) statement_timeout: Duration,
    /// Further settings, such as `-c role=…`, which win over those of the address.
    pub(super) more: String,
}

/// A new connection.
pub(super) struct Connected {
    pub(super) client: Client,
    /// The task that moves bytes. It ends when the client is dropped and has said goodbye to the database.
    pub(super) driver: JoinHandle<()>,
    /// The server, if others could listen to the connection.
    pub(super) overheard_at: Option<String>,
}

/// Explains why no server is of use.
pub(super) struct Unusable {
    /// The reason, as a sentence.
    pub(super) text: String,
    /// Whether the reason may pass by itself: a server is not reached, or is starting.
    pub(super) may_pass: bool,
}

impl From<String> for Unusable {
    fn from(text: String) -> Self {
        Self { text, may_pass: false }
    }
}

/// Connects to the first server that answers and takes writes.
///
/// # Errors
/// A sentence that says why no server is of use.
pub(super) async fn connect(servers: &Servers, settings: &Settings) -> Result<Connected, String> {
    try_to_connect(servers, settings).await.map_err(|unusable| unusable.text)
}

/// Connects to the first server that answers and takes writes.
///
/// # Errors
/// [`Unusable`], which may pass if that of any server may.
pub(super) async fn try_to_connect(servers: &Servers, settings: &Settings) -> Result<Connected, Unusable> {
    let mut told = Unusable::from(String::new());
    for server in servers.iter() {
        let attempt = tokio::time::timeout(server.connect_timeout, Box::pin(connect_to(server, settings))).await;
        let why = match attempt {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(why)) => why,
            Err(_) => Unusable { text: "it did not answer in time".to_owned(), may_pass: true },
        };
        let separator = if told.text.is_empty() { "" } else { "; " };
        // Writing to a String cannot fail.
        let _ = write!(told.text, "{separator}{}: {}", server.place, why.text);
        told.may_pass |= why.may_pass;
    }
    Err(told)
}

/// Why an attempt failed.
struct Failed {
    error: tokio_postgres::Error,
    /// Set if the server had agreed to encrypt.
    was_encrypting: bool,
}

impl Failed {
    /// Whether the server's rules do not admit such a connection, encrypted or not.
    fn is_not_admitted(&self) -> bool {
        self.error.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
    }

    /// Whether the failure may pass: nothing of the server was reached, or it is starting or stopping.
    fn may_pass(&self) -> bool {
        match self.error.code() {
            Some(code) => {
                let passing = [SqlState::CANNOT_CONNECT_NOW, SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN];
                passing.contains(code)
            }
            None => !self.was_encrypting && is_unreached(&self.error),
        }
    }

    fn unusable(&self, server: &Server) -> Unusable {
        Unusable { text: self.told(server), may_pass: self.may_pass() }
    }

    fn told(&self, server: &Server) -> String {
        let text = describe(&self.error);
        let user = server.config.get_user().unwrap_or("postgres");
        if self.error.code() == Some(&SqlState::UNDEFINED_DATABASE) {
            let name = server.config.get_dbname().unwrap_or(user);
            return format!("{text}: make it by `createdb {name}`, or by the statement CREATE DATABASE \"{name}\"");
        }
        let is_login = self.error.code() == Some(&SqlState::INVALID_PASSWORD) || self.is_not_admitted();
        if is_login && !text.contains(&format!("\"{user}\"")) {
            return format!("{text}, as user \"{user}\"");
        }
        if self.error.code() == Some(&SqlState::PROTOCOL_VIOLATION) && text.contains("startup parameter") {
            return format!("{THROUGH_A_POOLER} ({text})");
        }
        text
    }
}

/// Whether an error comes from the way to the server: nobody listens there, its name has no address, or it went away.
fn is_unreached(error: &tokio_postgres::Error) -> bool {
    let source = std::error::Error::source(error);
    error.is_closed() || source.is_some_and(|source| source.is::<std::io::Error>())
}

async fn connect_to(server: &Server, settings: &Settings) -> Result<Connected, Unusable> {
    let (client, driver, is_encrypted) = match server.ssl_mode {
        SslMode::Disable => clear(server, settings).await.map_err(|failed| failed.unusable(server))?,
        SslMode::Require => {
            encrypted(server, settings, DriverMode::Require).await?.map_err(|failed| failed.unusable(server))?
        }
        SslMode::Prefer => match encrypted(server, settings, DriverMode::Prefer).await? {
            Ok(opened) => opened,
            Err(failed) if failed.was_encrypting && (failed.is_not_admitted() || failed.error.code().is_none()) => {
                clear(server, settings)
                    .await
                    .map_err(|second| format!("{}; unencrypted: {}", failed.told(server), second.told(server)))?
            }
            Err(failed) => return Err(failed.unusable(server)),
        },
        SslMode::Allow => match clear(server, settings).await {
            Ok(opened) => opened,
            Err(failed) if failed.is_not_admitted() => encrypted(server, settings, DriverMode::Require)
                .await?
                .map_err(|second| format!("{}; encrypted: {}", failed.told(server), second.told(server)))?,
            Err(failed) => return Err(failed.unusable(server)),
        },
    };
    check_state(&client).await?;
    let overheard_at = (!is_encrypted && !server.is_on_this_machine).then(|| server.place.clone());
    Ok(Connected { client, driver, overheard_at })
}

type Opened = (Client, JoinHandle<()>, bool);

async fn clear(server: &Server, settings: &Settings) -> Result<Opened, Failed> {
    let config = config(server, settings, DriverMode::Disable);
    match config.connect(NoTls).await {
        Ok((client, driver)) => Ok((client, spawn(driver), false)),
        Err(error) => Err(Failed { error, was_encrypting: false }),
    }
}

/// Connects with encryption; with [`DriverMode::Prefer`] without, if the server cannot encrypt. The outer error is
/// about files of this machine.
async fn encrypted(server: &Server, settings: &Settings, mode: DriverMode) -> Result<Result<Opened, Failed>, String> {
    let encryption = server.encryption.clone();
    // Files are read on another thread: some file systems take long.
    let read = tokio::task::spawn_blocking(move || encryption.client_config()).await;
    let tls = read.map_err(|error| error.to_string())??;
    let has_begun = Arc::new(AtomicBool::new(false));
    let encrypting = Encrypting { config: Arc::new(tls), has_begun: Arc::clone(&has_begun) };
    let opened = config(server, settings, mode).connect(encrypting).await;
    let was_encrypting = has_begun.load(Ordering::Relaxed);
    Ok(match opened {
        Ok((client, driver)) => Ok((client, spawn(driver), was_encrypting)),
        Err(error) => Err(Failed { error, was_encrypting }),
    })
}

fn config(server: &Server, settings: &Settings, mode: DriverMode) -> tokio_postgres::Config {
    let mut config = server.config.clone();
    config.ssl_mode(mode);
    // An acknowledged write must survive a power cut, whatever the database's own default is.
    let ours =
        format!("{MARK} -c synchronous_commit=on -c statement_timeout={}", settings.statement_timeout.as_millis());
    let given = config.get_options().unwrap_or_default();
    let options = [ours.as_str(), given, &settings.more].join(" ");
    config.options(options.trim_end());
    config
}

fn spawn<S, T>(driver: tokio_postgres::Connection<S, T>) -> JoinHandle<()>
where
    tokio_postgres::Connection<S, T>: Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static,
{
    tokio::spawn(async move {
        if let Err(error) = driver.await {
            tracing::warn!(error = describe(&error), "a database connection broke");
        }
    })
}

/// Checks that a new connection is of use.
async fn check_state(client: &Client) -> Result<(), String> {
    let answer = client.simple_query(STATE).await.map_err(|error| describe(&error))?;
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some((row.get(0) == Some("t"), row.get(1) == Some("on"))),
        _ => None,
    });
    match row {
        Some((true, _)) => Err("it takes no writes: it is a standby, or set to read-only".to_owned()),
        Some((false, false)) | None => Err(THROUGH_A_POOLER.to_owned()),
        Some((false, true)) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
