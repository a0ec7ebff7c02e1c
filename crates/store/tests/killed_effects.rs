//! Kills a process that makes keyed grants at full rate, on both databases, and then asks for each of them again, as a
//! match that is replayed does: each must have happened once, with the answer that it had.
//!
//! This test has a `main` of its own: it starts itself as the process to be killed.

#![allow(clippy::print_stdout, reason = "a test with a main of its own reports by itself")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use muster_domain::ports::accounts::{Identifier, NewAccount};
use muster_domain::ports::effects::{EffectKey, WriteStamp};
use muster_domain::ports::multi_update::MultiUpdate;
use muster_domain::ports::store::Store;
use muster_domain::ports::wallet::{Amounts, LedgerEntry, LedgerPosition, WalletUpdate};
use muster_domain::time::Timestamp;
use muster_domain::{LedgerItemId, UserId, wallet};
use muster_store::{Address, Opened, PostgresOptions, SqliteOptions, StoreMetrics, migrate, open};
use muster_testenv::Postgres;
use uuid::Uuid;

/// Names the database to the process that will be killed.
const ADDRESS: &str = "MUSTER_STORE_TEST_ADDRESS";

/// Each has a match of its own, which gives one gold in each tick: after tick n the wallet holds n + 1.
const PLAYERS: u32 = 24;

/// Grants acknowledged before each kill.
const KILLS_AFTER: [usize; 3] = [1, 300, 700];

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let Ok(address) = std::env::var(ADDRESS) {
        return runtime.block_on(async {
            let opened = store(&address).await?;
            try_join_all((0..PLAYERS).map(|number| play(opened.store(), number))).await.map(|_| ())
        });
    }
    let folder = std::env::temp_dir().join(format!("muster-store-killed-effects-{}", std::process::id()));
    let sqlite = kill_and_replay(&runtime, &format!("sqlite:{}", folder.join("muster.db").display()));
    let _ = std::fs::remove_dir_all(&folder);
    sqlite.context("SQLite")?;
    let database = Postgres::shared()?.create_database()?;
    kill_and_replay(&runtime, database.url()).context("PostgreSQL")
}

fn kill_and_replay(runtime: &tokio::runtime::Runtime, address: &str) -> Result<()> {
    runtime.block_on(async {
        migrate(&Address::parse(address)?).await?;
        let opened = store(address).await?;
        for number in 0..PLAYERS {
            let name = format!("player {number}");
            let account = NewAccount { user_id: player(number), username: name.clone(), now: Timestamp::EPOCH };
            opened.store().login(&Identifier::Device(format!("device of {name}")), Some(&account)).await?;
        }
        anyhow::Ok(())
    })?;
    for enough in KILLS_AFTER {
        let mut child = Command::new(std::env::current_exe()?).env(ADDRESS, address).stdout(Stdio::piped()).spawn()?;
        let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        let mut acknowledged = lines.by_ref().take(enough).collect::<std::io::Result<Vec<_>>>()?;
        child.kill()?;
        // What it said with its last breath counts as well, but for a word cut short.
        acknowledged.extend(lines.map_while(Result::ok).filter(|line| line.ends_with('.')));
        child.wait()?;
        ensure!(acknowledged.len() >= enough, "it ended by itself after {}", acknowledged.len());
        let mut last: BTreeMap<u32, i64> = BTreeMap::new();
        for line in &acknowledged {
            let (number, tick) = line.trim_end_matches('.').split_once(' ').context("half a line")?;
            last.insert(number.parse()?, tick.parse()?);
        }
        runtime.block_on(async {
            let opened = store(address).await?;
            try_join_all((0..PLAYERS).map(|number| replay(opened.store(), number, last.get(&number).copied()))).await
        })?;
        println!("{} acknowledged, each grant made once", acknowledged.len());
    }
    Ok(())
}

async fn store(address: &str) -> Result<Opened> {
    let (sqlite, postgres) = (SqliteOptions::default(), PostgresOptions::default());
    Ok(open(&Address::parse(address)?, &sqlite, &postgres, Arc::new(StoreMetrics::default())).await?)
}

fn player(number: u32) -> UserId {
    UserId(Uuid::from_u128(1 + u128::from(number)))
}

async fn held(store: &dyn Store, number: u32) -> Result<i64> {
    let account = store.account(player(number)).await?.context("no such player")?;
    Ok(wallet::parse(&account.wallet)?.get("gold").copied().unwrap_or(0))
}

/// Plays on from where the match stood.
async fn play(store: &dyn Store, number: u32) -> Result<()> {
    let mut tick = held(store, number).await?;
    loop {
        grant(store, number, tick).await?;
        // One write, so that the line arrives whole or not at all.
        std::io::stdout().write_all(format!("{number} {tick}.\n").as_bytes())?;
        tick += 1;
    }
}

/// Asks for every grant again, and for one more, which may have been under way.
async fn replay(store: &dyn Store, number: u32, last: Option<i64>) -> Result<()> {
    let next = last.map_or(held(store, number).await?, |last| last + 1);
    for tick in 0..=next {
        grant(store, number, tick).await?;
    }
    let ledger = store.list_ledger(player(number), LedgerPosition::START, 100_000).await?.0.len();
    let gold = held(store, number).await?;
    ensure!((gold, ledger as i64) == (next + 1, next + 1), "{gold} gold, {ledger} items after {next} ticks");
    Ok(())
}

async fn grant(store: &dyn Store, number: u32, tick: i64) -> Result<()> {
    let key = EffectKey { match_id: Uuid::from_u128(number.into()), tick, ordinal: 0 };
    let entry = LedgerEntry { id: LedgerItemId(Uuid::new_v4()), metadata: "{}".to_owned() };
    let changeset = Amounts::from([("gold".to_owned(), 1)]);
    let wallets = vec![WalletUpdate { user_id: player(number), changeset, ledger: Some(entry) }];
    let update = MultiUpdate { wallets, ..MultiUpdate::default() };
    let outcome = store.multi_update(&update, WriteStamp { now: Timestamp::EPOCH, effect: Some(key) }).await?;
    let change = outcome.wallets.into_iter().flatten().next().context("the player is unknown")?;
    ensure!(change.updated["gold"] == tick + 1, "tick {tick} of match {number} answered {change:?}");
    Ok(())
}
