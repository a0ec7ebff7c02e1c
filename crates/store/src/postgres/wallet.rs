//! Wallets and their ledger on PostgreSQL.

use std::collections::BTreeMap;

use muster_domain::ports::PortFuture;
use muster_domain::ports::store::StoreError;
use muster_domain::ports::wallet::{Amounts, LedgerItem, LedgerPosition, WalletChange, WalletStore, WalletUpdate};
use muster_domain::time::Timestamp;
use muster_domain::{LedgerItemId, UserId, wallet};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::fault::{Fault, translate};
use super::pool::PooledConnection;
use super::values::Moment;

const SET: &str = "UPDATE users SET wallet = changed.wallet::jsonb, update_time = $3 \
     FROM unnest($1::uuid[], $2::text[]) AS changed (id, wallet) WHERE users.id = changed.id";
const INSERT: &str = "INSERT INTO wallet_ledger (id, user_id, changeset, metadata, create_time, update_time) \
     SELECT id, user_id, changeset::jsonb, metadata::jsonb, $5, $5 \
     FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS item (id, user_id, changeset, metadata)";
pub(crate) const LIST: &str = "SELECT id, user_id, changeset::text, metadata::text, create_time, update_time \
     FROM wallet_ledger WHERE user_id = $1 AND (create_time, id) < ($2, $3) \
     ORDER BY create_time DESC, id DESC LIMIT $4";
const ANNOTATE: &str = "UPDATE wallet_ledger SET metadata = metadata || $2::text::jsonb, update_time = $3 \
     WHERE id = $1 RETURNING id, user_id, changeset::text, metadata::text, create_time, update_time";

impl WalletStore for PostgresStore {
    fn annotate_ledger_item<'a>(
        &'a self,
        id: LedgerItemId,
        metadata: &'a str,
        now: Timestamp,
    ) -> PortFuture<'a, Option<LedgerItem>> {
        Box::pin(async move {
            let rows = self.query(ANNOTATE, &[&id.0, &metadata, &Moment(now)]).await?;
            rows.first().map(item).transpose()
        })
    }

    fn list_ledger(
        &self,
        user_id: UserId,
        behind: LedgerPosition,
        limit: u32,
    ) -> PortFuture<'_, (Vec<LedgerItem>, bool)> {
        Box::pin(async move {
            let asked = i64::from(limit) + 1;
            let rows = self.query(LIST, &[&user_id.0, &Moment(behind.create_time), &behind.id.0, &asked]).await?;
            let more = rows.len() > limit as usize;
            Ok((rows.iter().take(limit as usize).map(item).collect::<Result<_, _>>()?, more))
        })
    }
}

/// The columns of items to insert.
#[derive(Default)]
struct Columns<'a> {
    ids: Vec<Uuid>,
    users: Vec<Uuid>,
    changesets: Vec<String>,
    metadata: Vec<&'a str>,
}

/// Changes wallets. `held` contains the locked wallets as JSON; a player who is not in it is unknown, and the answer is
/// `None`.
pub(super) async fn change(
    connection: &PooledConnection,
    held: BTreeMap<UserId, String>,
    updates: &[WalletUpdate],
    now: Timestamp,
) -> Result<Vec<Option<WalletChange>>, Fault> {
    let mut latest: BTreeMap<UserId, Amounts> = BTreeMap::new();
    let (mut changes, mut items) = (Vec::with_capacity(updates.len()), Columns::default());
    for update in updates {
        let user_id = update.user_id;
        let previous = match (latest.get(&user_id), held.get(&user_id)) {
            (Some(amounts), _) => amounts.clone(),
            (None, Some(json)) => wallet::parse(json)?,
            (None, None) => {
                changes.push(None);
                continue;
            }
        };
        let updated = wallet::apply(user_id, &previous, &update.changeset)?;
        latest.insert(user_id, updated.clone());
        changes.push(Some(WalletChange { previous, updated }));
        if let Some(entry) = &update.ledger {
            items.ids.push(entry.id.0);
            items.users.push(user_id.0);
            items.changesets.push(wallet::to_json(&update.changeset));
            items.metadata.push(&entry.metadata);
        }
    }
    let ids: Vec<Uuid> = latest.keys().map(|user_id| user_id.0).collect();
    let wallets: Vec<String> = latest.values().map(wallet::to_json).collect();
    if !ids.is_empty() {
        connection.query(SET, &[&ids, &wallets, &Moment(now)]).await?;
    }
    if !items.ids.is_empty() {
        let Columns { ids, users, changesets, metadata } = &items;
        connection.query(INSERT, &[ids, users, changesets, metadata, &Moment(now)]).await?;
    }
    Ok(changes)
}

/// Reads a ledger item from the columns of [`LIST`].
fn item(row: &Row) -> Result<LedgerItem, StoreError> {
    let read = || {
        Ok(LedgerItem {
            id: LedgerItemId(row.try_get(0)?),
            user_id: UserId(row.try_get(1)?),
            changeset: Amounts::new(),
            metadata: row.try_get(3)?,
            create_time: row.try_get::<_, Moment>(4)?.0,
            update_time: row.try_get::<_, Moment>(5)?.0,
        })
    };
    let failed = |error: tokio_postgres::Error| translate(&error);
    let changeset = wallet::parse(row.try_get(2).map_err(failed)?)?;
    Ok(LedgerItem { changeset, ..read().map_err(failed)? })
}
