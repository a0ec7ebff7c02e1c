//! Accounts, storage objects and wallets changed together by game code: all or nothing.

use crate::account::check_update;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::UserId;
use crate::limits::MULTI_UPDATE_LEN_MAX;
use crate::ports::accounts::AccountUpdate;
use crate::ports::clock::Entropy;
use crate::ports::keyed_writes::WriteStamp;
use crate::ports::multi_update::{MultiUpdate, MultiUpdateStore};
use crate::ports::storage::{ObjectAck, ObjectDelete};
use crate::ports::store::{Conflict, StoreError};
use crate::ports::wallet::WalletChange;
use crate::refusals::refuse_system;
use crate::storage::{WriteRequest, check_delete, check_write};
use crate::wallet::{self, WalletChangeRequest, WalletError};

/// Changes that game code wants made together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MultiUpdateRequest {
    /// Accounts; unknown ones are left out.
    pub accounts: Vec<(UserId, AccountUpdate)>,
    /// Objects to write, each with its owner.
    pub writes: Vec<(UserId, WriteRequest)>,
    /// Objects to delete.
    pub deletes: Vec<ObjectDelete>,
    /// Wallets; those of unknown players are left out.
    pub wallets: Vec<WalletChangeRequest>,
    /// Whether the ledger gets the changes of the wallets.
    pub update_ledger: bool,
}

/// Outcome of changes that were made together.
#[derive(Debug, Default)]
pub struct MultiUpdateResult {
    /// Acknowledgements of the objects, in the order of the writes.
    pub acks: Vec<ObjectAck>,
    /// The changed wallets, each with its owner.
    pub wallets: Vec<(UserId, WalletChange)>,
}

/// Changes everything or nothing: accounts first, then objects, deletions, wallets.
///
/// Errors: [`WalletError::Balance`]; `InvalidArgument` for more than ten thousand changes, for what is out of its
/// rules, and for an object whose version is another; `AlreadyExists` for a taken user name.
pub async fn run(
    store: &dyn MultiUpdateStore,
    entropy: &dyn Entropy,
    request: MultiUpdateRequest,
    stamp: WriteStamp,
) -> std::result::Result<MultiUpdateResult, WalletError> {
    let MultiUpdateRequest { accounts, writes, deletes, wallets, .. } = &request;
    let len = accounts.len() + writes.len() + deletes.len() + wallets.len();
    if len == 0 {
        return Ok(MultiUpdateResult::default());
    }
    if len > MULTI_UPDATE_LEN_MAX {
        return Err(Error::invalid("At most 10,000 things can be changed at once.").into());
    }
    let update = checked(entropy, request, stamp)?;
    let outcome = store.multi_update(&update, stamp).await.map_err(refused)?;
    Ok(MultiUpdateResult { acks: outcome.acks, wallets: wallet::changed(&update, outcome.wallets) })
}

fn checked(entropy: &dyn Entropy, request: MultiUpdateRequest, stamp: WriteStamp) -> Result<MultiUpdate> {
    for (user_id, update) in &request.accounts {
        refuse_system(*user_id, "changed")?;
        check_update(update)?;
    }
    let writes = request.writes.into_iter().map(|(owner, write)| check_write(write, owner));
    let writes = writes.collect::<Result<Vec<_>>>()?;
    request.deletes.iter().try_for_each(check_delete)?;
    let wallets = wallet::checked(entropy, request.wallets, request.update_ledger, stamp.now)?;
    Ok(MultiUpdate { accounts: request.accounts, writes, deletes: request.deletes, wallets })
}

fn refused(error: StoreError) -> WalletError {
    match error {
        StoreError::Rejected(_) => {
            let told = "Storage write or delete rejected: version check failed, an object is at another version.";
            Error::invalid(told).into()
        }
        StoreError::Conflict(Conflict::Username) => {
            Error::new(ErrorKind::AlreadyExists, "The username is already in use.").into()
        }
        other => other.into(),
    }
}
