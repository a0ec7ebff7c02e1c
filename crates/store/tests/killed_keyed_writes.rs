//! Kills a process that makes keyed grants at full rate, on both databases. Then every grant is requested again, as by
//! a match that is replayed. Each grant must have happened once, and must get the same answer as before.

#![allow(clippy::print_stdout, reason = "a test with a main of its own reports by itself")]

mod killing;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use futures_util::future::try_join_all;
use killing::{Deed, acknowledge};
use muster_domain::ports::accounts::{Identifier, NewAccount};
use muster_domain::ports::keyed_writes::{WriteKey, WriteStamp};
use muster_domain::ports::multi_update::MultiUpdate;
use muster_domain::ports::store::Store;
use muster_domain::ports::wallet::{Amounts, LedgerEntry, LedgerPosition, WalletUpdate};
use muster_domain::time::Timestamp;
use muster_domain::{LedgerItemId, UserId, wallet};
use uuid::Uuid;

/// Number of players. Each has a match of its own, which grants one gold in each tick: after tick n the wallet holds n
/// + 1.
const PLAYERS: u32 = 24;

fn main() -> Result<()> {
    killing::run::<Grants>()
}

struct Grants;

impl Deed for Grants {
    const KILLS_AFTER: [usize; 3] = [1, 300, 700];

    async fn prepare(store: &dyn Store) -> Result<()> {
        for number in 0..PLAYERS {
            let name = format!("player {number}");
            let account = NewAccount { user_id: player(number), username: name.clone(), now: Timestamp::EPOCH };
            store.login(&Identifier::Device(format!("device of {name}")), Some(&account)).await?;
        }
        Ok(())
    }

    async fn go_on(store: &dyn Store) -> Result<()> {
        try_join_all((0..PLAYERS).map(|number| play(store, number))).await.map(drop)
    }

    async fn look_for(store: &dyn Store, acknowledged: &[String]) -> Result<String> {
        let mut last: BTreeMap<u32, i64> = BTreeMap::new();
        for line in acknowledged {
            let (number, tick) = line.split_once(' ').context("half a line")?;
            last.insert(number.parse()?, tick.parse()?);
        }
        try_join_all((0..PLAYERS).map(|number| replay(store, number, last.get(&number).copied()))).await?;
        Ok("each grant made once".to_owned())
    }
}

fn player(number: u32) -> UserId {
    UserId(Uuid::from_u128(1 + u128::from(number)))
}

async fn held(store: &dyn Store, number: u32) -> Result<i64> {
    let account = store.account(player(number)).await?.context("no such player")?;
    Ok(wallet::parse(&account.wallet)?.get("gold").copied().unwrap_or(0))
}

/// Goes on from the tick after the last grant.
async fn play(store: &dyn Store, number: u32) -> Result<()> {
    let mut tick = held(store, number).await?;
    loop {
        grant(store, number, tick).await?;
        acknowledge(&format!("{number} {tick}"))?;
        tick += 1;
    }
}

/// Requests every grant again, and one more, which may have been under way when the process was killed.
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
    let after = (tick > 0).then(|| (tick - 1, 0));
    let key = WriteKey { match_id: Uuid::from_u128(number.into()), tick, ordinal: 0, after };
    let entry = LedgerEntry { id: LedgerItemId(Uuid::new_v4()), metadata: "{}".to_owned() };
    let changeset = Amounts::from([("gold".to_owned(), 1)]);
    let wallets = vec![WalletUpdate { user_id: player(number), changeset, ledger: Some(entry) }];
    let update = MultiUpdate { wallets, ..MultiUpdate::default() };
    let outcome = store.multi_update(&update, WriteStamp { now: Timestamp::EPOCH, key: Some(key) }).await?;
    let change = outcome.wallets.into_iter().flatten().next().context("the player is unknown")?;
    ensure!(change.updated["gold"] == tick + 1, "tick {tick} of match {number} answered {change:?}");
    Ok(())
}
