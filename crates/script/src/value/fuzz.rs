//! Damaged values in their packed form and as JSON, and values for the fuzz targets of the bridges to languages.

use muster_testenv::fuzz::Fuzz;

use super::allowance::Allowance;
use super::{DEPTH_MAX, Value, names};

/// Words that mean something to JSON and to the bridges.
pub(crate) const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\u0000",
    "\\ud800",
    "\\ude00",
    ":",
    ",",
    "null",
    "true",
    "-0",
    "1e400",
    "9007199254740993",
    "0.1",
    "\"__proto__\"",
    "\"toJSON\"",
    "\"constructor\"",
    "\"length\"",
    "\"1\"",
    "\"user_id\"",
    "\u{2028}",
    "<",
    "é",
];

/// A value of any form that these bytes choose.
pub(crate) fn of_bytes(bytes: &mut &[u8], depth: usize) -> Value {
    let Some((first, rest)) = bytes.split_first() else { return Value::Nil };
    *bytes = rest;
    let few = usize::from(first / 16 % 8);
    let mut text = |length: usize| {
        let (text, rest) = bytes.split_at(length.min(bytes.len()));
        *bytes = rest;
        text.to_vec()
    };
    match first % 16 {
        0 => Value::Nil,
        1 => Value::Flag(few % 2 == 1),
        2 => Value::Number(f64::from(*first)),
        3 => Value::Number(f64::from_le_bytes(text(8).first_chunk().copied().unwrap_or([0xff; 8]))),
        4..=7 => Value::Bytes(text(few)),
        8 => Value::Bytes(text(few).repeat(300)),
        _ if depth >= DEPTH_MAX => Value::Nil,
        // A value that is nested as deeply as one may be.
        9 => (depth + 1..DEPTH_MAX).fold(of_bytes(bytes, DEPTH_MAX), |inner, _| Value::List(vec![inner])),
        10..=12 => Value::List((0..few).map(|_| of_bytes(bytes, depth + 1)).collect()),
        13 | 14 => {
            let mut name = || String::from_utf8_lossy(&of_text(bytes)).into_owned();
            let names: Vec<_> = (0..few).map(|_| name()).collect();
            Value::Map(names.into_iter().map(|name| (name, of_bytes(bytes, depth + 1))).collect())
        }
        _ => {
            let known = ["user_id", "create_time", "value", "metadata"];
            let entry = |name: &&'static str| (*name, of_bytes(bytes, depth + 1));
            Value::Record(known.iter().take(few % 5).map(entry).collect())
        }
    }
}

fn of_text(bytes: &mut &[u8]) -> Vec<u8> {
    let length = bytes.first().map_or(0, |first| usize::from(first % 8));
    let (text, rest) = bytes.split_at((length + 1).min(bytes.len()));
    *bytes = rest;
    text.get(1..).unwrap_or_default().to_vec()
}

/// Every value of a corpus of values.
pub(crate) fn values(target: &str) -> Fuzz<'_> {
    Fuzz::new(target).words(WORDS)
}

#[test]
fn packed_values_come_back_and_damaged_ones_are_refused() {
    let deep = (0..DEPTH_MAX).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
    let record = Value::Results(vec![Value::Record(vec![("user_id", Value::text("x")), ("value", Value::Nil)])]);
    let tried = Fuzz::new("packed-values").seeds([deep.encode(), record.encode()]).run(|input| {
        let built = of_bytes(&mut &*input, 0);
        let again = Value::decode(&built.clone().encode()).expect("our own output is read back");
        assert_eq!(again.encode(), built.encode());
        let Ok(value) = Value::decode(input) else { return false };
        let once = value.clone().encode();
        assert_eq!(Value::decode(&once).expect("our own output is read back").encode(), once);
        assert!(depth(&value) <= 2 * DEPTH_MAX, "{}", depth(&value));
        true
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
    assert!(names::known("user_id").is_ok());
}

/// Nesting of a value.
pub(crate) fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::List(values) | Value::Results(values) => values.iter().map(depth).max(),
        Value::Map(entries) => entries.iter().map(|(_, value)| depth(value)).max(),
        Value::Record(entries) => entries.iter().map(|(_, value)| depth(value)).max(),
        _ => return 0,
    };
    1 + deepest.unwrap_or_default()
}

/// Number of values in a value, with itself.
fn parts(value: &Value) -> usize {
    match value {
        Value::List(values) => 1 + values.iter().map(parts).sum::<usize>(),
        Value::Map(entries) => 1 + entries.iter().map(|(_, value)| parts(value)).sum::<usize>(),
        _ => 1,
    }
}

#[test]
fn json_of_values_is_read_back_and_damaged_json_is_refused() {
    let tried = values("value-json").run(|input| {
        let written = of_bytes(&mut &*input, 0).to_json_text();
        let again: Value = serde_json::from_str(&written).expect("our own output is read back");
        assert_eq!(again.to_json_text(), written);
        let Ok(json) = serde_json::from_slice::<serde_json::Value>(input) else { return false };
        let value = Value::from_json(json);
        assert!(Allowance::parts_of_json(input) >= parts(&value));
        let text = value.to_json_text();
        assert_eq!(serde_json::from_str::<Value>(&text).expect("our own output is read back").to_json_text(), text);
        true
    });
    assert!(tried.accepted > tried.inputs / 50, "{tried:?}");
}
