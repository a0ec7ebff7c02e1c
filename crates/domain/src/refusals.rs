//! Refusals that several features give.

use crate::error::{Error, ErrorKind, Result};
use crate::ids::UserId;
use crate::ports::accounts::Login;

/// The refusal of a request that names an account which does not exist.
pub(crate) fn no_such_account() -> Error {
    Error::new(ErrorKind::NotFound, "There is no such account.")
}

/// Refuses banned accounts, and the system user, whom nobody can be.
pub(crate) fn admit(login: Login) -> Result<Login> {
    if login.disabled || login.user_id == UserId::SYSTEM {
        return Err(Error::new(ErrorKind::PermissionDenied, "This account is banned."));
    }
    Ok(login)
}

/// Refuses to do to the system user what the verb says.
pub(crate) fn refuse_system(user_id: UserId, verb: &str) -> Result<()> {
    if user_id == UserId::SYSTEM {
        return Err(Error::invalid(format!("The system user cannot be {verb}.")));
    }
    Ok(())
}
