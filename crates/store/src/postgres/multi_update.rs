//! Combined changes of accounts, objects and wallets on PostgreSQL, in one transaction.
//!
//! Locks are taken in one order: first the write's key, then all players in the order of their ids, then all objects
//! in the order of their names. So two such transactions never deadlock.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use muster_domain::UserId;
use muster_domain::ports::PortFuture;
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::ports::multi_update::{MultiOutcome, MultiUpdate, MultiUpdateStore};
use muster_domain::ports::storage::Authority;
use muster_domain::time::Timestamp;

use super::fault::Fault;
use super::pool::PooledConnection;
use super::{PostgresStore, accounts, keyed_writes, storage, wallet};
use crate::keyed_writes::KeyedWrite;
use crate::limits;

/// Locks the players' rows. The weaker `NO KEY` lock lets other transactions write objects of these players meanwhile,
/// because the foreign key of an object only checks that the player's row exists.
const LOCK: &str = "SELECT id, wallet::text FROM users WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

impl MultiUpdateStore for PostgresStore {
    fn multi_update<'a>(&'a self, update: &'a MultiUpdate, stamp: WriteStamp) -> PortFuture<'a, MultiOutcome> {
        Box::pin(async move {
            limits::multi_update(update)?;
            let write = KeyedWrite::of(update, stamp);
            let outcome = self.attempts(async || {
                self.transaction(async |connection| {
                    let work = run(connection, update, stamp.now);
                    match &write {
                        Some(write) => keyed_writes::once(connection, write, update, work).await,
                        None => work.await.map(Ok),
                    }
                })
                .await
            });
            outcome.await?
        })
    }
}

async fn run(connection: &PooledConnection, update: &MultiUpdate, now: Timestamp) -> Result<MultiOutcome, Fault> {
    let held = lock(connection, update).await?;
    if !update.accounts.is_empty() {
        connection.prepare(accounts::UPDATE_ACCOUNT).await?;
        let change = async |(user_id, account)| accounts::update(connection, user_id, account, now).await;
        let answers = join_all(update.accounts.iter().map(|(user_id, account)| change((*user_id, account)))).await;
        answers.into_iter().collect::<Result<Vec<bool>, Fault>>()?;
    }
    let acks = storage::apply(connection, Authority::Server, &update.writes, &update.deletes, now).await?;
    let wallets = wallet::change(connection, held, &update.wallets, now).await?;
    Ok(MultiOutcome { acks, wallets })
}

/// Locks the players' rows. Answers the wallets of the players that exist, as JSON.
async fn lock(connection: &PooledConnection, update: &MultiUpdate) -> Result<BTreeMap<UserId, String>, Fault> {
    let accounts = update.accounts.iter().map(|(user_id, _)| user_id.0);
    let ids: Vec<_> = accounts.chain(update.wallets.iter().map(|each| each.user_id.0)).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = connection.query(LOCK, &[&ids]).await?;
    rows.iter().map(|row| Ok((UserId(row.try_get(0)?), row.try_get(1)?))).collect()
}
