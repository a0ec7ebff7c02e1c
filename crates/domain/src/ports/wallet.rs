//! Wallets, and the ledger of their changes.

use std::collections::BTreeMap;
use std::fmt;

use super::PortFuture;
use crate::ids::{LedgerItemId, UserId, Uuid};
use crate::time::Timestamp;

/// Amounts by name: what a wallet holds, or what a change adds to it.
pub type Amounts = BTreeMap<String, i64>;

/// A change of one wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletUpdate {
    /// The owner of the wallet.
    pub user_id: UserId,
    /// Amounts to add; negative ones take.
    pub changeset: Amounts,
    /// The item that the ledger gets, if any.
    pub ledger: Option<LedgerEntry>,
}

/// Parts of a ledger item beside the change itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerEntry {
    /// Chosen by the caller.
    pub id: LedgerItemId,
    /// A JSON object as text.
    pub metadata: String,
}

/// Amounts of a wallet before and after a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalletChange {
    /// Before.
    pub previous: Amounts,
    /// After.
    pub updated: Amounts,
}

/// A change that was refused: it would leave less than nothing, or more than can be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitBalance {
    /// The owner of the wallet.
    pub user_id: UserId,
    /// Name of the entry.
    pub name: String,
    /// Amount of the entry.
    pub current: i64,
    /// Amount that was to be added.
    pub amount: i64,
}

impl fmt::Display for UnfitBalance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, current, amount, .. } = self;
        let fault = if current.checked_add(*amount).is_some() || *amount < 0 { "negative" } else { "too large a" };
        // The original's sentence, which modules may look for.
        write!(formatter, "wallet update rejected {fault} value at path '{name}'")
    }
}

impl std::error::Error for UnfitBalance {}

/// One change as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerItem {
    /// Unique.
    pub id: LedgerItemId,
    /// The owner of the changed wallet.
    pub user_id: UserId,
    /// Amounts that were added.
    pub changeset: Amounts,
    /// A JSON object as text.
    pub metadata: String,
    /// When the wallet was changed.
    pub create_time: Timestamp,
    /// When the metadata changed last.
    pub update_time: Timestamp,
}

/// A place in a ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerPosition {
    /// Time of the item there.
    pub create_time: Timestamp,
    /// Id of the item there.
    pub id: LedgerItemId,
}

impl LedgerPosition {
    /// Before every item: at the end of the year 9999.
    pub const START: LedgerPosition =
        LedgerPosition { create_time: Timestamp(253_402_300_799_999_999), id: LedgerItemId(Uuid::max()) };
}

/// Persistence of ledgers; wallets change with [`super::multi_update`].
pub trait WalletStore {
    /// Adds the members of `metadata`, a JSON object, to those of an item, in the place of members of the same name.
    /// `Ok(None)`: no such item. Doing it twice changes nothing more, so it needs no key.
    fn annotate_ledger_item<'a>(
        &'a self,
        id: LedgerItemId,
        metadata: &'a str,
        now: Timestamp,
    ) -> PortFuture<'a, Option<LedgerItem>>;

    /// A page of a player's ledger, newest first, and whether more follow.
    fn list_ledger(
        &self,
        user_id: UserId,
        behind: LedgerPosition,
        limit: u32,
    ) -> PortFuture<'_, (Vec<LedgerItem>, bool)>;
}
