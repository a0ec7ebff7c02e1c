//! A database for one test, with direct access to its tables, and a runtime of one thread as a shard has it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use muster_domain::UserId;
use muster_domain::ports::accounts::{Identifier, Login, NewAccount};
use muster_domain::ports::store::Store;
use muster_domain::quotas::Quotas;
use muster_domain::time::Timestamp;
use muster_testenv::{Database, Postgres};
use rusqlite::types::ValueRef;
use tokio_postgres::{NoTls, SimpleQueryMessage};
use uuid::Uuid;

use crate::metrics::StoreMetrics;
use crate::{PostgresOptions, PostgresStore, Servers, SqliteOptions, SqliteStore, postgres};

/// A store on a database for one test, see the module.
pub(super) struct Fixture {
    store: Box<dyn Store>,
    metrics: Arc<StoreMetrics>,
    raw: Raw,
}

enum Raw {
    Sqlite { path: PathBuf, _folder: Folder },
    Postgres { client: Box<tokio_postgres::Client>, _database: Option<Database> },
}

/// A value of a column, for rows that the ports cannot write.
pub(super) enum Cell<'a> {
    Id(Uuid),
    Text(&'a str),
    Number(i64),
    Time(i64),
}

/// A folder for one test, which is removed when this value is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("muster-store-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn on_sqlite(test: impl AsyncFnOnce(&Fixture)) {
    runtime().block_on(async {
        let folder = Folder::new();
        let path = folder.0.join("muster.db");
        let options = SqliteOptions { quotas: quotas(), ..SqliteOptions::default() };
        let store = SqliteStore::open(&path, &options, Arc::new(StoreMetrics::default())).unwrap();
        let metrics = Arc::clone(store.metrics());
        test(&Fixture { store: Box::new(store), metrics, raw: Raw::Sqlite { path, _folder: folder } }).await;
    });
}

pub(super) fn on_postgres(test: impl AsyncFnOnce(&Fixture)) {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    runtime().block_on(async {
        postgres::migrate(&servers(database.url())).await.unwrap();
        let options = PostgresOptions { connections_max: 6, quotas: quotas(), ..PostgresOptions::default() };
        let store =
            PostgresStore::open(&servers(database.url()), &options, Arc::new(StoreMetrics::default())).await.unwrap();
        let client = client(database.url()).await;
        test(&Fixture::on(store, client, Some(database))).await;
    });
}

/// Quotas that tests can reach.
pub(super) fn quotas() -> Quotas {
    Quotas::new([40, 1 << 20, 30, 2_000, 5])
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The servers of one address.
pub(crate) fn servers(url: &str) -> Servers {
    Servers::parse(&[url]).unwrap()
}

pub(crate) async fn client(url: &str) -> tokio_postgres::Client {
    let (client, driver) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(driver);
    client
}

impl Fixture {
    /// A fixture on an open store. `client` is another connection to the store's database.
    pub(super) fn on(store: PostgresStore, client: tokio_postgres::Client, database: Option<Database>) -> Self {
        let metrics = Arc::clone(store.metrics());
        Self { store: Box::new(store), metrics, raw: Raw::Postgres { client: Box::new(client), _database: database } }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Number of transactions that were run again because of other transactions.
    pub(super) fn retries(&self) -> u64 {
        self.metrics.retries.load(Ordering::Relaxed)
    }

    pub(super) fn is_postgres(&self) -> bool {
        matches!(self.raw, Raw::Postgres { .. })
    }

    /// The present value of a counter, by its name.
    pub(super) fn metric(&self, name: &str) -> u64 {
        self.metrics.snapshot().into_iter().find(|(known, _)| *known == name).unwrap().1
    }

    /// Signs up a new player with a device. Panics if the player exists.
    pub(super) async fn sign_up(&self, name: &str) -> UserId {
        let login = self.sign_in(&device(name), name).await;
        assert!(login.created, "{name} is known already");
        login.user_id
    }

    /// Signs in, and creates the account `name` if there is none.
    pub(super) async fn sign_in(&self, identifier: &Identifier, name: &str) -> Login {
        self.store().login(identifier, Some(&new_account(name))).await.unwrap().unwrap()
    }

    /// Inserts a row directly, not through a port.
    pub(super) async fn insert(&self, table: &str, cells: &[(&str, Cell<'_>)]) {
        let columns: Vec<&str> = cells.iter().map(|(column, _)| *column).collect();
        let values: Vec<String> = cells.iter().map(|(_, cell)| self.literal(cell)).collect();
        let sql = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), values.join(", "));
        self.execute(&sql).await;
    }

    pub(super) async fn execute(&self, sql: &str) {
        match &self.raw {
            Raw::Sqlite { path, .. } => connect(path).execute_batch(sql).unwrap(),
            Raw::Postgres { client, .. } => client.batch_execute(sql).await.unwrap(),
        }
    }

    /// The plan of the database for a query, which is given in both dialects, with these values. On PostgreSQL table
    /// scans are switched off, because it would scan tables as small as these.
    pub(super) async fn plan(&self, sqlite: &str, postgres: &str, values: &[Cell<'_>]) -> String {
        let (sql, mark) = match &self.raw {
            Raw::Sqlite { .. } => (sqlite, '?'),
            Raw::Postgres { .. } => (postgres, '$'),
        };
        let fill = |sql: String, (index, value)| sql.replace(&format!("{mark}{}", index + 1), &self.literal(value));
        let sql = values.iter().enumerate().fold(sql.to_owned(), fill);
        match &self.raw {
            Raw::Sqlite { path, .. } => {
                let connection = connect(path);
                let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let steps = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
                steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
            }
            Raw::Postgres { client, .. } => {
                client.batch_execute("SET enable_seqscan = off; SET enable_bitmapscan = off").await.unwrap();
                query(client, &format!("EXPLAIN {sql}")).await.join("; ")
            }
        }
    }

    /// Every row of every table as text, with the table's name.
    pub(super) async fn rows(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        match &self.raw {
            Raw::Sqlite { path, .. } => {
                let connection = connect(path);
                let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
                let mut tables = connection.prepare(sql).unwrap();
                let tables: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
                for table in tables {
                    let mut statement = connection.prepare(&format!("SELECT * FROM {table}")).unwrap();
                    let width = statement.column_count();
                    let mut found = statement.query([]).unwrap();
                    while let Some(row) = found.next().unwrap() {
                        let texts: Vec<String> = (0..width).map(|index| text(row.get_ref(index).unwrap())).collect();
                        rows.push((table.clone(), texts.join("|")));
                    }
                }
            }
            Raw::Postgres { client, .. } => {
                for table in query(client, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'").await {
                    for row in query(client, &format!("SELECT to_jsonb(t) FROM \"{table}\" t")).await {
                        rows.push((table.clone(), row));
                    }
                }
            }
        }
        rows
    }

    /// Number and bytes of an account's objects: as they are, and as they are counted.
    pub(super) async fn objects_and_count(&self, user: UserId) -> (String, String) {
        let owner = self.literal(&Cell::Id(user.0));
        let bytes = if matches!(self.raw, Raw::Sqlite { .. }) { "value" } else { "value::text" };
        let held = format!(
            "SELECT count(*) || ' objects, ' || sum(octet_length({bytes})) FROM storage WHERE user_id = {owner}"
        );
        let counted =
            format!("SELECT objects || ' objects, ' || bytes FROM muster_object_usage WHERE user_id = {owner}");
        match &self.raw {
            Raw::Sqlite { path, .. } => {
                let connection = connect(path);
                let text = |sql: &str| connection.query_row(sql, [], |row| row.get(0)).unwrap();
                (text(&held), text(&counted))
            }
            Raw::Postgres { client, .. } => {
                (query(client, &held).await.remove(0), query(client, &counted).await.remove(0))
            }
        }
    }

    fn literal(&self, cell: &Cell<'_>) -> String {
        match (cell, &self.raw) {
            (Cell::Id(id), Raw::Sqlite { .. }) => format!("x'{}'", id.simple()),
            (Cell::Id(id), Raw::Postgres { .. }) => format!("'{id}'"),
            (Cell::Text(text), _) => format!("'{}'", text.replace('\'', "''")),
            (Cell::Number(number), _) => number.to_string(),
            (Cell::Time(micros), Raw::Sqlite { .. }) => micros.to_string(),
            (Cell::Time(micros), Raw::Postgres { .. }) => format!("'{}'", crate::time::rfc3339(*micros)),
        }
    }
}

pub(crate) async fn query(client: &tokio_postgres::Client, sql: &str) -> Vec<String> {
    let messages = client.simple_query(sql).await.unwrap();
    let text = |row: &tokio_postgres::SimpleQueryRow| row.get(0).unwrap_or_default().to_owned();
    messages
        .iter()
        .filter_map(|message| if let SimpleQueryMessage::Row(row) = message { Some(text(row)) } else { None })
        .collect()
}

fn connect(path: &std::path::Path) -> rusqlite::Connection {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    connection
}

/// A value as text. Bytes are shown in hex, and then as an id if there are sixteen of them.
fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Blob(bytes) => {
            let id = Uuid::from_slice(bytes).map(|id| id.to_string()).unwrap_or_default();
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + " " + &id
        }
    }
}

pub(super) fn device(name: &str) -> Identifier {
    Identifier::Device(format!("device-of-{name}"))
}

pub(super) fn custom(name: &str) -> Identifier {
    Identifier::Custom(format!("custom-of-{name}"))
}

pub(super) fn new_account(name: &str) -> NewAccount {
    NewAccount { user_id: UserId(Uuid::new_v4()), username: name.to_owned(), now: NOW }
}

/// The time of most tests. Its microseconds are not zero, so that rounding would show.
pub(super) const NOW: Timestamp = Timestamp(1_700_000_000_123_456);
