//! What PostgreSQL's errors mean to the callers of a port, and which transactions are worth another attempt.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use muster_domain::ports::store::{Conflict, StoreError};
use tokio_postgres::error::SqlState;

use crate::metrics::{StoreMetrics, add};

/// Attempts of one transaction that others keep getting in the way of.
const ATTEMPTS_MAX: u32 = 6;

/// The longest pause before the second attempt; it doubles with each, and a random part of it is taken.
const PAUSE_MAX: Duration = Duration::from_millis(4);

/// How a step of a transaction failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The database said so.
    Database(tokio_postgres::Error),
    /// A rule said so.
    Rule(StoreError),
    /// Another transaction changed a row between two looks at it: the whole is to be done again.
    Overtaken,
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Rule(error)
    }
}

impl Fault {
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Overtaken => true,
            Self::Database(error) => {
                matches!(error.code(), Some(&SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED))
            }
            Self::Rule(_) => false,
        }
    }

    pub(super) fn into_store_error(self) -> StoreError {
        match self {
            Self::Rule(error) => error,
            Self::Overtaken => StoreError::Unavailable("other transactions were always quicker".to_owned()),
            Self::Database(error) => translate(&error),
        }
    }
}

/// Runs a transaction until it succeeds, fails for good, or has been tried often enough.
pub(super) async fn attempts<T>(
    metrics: &StoreMetrics,
    mut transaction: impl AsyncFnMut() -> Result<T, Fault>,
) -> Result<T, StoreError> {
    let mut pause_max = PAUSE_MAX;
    for _ in 1..ATTEMPTS_MAX {
        match transaction().await {
            Err(fault) if fault.is_transient() => add(&metrics.retries, 1),
            outcome => return outcome.map_err(Fault::into_store_error),
        }
        tokio::time::sleep(pause_max.mul_f64(random_part())).await;
        pause_max *= 2;
    }
    transaction().await.map_err(|fault| {
        if fault.is_transient() {
            add(&metrics.retries_exhausted, 1);
            return StoreError::Unavailable("other transactions were always quicker".to_owned());
        }
        fault.into_store_error()
    })
}

/// Between 0 and 1. Spreads attempts apart; nothing depends on its quality.
fn random_part() -> f64 {
    let bits = RandomState::new().hash_one(0) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// The store error that says the same.
pub(super) fn translate(error: &tokio_postgres::Error) -> StoreError {
    if let Some(conflict) = conflict(error) {
        return StoreError::Conflict(conflict);
    }
    let Some(code) = error.code() else {
        // No answer of the database at all: connecting, sending or receiving failed. What does not belong to these,
        // a value that fits no parameter, is our fault.
        let ours = error.to_string().contains("serializing") || error.to_string().contains("deserializing");
        return if ours { StoreError::Internal(error.to_string()) } else { StoreError::Unavailable(describe(error)) };
    };
    match code.code() {
        "22001" => StoreError::Invalid("A text is too long for its column.".to_owned()),
        "22021" | "22P05" => StoreError::Invalid("A text must not contain a NUL character.".to_owned()),
        "22003" | "22P02" | "22P03" | "54000" => {
            StoreError::Invalid("A value is not well formed for the database.".to_owned())
        }
        // Resources, the operator, the system, a read-only or failing-over server, a statement's time limit.
        code if matches!(&code[..2], "08" | "53" | "57" | "58") || matches!(code, "25006" | "55P03") => {
            StoreError::Unavailable(describe(error))
        }
        _ => StoreError::Internal(describe(error)),
    }
}

/// The database's own sentence, which the driver's omits.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(
        || match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
        |error| format!("{} ({})", error.message(), error.code().code()),
    )
}

/// Which unique value of an account is taken, if that is the error.
pub(super) fn conflict(error: &tokio_postgres::Error) -> Option<Conflict> {
    let error = error.as_db_error().filter(|error| *error.code() == SqlState::UNIQUE_VIOLATION)?;
    match error.constraint()? {
        "users_pkey" => Some(Conflict::User),
        "users_username_key" => Some(Conflict::Username),
        "users_email_key" => Some(Conflict::Email),
        "users_custom_id_key" => Some(Conflict::Custom),
        "user_device_pkey" => Some(Conflict::Device),
        _ => None,
    }
}

/// Whether a row names an owner that does not exist.
pub(super) fn is_missing_owner(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION)
}
