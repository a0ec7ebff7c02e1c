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
    serde_json::from_str(payload)
        .map_err(|error| Error::invalid(format!("The payload does not fit: {}.", told(&error))))
}

/// Whole numbers by their names in errors of the library, with the words for game developers.
const WHOLE_NUMBERS: [(&str, &str); 5] = [
    ("u8", "a whole number from 0 to 255"),
    ("u32", "a whole number from 0 to 4294967295"),
    ("u64", "a whole number from 0"),
    ("i32", "a whole number from -2147483648 to 2147483647"),
    ("i64", "a whole number"),
];

/// An error of the library, without the names of Rust's types of numbers.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let words = text.rsplit_once(", expected ").and_then(|(before, expected)| {
        let (name, place) = expected.split_once(' ')?;
        let (_, words) = WHOLE_NUMBERS.iter().find(|(known, _)| *known == name)?;
        Some(format!("{before}, expected {words} {place}"))
    });
    words.unwrap_or(text)
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

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Seats {
        #[serde(rename = "seats")]
        _seats: u32,
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused_without_words_of_rust() {
        for (payload, expect) in [
            ("-1", "invalid value: integer `-1`, expected a whole number from 0 to 4294967295 at line 1 column 12."),
            (
                "1.5",
                "invalid type: floating point `1.5`, expected a whole number from 0 to 4294967295 at line 1 column 13.",
            ),
        ] {
            let refused = read::<Seats>(&format!("{{\"seats\": {payload}}}")).unwrap_err();
            assert_eq!(refused.message, format!("The payload does not fit: {expect}"));
        }
    }
}
