//! Wallets: what a change may do to them, and reading and annotating the ledger of their changes.
//!
//! Amounts are whole numbers of 64 bits. No wallet holds less than nothing of anything, and a change that would leave
//! it
//! so changes nothing at all.

use std::collections::btree_map::Entry;

use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::ids::{LedgerItemId, UserId, new_time_ordered, parse_hyphenated};
use crate::json::require_object;
use crate::limits::{
    LEDGER_METADATA_BYTES_MAX, LEDGER_PAGE_MAX, MULTI_UPDATE_LEN_MAX, WALLET_NAME_BYTES_MAX, WALLET_NAMES_MAX,
    page_limit,
};
use crate::ports::clock::Entropy;
use crate::ports::keyed_writes::WriteStamp;
use crate::ports::multi_update::{MultiUpdate, MultiUpdateStore};
use crate::ports::store::{Store, StoreError};
use crate::ports::wallet::{
    Amounts, LedgerEntry, LedgerItem, LedgerPosition, UnfitBalance, WalletChange, WalletUpdate,
};
use crate::refusals::no_such_account;
use crate::time::Timestamp;

/// A change of one wallet as game code asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletChangeRequest {
    /// The owner of the wallet.
    pub user_id: UserId,
    /// Amounts to add; negative ones take.
    pub changeset: Amounts,
    /// A JSON object for the ledger.
    pub metadata: String,
}

/// Why wallets did not change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WalletError {
    /// A wallet would hold less than nothing or more than 64 bits.
    #[error(transparent)]
    Balance(UnfitBalance),
    /// For any other reason.
    #[error(transparent)]
    Other(#[from] Error),
}

impl From<StoreError> for WalletError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Balance(unfit) => Self::Balance(*unfit),
            other => Self::Other(other.into()),
        }
    }
}

impl From<WalletError> for Error {
    fn from(error: WalletError) -> Self {
        match error {
            WalletError::Balance(unfit) => StoreError::Balance(Box::new(unfit)).into(),
            WalletError::Other(other) => other,
        }
    }
}

/// Changes one wallet.
///
/// Errors: as [`update_all`]; `NotFound` for an unknown player.
pub async fn update(
    store: &dyn MultiUpdateStore,
    entropy: &dyn Entropy,
    change: WalletChangeRequest,
    update_ledger: bool,
    stamp: WriteStamp,
) -> std::result::Result<WalletChange, WalletError> {
    let mut changed = update_all(store, entropy, vec![change], update_ledger, stamp).await?;
    changed.pop().map(|(_, change)| change).ok_or_else(|| no_such_account().into())
}

/// Changes wallets, all or none, and writes each change into the ledger if `update_ledger`. Answers whose changed and
/// how, in the order asked for; unknown players are left out. Several changes of one wallet apply in order.
///
/// Errors: [`WalletError::Balance`]; `InvalidArgument` for more than ten thousand, for names and metadata out of their
/// rules, and for a wallet that holds what is no whole number.
pub async fn update_all(
    store: &dyn MultiUpdateStore,
    entropy: &dyn Entropy,
    changes: Vec<WalletChangeRequest>,
    update_ledger: bool,
    stamp: WriteStamp,
) -> std::result::Result<Vec<(UserId, WalletChange)>, WalletError> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    if changes.len() > MULTI_UPDATE_LEN_MAX {
        return Err(Error::invalid("At most 10,000 wallets can be changed at once.").into());
    }
    let wallets = checked(entropy, changes, update_ledger, stamp.now)?;
    let update = MultiUpdate { wallets, ..MultiUpdate::default() };
    let outcome = store.multi_update(&update, stamp).await?;
    Ok(changed(&update, outcome.wallets))
}

/// The updates that game code asked for, once they are found to be within the rules.
pub(crate) fn checked(
    entropy: &dyn Entropy,
    changes: Vec<WalletChangeRequest>,
    update_ledger: bool,
    now: Timestamp,
) -> Result<Vec<WalletUpdate>> {
    changes.iter().try_for_each(check)?;
    // The ids are those of following microseconds, so that what is changed together is listed in this order.
    let moments = (now.0..).map(Timestamp);
    let made = changes.into_iter().zip(moments).map(|(change, moment)| {
        let entry = || {
            let id = LedgerItemId(new_time_ordered(moment, entropy));
            LedgerEntry { id, metadata: change.metadata }
        };
        WalletUpdate { user_id: change.user_id, changeset: change.changeset, ledger: update_ledger.then(entry) }
    });
    Ok(made.collect())
}

/// Wallets that changed, with their amounts before and after.
pub(crate) fn changed(update: &MultiUpdate, changes: Vec<Option<WalletChange>>) -> Vec<(UserId, WalletChange)> {
    let changes = update.wallets.iter().zip(changes);
    changes.filter_map(|(asked, change)| change.map(|change| (asked.user_id, change))).collect()
}

fn check(change: &WalletChangeRequest) -> Result<()> {
    if change.changeset.len() > WALLET_NAMES_MAX {
        return Err(Error::invalid(TOO_MANY_NAMES));
    }
    if change.changeset.keys().any(|name| name.len() > WALLET_NAME_BYTES_MAX || name.contains('\0')) {
        return Err(Error::invalid(
            "A name in a wallet must be at most 128 bytes long and must not contain null characters.",
        ));
    }
    check_metadata(&change.metadata)
}

fn check_metadata(metadata: &str) -> Result<()> {
    if metadata.len() > LEDGER_METADATA_BYTES_MAX {
        return Err(Error::invalid("The metadata must be at most 262,144 bytes long."));
    }
    require_object("metadata", metadata)
}

const TOO_MANY_NAMES: &str = "A wallet must hold at most 1,000 different names.";

/// Amounts of a wallet after a change. Entries apply in the order of their names.
///
/// Errors: `Balance` for less than nothing, or more than 64 bits hold; `Invalid` for too many entries.
pub fn apply(user_id: UserId, held: &Amounts, changeset: &Amounts) -> std::result::Result<Amounts, StoreError> {
    let mut updated = held.clone();
    for (name, amount) in changeset {
        let entry = updated.entry(name.clone());
        let current = match &entry {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(_) => 0,
        };
        match current.checked_add(*amount) {
            Some(sum @ 0..) => drop(entry.insert_entry(sum)),
            _ => {
                let unfit = UnfitBalance { user_id, name: name.clone(), current, amount: *amount };
                return Err(StoreError::Balance(Box::new(unfit)));
            }
        }
    }
    if updated.len() > held.len().max(WALLET_NAMES_MAX) {
        return Err(StoreError::Invalid(TOO_MANY_NAMES.to_owned()));
    }
    Ok(updated)
}

/// Reads amounts as the database has them.
///
/// Errors: `Invalid` for anything but whole numbers by name, which the original refuses to change too.
pub fn parse(json: &str) -> std::result::Result<Amounts, StoreError> {
    serde_json::from_str(json)
        .map_err(|_| StoreError::Invalid("A wallet or ledger holds something that is not a whole number.".to_owned()))
}

/// Amounts as a JSON object.
pub fn to_json(amounts: &Amounts) -> String {
    amounts.iter().map(|(name, amount)| (name.clone(), Value::from(*amount))).collect::<Value>().to_string()
}

/// Adds the members of `metadata` to those of an item, in the place of members of the same name.
///
/// Errors: `InvalidArgument` for an id that is no UUID and metadata that is no object or too long; `NotFound`.
pub async fn update_ledger_item(store: &dyn Store, id: &str, metadata: &str, now: Timestamp) -> Result<LedgerItem> {
    let id = parse_hyphenated(id).ok_or_else(|| Error::invalid("The ledger item ID is not a valid UUID."))?;
    check_metadata(metadata)?;
    let item = store.annotate_ledger_item(LedgerItemId(id), metadata, now).await?;
    item.ok_or_else(|| Error::new(ErrorKind::NotFound, "There is no such ledger item."))
}

/// A page of a player's ledger, newest first, and where the next one starts, if there is one. A limit of 0 is an empty
/// page, as game code may ask for.
///
/// Errors: `InvalidArgument` for a limit out of 0 to 100.
pub async fn list_ledger(
    store: &dyn Store,
    user_id: UserId,
    limit: Option<i32>,
    behind: Option<LedgerPosition>,
) -> Result<(Vec<LedgerItem>, Option<LedgerPosition>)> {
    if limit == Some(0) {
        return Ok((Vec::new(), behind));
    }
    let limit = page_limit(limit, LEDGER_PAGE_MAX, LEDGER_PAGE_MAX)?;
    let (items, more) = store.list_ledger(user_id, behind.unwrap_or(LedgerPosition::START), limit).await?;
    let position = |last: &LedgerItem| LedgerPosition { create_time: last.create_time, id: last.id };
    let next = if more { items.last().map(position) } else { None };
    Ok((items, next))
}

#[cfg(test)]
mod tests;
