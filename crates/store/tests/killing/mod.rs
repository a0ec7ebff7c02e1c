//! Tests that start a process, kill it, and then look in the database for everything that the process acknowledged.
//!
//! A killed process loses less than a power cut. In return these tests cover the whole path, with PostgreSQL and the
//! real file system.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use muster_domain::ports::store::Store;
use muster_store::{Address, Opened, PostgresOptions, SqliteOptions, StoreMetrics, migrate, open};
use muster_testenv::Postgres;

/// Environment variable that tells the process the address of the database. Its presence makes this program be that
/// process.
const ADDRESS: &str = "MUSTER_STORE_TEST_ADDRESS";

/// The writes of a process that is killed, and the check that they have happened.
pub trait Deed {
    /// Number of acknowledged lines before each kill.
    const KILLS_AFTER: [usize; 3];

    /// Prepares the database, before the first process starts.
    async fn prepare(store: &dyn Store) -> Result<()>;

    /// Writes until the process is killed. Each finished write is printed by [`acknowledge`].
    async fn go_on(store: &dyn Store) -> Result<()>;

    /// Fails when an acknowledged write is not in the database. Answers a sentence about the writes that are.
    async fn look_for(store: &dyn Store, acknowledged: &[String]) -> Result<String>;
}

/// Prints that something is done. The full stop at the end tells a whole line from one that was cut short.
pub fn acknowledge(done: &str) -> Result<()> {
    // One write call, so that the line arrives whole.
    Ok(std::io::stdout().write_all(format!("{done}.\n").as_bytes())?)
}

/// The `main` of such a test, which runs on both databases.
pub fn run<D: Deed>() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Ok(address) = std::env::var(ADDRESS) {
        return runtime.block_on(async { D::go_on(store(&address).await?.store()).await });
    }
    let folder = tempfile::tempdir()?;
    let file = format!("sqlite:{}", folder.path().join("muster.db").display());
    runtime.block_on(kill_and_look::<D>(&file)).context("SQLite")?;
    let database = Postgres::shared()?.create_database()?;
    runtime.block_on(kill_and_look::<D>(database.url())).context("PostgreSQL")
}

async fn kill_and_look<D: Deed>(address: &str) -> Result<()> {
    migrate(&Address::parse(address)?).await?;
    D::prepare(store(address).await?.store()).await?;
    for enough in D::KILLS_AFTER {
        let mut child = Command::new(std::env::current_exe()?).env(ADDRESS, address).stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let mut acknowledged = lines.by_ref().take(enough).collect::<std::io::Result<Vec<_>>>()?;
        child.kill()?;
        // Lines that the process printed before it died count as well, except for a line that was cut short.
        acknowledged.extend(lines.map_while(Result::ok).filter(|line| line.ends_with('.')));
        child.wait()?;
        ensure!(acknowledged.len() >= enough, "it ended by itself after {}", acknowledged.len());
        acknowledged.iter_mut().for_each(|line| line.truncate(line.trim_end_matches('.').len()));
        let found = D::look_for(store(address).await?.store(), &acknowledged).await?;
        println!("{} acknowledged, {found}", acknowledged.len());
    }
    Ok(())
}

async fn store(address: &str) -> Result<Opened> {
    let (sqlite, postgres) = (SqliteOptions::default(), PostgresOptions::default());
    Ok(open(&Address::parse(address)?, &sqlite, &postgres, Arc::new(StoreMetrics::default())).await?)
}
