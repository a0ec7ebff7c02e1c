//! SQLite's errors as the errors of the ports.

use std::path::Path;

use muster_domain::ports::store::{Conflict, StoreError};
use rusqlite::ErrorCode;

use crate::OpenError;

/// The message to the operator when the database at `path` cannot be opened. A closure for `map_err`.
pub(super) fn opening(path: &Path) -> impl Fn(rusqlite::Error) -> OpenError {
    move |error| {
        let advice = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                ": it is damaged, or no database at all; nothing was changed in it. Keep a copy and restore a backup \
                 with `muster restore FOLDER --force`, or name another data folder"
            }
            _ => "",
        };
        OpenError::new(format!("cannot open the database {}: {error}{advice}", path.display()))
    }
}

/// The store error with the same meaning.
pub(super) fn translate(error: rusqlite::Error) -> StoreError {
    if let Some(conflict) = conflict(&error) {
        return StoreError::Conflict(conflict);
    }
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationInterrupted,
        ) => StoreError::Unavailable(error.to_string()),
        Some(ErrorCode::TooBig) => StoreError::Invalid("The value is too large for the database.".to_owned()),
        _ => StoreError::Internal(error.to_string()),
    }
}

/// The unique value of an account that is taken, if that is the error. SQLite names the columns of the violated index.
pub(super) fn conflict(error: &rusqlite::Error) -> Option<Conflict> {
    let rusqlite::Error::SqliteFailure(failure, Some(message)) = error else { return None };
    if failure.code != ErrorCode::ConstraintViolation {
        return None;
    }
    match message.strip_prefix("UNIQUE constraint failed: ")? {
        "users.id" => Some(Conflict::User),
        "users.username" => Some(Conflict::Username),
        "users.email" => Some(Conflict::Email),
        "users.custom_id" => Some(Conflict::Custom),
        "user_device.id" => Some(Conflict::Device),
        _ => None,
    }
}

/// Whether the error is that a row names an owner who does not exist.
pub(super) fn is_missing_owner(error: &rusqlite::Error) -> bool {
    let rusqlite::Error::SqliteFailure(failure, _) = error else { return false };
    failure.extended_code == rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY
}
