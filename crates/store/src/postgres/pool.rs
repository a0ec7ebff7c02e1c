//! The connections of a shard. Single statements share a connection, with many of them under way at a time. A
//! transaction of several statements gets a connection of its own, once the statements under way on that connection are
//! answered. Statements of game code have a pool to themselves, see [`super::sql`].
//!
//! All of this runs on one thread, so cells take the place of locks, and no borrow is held over an await. If a
//! transaction is abandoned, its state is unknown, and its connection is closed.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use muster_domain::ports::store::StoreError;
use muster_domain::quotas::Quotas;
use tokio::sync::Notify;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::connect::{Settings, connect};
use super::fault::Fault;
use super::servers::Servers;
use crate::metrics::{StoreMetrics, add, micros_since, subtract};

/// Most requests under way on one connection.
const PIPELINE_LEN_MAX: u32 = 64;

/// Longest time that the database may work on a statement that reads a whole table, and the command that says so for
/// the rest of a transaction.
const WHOLE_TABLE_TIMEOUT: Duration = Duration::from_secs(600);
const ALLOW_WHOLE_TABLE: &str = "SET LOCAL statement_timeout = '600s'";

/// Longest wait for an answer beyond `statement_timeout`.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// Shortest and longest pause after a failed attempt to connect. The pause doubles with each failure.
const BACKOFF_MIN: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Settings of a shard's connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Most connections of this shard that its own statements use, at least 1.
    pub connections_max: usize,
    /// Most connections of this shard that statements of game code use, at least 1.
    pub game_connections_max: usize,
    /// Longest wait for a connection to be opened or to become free.
    pub acquire_timeout: Duration,
    /// Longest time that the database may work on one statement.
    pub statement_timeout: Duration,
    /// Age at which a connection is replaced; `None` means that connections are kept for as long as they work.
    pub connection_lifetime: Option<Duration>,
    /// The quotas of each account.
    pub quotas: Quotas,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            connections_max: 16,
            game_connections_max: 4,
            acquire_timeout: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(15),
            connection_lifetime: None,
            quotas: Quotas::default(),
        }
    }
}

/// The connections of a shard, see the module.
pub(super) struct ConnectionPool {
    servers: Servers,
    settings: Settings,
    connections_max: usize,
    options: PostgresOptions,
    connections: RefCell<Vec<Rc<Connection>>>,
    opening: Cell<usize>,
    failed: RefCell<Option<Failed>>,
    /// Wakes tasks that wait for a place on a shared connection, one task for each place that becomes free. If all were
    /// woken, thousands would compete for the same place after every answer.
    place_free: Notify,
    /// Wakes tasks that wait to reserve a connection, one task for each connection that becomes free for that.
    reservation_free: Notify,
    /// Wakes tasks that have reserved a connection and wait for its last answer. There are at most as many as
    /// connections.
    drained: Notify,
    pub(super) metrics: Arc<StoreMetrics>,
}

/// The last failure to connect.
struct Failed {
    retry_at: Instant,
    backoff: Duration,
    said: String,
}

struct Connection {
    client: Client,
    statements: RefCell<HashMap<&'static str, Statement>>,
    in_flight: Cell<u32>,
    opened_at: Instant,
    /// Set once the connection has carried a request. Connections do not reach the end of their lifetime before that.
    used: Cell<bool>,
    /// Set while a transaction of several statements has the connection or waits for it.
    reserved: Cell<bool>,
    /// Set when the connection is no longer in the pool.
    removed: Cell<bool>,
}

/// The use of a connection, which ends when the lease is dropped.
pub(super) struct PooledConnection {
    pool: Rc<ConnectionPool>,
    connection: Rc<Connection>,
    used_as: ConnectionUse,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionUse {
    /// One statement.
    Shared,
    /// A transaction that begins when the earlier statements on the connection are answered.
    Reserved,
    /// A transaction that may have begun and not ended.
    Open,
    /// A transaction that has ended.
    Ended,
}

/// The reason why a connection leaves the pool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RemovalReason {
    Lost,
    Retired,
}

impl ConnectionPool {
    /// A pool without connections, which opens them as they are needed, at most `connections_max`.
    pub(super) fn new(
        servers: Servers,
        settings: Settings,
        connections_max: usize,
        options: PostgresOptions,
        metrics: Arc<StoreMetrics>,
    ) -> Rc<Self> {
        Rc::new(Self {
            servers,
            settings,
            connections_max: connections_max.max(1),
            options,
            connections: RefCell::default(),
            opening: Cell::new(0),
            failed: RefCell::default(),
            place_free: Notify::new(),
            reservation_free: Notify::new(),
            drained: Notify::new(),
            metrics,
        })
    }

    /// Leases a connection for one statement. Other statements may share the connection.
    pub(super) async fn shared(self: &Rc<Self>) -> Result<PooledConnection, StoreError> {
        self.within_timeout(async {
            loop {
                let place_free = self.place_free.notified();
                let least = self.least_busy();
                match least {
                    Some(connection) if connection.in_flight.get() == 0 => return Ok(self.share(connection)),
                    _ if self.has_room() && self.may_connect().is_ok() => self.open().await?,
                    Some(connection) if connection.in_flight.get() < PIPELINE_LEN_MAX => {
                        return Ok(self.share(connection));
                    }
                    None if self.connections.borrow().is_empty() && self.opening.get() == 0 => self.may_connect()?,
                    _ => place_free.await,
                }
            }
        })
        .await
    }

    /// Leases a connection for a transaction. At least one other connection stays shared, unless the pool has only one.
    pub(super) async fn exclusive(self: &Rc<Self>) -> Result<PooledConnection, StoreError> {
        self.reserve(self.connections_max > 1).await
    }

    /// Leases a connection for a transaction, be it the last. For pools whose connections are never shared.
    pub(super) async fn any(self: &Rc<Self>) -> Result<PooledConnection, StoreError> {
        self.reserve(false).await
    }

    async fn reserve(self: &Rc<Self>, leaves_one: bool) -> Result<PooledConnection, StoreError> {
        self.within_timeout(async {
            let connection = loop {
                let reservation_free = self.reservation_free.notified();
                let shared = self.connections.borrow().iter().filter(|each| !each.reserved.get()).count();
                let spare = !leaves_one || shared > 1;
                let idle = self.least_busy().filter(|connection| connection.in_flight.get() == 0 || !self.has_room());
                match idle {
                    Some(connection) if spare => break connection,
                    _ if self.has_room() && self.may_connect().is_ok() => self.open().await?,
                    None if self.connections.borrow().is_empty() && self.opening.get() == 0 => self.may_connect()?,
                    _ => reservation_free.await,
                }
            };
            connection.reserved.set(true);
            let mut pooled = PooledConnection { pool: Rc::clone(self), connection, used_as: ConnectionUse::Reserved };
            loop {
                let drained = self.drained.notified();
                if pooled.connection.in_flight.get() == 0 {
                    break;
                }
                drained.await;
            }
            self.begin_use(&pooled.connection);
            pooled.used_as = ConnectionUse::Open;
            Ok(pooled)
        })
        .await
    }

    async fn within_timeout(
        &self,
        acquired: impl Future<Output = Result<PooledConnection, StoreError>>,
    ) -> Result<PooledConnection, StoreError> {
        let started = Instant::now();
        let outcome = tokio::time::timeout(self.options.acquire_timeout, acquired).await;
        let waited_us = micros_since(started);
        if waited_us > 0 {
            add(&self.metrics.connection_waits, 1);
            add(&self.metrics.connection_wait_us, waited_us);
        }
        outcome.unwrap_or_else(|_| Err(StoreError::Unavailable("no database connection came free in time".to_owned())))
    }

    /// The unreserved connection with the fewest requests under way. Closed connections, and idle ones past their
    /// lifetime, are removed first.
    fn least_busy(&self) -> Option<Rc<Connection>> {
        self.remove_if(RemovalReason::Lost, |connection| connection.client.is_closed());
        self.remove_if(RemovalReason::Retired, |connection| {
            connection.in_flight.get() == 0 && !connection.reserved.get() && self.is_outlived(connection)
        });
        let connections = self.connections.borrow();
        let usable = connections.iter().filter(|each| !each.reserved.get() && !self.is_outlived(each));
        usable.min_by_key(|each| each.in_flight.get()).cloned()
    }

    /// Whether a connection is past its lifetime. It then takes no more requests, and is removed when it is idle.
    fn is_outlived(&self, connection: &Connection) -> bool {
        let lifetime = self.options.connection_lifetime;
        connection.used.get() && lifetime.is_some_and(|lifetime| connection.opened_at.elapsed() >= lifetime)
    }

    fn remove_if(&self, removal: RemovalReason, leaves: impl Fn(&Rc<Connection>) -> bool) {
        self.connections.borrow_mut().retain(|connection| {
            let leaves = leaves(connection);
            if leaves {
                connection.removed.set(true);
                add(&self.metrics.connections_lost, u64::from(removal == RemovalReason::Lost));
                subtract(&self.metrics.connections_open, 1);
                if connection.in_flight.get() == 0 {
                    subtract(&self.metrics.connections_idle, 1);
                }
            }
            !leaves
        });
    }

    fn has_room(&self) -> bool {
        self.connections.borrow().len() + self.opening.get() < self.connections_max
    }

    /// Answers the last connection error while the pause after it lasts.
    fn may_connect(&self) -> Result<(), StoreError> {
        match &*self.failed.borrow() {
            Some(failed) if Instant::now() < failed.retry_at => Err(StoreError::Unavailable(failed.said.clone())),
            _ => Ok(()),
        }
    }

    /// Opens one more connection.
    async fn open(&self) -> Result<(), StoreError> {
        self.opening.set(self.opening.get() + 1);
        // The guard frees the place even if this future is dropped before the connection is made.
        let opening = Opening(self);
        let outcome = connect(&self.servers, &self.settings).await;
        drop(opening);
        match outcome {
            Ok(connected) => {
                *self.failed.borrow_mut() = None;
                let connection = Connection {
                    client: connected.client,
                    statements: RefCell::default(),
                    in_flight: Cell::new(0),
                    opened_at: Instant::now(),
                    used: Cell::new(false),
                    reserved: Cell::new(false),
                    removed: Cell::new(false),
                };
                self.connections.borrow_mut().push(Rc::new(connection));
                add(&self.metrics.connections_opened, 1);
                add(&self.metrics.connections_open, 1);
                add(&self.metrics.connections_idle, 1);
                Ok(())
            }
            Err(why) => {
                let mut failed = self.failed.borrow_mut();
                let backoff = failed.as_ref().map_or(BACKOFF_MIN, |failed| (failed.backoff * 2).min(BACKOFF_MAX));
                let said = format!("cannot connect to the database: {why}");
                tracing::warn!(error = said, "no database connection");
                add(&self.metrics.connections_lost, 1);
                *failed = Some(Failed { retry_at: Instant::now() + backoff, backoff, said: said.clone() });
                // This failure does not matter to the caller while there are other connections to wait for.
                if self.connections.borrow().is_empty() { Err(StoreError::Unavailable(said)) } else { Ok(()) }
            }
        }
    }

    fn share(self: &Rc<Self>, connection: Rc<Connection>) -> PooledConnection {
        self.begin_use(&connection);
        PooledConnection { pool: Rc::clone(self), connection, used_as: ConnectionUse::Shared }
    }

    fn begin_use(&self, connection: &Connection) {
        connection.used.set(true);
        if connection.in_flight.replace(connection.in_flight.get() + 1) == 0 {
            add(&self.metrics.connections_in_use, 1);
            subtract(&self.metrics.connections_idle, 1);
        }
    }

    fn end_use(&self, connection: &Connection) {
        if connection.in_flight.replace(connection.in_flight.get() - 1) == 1 {
            subtract(&self.metrics.connections_in_use, 1);
            if !connection.removed.get() {
                add(&self.metrics.connections_idle, 1);
            }
        }
    }
}

impl Drop for PooledConnection {
    fn drop(&mut self) {
        if self.used_as == ConnectionUse::Open {
            // The state of the transaction is unknown. The server rolls it back when the connection closes.
            self.pool.remove_if(RemovalReason::Lost, |connection| Rc::ptr_eq(connection, &self.connection));
        }
        if self.used_as != ConnectionUse::Reserved {
            self.pool.end_use(&self.connection);
        }
        if self.used_as != ConnectionUse::Shared {
            self.connection.reserved.set(false);
        }
        let places = if self.used_as == ConnectionUse::Shared { 1 } else { PIPELINE_LEN_MAX };
        (0..places).for_each(|_| self.pool.place_free.notify_one());
        let is_idle = self.connection.in_flight.get() == 0;
        if is_idle || self.used_as != ConnectionUse::Shared {
            self.pool.reservation_free.notify_one();
        }
        if is_idle {
            self.pool.drained.notify_waiters();
        }
    }
}

struct Opening<'a>(&'a ConnectionPool);

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        self.0.opening.set(self.0.opening.get() - 1);
        self.0.place_free.notify_waiters();
        self.0.reservation_free.notify_waiters();
    }
}

impl PooledConnection {
    /// Sends a statement and waits for its rows. The statement is prepared first, if this connection has not done so
    /// before.
    pub(super) async fn query(&self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql).await?;
        add(&self.pool.metrics.statements, 1);
        self.answered(self.connection.client.query(&statement, values)).await
    }

    /// Sends a statement that reads a whole table, as part of a transaction. On a large database the statement may take
    /// longer than statements of players may.
    pub(super) async fn query_whole_table(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Fault> {
        self.control(ALLOW_WHOLE_TABLE).await?;
        let statement = self.prepare(sql).await?;
        add(&self.pool.metrics.statements, 1);
        self.answered_within(WHOLE_TABLE_TIMEOUT, self.connection.client.query(&statement, values)).await
    }

    /// Prepares a statement. Statements that are prepared beforehand can be sent together and in order.
    pub(super) async fn prepare(&self, sql: &'static str) -> Result<Statement, Fault> {
        let known = self.connection.statements.borrow().get(sql).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.answered(self.connection.client.prepare(sql)).await?;
        self.connection.statements.borrow_mut().insert(sql, statement.clone());
        Ok(statement)
    }

    /// Runs `work` on the driver's connection. All of `work` must end within the time for one answer.
    pub(super) async fn with_client<T>(
        &self,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Fault> {
        add(&self.pool.metrics.statements, 1);
        self.answered(work(&self.connection.client)).await
    }

    /// Sends a command for the transaction, such as `BEGIN`, `COMMIT` or a savepoint.
    pub(super) async fn control(&self, command: &'static str) -> Result<(), Fault> {
        self.answered(self.connection.client.batch_execute(command)).await
    }

    /// Waits for the answer to a statement of players, see [`Self::answered_within`].
    async fn answered<T>(&self, answer: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T, Fault> {
        self.answered_within(self.pool.options.statement_timeout, answer).await
    }

    /// Waits for an answer a little longer than the database may work on the statement. A connection that is silent for
    /// longer is removed: the machine behind it, or the network, has failed. A connection is removed, too, if its
    /// server takes no writes any more: a new connection may reach the server that took its place.
    async fn answered_within<T>(
        &self,
        statement_timeout: Duration,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Fault> {
        if self.connection.removed.get() {
            return Err(Fault::Rule(StoreError::Unavailable("the connection to the database was given up".to_owned())));
        }
        if let Ok(answer) = tokio::time::timeout(statement_timeout + SILENCE_MAX, answer).await {
            let answer = answer.map_err(Fault::from);
            if answer.as_ref().is_err_and(Fault::is_of_a_useless_connection) {
                add(&self.pool.metrics.connections_useless, 1);
                self.pool.remove_if(RemovalReason::Lost, |connection| Rc::ptr_eq(connection, &self.connection));
            }
            return answer;
        }
        self.pool.remove_if(RemovalReason::Lost, |connection| Rc::ptr_eq(connection, &self.connection));
        Err(silent())
    }

    pub(super) fn metrics(&self) -> &StoreMetrics {
        &self.pool.metrics
    }

    /// Gives back the connection of a transaction whose commit or rollback the database has answered.
    pub(super) fn ended(mut self) {
        self.used_as = ConnectionUse::Ended;
    }
}

fn silent() -> Fault {
    Fault::Rule(StoreError::Unavailable("the database did not answer in time".to_owned()))
}
