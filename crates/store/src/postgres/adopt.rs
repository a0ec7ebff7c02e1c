//! Looks at the tables of a database, and decides whether Muster may use it.

use std::collections::BTreeSet;

use tokio_postgres::Client;

use super::fault::describe;
use super::schema::SCHEMA_VERSION;
use crate::OpenError;

/// The migrations that a Nakama 3.40 server records. A database can be adopted only if it has all of them and no
/// others.
pub(super) const NAKAMA_MIGRATIONS: [&str; 19] = [
    "20180103142001_initial_schema.sql",
    "20180805174141-tournaments.sql",
    "20200116134800-facebook-instant-games.sql",
    "20200615102232-apple.sql",
    "20201005180855-console.sql",
    "20210416090601-purchase.sql",
    "20220426122825-subscription.sql",
    "20221027145900-subscription-raw-columns.sql",
    "20230222172540-purchases-not-null-uid-1.sql",
    "20230222172540-purchases-not-null-uid-2.sql",
    "20230706095800-leaderboard-list-index.sql",
    "20240715155039-leaderboard-rank-enable.sql",
    "20240725115145-purchase-index-change.sql",
    "20240801100859-add-console-user-mfa.sql",
    "20250113112512_add_user_edge_metadata.sql",
    "20250703094700-add-console-settings.sql",
    "20250926112031-console-fine-grained-acl.sql",
    "20251015150737-add-user-notes-audit-acl-templates.sql",
    "20260319134532-add-display-name-index.sql",
];

/// The tables that a database holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// No tables.
    Empty,
    /// The original server's tables, complete, and none of Muster's.
    Nakama,
    /// Muster's tables up to this version, beside the original server's.
    Muster { version: i64, adopted: bool },
}

/// Reads the tables of the connection's schema.
///
/// # Errors
/// When Muster may not use the database; the sentence says what to do.
pub(super) async fn inspect(client: &Client) -> Result<Found, OpenError> {
    let failed = |error: tokio_postgres::Error| {
        OpenError::new(format!("cannot read the database's tables: {}", describe(&error)))
    };
    let sql = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
    let rows = client.query(sql, &[]).await.map_err(failed)?;
    let tables: BTreeSet<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(failed)?;
    if tables.is_empty() {
        return Ok(Found::Empty);
    }
    if !tables.contains("migration_info") {
        return Err(OpenError::new(
            "the database holds tables of another program: name an empty database, or one of a Nakama 3.40 server",
        ));
    }
    let rows = client.query("SELECT id FROM migration_info", &[]).await.map_err(failed)?;
    let applied: BTreeSet<String> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(failed)?;
    check_migrations(&applied)?;
    if !tables.contains("muster_migration") {
        return Ok(Found::Nakama);
    }
    let sql = "SELECT coalesce(max(version), 0), coalesce(bool_or(adopted), false) FROM muster_migration";
    let row = client.query_one(sql, &[]).await.map_err(failed)?;
    let version: i64 = row.try_get(0).map_err(failed)?;
    let adopted: bool = row.try_get(1).map_err(failed)?;
    if version > SCHEMA_VERSION {
        return Err(OpenError::new(format!(
            "the database has schema {version} of Muster, and this program knows schemas up to {SCHEMA_VERSION}: \
             run the newer program that made it, or restore a backup from before"
        )));
    }
    Ok(Found::Muster { version, adopted })
}

/// Checks that exactly the known migrations have been applied.
fn check_migrations(applied: &BTreeSet<String>) -> Result<(), OpenError> {
    let known: BTreeSet<&str> = NAKAMA_MIGRATIONS.into();
    let missing = known.iter().filter(|id| !applied.contains(**id)).count();
    let unknown: Vec<&str> = applied.iter().map(String::as_str).filter(|id| !known.contains(id)).collect();
    if !unknown.is_empty() {
        return Err(OpenError::new(format!(
            "the database belongs to a newer Nakama than 3.40 (it has {}): use a Muster made for that version",
            unknown.join(", ")
        )));
    }
    if missing > 0 {
        return Err(OpenError::new(format!(
            "the database belongs to an older Nakama than 3.40 ({missing} of its migrations are missing): \
             run `nakama migrate up` of Nakama 3.40 first, after a backup"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_exactly_the_known_migrations() {
        let all: BTreeSet<String> = NAKAMA_MIGRATIONS.iter().map(|id| (*id).to_owned()).collect();
        let check = |applied: &BTreeSet<String>, expect: &str| match check_migrations(applied) {
            Ok(()) => assert_eq!(expect, ""),
            Err(error) => assert!(error.0.contains(expect) && !expect.is_empty(), "{error}"),
        };
        check(&all, "");
        check(&all.iter().skip(1).cloned().collect(), "older Nakama than 3.40 (1 of");
        check(&all.iter().cloned().chain(["29990101000000-later.sql".to_owned()]).collect(), "newer Nakama");
    }
}
