//! Wallets and their ledger on SQLite.

use std::collections::BTreeMap;

use muster_domain::ports::PortFuture;
use muster_domain::ports::store::StoreError;
use muster_domain::ports::wallet::{Amounts, LedgerItem, LedgerPosition, WalletChange, WalletStore, WalletUpdate};
use muster_domain::time::Timestamp;
use muster_domain::{LedgerItemId, UserId, wallet};
use rusqlite::{Connection, Row};
use serde_json::value::RawValue;

use super::SqliteStore;
use super::error::translate;
use super::sql::{Result, execute, one, statement};

const HELD: &str = "SELECT wallet FROM users WHERE id = ?1";
const SET: &str = "UPDATE users SET wallet = ?2, update_time = ?3 WHERE id = ?1";
const INSERT: &str = "INSERT INTO wallet_ledger (id, user_id, changeset, metadata, create_time, update_time) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?5)";
pub(crate) const LIST: &str = "SELECT id, user_id, changeset, metadata, create_time, update_time FROM wallet_ledger \
     WHERE user_id = ?1 AND (create_time, id) < (?2, ?3) ORDER BY create_time DESC, id DESC LIMIT ?4";
const FIND: &str = "SELECT id, user_id, changeset, metadata, create_time, update_time FROM wallet_ledger WHERE id = ?1";
const ANNOTATE: &str = "UPDATE wallet_ledger SET metadata = ?2, update_time = ?3 WHERE id = ?1";

impl WalletStore for SqliteStore {
    fn annotate_ledger_item<'a>(
        &'a self,
        id: LedgerItemId,
        metadata: &'a str,
        now: Timestamp,
    ) -> PortFuture<'a, Option<LedgerItem>> {
        let added = metadata.to_owned();
        Box::pin(self.write(move |connection| {
            let Some(found) = one(connection, FIND, [id.0], item)?.transpose()? else { return Ok(None) };
            let metadata = merged(&found.metadata, &added)?;
            execute(connection, ANNOTATE, (id.0, &metadata, now.0))?;
            Ok(Some(LedgerItem { metadata, update_time: now, ..found }))
        }))
    }

    fn list_ledger(
        &self,
        user_id: UserId,
        behind: LedgerPosition,
        limit: u32,
    ) -> PortFuture<'_, (Vec<LedgerItem>, bool)> {
        Box::pin(self.read(move |connection| {
            let mut rows = statement(connection, LIST)?;
            let values = (user_id.0, behind.create_time.0, behind.id.0, i64::from(limit) + 1);
            let rows = rows.query_map(values, item).map_err(translate)?;
            let rows: Vec<_> = rows.collect::<rusqlite::Result<_>>().map_err(translate)?;
            let more = rows.len() > limit as usize;
            Ok((rows.into_iter().take(limit as usize).collect::<Result<_>>()?, more))
        }))
    }
}

/// Changes a wallet; `None` if the player does not exist.
pub(super) fn change(connection: &Connection, update: &WalletUpdate, now: Timestamp) -> Result<Option<WalletChange>> {
    let id = update.user_id.0;
    let Some(held) = one(connection, HELD, [id], |row| row.get::<_, String>(0))? else { return Ok(None) };
    let previous = wallet::parse(&held)?;
    let updated = wallet::apply(update.user_id, &previous, &update.changeset)?;
    execute(connection, SET, (id, wallet::to_json(&updated), now.0))?;
    if let Some(entry) = &update.ledger {
        let values = (entry.id.0, id, wallet::to_json(&update.changeset), &entry.metadata, now.0);
        execute(connection, INSERT, values)?;
    }
    Ok(Some(WalletChange { previous, updated }))
}

/// The members of two JSON objects in one. Members of `added` replace those of the same name. Values keep their
/// spelling.
pub(super) fn merged(metadata: &str, added: &str) -> Result<String> {
    let parse = |json| serde_json::from_str::<BTreeMap<String, Box<RawValue>>>(json);
    let both = || {
        let mut members = parse(metadata)?;
        members.append(&mut parse(added)?);
        serde_json::to_string(&members)
    };
    both().map_err(|_: serde_json::Error| StoreError::Invalid("The metadata must be a JSON object.".to_owned()))
}

/// Reads a ledger item from the columns of [`LIST`]. The inner error is that of an invalid changeset.
fn item(row: &Row<'_>) -> rusqlite::Result<Result<LedgerItem>> {
    let item = LedgerItem {
        id: LedgerItemId(row.get(0)?),
        user_id: UserId(row.get(1)?),
        changeset: Amounts::new(),
        metadata: row.get(3)?,
        create_time: Timestamp(row.get(4)?),
        update_time: Timestamp(row.get(5)?),
    };
    Ok(wallet::parse(&row.get::<_, String>(2)?).map(|changeset| LedgerItem { changeset, ..item }))
}
