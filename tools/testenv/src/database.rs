//! An empty database for one test, dropped with its value.

use anyhow::{Context, Result};

use crate::postgres::Postgres;
use crate::programs::{Programs, output_of};
use crate::unique;

/// An empty database of its own on a test server. Dropping it drops the database, connections and all.
#[derive(Debug)]
pub struct Database {
    url: String,
    name: String,
    server_url: String,
    programs: Programs,
}

impl Postgres {
    /// Creates an empty database for this caller only. It is dropped with the value.
    ///
    /// # Errors
    /// When the server does not answer, or its user may not create databases.
    pub fn create_database(&self) -> Result<Database> {
        let name = format!("muster_test_{}", unique());
        let mut createdb = self.programs.command("createdb");
        // The default template is avoided, since somebody may be connected to it.
        createdb.args(["--template=template0", "--maintenance-db"]).arg(self.url()).arg(&name);
        output_of(&mut createdb).context("cannot create a database for the test")?;
        Ok(Database {
            url: with_database(self.url(), &name),
            name,
            server_url: self.url().to_owned(),
            programs: self.programs.clone(),
        })
    }
}

impl Database {
    /// Address of the database, as `postgres://user@host:port/name`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let mut dropdb = self.programs.command("dropdb");
        dropdb.args(["--if-exists", "--force", "--maintenance-db"]).arg(&self.server_url).arg(&self.name);
        // The server may be gone already, and the database with it.
        let _ = output_of(&mut dropdb);
    }
}

/// `url` with its database replaced; user, address and parameters stay.
fn with_database(url: &str, name: &str) -> String {
    let (before, parameters) = url.split_once('?').map_or((url, None), |(before, after)| (before, Some(after)));
    let authority_start = before.find("://").map_or(0, |at| at + "://".len());
    let authority_end = before[authority_start..].find('/').map_or(before.len(), |at| authority_start + at);
    let parameters = parameters.map(|text| format!("?{text}")).unwrap_or_default();
    format!("{}/{name}{parameters}", &before[..authority_end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_database_and_nothing_else() {
        let check = |url: &str, expect: &str| assert_eq!(with_database(url, "d"), expect);
        check("postgres://u@127.0.0.1:5432/postgres", "postgres://u@127.0.0.1:5432/d");
        check("postgres://u:p@h", "postgres://u:p@h/d");
        check("postgres://u@h/x?sslmode=disable", "postgres://u@h/d?sslmode=disable");
    }
}
