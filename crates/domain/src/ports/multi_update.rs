//! Accounts, storage objects and wallets changed together.

use super::PortFuture;
use super::accounts::AccountUpdate;
use super::keyed_writes::WriteStamp;
use super::storage::{ObjectAck, ObjectDelete, ObjectWrite};
use super::wallet::{WalletChange, WalletUpdate};
use crate::ids::UserId;

/// Changes made together, by the server itself. Steps of one list apply in its order, the lists in theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiUpdate {
    /// Accounts; unknown ones are left out.
    pub accounts: Vec<(UserId, AccountUpdate)>,
    /// Objects to write.
    pub writes: Vec<ObjectWrite>,
    /// Objects to delete.
    pub deletes: Vec<ObjectDelete>,
    /// Wallets; those of unknown players are left out.
    pub wallets: Vec<WalletUpdate>,
}

/// Outcome of a [`MultiUpdate`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiOutcome {
    /// One for each write, in order.
    pub acks: Vec<ObjectAck>,
    /// One for each wallet, in order; `None` for an unknown player's.
    pub wallets: Vec<Option<WalletChange>>,
}

/// Persistence of changes that are made together.
pub trait MultiUpdateStore {
    /// Makes all changes or none, once for each key.
    ///
    /// Errors: `Conflict(Username)`; `Rejected(Version)`; `Invalid` for values too wide for their columns, objects of
    /// owners that do not exist, and wallets with amounts that are no whole numbers; `Balance`; `Diverged`; `Restored`.
    fn multi_update<'a>(&'a self, update: &'a MultiUpdate, stamp: WriteStamp) -> PortFuture<'a, MultiOutcome>;
}
