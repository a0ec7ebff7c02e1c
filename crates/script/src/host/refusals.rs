//! Refusals that are documented in the rows of several features.

use muster_domain::ErrorKind;

use super::row::DocumentedError;

pub(super) const NO_ACCOUNT: DocumentedError = (ErrorKind::NotFound, "there is no such account");
pub(super) const BANNED: DocumentedError = (ErrorKind::PermissionDenied, "the account is banned");
pub(super) const TOO_MANY_PASSWORDS: DocumentedError = (ErrorKind::Unavailable, "too many passwords are being checked");
pub(super) const BUSY: DocumentedError = (ErrorKind::Unavailable, "the threads for slow work have too much to do");
