//! Combined changes of accounts, objects and wallets on SQLite, in one run of the writer.

use muster_domain::ports::PortFuture;
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::ports::multi_update::{MultiOutcome, MultiUpdate, MultiUpdateStore};
use muster_domain::ports::storage::Authority;
use muster_domain::quotas::Quotas;
use muster_domain::time::Timestamp;
use rusqlite::Connection;

use super::sql::Result;
use super::{SqliteStore, accounts, keyed_writes, storage, wallet};
use crate::keyed_writes::KeyedWrite;
use crate::limits;

impl MultiUpdateStore for SqliteStore {
    fn multi_update<'a>(&'a self, update: &'a MultiUpdate, stamp: WriteStamp) -> PortFuture<'a, MultiOutcome> {
        Box::pin(async move {
            limits::multi_update(update)?;
            let (update, write) = (update.clone(), KeyedWrite::of(update, stamp));
            let outcome = self.write(move |connection| {
                let work = || run(connection, &update, stamp.now);
                match &write {
                    Some(write) => keyed_writes::once(connection, write, &update, work),
                    None => work().map(Ok),
                }
            });
            outcome.await?
        })
    }
}

fn run(connection: &Connection, update: &MultiUpdate, now: Timestamp) -> Result<MultiOutcome> {
    for (user_id, account) in &update.accounts {
        accounts::update(connection, *user_id, account, now)?;
    }
    let put = |write| storage::put(connection, &Quotas::default(), Authority::Server, write, now);
    let acks = update.writes.iter().map(put).collect::<Result<_>>()?;
    update.deletes.iter().try_for_each(|delete| storage::remove(connection, Authority::Server, delete))?;
    let change = |each| wallet::change(connection, each, now);
    let wallets = update.wallets.iter().map(change).collect::<Result<_>>()?;
    Ok(MultiOutcome { acks, wallets })
}
