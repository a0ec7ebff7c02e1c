//! PostgreSQL's errors as the errors of the ports, and repetition of transactions that failed because of other
//! transactions.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use muster_domain::ports::store::{Conflict, StoreError};
use muster_domain::quotas::Quota;
use tokio_postgres::error::SqlState;

use crate::metrics::{StoreMetrics, add};

/// Most attempts of one transaction that fails because of other transactions.
const ATTEMPTS_MAX: u32 = 6;

/// Longest pause before the second attempt; it doubles with each further attempt. The real pause is a random part of
/// it.
const PAUSE_MAX: Duration = Duration::from_millis(4);

/// The reason why a step of a transaction failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// An error of the database or of the connection.
    Database(tokio_postgres::Error),
    /// A refusal by a rule, or another error of the port.
    Rule(StoreError),
    /// Another transaction changed a row between two statements; the whole transaction has to be run again.
    Overtaken,
    /// The account's objects have not been counted, or too long ago.
    Uncounted,
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
            Self::Rule(_) | Self::Uncounted => false,
        }
    }

    /// Whether the connection should be replaced: its server has become read-only, or statements that were prepared on
    /// it are gone, as behind a pooler that shares connections among transactions.
    pub(super) fn is_of_a_useless_connection(&self) -> bool {
        let Self::Database(error) = self else { return false };
        matches!(error.code(), Some(&SqlState::READ_ONLY_SQL_TRANSACTION | &SqlState::INVALID_SQL_STATEMENT_NAME))
    }

    pub(super) fn into_store_error(self) -> StoreError {
        match self {
            Self::Rule(error) => error,
            Self::Overtaken => StoreError::Unavailable("other transactions were always quicker".to_owned()),
            Self::Uncounted => StoreError::Unavailable("the count of the objects was always too old".to_owned()),
            Self::Database(error) => translate(&error),
        }
    }
}

/// Runs a transaction until it succeeds, fails with an error that a repetition would not cure, or has used all its
/// attempts.
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

/// A random number from 0 up to 1, to spread attempts apart. Nothing depends on its quality.
fn random_part() -> f64 {
    let bits = RandomState::new().hash_one(0) >> 11;
    bits as f64 / (1u64 << 53) as f64
}

/// The store error with the same meaning.
pub(super) fn translate(error: &tokio_postgres::Error) -> StoreError {
    if let Some(conflict) = conflict(error) {
        return StoreError::Conflict(conflict);
    }
    if let Some(quota) = exceeded(error) {
        return StoreError::Exceeded(quota);
    }
    let Some(code) = error.code() else {
        // The database gave no answer: connecting, sending or receiving failed. An exception is a value that does not
        // fit its parameter, which is a bug of ours.
        let ours = error.to_string().contains("serializing") || error.to_string().contains("deserializing");
        return if ours { StoreError::Internal(error.to_string()) } else { StoreError::Unavailable(describe(error)) };
    };
    match code.code() {
        "22001" => StoreError::Invalid("A text is too long for its column.".to_owned()),
        "22021" | "22P05" => StoreError::Invalid("A text must not contain a NUL character.".to_owned()),
        "22003" | "22P02" | "22P03" | "54000" => {
            StoreError::Invalid("A value is not well formed for the database.".to_owned())
        }
        "26000" => StoreError::Unavailable(format!(
            "a prepared statement is gone, as behind a pooler that shares connections among transactions: give Muster \
             the address of PostgreSQL itself ({})",
            describe(error)
        )),
        // These classes mean: the connection, resources, the operator, or the system. 25006 is a read-only server, for
        // example during a failover, and 55P03 a lock that was not available.
        code if matches!(&code[..2], "08" | "53" | "57" | "58") || matches!(code, "25006" | "55P03") => {
            StoreError::Unavailable(describe(error))
        }
        _ => StoreError::Internal(describe(error)),
    }
}

/// The database's own sentence, which the driver's text omits; without an answer of the database, the driver's text and
/// its cause.
pub(super) fn describe(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(
        || match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
        |error| format!("{} ({})", error.message(), error.code().code()),
    )
}

/// The unique value of an account that is taken, if that is the error.
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

/// The quota that a row of usage would be beyond, if that is the error.
pub(super) fn exceeded(error: &tokio_postgres::Error) -> Option<Quota> {
    let error = error.as_db_error().filter(|error| *error.code() == SqlState::CHECK_VIOLATION)?;
    match error.constraint()? {
        "muster_object_usage_objects_check" => Some(Quota::Objects),
        "muster_object_usage_bytes_check" => Some(Quota::ObjectBytes),
        "muster_message_usage_messages_check" => Some(Quota::Messages),
        "muster_message_usage_bytes_check" => Some(Quota::MessageBytes),
        _ => None,
    }
}

/// Whether the error is that a row names an owner who does not exist.
pub(super) fn is_missing_owner(error: &tokio_postgres::Error) -> bool {
    error.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION)
}
