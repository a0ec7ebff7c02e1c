//! Whether a text is a JSON object that both databases can store. Never changes or interprets the text.

use serde::de::IgnoredAny;

use crate::limits::JSON_DEPTH_MAX;

/// Why a text is not a storable JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStorable {
    /// Not JSON, or not an object.
    NotAnObject,
    /// Nested deeper than [`JSON_DEPTH_MAX`].
    TooDeep,
    /// Has an escape for the null character or for half a surrogate pair, which PostgreSQL cannot hold.
    BadEscape,
}

/// Checks that `text` is a JSON object that SQLite and PostgreSQL both accept.
pub fn check_object(text: &str) -> Result<(), NotStorable> {
    if !text.trim_ascii_start().starts_with('{') {
        return Err(NotStorable::NotAnObject);
    }
    // Skipping a value does not recurse, so that no nesting can exhaust the stack here.
    serde_json::from_str::<IgnoredAny>(text).map_err(|_| NotStorable::NotAnObject)?;
    check_well_formed(text.as_bytes())
}

/// Measures nesting and looks at escapes. `json` is known to be valid JSON.
fn check_well_formed(json: &[u8]) -> Result<(), NotStorable> {
    let (mut depth, mut in_string, mut at) = (0_usize, false, 0);
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
            _ => {}
        }
    }
    Ok(())
}

/// Checks the escape that follows a backslash; answers its length.
fn check_escape(rest: &[u8]) -> Result<usize, NotStorable> {
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

/// The value of `uXXXX` at the start of `rest`.
fn code_unit(rest: &[u8]) -> Option<u32> {
    let digits = rest.strip_prefix(b"u")?.get(..4)?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<(), NotStorable>) {
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
}
