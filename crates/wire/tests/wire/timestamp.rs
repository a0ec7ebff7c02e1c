//! Times written and read as RFC 3339.

use muster_wire::Timestamp;

fn check(text: &str, seconds: i64, nanos: i32) {
    let time = Timestamp { seconds, nanos };
    assert_eq!(Timestamp::parse_rfc3339(text), Some(time), "{text}");
    assert_eq!(std::str::from_utf8(time.rfc3339().as_bytes()).unwrap(), text);
}

#[test]
fn texts() {
    check("1970-01-01T00:00:00Z", 0, 0);
    check("1969-12-31T23:59:59.999Z", -1, 999_000_000);
    check("2000-02-29T12:30:45.000001Z", 951_827_445, 1000);
    check("2024-12-31T23:59:59.123456789Z", 1_735_689_599, 123_456_789);
    check("0001-01-01T00:00:00Z", -62_135_596_800, 0);
    check("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999);
}

#[test]
fn offsets_and_fractions_in() {
    let parse = |text| Timestamp::parse_rfc3339(text).map(Timestamp::unix_us);
    assert_eq!(parse("1970-01-01T02:00:00.5+02:00"), Some(500_000));
    assert_eq!(parse("1969-12-31T18:30:00-05:30"), Some(0));
    assert_eq!(parse("1970-01-01T00:00:01.25Z"), Some(1_250_000));
}

#[test]
fn refused_texts() {
    let bad = [
        "",
        "1970-01-01",
        "1970-01-01 00:00:00Z",
        "1970-01-01T00:00:00",
        "1970-01-01T00:00:00z",
        "1970-13-01T00:00:00Z",
        "1970-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:60Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.1234567890Z",
        "1970-01-01T00:00:00+2:00",
        "1970-01-01T00:00:00+02:00x",
        "0001-01-01T00:00:00+00:01",
        "10000-01-01T00:00:00Z",
        "19700-1-01T00:00:00Z",
        "1970-01-01T00:00:00+0200",
        "١970-01-01T00:00:00Z",
    ];
    for text in bad {
        assert_eq!(Timestamp::parse_rfc3339(text), None, "{text}");
    }
}

#[test]
fn every_day_of_four_centuries_survives() {
    for day in 0..146_097 {
        let time = Timestamp::from_unix_sec(day * 86_400 - 6_000_000_000);
        let text = time.rfc3339();
        assert_eq!(Timestamp::parse_rfc3339(std::str::from_utf8(text.as_bytes()).unwrap()), Some(time));
    }
}

#[test]
fn units() {
    assert_eq!(Timestamp::from_unix_us(-1), Timestamp { seconds: -1, nanos: 999_999_000 });
    assert_eq!(Timestamp::from_unix_us(-1).unix_us(), -1);
    assert_eq!(Timestamp::from_unix_ms(1500), Timestamp { seconds: 1, nanos: 500_000_000 });
    // A time that the protocol cannot express is written as the nearest one that it can.
    let far = Timestamp { seconds: i64::MAX, nanos: -5 };
    assert_eq!(far.rfc3339().as_bytes(), b"9999-12-31T23:59:59Z");
    assert_eq!(far.unix_us(), i64::MAX);
}
