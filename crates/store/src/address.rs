//! Where a database is, as written in the configuration: `sqlite:PATH`, `postgres://…`, or the short form
//! `user:password@host:port/name` of the original server.

use std::path::PathBuf;

use crate::{OpenError, Servers};

/// A database address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file; its log and lock lie beside it.
    Sqlite(PathBuf),
    /// Servers of PostgreSQL that hold the database.
    Postgres(Servers),
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// A sentence that shows the accepted forms, never the address itself, which may hold a password.
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(unknown_form()) } else { Ok(Self::Sqlite(PathBuf::from(path))) };
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(Servers::parse(&[text])?));
        }
        if !text.contains("://") && text.contains('@') {
            return Ok(Self::Postgres(Servers::parse(&[format!("postgres://{text}")])?));
        }
        Err(unknown_form())
    }
}

fn unknown_form() -> OpenError {
    OpenError::new(
        "the database address must be sqlite:PATH, postgres://user:password@host:port/name or \
         user:password@host:port/name",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_all_forms() {
        let check = |text: &str, expect: Option<Address>| assert_eq!(Address::parse(text).ok(), expect, "{text}");
        check("sqlite:data/muster.db", Some(Address::Sqlite("data/muster.db".into())));
        check("sqlite:///var/muster.db", Some(Address::Sqlite("/var/muster.db".into())));
        let servers = |url: &str| Some(Address::Postgres(Servers::parse(&[url]).unwrap()));
        check("postgres://u@h/d", servers("postgres://u@h/d"));
        check("u:p@h:5432/d", servers("postgres://u:p@h:5432/d"));
        check("sqlite:", None);
        check("mysql://u@h/d", None);
        check("somewhere", None);
    }
}
