//! Whether a text is a JSON object that both databases can store. Never changes or interprets the text.

use serde::de::IgnoredAny;

use crate::error::{Error, Result};
use crate::limits::{
    JSON_DEPTH_MAX, JSON_EXPONENT_FREE, JSON_EXPONENT_MAX, JSON_EXPONENT_SUM_MAX, JSON_NUMBER_BYTES_MAX,
};

/// Why a text is not a storable JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStorable {
    /// Not JSON, or not an object.
    NotAnObject,
    /// Nested deeper than [`JSON_DEPTH_MAX`].
    TooDeep,
    /// Has an escape for the null character or for half a surrogate pair, which PostgreSQL cannot hold.
    BadEscape,
    /// Has numbers with more digits than may be written out: PostgreSQL answers `1e5` as `100000`, so that a few
    /// kilobytes of large exponents would be read back as hundreds of megabytes.
    TooManyDigits,
}

/// Refuses a text that is not a storable JSON object, in a sentence that calls it `what`.
///
/// Errors: `InvalidArgument`.
pub fn require_object(what: &str, text: &str) -> Result<()> {
    check_object(text).map_err(|reason| {
        Error::invalid(match reason {
            NotStorable::NotAnObject => format!("The {what} must be a JSON object."),
            NotStorable::TooDeep => format!("The {what} nests arrays or objects deeper than {JSON_DEPTH_MAX} levels."),
            NotStorable::BadEscape => format!("The {what} has an escape for a null character or half a character."),
            NotStorable::TooManyDigits => {
                format!("The {what} has numbers with too many digits or too large exponents.")
            }
        })
    })
}

/// Checks that `text` is a JSON object that SQLite and PostgreSQL both accept.
pub fn check_object(text: &str) -> std::result::Result<(), NotStorable> {
    if !text.trim_ascii_start().starts_with('{') {
        return Err(NotStorable::NotAnObject);
    }
    // Skipping a value does not recurse, so that no nesting can exhaust the stack here.
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| NotStorable::NotAnObject)?;
    check_well_formed(text.as_bytes())
}

/// Measures nesting and numbers, and looks at escapes. `json` is known to be valid JSON.
fn check_well_formed(json: &[u8]) -> std::result::Result<(), NotStorable> {
    let (mut depth, mut in_string, mut at) = (0_usize, false, 0);
    let mut exponents_sum = 0_usize;
    while let Some(&byte) = json.get(at) {
        at += 1;
        match (in_string, byte) {
            (_, b'"') => in_string = !in_string,
            (true, b'\\') => at += check_escape(&json[at..])?,
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > JSON_DEPTH_MAX {
                    return Err(NotStorable::TooDeep);
                }
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (false, b'-' | b'0'..=b'9') => {
                let number = number_at(&json[at - 1..]);
                exponents_sum += exponent_to_count(number)?;
                if exponents_sum > JSON_EXPONENT_SUM_MAX {
                    return Err(NotStorable::TooManyDigits);
                }
                at += number.len() - 1;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The number at the start of `json`.
fn number_at(json: &[u8]) -> &[u8] {
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E');
    &json[..json.iter().take_while(|byte| is_part(byte)).count()]
}

/// How many digits a number's exponent stands for, 0 if they are few.
fn exponent_to_count(number: &[u8]) -> std::result::Result<usize, NotStorable> {
    if number.len() > JSON_NUMBER_BYTES_MAX {
        return Err(NotStorable::TooManyDigits);
    }
    let Some(mark) = number.iter().position(|byte| matches!(byte, b'e' | b'E')) else { return Ok(0) };
    let digits = number[mark + 1..].iter().filter(|byte| byte.is_ascii_digit());
    let exponent = digits.fold(0_usize, |sum, digit| sum.saturating_mul(10).saturating_add(usize::from(digit - b'0')));
    if exponent > JSON_EXPONENT_MAX {
        return Err(NotStorable::TooManyDigits);
    }
    Ok(if exponent > JSON_EXPONENT_FREE { exponent } else { 0 })
}

/// Checks the escape that follows a backslash; answers its length.
fn check_escape(rest: &[u8]) -> std::result::Result<usize, NotStorable> {
    let Some(unit) = code_unit(rest) else { return Ok(1) };
    match unit {
        0 | 0xDC00..=0xDFFF => Err(NotStorable::BadEscape),
        0xD800..=0xDBFF => match rest.get(5).filter(|&&b| b == b'\\').and_then(|_| code_unit(&rest[6..])) {
            Some(0xDC00..=0xDFFF) => Ok(11),
            _ => Err(NotStorable::BadEscape),
        },
        _ => Ok(5),
    }
}

/// The value of `u` with four hexadecimal digits at the start of `rest`.
fn code_unit(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: std::result::Result<(), NotStorable>) {
        assert_eq!(check_object(text), expect, "{text:.60}");
    }

    #[test]
    fn objects_are_storable() {
        check("{}", Ok(()));
        check(" \n{\"a\": [1, {\"b\": \"}]\\\"\"}]}", Ok(()));
        check(r#"{"a":"\\u0000"}"#, Ok(()));
        check(r#"{"smile":"\ud83d\ude00"}"#, Ok(()));
        check("{\"smile\":\"\u{1F600}\"}", Ok(()));
    }

    #[test]
    fn other_texts_are_not() {
        for text in ["", " ", "[]", "1", "\"{}\"", "null", "{", "{}{}", "{'a':1}", "{\"a\":}", "\u{feff}{}"] {
            check(text, Err(NotStorable::NotAnObject));
        }
    }

    #[test]
    fn what_postgresql_cannot_hold_is_refused_everywhere() {
        check(r#"{"a":"\u0000"}"#, Err(NotStorable::BadEscape));
        check(r#"{"\uD800":1}"#, Err(NotStorable::BadEscape));
        check(r#"{"a":"\uD800\u0041"}"#, Err(NotStorable::BadEscape));
        check(r#"{"a":"\uDC00"}"#, Err(NotStorable::BadEscape));
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        check(&nested(JSON_DEPTH_MAX), Ok(()));
        check(&nested(JSON_DEPTH_MAX + 1), Err(NotStorable::TooDeep));
        check(&nested(100_000), Err(NotStorable::TooDeep));
    }

    #[test]
    fn numbers_may_not_unfold_to_more_than_was_sent() {
        let array = |number: &str, len: usize| format!("{{\"a\":[{}]}}", vec![number; len].join(","));
        check(&array("-1.7976931348623157E+308", 500), Ok(()));
        check(&array("1.5e-7", 50_000), Ok(()));
        check(r#"{"1e99999":"1e99999","b":false}"#, Ok(()));
        check(&array("1e308", JSON_EXPONENT_SUM_MAX / 308 + 1), Err(NotStorable::TooManyDigits));
        for number in ["1e10001", "1E-10001", "0e+999999999999999999999999", &"9".repeat(JSON_NUMBER_BYTES_MAX + 1)] {
            check(&array(number, 1), Err(NotStorable::TooManyDigits));
        }
        check(&array(&"9".repeat(JSON_NUMBER_BYTES_MAX), 1), Ok(()));
    }
}
