//! The servers of a database, from the addresses of the configuration: `postgres://user:password@host:port/name` with
//! parameters. A parameter that is not known is refused.

use std::borrow::Cow;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::fault::describe;
use super::tls::{Encryption, Roots, Verification};
use crate::OpenError;

/// Longest time for making a connection, with its encryption and login. Several servers share it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time for which the database's machine may leave sent data unacknowledged before the connection counts as
/// lost.
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_secs(15);

/// Parameters that the driver reads.
const DRIVERS: [&str; 13] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "options",
    "password",
    "port",
    "user",
];

/// Parameters that are read here.
const OURS: [&str; 5] = ["sslcert", "sslkey", "sslmode", "sslrootcert", "target_session_attrs"];

/// Parameters of the original's driver for poolers that share a connection among transactions.
const FOR_POOLERS: [&str; 4] =
    ["default_query_exec_mode", "description_cache_capacity", "prefer_simple_protocol", "statement_cache_capacity"];

/// The servers of a database in the order in which they are tried: the first that takes writes is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers(Arc<[Server]>);

/// A server, and how to connect to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// The driver's settings, with one host.
    pub(super) config: Config,
    /// Host and port, for messages.
    pub(super) place: String,
    pub(super) ssl_mode: SslMode,
    pub(super) encryption: Encryption,
    /// Set if nobody beside this machine can listen to the connection.
    pub(super) is_on_this_machine: bool,
    /// Longest time for making a connection.
    pub(super) connect_timeout: Duration,
}

/// Whether a connection is encrypted, in the words of `sslmode`. Whom the connection trusts is in [`Encryption`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SslMode {
    Disable,
    /// Encrypted only if the server demands it.
    Allow,
    /// Encrypted if the server can do so.
    Prefer,
    /// Always encrypted.
    Require,
}

impl Servers {
    /// Reads the addresses of a database.
    ///
    /// # Errors
    /// A sentence about what is wrong, never the address itself, which may hold a password.
    pub fn parse<T: AsRef<str>>(urls: &[T]) -> Result<Self, OpenError> {
        let mut servers = Vec::new();
        for url in urls {
            servers.extend(parse(url.as_ref())?);
        }
        if servers.is_empty() {
            return Err(OpenError::new("the database address has no host"));
        }
        let count = u32::try_from(servers.len()).unwrap_or(u32::MAX);
        for server in &mut servers {
            let given = server.config.get_connect_timeout().copied();
            server.connect_timeout = given.unwrap_or(CONNECT_TIMEOUT / count);
            server.config.connect_timeout(server.connect_timeout);
        }
        Ok(Self(servers.into()))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Server> {
        self.0.iter()
    }
}

/// Values of the parameters that are read here.
#[derive(Default)]
struct Given {
    mode: Option<String>,
    roots: Option<String>,
    certificate: Option<String>,
    key: Option<String>,
}

fn parse(url: &str) -> Result<Vec<Server>, OpenError> {
    let (location, query) = url.split_once('?').unwrap_or((url, ""));
    let mut given = Given::default();
    let mut drivers = Vec::new();
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let name = decoded(name)?;
        let value = || decoded(value).map(Cow::into_owned);
        match &*name {
            "sslmode" => given.mode = Some(value()?),
            "sslrootcert" => given.roots = Some(value()?).filter(|path| !path.is_empty()),
            "sslcert" => given.certificate = Some(value()?).filter(|path| !path.is_empty()),
            "sslkey" => given.key = Some(value()?).filter(|path| !path.is_empty()),
            "target_session_attrs" => check_session_attributes(&value()?)?,
            name if DRIVERS.contains(&name) => drivers.push(part),
            name if FOR_POOLERS.contains(&name) => {
                return Err(OpenError::new(format!(
                    "the database address has the parameter {name}, which is for a pooler that shares connections \
                     among transactions: Muster keeps prepared statements and settings in its connections, so give it \
                     the address of PostgreSQL itself"
                )));
            }
            name => {
                let known = [&OURS[..], &DRIVERS[..]].concat().join(", ");
                return Err(OpenError::new(format!(
                    "the database address has the parameter {name:?}, which is not known: known are {known}; settings \
                     of the session go into options, as in options=-c search_path=game"
                )));
            }
        }
    }
    let separator = if drivers.is_empty() { "" } else { "?" };
    let url = format!("{location}{separator}{}", drivers.join("&"));
    let config: Config = url.parse().map_err(|error: tokio_postgres::Error| {
        OpenError::new(format!("the database URL is not understood: {}", describe(&error)))
    })?;
    let (ssl_mode, encryption) = encryption(given)?;
    let ports = config.get_ports();
    let hosts = config.get_hosts().iter().enumerate();
    let servers = hosts.map(|(index, host)| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        // The driver has no encryption for sockets of the file system, and neither has PostgreSQL.
        let ssl_mode = if matches!(host, Host::Unix(_)) { SslMode::Disable } else { ssl_mode };
        let (place, is_on_this_machine) = match host {
            Host::Tcp(name) => (format!("{name}:{port}"), is_loopback(name)),
            Host::Unix(folder) => (format!("{}:{port}", folder.display()), true),
        };
        Server {
            config: with_one_host(&config, host, port),
            place,
            ssl_mode,
            encryption: encryption.clone(),
            is_on_this_machine,
            connect_timeout: CONNECT_TIMEOUT,
        }
    });
    Ok(servers.collect())
}

fn decoded(text: &str) -> Result<Cow<'_, str>, OpenError> {
    percent_decode_str(text).decode_utf8().map_err(OpenError::because("the database URL is not understood"))
}

/// Muster writes, so a server that takes no writes is of no use to it, whatever the address says.
fn check_session_attributes(value: &str) -> Result<(), OpenError> {
    if matches!(value, "any" | "read-write" | "primary") {
        return Ok(());
    }
    Err(OpenError::new(format!(
        "the database address has target_session_attrs={value}: Muster writes, so it connects to a server that takes \
         writes; say read-write or leave it out"
    )))
}

fn encryption(given: Given) -> Result<(SslMode, Encryption), OpenError> {
    let roots = given.roots.map(|path| match path.as_str() {
        "system" => Roots::System,
        _ => Roots::File(PathBuf::from(path)),
    });
    let mode = match (given.mode, &roots) {
        (Some(mode), _) => mode,
        // As libpq has it.
        (None, Some(Roots::System)) => "verify-full".to_owned(),
        // As the original has it.
        (None, _) => "prefer".to_owned(),
    };
    if roots == Some(Roots::System) && mode != "verify-full" {
        return Err(OpenError::new(format!(
            "the database address has sslmode={mode} with sslrootcert=system: anybody can have a certificate of such \
             an authority, so say sslmode=verify-full"
        )));
    }
    let checked = || roots.clone().unwrap_or(Roots::System);
    // With a file of roots, `require` and the weaker modes check certificates too, as libpq has it.
    let unless_rooted = roots.clone().map_or(Verification::None, Verification::Chain);
    let (ssl_mode, verification) = match mode.as_str() {
        "disable" => (SslMode::Disable, Verification::None),
        "allow" => (SslMode::Allow, unless_rooted),
        "prefer" => (SslMode::Prefer, unless_rooted),
        "require" => (SslMode::Require, unless_rooted),
        "verify-ca" => (SslMode::Require, Verification::Chain(checked())),
        "verify-full" => (SslMode::Require, Verification::ChainAndName(checked())),
        _ => {
            return Err(OpenError::new(format!(
                "the database address has sslmode={mode}: say disable, allow, prefer, require, verify-ca or verify-full"
            )));
        }
    };
    let identity = match (given.certificate, given.key) {
        (Some(certificate), Some(key)) => Some((PathBuf::from(certificate), PathBuf::from(key))),
        (None, None) => None,
        _ => return Err(OpenError::new("the database address needs both sslcert and sslkey, or none of them")),
    };
    Ok((ssl_mode, Encryption { verification, identity }))
}

/// Whether a host's name leads to this machine. Other names are not looked up.
fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// The same settings with one of their hosts.
fn with_one_host(all: &Config, host: &Host, port: u16) -> Config {
    let mut one = Config::new();
    match host {
        Host::Tcp(name) => one.host(name),
        Host::Unix(folder) => one.host_path(folder),
    };
    one.port(port);
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(name) = all.get_dbname() {
        one.dbname(name);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    if let Some(timeout) = all.get_connect_timeout() {
        one.connect_timeout(*timeout);
    }
    if let Some(interval) = all.get_keepalives_interval() {
        one.keepalives_interval(interval);
    }
    if let Some(retries) = all.get_keepalives_retries() {
        one.keepalives_retries(retries);
    }
    one.application_name(all.get_application_name().unwrap_or("muster"))
        .keepalives(all.get_keepalives())
        .keepalives_idle(all.get_keepalives_idle())
        .channel_binding(all.get_channel_binding())
        .tcp_user_timeout(UNACKNOWLEDGED_TIMEOUT);
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(url: &str) -> Server {
        Servers::parse(&[url]).unwrap().0[0].clone()
    }

    #[test]
    fn modes_are_those_of_libpq() {
        let file = || Roots::File("/ca".into());
        for (parameters, mode, verification) in [
            ("", SslMode::Prefer, Verification::None),
            ("sslmode=disable", SslMode::Disable, Verification::None),
            ("sslmode=allow", SslMode::Allow, Verification::None),
            ("sslmode=require", SslMode::Require, Verification::None),
            ("sslmode=require&sslrootcert=%2Fca", SslMode::Require, Verification::Chain(file())),
            ("sslrootcert=/ca", SslMode::Prefer, Verification::Chain(file())),
            ("sslmode=verify-ca&sslrootcert=/ca", SslMode::Require, Verification::Chain(file())),
            ("sslmode=verify-full&sslrootcert=/ca", SslMode::Require, Verification::ChainAndName(file())),
            ("sslmode=verify-full", SslMode::Require, Verification::ChainAndName(Roots::System)),
            ("sslrootcert=system", SslMode::Require, Verification::ChainAndName(Roots::System)),
        ] {
            let server = one(&format!("postgres://u@h/d?{parameters}"));
            assert_eq!((server.ssl_mode, server.encryption.verification), (mode, verification), "{parameters}");
        }
    }

    #[test]
    fn every_host_is_a_server_of_its_own() {
        let urls =
            ["postgres://u:secret@a:1,b:2/d?sslmode=require", "postgres://v@localhost/d", "postgres://w@%2Frun/d"];
        let servers = Servers::parse(&urls).unwrap();
        let places: Vec<_> = servers.iter().map(|server| server.place.as_str()).collect();
        assert_eq!(places, ["a:1", "b:2", "localhost:5432", "/run:5432"]);
        let near: Vec<_> = servers.iter().map(|server| server.is_on_this_machine).collect();
        assert_eq!(near, [false, false, true, true]);
        assert_eq!(servers.0[3].ssl_mode, SslMode::Disable, "sockets of the file system are not encrypted");
        let total: Duration = servers.iter().map(|server| server.connect_timeout).sum();
        assert!(total <= CONNECT_TIMEOUT, "the last server is tried before those who wait give up");
        assert!(!format!("{servers:?}").contains("secret"));
    }

    #[test]
    fn what_is_not_known_is_refused_in_words() {
        for (parameters, told) in [
            ("sslmode=yes", "say disable, allow, prefer, require, verify-ca or verify-full"),
            ("sslmode=require&sslrootcert=system", "say sslmode=verify-full"),
            ("sslcert=a", "both sslcert and sslkey"),
            ("sslkey=a", "both sslcert and sslkey"),
            ("sslpassword=a", "\"sslpassword\", which is not known"),
            ("search_path=a", "options=-c search_path=game"),
            ("prefer_simple_protocol=true", "address of PostgreSQL itself"),
            ("default_query_exec_mode=exec", "address of PostgreSQL itself"),
            ("target_session_attrs=standby", "a server that takes writes"),
            ("port=x", "not understood"),
            ("sslmode=%ff", "not understood"),
        ] {
            let said = Servers::parse(&[format!("postgres://u:secret@h/d?{parameters}")]).err().map(|error| error.0);
            let said = said.unwrap_or_default();
            assert!(said.contains(told) && !said.contains("secret"), "{parameters}: {said}");
        }
        assert!(Servers::parse::<&str>(&[]).is_err());
    }
}
