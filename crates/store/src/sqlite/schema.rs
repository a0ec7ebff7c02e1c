//! Opens connections with the same settings everywhere, and brings a file's schema up to date by numbered migrations.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};

use super::error::opening;
use crate::OpenError;

/// The application id in the file's header that marks a file as Muster's: the letters MSTR.
const APPLICATION_ID: i32 = 0x4d53_5452;

/// Longest wait of a connection for a lock of another process, such as a backup or an operator's shell.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Most bytes that the log's file keeps when the log starts over.
const LOG_LEN_KEPT_MAX: i64 = 128 * 1024 * 1024;

/// Most prepared statements that a connection keeps; Muster uses fewer.
const STATEMENTS_MAX: usize = 128;

/// A numbered step from one schema to the next. A released step is never changed.
struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "initial", sql: include_str!("../../migrations/sqlite/0001_initial.sql") },
    Migration {
        version: 2,
        name: "direct messages",
        sql: include_str!("../../migrations/sqlite/0002_direct_messages.sql"),
    },
    Migration {
        version: 3,
        name: "revocation of a ban",
        sql: include_str!("../../migrations/sqlite/0003_revocation_banned.sql"),
    },
    Migration { version: 4, name: "terms", sql: include_str!("../../migrations/sqlite/0004_terms.sql") },
    Migration { version: 5, name: "effects", sql: include_str!("../../migrations/sqlite/0005_effects.sql") },
    Migration { version: 6, name: "banned", sql: include_str!("../../migrations/sqlite/0006_banned.sql") },
    Migration { version: 7, name: "usage", sql: include_str!("../../migrations/sqlite/0007_usage.sql") },
];

/// The newest schema that this program knows.
pub const SCHEMA_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Opens a connection for reading and writing with the settings that all connections have: write-ahead log, full sync,
/// foreign keys enforced. `vfs` names SQLite's file system layer; `None` is the system's own.
pub(super) fn connect(path: &Path, vfs: Option<&str>, cache_kb: u32) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match vfs {
        Some(vfs) => Connection::open_with_flags_and_vfs(path, flags, vfs)?,
        None => Connection::open_with_flags(path, flags)?,
    };
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_MAX);
    // Without this setting a query over a table with partial indexes is compiled again for each new value of a
    // parameter.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    // The log is synced at every commit, so that an acknowledged write survives a power cut.
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "temp_store", "memory")?;
    connection.pragma_update(None, "cache_size", -i64::from(cache_kb))?;
    // Checkpoints run on a thread of their own, see `checkpoint`. Memory maps are off: with them a failing disk ends
    // the process by a signal, instead of an error that can be answered.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    // A log that grew far beyond its usual length, for example during a long backup, gives the space back.
    connection.pragma_update(None, "journal_size_limit", LOG_LEN_KEPT_MAX)?;
    Ok(connection)
}

/// Brings the schema up to date, with all steps in one transaction. Answers the versions applied now.
///
/// # Errors
/// When the file is not Muster's, or its schema is newer than this program.
pub(super) fn migrate(path: &Path, connection: &mut Connection) -> Result<Vec<i64>, OpenError> {
    let failed = opening(path);
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(&failed)?;
    let present = schema_version(path, &transaction)?;
    let mut applied = Vec::new();
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > present) {
        transaction.execute_batch(migration.sql).map_err(&failed)?;
        transaction
            .execute(
                "INSERT INTO muster_migration (version, name, applied_at) VALUES (?1, ?2, unixepoch() * 1000000)",
                (migration.version, migration.name),
            )
            .map_err(&failed)?;
        applied.push(migration.version);
    }
    transaction.commit().map_err(&failed)?;
    Ok(applied)
}

/// The schema's version. For an empty file the answer is 0, and the table `muster_migration` is created.
fn schema_version(path: &Path, connection: &Connection) -> Result<i64, OpenError> {
    let failed = opening(path);
    let application_id: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(&failed)?;
    if application_id == 0 {
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(&failed)?;
        if tables > 0 {
            return Err(not_ours());
        }
        connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(&failed)?;
        connection
            .execute_batch(
                "CREATE TABLE muster_migration (
                    version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TIME INTEGER NOT NULL)",
            )
            .map_err(&failed)?;
        return Ok(0);
    }
    known_version(path, connection)
}

/// The schema version of the file, which must be Muster's and no newer than this program.
pub(super) fn known_version(path: &Path, connection: &Connection) -> Result<i64, OpenError> {
    let failed = opening(path);
    let application_id: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(&failed)?;
    if application_id != APPLICATION_ID {
        return Err(not_ours());
    }
    let newest: Option<i64> = connection
        .query_row("SELECT max(version) FROM muster_migration", [], |row| row.get(0))
        .optional()
        .map_err(&failed)?
        .flatten();
    let version = newest.unwrap_or(0);
    if version > SCHEMA_VERSION {
        return Err(OpenError::new(format!(
            "the database has schema {version}, and this program knows schemas up to {SCHEMA_VERSION}: \
             run the newer program that made it, or restore a backup from before"
        )));
    }
    Ok(version)
}

fn not_ours() -> OpenError {
    OpenError::new("the file is an SQLite database of another program: name another file")
}
