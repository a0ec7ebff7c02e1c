//! Cursors: whatever opens can be read to its end.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_wire::cursor::{CursorKind, CursorReader};

fuzz_target!(|text: &str| {
    if let Ok(mut reader) = CursorReader::open(text, CursorKind::Groups, &["filter"]) {
        let _ = reader.text();
        let _ = reader.number();
        let _ = reader.end();
    }
});
