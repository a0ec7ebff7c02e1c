//! Halves of surrogate pairs in JSON texts. The library that reads JSON refuses a half without its other half; the
//! original reads it as the replacement character.

/// Length of an escape such as `\ud83d`.
const ESCAPE_LEN: usize = 6;

/// The text with each half that stands alone replaced; `None` for a text that has none.
pub(super) fn replace_lone(json: &[u8]) -> Option<Vec<u8>> {
    let has_surrogates = json.windows(3).any(|window| matches!(window, [b'\\', b'u', b'd' | b'D']));
    if !has_surrogates {
        return None;
    }
    let (mut written, mut at, mut is_changed) = (Vec::with_capacity(json.len()), 0, false);
    while let Some(byte) = json.get(at) {
        let len = match half(&json[at..]) {
            Some(Half::First) if matches!(half(&json[at + ESCAPE_LEN..]), Some(Half::Second)) => 2 * ESCAPE_LEN,
            Some(_) => {
                written.extend_from_slice(b"\\ufffd");
                (at, is_changed) = (at + ESCAPE_LEN, true);
                continue;
            }
            // The byte behind a backslash begins no escape.
            None if *byte == b'\\' => 2,
            None => 1,
        };
        let end = (at + len).min(json.len());
        written.extend_from_slice(&json[at..end]);
        at = end;
    }
    is_changed.then_some(written)
}

enum Half {
    First,
    Second,
}

/// The half of a pair with whose escape a text begins.
fn half(json: &[u8]) -> Option<Half> {
    let digits = json.get(2..ESCAPE_LEN).filter(|_| json.starts_with(b"\\u"))?;
    let digits = std::str::from_utf8(digits).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::First),
        0xdc00..=0xdfff => Some(Half::Second),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_that_stand_alone_are_replaced() {
        let replaced = |json: &str| replace_lone(json.as_bytes()).map(|json| String::from_utf8(json).unwrap());
        for whole in ["\"x\"", "\"\\ud83d\\ude00\"", "\"\\\\ud800\"", "\"\\u0064\""] {
            assert_eq!(replaced(whole), None, "{whole}");
        }
        assert_eq!(replaced("\"\\ud800\"").unwrap(), "\"\\ufffd\"");
        assert_eq!(replaced("\"\\uDC00x\\ud83d\\ude00\"").unwrap(), "\"\\ufffdx\\ud83d\\ude00\"");
        assert_eq!(replaced("\"\\ud800\\ud83d\\ude00").unwrap(), "\"\\ufffd\\ud83d\\ude00");
        assert_eq!(replaced("\\ud83").as_deref(), None);
    }
}
