//! Cursors are bound to kind, filter and content.

use muster_wire::Code;
use muster_wire::cursor::{CURSOR_LEN_MAX, CursorError, CursorKind, CursorReader, CursorWriter};

fn sample() -> String {
    CursorWriter::new(CursorKind::StorageObjects).text("key-9").number(i64::MIN).text("").finish(&["saves", "u1"])
}

#[test]
fn parts_survive() {
    let mut reader = CursorReader::open(&sample(), CursorKind::StorageObjects, &["saves", "u1"]).unwrap();
    assert_eq!(reader.text().as_deref(), Ok("key-9"));
    assert_eq!(reader.number(), Ok(i64::MIN));
    assert_eq!(reader.text().as_deref(), Ok(""));
    assert_eq!(reader.end(), Ok(()));
}

#[test]
fn reading_other_parts_than_were_written_is_an_error() {
    let open = || CursorReader::open(&sample(), CursorKind::StorageObjects, &["saves", "u1"]).unwrap();
    assert_eq!(open().end(), Err(CursorError));
    let mut reader = open();
    assert!(reader.number().is_ok());
    assert!(reader.text().is_err());
}

#[test]
fn foreign_and_changed_cursors_are_refused() {
    let refuse = |text: &str, kind, filter: &[&str]| {
        let error = CursorReader::open(text, kind, filter).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
    };
    let cursor = sample();
    refuse(&cursor, CursorKind::Friends, &["saves", "u1"]);
    refuse(&cursor, CursorKind::StorageObjects, &["saves", "u2"]);
    refuse(&cursor, CursorKind::StorageObjects, &["saves"]);
    refuse(&cursor, CursorKind::StorageObjects, &["savesu1"]);
    refuse(&cursor, CursorKind::StorageObjects, &["saves", "u1", ""]);
    for text in ["", "A", "AAAA", "!", &"A".repeat(CURSOR_LEN_MAX + 1), &format!("{cursor}=")] {
        refuse(text, CursorKind::StorageObjects, &["saves", "u1"]);
    }
    for index in 0..cursor.len() {
        let mut bytes = cursor.clone().into_bytes();
        bytes[index] = if bytes[index] == b'A' { b'B' } else { b'A' };
        refuse(&String::from_utf8(bytes).unwrap(), CursorKind::StorageObjects, &["saves", "u1"]);
    }
}
