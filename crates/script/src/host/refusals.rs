//! Refusals that the rows of several features name.

use muster_domain::ErrorKind;

use super::row::Refusal;

pub(super) const NO_ACCOUNT: Refusal = (ErrorKind::NotFound, "there is no such account");
pub(super) const BANNED: Refusal = (ErrorKind::PermissionDenied, "the account is banned");
pub(super) const TOO_MANY_PASSWORDS: Refusal = (ErrorKind::Unavailable, "too many passwords are being checked");
pub(super) const BUSY: Refusal = (ErrorKind::Unavailable, "the threads for slow work have too much to do");
