//! Damaged texts that are kept: documents of players, and ids of channels.

use muster_testenv::fuzz::Fuzz;
use serde_json::Value as Json;

use crate::channel::Channel;
use crate::json::check_object;
use crate::limits::JSON_DEPTH_MAX;

const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u0000",
    "\\ud83d",
    "\\ude00",
    "\\\\",
    ":",
    ",",
    "\"a\":",
    "1e400",
    "1e9999",
    "-",
    "0.1",
    "9999999999999999",
    "e+",
    "true",
    "null",
    " ",
    "\n",
    "\u{feff}",
    "é",
];

fn any_text(json: &Json, see: &impl Fn(&str)) {
    match json {
        Json::String(text) => see(text),
        Json::Array(values) => values.iter().for_each(|value| any_text(value, see)),
        Json::Object(entries) => entries.iter().for_each(|(name, value)| {
            see(name);
            any_text(value, see);
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

#[test]
fn damaged_documents_are_refused_or_can_be_stored() {
    let tried = Fuzz::new("json-stored").words(WORDS).run(|input| {
        let text = String::from_utf8_lossy(input);
        if check_object(&text).is_err() {
            return false;
        }
        let opening = text.bytes().filter(|byte| matches!(byte, b'{' | b'[')).count();
        match serde_json::from_str::<Json>(&text) {
            Ok(json) => {
                assert!(json.is_object());
                any_text(&json, &|text| assert!(!text.contains('\0')));
            }
            // The other reader refuses large numbers, which both databases take, and nests less.
            Err(error) => {
                let told = error.to_string();
                let is_its_own = told.contains("out of range") || told.contains("recursion limit") && opening > 120;
                assert!(is_its_own && JSON_DEPTH_MAX > 120, "{told}");
            }
        }
        true
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}

#[test]
fn damaged_ids_of_channels_are_refused_or_the_only_ones() {
    let words = ["2...", "3.", "4.", ".", "..", "00000000-0000-0000-0000-000000000000", "-", "a", "F", "\x7f", "é"];
    let tried = Fuzz::new("channel").words(&words).input_bytes_max(200).run(|input| {
        let id = String::from_utf8_lossy(input);
        let Ok(channel) = Channel::parse(&id) else { return false };
        // Letters of UUIDs may be capitals; nothing else has two spellings.
        assert!(channel.to_string().eq_ignore_ascii_case(&id), "{channel}");
        assert!(channel.to_string() == id || !matches!(channel, Channel::Room(_)), "{channel}");
        assert_eq!(Channel::parse(&channel.to_string()), Ok(channel));
        true
    });
    assert!(tried.accepted > tried.inputs / 50, "{tried:?}");
}
