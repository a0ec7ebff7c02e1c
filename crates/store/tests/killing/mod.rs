//! A process that a test starts of itself, and kills: what it said that it had done is then looked for.
//!
//! A killed process proves less than a power cut, but it proves it of the whole path, PostgreSQL and the real file
//! system included.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use muster_domain::ports::store::Store;
use muster_store::{Address, Opened, PostgresOptions, SqliteOptions, StoreMetrics, migrate, open};
use muster_testenv::Postgres;

/// Names the database to the process that will be killed.
const ADDRESS: &str = "MUSTER_STORE_TEST_ADDRESS";

/// What is done to a database, and looked for in it.
pub trait Deed {
    /// How many lines are acknowledged before each kill.
    const KILLS_AFTER: [usize; 3];

    /// Done once, before the first process.
    async fn prepare(store: &dyn Store) -> Result<()>;

    /// Goes on until it is killed, and says what it has done by [`acknowledge`].
    async fn go_on(store: &dyn Store) -> Result<()>;

    /// Fails when anything that was acknowledged is not there. Answers what it found, in words.
    async fn look_for(store: &dyn Store, acknowledged: &[String]) -> Result<String>;
}

/// Says that something is done. A full stop at the end tells it from a line cut short.
pub fn acknowledge(done: &str) -> Result<()> {
    // One write, so that the line arrives whole or not at all.
    Ok(std::io::stdout().write_all(format!("{done}.\n").as_bytes())?)
}

/// The `main` of such a test, on both databases.
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
        // What it said with its last breath counts as well, but for a word cut short.
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
