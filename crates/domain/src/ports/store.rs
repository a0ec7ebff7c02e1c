//! The database as a whole, and the ways in which any call to it can fail.

use super::PortFuture;
use super::accounts::AccountStore;
use super::chat::ChatStore;
use super::friends::FriendStore;
use super::keyed_writes::KeyedWriteStore;
use super::multi_update::MultiUpdateStore;
use super::notifications::NotificationStore;
use super::revocations::RevocationStore;
use super::sql::SqlStore;
use super::storage::StorageStore;
use super::wallet::{UnfitBalance, WalletStore};
use crate::error::{Error, ErrorKind};
use crate::quotas::Quota;
use crate::time::Timestamp;

/// Why a transaction did not happen. Whatever the variant, nothing of it was stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A unique value is taken.
    #[error("{0:?} is taken")]
    Conflict(Conflict),
    /// A condition that the caller set, or a permission, did not hold.
    #[error("rejected: {0:?}")]
    Rejected(Rejection),
    /// The database refuses a value as the caller gave it (too long for its column, say). The sentence says which.
    #[error("{0}")]
    Invalid(String),
    /// A wallet would hold what none may hold.
    #[error("{0}")]
    Balance(Box<UnfitBalance>),
    /// The account would have more than its quota.
    #[error("over the quota of {0:?}")]
    Exceeded(Quota),
    /// The key of a write is known with another request: our fault, or a match that does not do the same twice.
    #[error("the effect's key belongs to another request")]
    Diverged,
    /// The database lacks an earlier write of the match: it was restored while the match went on.
    #[error("the database lacks earlier payments of the match: it was restored, or has lost them")]
    Restored,
    /// Connection lost, pool exhausted, disk full, serialization retries used up: trying again may succeed.
    /// For a write whose answer was lost the outcome is unknown.
    #[error("database unavailable: {0}")]
    Unavailable(String),
    /// Anything else: our fault, or a damaged database.
    #[error("database error: {0}")]
    Internal(String),
}

impl From<StoreError> for Error {
    /// Conflicts and rejections are translated where their meaning is known. One that arrives here unhandled is the
    /// environment's fault or ours.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unavailable(cause) => {
                Self::new(ErrorKind::Unavailable, "The database is not available right now. Please try again.")
                    .because(cause)
            }
            StoreError::Conflict(_) => Self::new(ErrorKind::AlreadyExists, "That identifier is already in use."),
            StoreError::Rejected(_) => Self::invalid("The write was rejected."),
            StoreError::Invalid(message) => Self::invalid(message),
            StoreError::Balance(unfit) => Self::new(ErrorKind::FailedPrecondition, unfit.to_string()),
            StoreError::Exceeded(quota) => quota.into(),
            StoreError::Diverged | StoreError::Restored => {
                Self::new(ErrorKind::Internal, "An internal error occurred.").because(error.to_string())
            }
            StoreError::Internal(cause) => Self::new(ErrorKind::Internal, "An internal error occurred.").because(cause),
        }
    }
}

/// The unique value that is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The user name.
    Username,
    /// The e-mail address.
    Email,
    /// The device id.
    Device,
    /// The custom id.
    Custom,
    /// The user id itself.
    User,
}

/// The condition that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The object's version is not the one the caller expected.
    Version,
    /// The caller may not write or delete the object.
    Permission,
    /// The identifier is the account's last way to sign in.
    LastIdentifier,
    /// The identifier is not linked to this account.
    NotLinked,
    /// A later owner of the job has written.
    Superseded,
}

/// Whether the database answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseStatus {
    /// `sqlite` or `postgres`.
    pub engine: &'static str,
    /// Whether another server's schema was adopted in place.
    pub adopted: bool,
}

/// Facts by which servers find out whether they use one database, and whether their clocks go with its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatabaseOrigin {
    /// Identity of the database, never 0. A copy of a database has the identity of its original.
    pub identity: u64,
    /// Time of the database's clock.
    pub now: Timestamp,
}

/// Everything the rules persist. Each method of each part is one whole transaction: it is durable
/// (synced) when its future resolves with `Ok`, and no client, script or other port call runs inside.
pub trait Store:
    AccountStore
    + StorageStore
    + RevocationStore
    + ChatStore
    + FriendStore
    + NotificationStore
    + WalletStore
    + MultiUpdateStore
    + KeyedWriteStore
    + SqlStore
{
    /// A cheap round trip that fails when the database cannot serve reads and writes.
    fn ping(&self) -> PortFuture<'_, DatabaseStatus>;

    /// The latest epoch under which an owner of a job has written; 0 without any.
    fn latest_epoch(&self) -> PortFuture<'_, i64>;

    /// Identity and clock of the database.
    fn origin(&self) -> PortFuture<'_, DatabaseOrigin>;
}
