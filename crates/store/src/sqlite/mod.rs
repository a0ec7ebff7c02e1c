//! The store on SQLite: one file, one writer thread with group commit, a few reader threads.
//!
//! A [`SqliteStore`] is a handle that every shard clones; its futures wait for a thread's answer and nothing else. A
//! lock file beside the database makes sure that only one process at a time uses it.

pub(crate) mod accounts;
pub mod backup;
pub(crate) mod chat;
mod checkpoint;
mod deletion;
mod dialect;
mod error;
mod export;
pub(crate) mod friends;
mod guest;
mod job;
mod job_epochs;
mod keyed_writes;
mod linear;
mod multi_update;
mod newcomers;
pub(crate) mod notifications;
mod queue;
mod readers;
mod revocations;
mod schema;
mod space;
mod sql;
mod storage;
mod usage;
pub(crate) mod wallet;
mod writer;

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::thread::JoinHandle;

use muster_domain::ports::PortFuture;
use muster_domain::ports::store::{DatabaseOrigin, DatabaseStatus, Store, StoreError};
use muster_domain::quotas::Quotas;
use muster_domain::time::Timestamp;
use rusqlite::{Connection, OpenFlags};
use tokio::sync::oneshot;

use self::checkpoint::Checkpointer;
use self::guest::{GUEST_CACHE_KB, GUEST_STACK_BYTES, GUESTS_WAITING_MAX, Guest, Hands};
use self::job::{BoxedJob, job};
use self::newcomers::Newcomers;
use self::queue::{Queue, Refused, Wake};
use self::readers::Reader;
use self::writer::Writer;
use crate::OpenError;
use crate::metrics::{StoreMetrics, add, subtract};

pub use self::schema::SCHEMA_VERSION;

/// Settings of an open file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Number of threads that read, at least 1.
    pub readers: usize,
    /// Most writes that may wait; further writes are refused as unavailable.
    pub write_queue_len_max: usize,
    /// Most reads that may wait; further reads are refused as unavailable.
    pub read_queue_len_max: usize,
    /// Page cache of the writer, KiB.
    pub writer_cache_kb: u32,
    /// Page cache of each reader, KiB.
    pub reader_cache_kb: u32,
    /// Length of the log, in pages, that starts a checkpoint. With a larger value pages that change often are copied
    /// less often, and recovery after a crash takes longer.
    pub log_pages_max: u64,
    /// A registered file system layer of SQLite to use in place of the system's own.
    pub vfs: Option<String>,
    /// The quotas of each account.
    pub quotas: Quotas,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            readers: 2,
            write_queue_len_max: 16_384,
            read_queue_len_max: 16_384,
            writer_cache_kb: 32 * 1024,
            reader_cache_kb: 8 * 1024,
            // 64 MiB.
            log_pages_max: 16_384,
            vfs: None,
            quotas: Quotas::default(),
        }
    }
}

/// A handle to an open file. Clones share the threads. When the last clone is dropped, the threads do the queued work
/// and end.
#[derive(Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

struct Inner {
    writes: Arc<Queue<BoxedJob>>,
    reads: Arc<Queue<BoxedJob>>,
    guests: Arc<Queue<BoxedJob>>,
    /// State that the guest's thread and those who ask it share.
    hands: Arc<Hands>,
    metrics: Arc<StoreMetrics>,
    quotas: Quotas,
    newcomers: Newcomers,
    readers: Vec<JoinHandle<()>>,
    /// The threads that write to the log or copy it: the writer and the checkpoint thread.
    writers: Vec<JoinHandle<()>>,
    /// The lock, which this process holds until the store is dropped. Never read.
    _lock: DatabaseLock,
}

impl SqliteStore {
    /// Opens the file at `path`, creates or migrates it as needed, and starts the threads, which count into `metrics`.
    /// Blocks; call it before the shards run.
    ///
    /// # Errors
    /// When the file is in use by another process, is not Muster's, is newer than this program, or cannot be used.
    pub fn open(path: &Path, options: &SqliteOptions, metrics: Arc<StoreMetrics>) -> Result<Self, OpenError> {
        let held = lock(path)?;
        // Password hashes and e-mail addresses are private. SQLite gives the log's file the same access rights as the
        // database's.
        private_file(path).map_err(OpenError::because(format!("cannot open the database {}", path.display())))?;
        let vfs = options.vfs.as_deref();
        let connect = |cache_kb| schema::connect(path, vfs, cache_kb).map_err(error::opening(path));
        let mut connection = connect(options.writer_cache_kb)?;
        schema::migrate(path, &mut connection)?;

        let writes = Arc::new(Queue::new(options.write_queue_len_max));
        let reads = Arc::new(Queue::new(options.read_queue_len_max));
        let gate = Arc::new(RwLock::new(()));
        let (checkpointer, checkpoints) = Checkpointer::new(path, options, Arc::clone(&gate), Arc::clone(&metrics))?;
        report_log_length(&mut connection, &checkpointer)?;
        let mut guest = connect(GUEST_CACHE_KB)?;
        let hands = guest::bind_hands(&mut guest).map_err(error::opening(path))?;
        report_log_length(&mut guest, &checkpointer)?;
        let mut inner = Inner {
            writes,
            reads,
            guests: Arc::new(Queue::new(GUESTS_WAITING_MAX)),
            hands: Arc::new(hands),
            metrics: Arc::clone(&metrics),
            quotas: options.quotas,
            newcomers: Newcomers::default(),
            readers: Vec::new(),
            writers: Vec::new(),
            _lock: held,
        };
        for _ in 0..options.readers.max(1) {
            let connection = connect(options.reader_cache_kb)?;
            let (queue, gate, metrics) = (Arc::clone(&inner.reads), Arc::clone(&gate), Arc::clone(&metrics));
            let reader = Reader { connection, queue, gate, metrics };
            inner.readers.push(spawn("muster-db-read", move || reader.run())?);
        }
        let guest = Guest { connection: guest, queue: Arc::clone(&inner.guests) };
        inner.readers.push(spawn_with("muster-db-guest", GUEST_STACK_BYTES, move || guest.run())?);
        inner.writers.push(spawn("muster-db-log", move || checkpoints.run())?);
        let writer = Writer { connection, queue: Arc::clone(&inner.writes), checkpointer, metrics };
        inner.writers.push(spawn("muster-db-write", move || writer.run())?);
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Brings the file at `path` up to date and closes it again. Answers the schema versions applied now.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn migrate(path: &Path) -> Result<Vec<i64>, OpenError> {
        let _lock = lock(path)?;
        private_file(path).map_err(OpenError::because(format!("cannot open the database {}", path.display())))?;
        let mut connection =
            schema::connect(path, None, SqliteOptions::default().reader_cache_kb).map_err(error::opening(path))?;
        schema::migrate(path, &mut connection)
    }

    /// Reads the schema version of the file at `path` without changing anything; `None` if there is no file.
    ///
    /// # Errors
    /// When the file is not Muster's or newer than this program.
    pub fn schema_version(path: &Path) -> Result<Option<i64>, OpenError> {
        if !path.try_exists().map_err(|error| backup::unreadable(path, &error))? {
            return Ok(None);
        }
        let connection =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(error::opening(path))?;
        schema::known_version(path, &connection).map(Some)
    }

    /// The counters of this store.
    pub fn metrics(&self) -> &Arc<StoreMetrics> {
        &self.inner.metrics
    }

    /// Runs `work` as one durable transaction of the writer. The work may be run again after a rollback, see
    /// [`writer`].
    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (job, answer) = job(work);
        let metrics = &self.inner.metrics;
        add(&metrics.write_queue_len, 1);
        let wake = self.inner.writes.push(job).map_err(|refused| {
            subtract(&metrics.write_queue_len, 1);
            add(&metrics.write_queue_full, 1);
            refusal(refused)
        })?;
        after_this_turn(wake).await;
        received(answer).await
    }

    /// Runs `work` on a snapshot that contains every write acknowledged before the call.
    async fn read<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (job, answer) = job(work);
        let metrics = &self.inner.metrics;
        add(&metrics.read_queue_len, 1);
        let wake = self.inner.reads.push(job).map_err(|refused| {
            subtract(&metrics.read_queue_len, 1);
            add(&metrics.read_queue_full, 1);
            refusal(refused)
        })?;
        after_this_turn(wake).await;
        received(answer).await
    }
}

/// Wakes the thread after the other tasks that are ready now have run and added their jobs: one wake then serves all
/// their jobs. On a busy shard one wake for each job would cost more than the jobs.
async fn after_this_turn(wake: Option<Wake<'_, BoxedJob>>) {
    if wake.is_some() {
        tokio::task::yield_now().await;
    }
    drop(wake);
}

async fn received<T>(answer: oneshot::Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
    answer.await.unwrap_or_else(|_| Err(StoreError::Unavailable("the database thread has ended".to_owned())))
}

fn refusal(refused: Refused) -> StoreError {
    StoreError::Unavailable(match refused {
        Refused::Full => "too many requests are waiting for the database".to_owned(),
        Refused::Closed => "the database is closed".to_owned(),
    })
}

impl Store for SqliteStore {
    fn ping(&self) -> PortFuture<'_, DatabaseStatus> {
        Box::pin(async move {
            // A read would not notice a full disk. This write changes a page and syncs it. The number means nothing,
            // but it must change, because SQLite writes nothing when the value is the same.
            self.write(|connection| {
                let number: i64 =
                    connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(error::translate)?;
                connection.pragma_update(None, "user_version", 1 - number.clamp(0, 1)).map_err(error::translate)
            })
            .await?;
            Ok(DatabaseStatus { engine: "sqlite", adopted: false })
        })
    }

    fn latest_epoch(&self) -> PortFuture<'_, i64> {
        Box::pin(self.read(|connection| {
            let sql = "SELECT coalesce(max(epoch), 0) FROM muster_term";
            Ok(sql::one(connection, sql, (), |row| row.get(0))?.unwrap_or(0))
        }))
    }

    fn origin(&self) -> PortFuture<'_, DatabaseOrigin> {
        Box::pin(self.read(|connection| {
            let sql = "SELECT applied_at, CAST(unixepoch('subsec') * 1000000 AS INTEGER) \
                       FROM muster_migration ORDER BY version LIMIT 1";
            let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
            let Some((first, now)) = sql::one(connection, sql, (), read)? else {
                return Err(StoreError::Unavailable("the table muster_migration is empty".to_owned()));
            };
            Ok(DatabaseOrigin { identity: first.unsigned_abs().max(1), now: Timestamp(now) })
        }))
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, OpenError> {
    const USUAL_STACK_BYTES: usize = 2 << 20;
    spawn_with(name, USUAL_STACK_BYTES, run)
}

fn spawn_with(
    name: &str,
    stack_bytes: usize,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes);
    thread.spawn(run).map_err(OpenError::because("cannot start a database thread"))
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The last connection to close copies the log into the database and deletes the log, so that one file is the
        // whole database. Two connections that close at the same time keep each other from doing so. Therefore the
        // readers and the guest end before the writer.
        self.reads.close();
        self.guests.close();
        join(&mut self.readers);
        self.writes.close();
        join(&mut self.writers);
    }
}

fn join(threads: &mut Vec<JoinHandle<()>>) {
    for thread in threads.drain(..) {
        if thread.join().is_err() {
            tracing::error!("a database thread had panicked");
        }
    }
}

/// The path of the lock file, whose lock says that the database beside it is in use.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}

/// The lock on a database, held by this process as long as this value lives.
pub(crate) struct DatabaseLock(File);

impl Drop for DatabaseLock {
    fn drop(&mut self) {
        // Closing the file is not enough to release the lock: a child process that has inherited the file holds the
        // lock until it runs another program. If unlocking fails, the lock is released at that time.
        let _ = self.0.unlock();
    }
}

/// Locks the database at `path` for this process.
///
/// # Errors
/// When another process holds the lock, or the folder cannot be written.
pub(crate) fn lock(path: &Path) -> Result<DatabaseLock, OpenError> {
    if let Some(folder) = path.parent() {
        private_folder(folder).map_err(OpenError::because(format!("cannot create {}", folder.display())))?;
    }
    let lock_path = lock_path(path);
    let file =
        private_file(&lock_path).map_err(OpenError::because(format!("cannot create {}", lock_path.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(DatabaseLock(file)),
        Err(TryLockError::WouldBlock) => Err(OpenError::new(format!(
            "the database {} is in use by another process: stop that server first, or name another data folder",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(OpenError::new(format!("cannot lock {}: {error}", lock_path.display()))),
    }
}

/// Creates a folder that only the server's own account may enter.
fn private_folder(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Opens a file for writing. A new file is readable only by the server's own account.
fn private_file(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes SQLite report the length of the log to the checkpointer after each commit.
fn report_log_length(connection: &mut Connection, checkpointer: &Arc<Checkpointer>) -> Result<(), OpenError> {
    let checkpointer = Arc::clone(checkpointer);
    let hook = move |_: &mut rusqlite::hooks::Wal, pages: i32| {
        checkpointer.log_grew(u64::try_from(pages).unwrap_or(0));
        Ok(())
    };
    connection.wal_hook(Some(hook)).map_err(OpenError::because("cannot watch the database's log"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::fixture::Folder;

    #[test]
    fn a_file_that_was_let_go_is_free_whoever_inherited_it() {
        let folder = Folder::new();
        let path = folder.0.join("muster.db");
        let held = lock(&path).unwrap();
        assert!(lock(&path).is_err());
        let inherited = held.0.try_clone().unwrap();
        drop(held);
        assert!(lock(&path).is_ok());
        drop(inherited);
    }
}
