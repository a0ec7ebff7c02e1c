//! Objects that may be written, and those that may not.

use super::*;

fn check(request: WriteRequest, expect: std::result::Result<(ReadPermission, WritePermission, Expected), &str>) {
    let checked = check_write(request, UserId::SYSTEM).map(|write| (write.read, write.write, write.expected));
    assert_eq!(checked.as_ref().map_err(|error| error.message.as_ref()), expect.as_ref().map_err(|text| *text));
}

fn request() -> WriteRequest {
    WriteRequest { collection: "c".into(), key: "k".into(), value: "{}".into(), ..WriteRequest::default() }
}

#[test]
fn defaults_are_owner_and_last_write_wins() {
    check(request(), Ok((ReadPermission::Owner, WritePermission::Owner, Expected::Any)));
    let public = WriteRequest { read: Some(2), write: Some(0), version: "*".into(), ..request() };
    check(public, Ok((ReadPermission::Public, WritePermission::None, Expected::Absent)));
    let versioned = WriteRequest { read: Some(0), version: "abc".into(), ..request() };
    check(versioned, Ok((ReadPermission::None, WritePermission::Owner, Expected::Version("abc".into()))));
}

#[test]
fn what_does_not_fit_is_refused() {
    check(WriteRequest { collection: String::new(), ..request() }, Err("A collection and a key are required."));
    check(WriteRequest { key: String::new(), ..request() }, Err("A collection and a key are required."));
    let long = Err("The collection and the key must each be at most 128 bytes long.");
    check(WriteRequest { collection: "c".repeat(129), ..request() }, long.clone());
    check(WriteRequest { key: "k".repeat(129), ..request() }, long);
    let null = Err("The collection and the key must not contain null characters.");
    check(WriteRequest { key: "a\0b".into(), ..request() }, null);
    for read in [-1, 3] {
        check(WriteRequest { read: Some(read), ..request() }, Err("The read permission must be 0, 1 or 2."));
    }
    for write in [-1, 2] {
        check(WriteRequest { write: Some(write), ..request() }, Err("The write permission must be 0 or 1."));
    }
    for value in ["", "1", "[]", "\"x\"", "{\"a\":"] {
        check(WriteRequest { value: value.into(), ..request() }, Err("The value must be a JSON object."));
    }
}

#[test]
fn the_version_is_the_md5_of_the_text_as_written() {
    assert_eq!(version_of("{}"), "99914b932bd37a50b983c5e7c90ae93b");
    assert_eq!(version_of("{ }"), "67c1890df55a3fda9bfa59ed880bdd0c");
}
