//! Database addresses: `sqlite:PATH`, `postgres://…` (or `postgresql://…`) and the original's
//! `user:password@host:port/name`. This module only parses and opens no connection.

use std::{fmt::Write as _, path::PathBuf, str::FromStr};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::secret::Secret;

/// Description of valid addresses, for messages.
pub(crate) const EXPECTED: &str =
    "sqlite:PATH, postgres://user:password@host:port/name or user:password@host:port/name";

/// User name for an address without one, as in the original.
const DEFAULT_USER: &str = "root";
/// Port for an address without one, as in PostgreSQL.
const DEFAULT_PORT: u16 = 5432;
/// Name of the database for an address without one, as in the original.
const DEFAULT_DATABASE: &str = "nakama";

/// Characters that are encoded in a URL that we build: all but the unreserved ones of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The database of durable data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseAddress {
    /// A file on this machine.
    Sqlite { path: PathBuf },
    /// A PostgreSQL server.
    Postgres(PostgresAddress),
}

/// The parts of a PostgreSQL address, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresAddress {
    /// User name; `root` when the address has none.
    pub user: String,
    /// Password, if the address has one.
    pub password: Option<Secret>,
    /// Host name or IP address (without brackets); `localhost` when the address has none.
    pub host: String,
    /// TCP port, 5432 when the address has none.
    pub port: u16,
    /// Name of the database; `nakama` when the address has none.
    pub database: String,
    /// Further parameters such as `sslmode`, in order.
    pub parameters: Vec<(String, String)>,
}

impl PostgresAddress {
    /// The address as a URL that any PostgreSQL driver reads. Holds the password.
    pub fn url(&self) -> Secret {
        let encode = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { encode(&self.host) };
        let password = self.password.as_ref().map_or_else(String::new, |p| format!(":{}", encode(p.expose())));
        let mut url =
            format!("postgresql://{}{password}@{host}:{}/{}", encode(&self.user), self.port, encode(&self.database));
        for (index, (name, value)) in self.parameters.iter().enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            // Writing to a String cannot fail.
            let _ = write!(url, "{separator}{}={}", encode(name), encode(value));
        }
        Secret::from(url)
    }
}

/// Explains why a text is not a database address. The error never contains the text, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text has none of the three forms.
    #[error("{EXPECTED}{0}")]
    Form(&'static str),
    /// The text has one of the forms, and one of its parts is wrong.
    #[error("{EXPECTED}; its {part} {fault}")]
    Part { part: &'static str, fault: &'static str },
}

impl FromStr for DatabaseAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            return sqlite(path);
        }
        let rest = match text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://")) {
            Some(rest) => rest,
            None if text.split(['@', '?']).next().is_some_and(|head| head.contains("://")) => {
                return Err(AddressError::Form("; this one has another scheme"));
            }
            None => bare(text)?,
        };
        postgres(rest).map(DatabaseAddress::Postgres)
    }
}

/// The rest of an address without a scheme. Refuses a text that looks like the path of a file.
fn bare(text: &str) -> Result<&str, AddressError> {
    let looks_like_a_file =
        text.starts_with(['/', '.']) || [".db", ".sqlite", ".sqlite3"].iter().any(|end| text.ends_with(end));
    match text {
        "" => Err(AddressError::Form("")),
        _ if looks_like_a_file && !text.contains('@') => {
            Err(AddressError::Form("; for a file, write sqlite: before it"))
        }
        _ => Ok(text),
    }
}

fn sqlite(path: &str) -> Result<DatabaseAddress, AddressError> {
    let path = path.strip_prefix("//").unwrap_or(path);
    let fault = |fault| Err(AddressError::Part { part: "path", fault });
    match path {
        "" => fault("is missing"),
        ":memory:" => fault("must be a file: nothing in memory survives a restart"),
        _ if path.contains('?') => fault("takes no parameters"),
        _ if path.ends_with('/') => fault("must be a file, not a folder"),
        _ => Ok(DatabaseAddress::Sqlite { path: PathBuf::from(path) }),
    }
}

/// Parses `user:password@host:port/name?parameters`; all parts but the host are optional.
fn postgres(rest: &str) -> Result<PostgresAddress, AddressError> {
    // A password may contain an unencoded `@`, so the last one before the path ends the user part.
    let (user_info, location) = match rest.rfind('@').map(|at| rest.split_at(at)) {
        Some((user_info, location)) => (user_info, &location[1..]),
        None => ("", rest),
    };
    let (location, query) = location.split_once('?').unwrap_or((location, ""));
    let (host_port, database) = location.split_once('/').unwrap_or((location, ""));
    let (host, port) = host_and_port(host_port)?;
    let (user, password) = match user_info.split_once(':') {
        Some((user, password)) => (user, Some(Secret::from(decode("password", password)?))),
        None => (user_info, None),
    };
    if database.contains('/') {
        return Err(AddressError::Part { part: "database name", fault: "may not contain a slash" });
    }
    Ok(PostgresAddress {
        user: or_default(decode("user", user)?, DEFAULT_USER),
        password,
        host,
        port,
        database: or_default(decode("database name", database)?, DEFAULT_DATABASE),
        parameters: parameters(query)?,
    })
}

fn or_default(text: String, default: &str) -> String {
    if text.is_empty() { default.to_owned() } else { text }
}

fn host_and_port(text: &str) -> Result<(String, u16), AddressError> {
    let port_fault = || AddressError::Part { part: "port", fault: "must be a number from 1 to 65535" };
    let host_fault = |fault| AddressError::Part { part: "host", fault };
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']').ok_or(host_fault("has a bracket without its counterpart"))?;
            let port = if after.is_empty() { None } else { Some(after.strip_prefix(':').ok_or_else(port_fault)?) };
            (host.to_owned(), port)
        }
        None => {
            let (host, port) = text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)));
            (decode("host", host)?, port)
        }
    };
    if host.contains(char::is_whitespace) {
        return Err(host_fault("may not contain spaces"));
    }
    if host.contains(',') {
        return Err(host_fault("must be one server"));
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(text) => text.parse().ok().filter(|port| *port != 0).ok_or_else(port_fault)?,
    };
    Ok((or_default(host, "localhost"), port))
}

fn parameters(query: &str) -> Result<Vec<(String, String)>, AddressError> {
    let fault = AddressError::Part { part: "parameters", fault: "must be name=value, joined by &" };
    query
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (name, value) = part.split_once('=').ok_or_else(|| fault.clone())?;
            Ok((decode("parameters", name)?, decode("parameters", value)?))
        })
        .collect()
}

fn decode(part: &'static str, text: &str) -> Result<String, AddressError> {
    let bytes = text.as_bytes();
    let two_digits =
        |at: usize| bytes.get(at + 1..at + 3).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'%' && !two_digits(at)) {
        return Err(AddressError::Part {
            part,
            fault: "has a % that no two hexadecimal digits follow; write it as %25",
        });
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(_) => Err(AddressError::Part { part, fault: "is no UTF-8 once decoded" }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let shown = match text.parse::<DatabaseAddress>() {
            Ok(DatabaseAddress::Sqlite { path }) => format!("sqlite {}", path.display()),
            Ok(DatabaseAddress::Postgres(address)) => address.url().expose().to_owned(),
            Err(AddressError::Part { part, fault }) => format!("{part} {fault}"),
            Err(AddressError::Form(hint)) => format!("form{hint}"),
        };
        assert_eq!(shown, expected, "for {text}");
    }

    #[test]
    fn the_three_forms() {
        check("sqlite:data/muster.db", "sqlite data/muster.db");
        check("sqlite:/var/lib/muster.db", "sqlite /var/lib/muster.db");
        check("sqlite:///var/lib/muster.db", "sqlite /var/lib/muster.db");
        check("postgres://u:p@db:5433/game", "postgresql://u:p@db:5433/game");
        check("postgresql://u@db/game?sslmode=require", "postgresql://u@db:5432/game?sslmode=require");
        check("u:p@db:5433/game", "postgresql://u:p@db:5433/game");
        check("root@localhost:26257", "postgresql://root@localhost:26257/nakama");
        check("db", "postgresql://root@db:5432/nakama");
        check("u:p@[::1]:5433/game", "postgresql://u:p@[::1]:5433/game");
    }

    #[test]
    fn passwords_are_decoded_and_encoded() {
        check("u:a%40b%3Ac%25@db/game", "postgresql://u:a%40b%3Ac%25@db:5432/game");
        check("u:a@b:c@db/game", "postgresql://u:a%40b%3Ac@db:5432/game");
        let Ok(DatabaseAddress::Postgres(address)) = "postgres://u:a%40b%2Fc@db/game".parse() else {
            panic!("a valid address");
        };
        assert_eq!(address.password.as_ref().map(Secret::expose), Some("a@b/c"));
        assert!(!format!("{address:?}").contains("a@b/c"));
    }

    #[test]
    fn bad_ones_say_what_is_wrong() {
        check("", "form");
        check("mysql://u:p@db/game", "form; this one has another scheme");
        check("/var/lib/muster.db", "form; for a file, write sqlite: before it");
        check("muster.db", "form; for a file, write sqlite: before it");
        check("sqlite:", "path is missing");
        check("sqlite::memory:", "path must be a file: nothing in memory survives a restart");
        check("sqlite:a.db?mode=ro", "path takes no parameters");
        check("sqlite:data/", "path must be a file, not a folder");
        check("u:p@db:0/game", "port must be a number from 1 to 65535");
        check("u:p@db:x/game", "port must be a number from 1 to 65535");
        check("u:p@[::1/game", "host has a bracket without its counterpart");
        check("u:p@a,b/game", "host must be one server");
        check("u:100%@db/game", "password has a % that no two hexadecimal digits follow; write it as %25");
        check("u:%ff@db/game", "password is no UTF-8 once decoded");
        check("u:p@db/a/b", "database name may not contain a slash");
        check("u:p@db/game?sslmode", "parameters must be name=value, joined by &");
    }
}
