//! Kills a process that signs players up at full rate, on both databases, and looks for every player it acknowledged.
//!
//! A killed process proves less than a power cut, but it proves it of the whole path, PostgreSQL and the real file
//! system included. This test has a `main` of its own: it starts itself as the process to be killed.

#![allow(clippy::print_stdout, reason = "a test with a main of its own reports by itself")]

use std::cell::Cell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use muster_domain::UserId;
use muster_domain::ports::accounts::{Identifier, NewAccount};
use muster_domain::ports::store::Store;
use muster_domain::time::Timestamp;
use muster_store::{Address, Opened, PostgresOptions, SqliteOptions, StoreMetrics, migrate, open};
use muster_testenv::Postgres;

/// Names the database to the process that will be killed.
const ADDRESS: &str = "MUSTER_STORE_TEST_ADDRESS";

const WRITERS: u32 = 64;

/// Players acknowledged before each kill.
const KILLS_AFTER: [usize; 3] = [1, 700, 1_500];

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Ok(address) = std::env::var(ADDRESS) {
        return runtime.block_on(sign_up_for_ever(&address));
    }
    let folder = std::env::temp_dir().join(format!("muster-store-killed-{}", std::process::id()));
    let sqlite = kill_and_look(&runtime, &format!("sqlite:{}", folder.join("muster.db").display()));
    let _ = std::fs::remove_dir_all(&folder);
    sqlite.context("SQLite")?;
    let database = Postgres::shared()?.create_database()?;
    kill_and_look(&runtime, database.url()).context("PostgreSQL")
}

fn kill_and_look(runtime: &tokio::runtime::Runtime, address: &str) -> Result<()> {
    runtime.block_on(migrate(&Address::parse(address)?))?;
    for enough in KILLS_AFTER {
        let mut child = Command::new(std::env::current_exe()?).env(ADDRESS, address).stdout(Stdio::piped()).spawn()?;
        let mut acknowledged = Vec::new();
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        for line in lines.by_ref().take(enough) {
            acknowledged.push(line?);
        }
        child.kill()?;
        // What it said with its last breath counts as well, but for a word cut short.
        acknowledged.extend(lines.map_while(Result::ok).filter(|line| line.ends_with('.')));
        child.wait()?;
        ensure!(acknowledged.len() >= enough, "it ended by itself after {}", acknowledged.len());
        runtime.block_on(look_for(address, &acknowledged))?;
        println!("{} acknowledged, none lost", acknowledged.len());
    }
    Ok(())
}

async fn store(address: &str) -> Result<Opened> {
    let (sqlite, postgres) = (SqliteOptions::default(), PostgresOptions::default());
    Ok(open(&Address::parse(address)?, &sqlite, &postgres, Arc::new(StoreMetrics::default())).await?)
}

async fn look_for(address: &str, acknowledged: &[String]) -> Result<()> {
    let opened = store(address).await?;
    for name in acknowledged {
        let found = opened.store().login(&Identifier::Device(format!("device {name}")), None).await?;
        ensure!(found.is_some_and(|login| login.username == *name), "{name} was acknowledged and is lost");
    }
    Ok(())
}

async fn sign_up_for_ever(address: &str) -> Result<()> {
    let opened = store(address).await?;
    let next = Cell::new(0);
    try_join_all((0..WRITERS).map(|_| sign_up(opened.store(), &next))).await.map(|_| ())
}

async fn sign_up(store: &dyn Store, next: &Cell<u32>) -> Result<()> {
    loop {
        let name = format!("player {} of {}.", next.replace(next.get() + 1), std::process::id());
        let account =
            NewAccount { user_id: UserId(uuid::Uuid::new_v4()), username: name.clone(), now: Timestamp::EPOCH };
        store.login(&Identifier::Device(format!("device {name}")), Some(&account)).await?;
        // One write, so that the line arrives whole or not at all.
        std::io::stdout().write_all(format!("{name}\n").as_bytes())?;
    }
}
