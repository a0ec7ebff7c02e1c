//! Linking and unlinking the identifiers by which a player signs in. The last one stays.

use crate::error::{Error, ErrorKind, Result};
use crate::identifiers::{check_custom_id, check_device_id, check_email, check_new_password, lower_email, name_taken};
use crate::ids::UserId;
use crate::ports::accounts::{Identifier, Unlink};
use crate::ports::passwords::Passwords;
use crate::ports::store::{Rejection, Store, StoreError};
use crate::refusals::no_such_account;
use crate::time::Timestamp;

/// Links a device or the custom id.
///
/// Errors: `InvalidArgument`, `AlreadyExists` when it is another account's, `NotFound` for an account gone.
pub async fn link(store: &dyn Store, user_id: UserId, identifier: &Identifier, now: Timestamp) -> Result<()> {
    match identifier {
        Identifier::Device(id) => check_device_id(id)?,
        Identifier::Custom(id) => check_custom_id(id)?,
    }
    found(store.link(user_id, identifier, now).await.map_err(name_taken)?)
}

/// Links an e-mail address and password, replacing those there were.
///
/// Errors: as [`link`]; `Unavailable` when the password queue is full.
pub async fn link_email(
    store: &dyn Store,
    passwords: &dyn Passwords,
    user_id: UserId,
    email: &str,
    password: &str,
    now: Timestamp,
) -> Result<()> {
    if email.is_empty() || password.is_empty() {
        return Err(Error::invalid("An e-mail address and a password are required."));
    }
    check_email(email)?;
    check_new_password(password)?;
    let hash = passwords.hash(password).await?;
    found(store.link_email(user_id, &lower_email(email), &hash, now).await.map_err(name_taken)?)
}

/// Unlinks an identifier, unless it is the account's last. An empty custom id or address stands for whichever is
/// linked, and nothing has to be.
///
/// Errors: `InvalidArgument` for an empty device, `PermissionDenied` when it is the last or not linked.
pub async fn unlink(store: &dyn Store, user_id: UserId, identifier: Unlink, now: Timestamp) -> Result<()> {
    let identifier = match identifier {
        Unlink::Device(id) if id.is_empty() => return Err(Error::invalid("A device ID is required.")),
        Unlink::Email(email) => Unlink::Email(lower_email(&email)),
        other => other,
    };
    store.unlink(user_id, &identifier, now).await.map_err(|error| match error {
        StoreError::Rejected(Rejection::LastIdentifier | Rejection::NotLinked) => Error::new(
            ErrorKind::PermissionDenied,
            "It cannot be unlinked: it is not linked, or it is the account's last way to sign in.",
        ),
        other => other.into(),
    })
}

fn found(exists: bool) -> Result<()> {
    if exists { Ok(()) } else { Err(no_such_account()) }
}
