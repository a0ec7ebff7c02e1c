//! Brings a database's schema up to date: creates the original's tables where there are none, and Muster's beside them.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::Client;

use super::adopt::{Found, inspect};
use super::connect::{Connected, Settings, connect, try_to_connect};
use super::fault::describe;
use super::game_role;
use super::servers::Servers;
use crate::OpenError;

/// A numbered step of Muster's own tables. A released step is never changed.
struct Migration {
    version: i64,
    name: &'static str,
    sql: &'static str,
}

/// The original server's tables, with its system user and the list of its migrations.
pub(crate) const NAKAMA: &str = include_str!("../../migrations/postgres/0000_nakama.sql");

const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "revocation", sql: include_str!("../../migrations/postgres/0001_muster.sql") },
    Migration {
        version: 2,
        name: "revocation of a ban",
        sql: include_str!("../../migrations/postgres/0002_revocation_banned.sql"),
    },
    Migration { version: 3, name: "terms", sql: include_str!("../../migrations/postgres/0003_terms.sql") },
    Migration { version: 4, name: "effects", sql: include_str!("../../migrations/postgres/0004_effects.sql") },
    Migration { version: 5, name: "usage", sql: include_str!("../../migrations/postgres/0005_usage.sql") },
];

/// The table of applied migrations. `adopted` is true if another server had created the original's tables.
const RECORD: &str = "CREATE TABLE IF NOT EXISTS muster_migration (
    version bigint NOT NULL,
    name text NOT NULL,
    adopted boolean NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT muster_migration_pkey PRIMARY KEY (version)
)";

/// The newest schema of Muster's tables that this program knows.
pub const SCHEMA_VERSION: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// The lock by which two servers that start together migrate one after the other. The number is the letters MUSTER.
const LOCK: &str = "SELECT pg_advisory_xact_lock(x'4d5553544552'::bigint)";

/// Longest time of one statement of a migration: building an index on a large database takes long.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Pause between two attempts to reach a database that is not there yet.
const WAIT_PAUSE: Duration = Duration::from_millis(250);

/// The outcome of a migration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Set if the database was empty, and all tables were created.
    pub created: bool,
    /// Set if another server created the original's tables, and Muster adopted them now or earlier.
    pub adopted: bool,
    /// Versions of Muster's own tables that were applied now.
    pub applied: Vec<i64>,
}

impl Migrated {
    /// Whether the database of another server was adopted by this migration: it had none of Muster's tables before.
    pub fn adopted_now(&self) -> bool {
        self.adopted && self.applied.first() == Some(&MIGRATIONS[0].version)
    }
}

/// Brings the database on `servers` up to date in one transaction. Creates all tables in an empty database, adds
/// Muster's tables to a database of a Nakama 3.40 server, and changes nothing else. Call it once, before the shards
/// open their stores.
///
/// # Errors
/// When the database does not answer, or Muster may not use it; the sentence says what to do.
pub async fn migrate(servers: &Servers) -> Result<Migrated, OpenError> {
    let mut probe = Probe::connect(servers).await?;
    if let Some(server) = probe.overheard_at.take() {
        tracing::warn!(
            server,
            "the connection to the database is not encrypted, and others may listen: set up TLS at the database, and \
             add sslmode=verify-full to database.address"
        );
    }
    let migrated = apply(&mut probe.client).await;
    probe.close().await;
    migrated
}

/// Waits until a database answers on `servers`, at most for `patience`, and tells the log. Other faults than that
/// nobody answers yet are left to the next to connect.
pub async fn wait_until_there(servers: &Servers, patience: Duration) {
    let begun = Instant::now();
    let settings = Settings { statement_timeout: STATEMENT_TIMEOUT, more: String::new() };
    let mut has_told = false;
    loop {
        let unusable = match try_to_connect(servers, &settings).await {
            Ok(Connected { client, driver, .. }) => {
                drop(client);
                let _ = driver.await;
                break;
            }
            Err(unusable) => unusable,
        };
        if !unusable.may_pass || begun.elapsed() + WAIT_PAUSE > patience {
            return;
        }
        if !std::mem::replace(&mut has_told, true) {
            let patience_sec = patience.as_secs();
            tracing::warn!(reason = unusable.text, patience_sec, "no database answers yet: the start waits for it");
        }
        tokio::time::sleep(WAIT_PAUSE).await;
    }
    if has_told {
        tracing::info!(waited_sec = begun.elapsed().as_secs(), "the database answers");
    }
}

async fn apply(client: &mut Client) -> Result<Migrated, OpenError> {
    let failed =
        |error: tokio_postgres::Error| OpenError::new(format!("cannot migrate the database: {}", describe(&error)));
    let transaction = client.transaction().await.map_err(failed)?;
    transaction.batch_execute(LOCK).await.map_err(failed)?;
    let found = inspect(transaction.client()).await?;
    let (present, adopted) = match found {
        Found::Empty => {
            transaction.batch_execute(NAKAMA).await.map_err(failed)?;
            (0, false)
        }
        Found::Nakama => (0, true),
        Found::Muster { version, adopted } => (version, adopted),
    };
    transaction.batch_execute(RECORD).await.map_err(failed)?;
    let mut applied = Vec::new();
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > present) {
        transaction.batch_execute(migration.sql).await.map_err(failed)?;
        let sql = "INSERT INTO muster_migration (version, name, adopted) VALUES ($1, $2, $3)";
        transaction.execute(sql, &[&migration.version, &migration.name, &adopted]).await.map_err(failed)?;
        applied.push(migration.version);
    }
    game_role::grant(transaction.client()).await?;
    transaction.commit().await.map_err(failed)?;
    Ok(Migrated { created: found == Found::Empty, adopted, applied })
}

/// Facts about a database that is up to date.
pub(super) struct Known {
    pub(super) adopted: bool,
    /// Set if the database has a lesser role for statements of game code.
    pub(super) has_game_role: bool,
}

/// Whether the database on `servers` was adopted from another server.
///
/// # Errors
/// When the database does not answer, or its schema is not exactly this program's.
pub async fn is_adopted(servers: &Servers) -> Result<bool, OpenError> {
    Ok(look(servers).await?.adopted)
}

/// Looks at a database that must be up to date.
pub(super) async fn look(servers: &Servers) -> Result<Known, OpenError> {
    let probe = Probe::connect(servers).await?;
    let found = inspect(&probe.client).await;
    let has_game_role = match &found {
        Ok(Found::Muster { version: SCHEMA_VERSION, .. }) => game_role::find(&probe.client).await,
        _ => Ok(false),
    };
    probe.close().await;
    match found? {
        Found::Muster { version: SCHEMA_VERSION, adopted } => Ok(Known { adopted, has_game_role: has_game_role? }),
        Found::Muster { version, .. } => Err(OpenError::new(format!(
            "the database has schema {version} of {SCHEMA_VERSION}: run `muster migrate up` or start the server"
        ))),
        Found::Empty => {
            Err(OpenError::new("the database is empty: `muster migrate up` or the first start makes all tables"))
        }
        Found::Nakama => Err(OpenError::new(
            "this is a Nakama 3.40 database that Muster has not used yet: `muster migrate up` or the first start \
             adopts it in place, which adds tables named muster_ and changes nothing else",
        )),
    }
}

/// A connection beside the pools, for a look at the schema. It is closed before the pools open theirs, so that it does
/// not add to their number.
struct Probe {
    client: Client,
    driver: JoinHandle<()>,
    overheard_at: Option<String>,
}

impl Probe {
    async fn connect(servers: &Servers) -> Result<Self, OpenError> {
        let settings = Settings { statement_timeout: STATEMENT_TIMEOUT, more: String::new() };
        let connected = connect(servers, &settings).await;
        let Connected { client, driver, overheard_at } =
            connected.map_err(|why| OpenError::new(format!("cannot connect to the database: {why}")))?;
        Ok(Self { client, driver, overheard_at })
    }

    async fn close(self) {
        drop(self.client);
        // The driver ends once it has said goodbye to the database.
        let _ = self.driver.await;
    }
}
