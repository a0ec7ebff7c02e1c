//! Payloads and results of built-in functions, as JSON.

use muster_domain::{Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Reads a payload; an empty one is an empty object.
///
/// # Errors
/// `InvalidArgument`, with a sentence that says what is wrong and where.
pub(crate) fn read<T: DeserializeOwned>(payload: &str) -> Result<T> {
    let payload = match payload.trim_ascii_start() {
        "" => "{}",
        object if object.starts_with('{') => payload,
        // Without this check a list would be read as the members of an object without their names.
        _ => return Err(Error::invalid("The payload is not a JSON object.")),
    };
    serde_json::from_str(payload).map_err(|error| Error::invalid(format!("The payload does not fit: {error}.")))
}

/// Writes a result.
///
/// # Errors
/// `Internal`, which no result of a built-in function causes.
pub(crate) fn write<T: Serialize>(result: &T) -> Result<String> {
    serde_json::to_string(result)
        .map_err(|error| Error::new(ErrorKind::Internal, "An internal error occurred.").because(error.to_string()))
}

/// The result of functions that answer nothing.
pub(crate) fn nothing() -> Result<String> {
    Ok("{}".to_owned())
}
