//! Frames: exact texts, both formats, and the table of variants.

use muster_wire::Format;
use muster_wire::code::{AfterError, RealtimeCode};
use muster_wire::envelope::{decode, encode};
use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime_variants::{Direction, VARIANTS};

use super::random::{Arbitrary, Random};

#[test]
fn the_smallest_frames() {
    assert_eq!(encode(&Envelope::acknowledgement("1"), Format::Json), r#"{"cid":"1"}"#);
    assert_eq!(encode(&Envelope::acknowledgement(""), Format::Json), "{}");
    assert_eq!(encode(&Envelope::acknowledgement(""), Format::Protobuf), "");
    let pong = Envelope::reply("7", Message::Pong(Default::default()));
    assert_eq!(encode(&pong, Format::Json), r#"{"cid":"7","pong":{}}"#);
    assert_eq!(&encode(&pong, Format::Protobuf)[..], [0x0a, 1, b'7', 0x8a, 0x02, 0]);
    let error = Envelope::error("1", RealtimeCode::BadInput, "no");
    assert_eq!(encode(&error, Format::Json), r#"{"cid":"1","error":{"code":3,"message":"no"}}"#);
}

#[test]
fn frames_that_are_no_envelopes() {
    for text in ["", "[]", r#"{"cid":1}"#, r#"{"nonsense":{}}"#, r#"{"ping":{"x":1}}"#, "{} "] {
        assert_eq!(decode(text.as_bytes(), Format::Json).is_ok(), text == "{} ", "{text}");
    }
    for frame in [&[0x0a, 5, b'x'][..], &[0xff], &[0x0a, 1, 0xff], &[0x08, 1]] {
        assert!(decode(frame, Format::Protobuf).is_err(), "{frame:?}");
    }
    // A variant that this version does not know is an envelope without a message.
    assert_eq!(decode(&[0xda, 0x06, 0], Format::Protobuf), Ok(Envelope::default()));
}

#[test]
fn every_variant_stands_in_the_table_under_its_own_name() {
    let mut seen = [false; VARIANTS.len()];
    for seed in 0..5000 {
        let Some(message) = Envelope::arbitrary(&mut Random::new(seed)).message else { continue };
        let variant = message.variant();
        let frame = encode(&Envelope::push(message), Format::Json);
        assert!(frame.starts_with(format!("{{\"{}\":", variant.name).as_bytes()), "{variant:?}");
        seen[usize::from(variant.number) - 2] = true;
    }
    assert_eq!(seen, [true; 50]);
    assert!(VARIANTS.iter().enumerate().all(|(index, variant)| usize::from(variant.number) == index + 2));
}

#[test]
fn the_table_follows_the_schema() {
    let schema = include_str!("../../proto/realtime.proto");
    let (_, envelope) = schema.split_once("oneof message {").unwrap();
    let (arms, _) = envelope.split_once('}').unwrap();
    let arms: Vec<(&str, u8)> = arms
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';')?.split_once(" = "))
        .map(|(left, number)| (left.split_once(' ').unwrap().1, number.parse().unwrap()))
        .collect();
    let table: Vec<(&str, u8)> = VARIANTS.iter().map(|variant| (variant.name, variant.number)).collect();
    assert_eq!(arms, table);
}

#[test]
fn directions_and_hooks() {
    let count = |direction| VARIANTS.iter().filter(|variant| variant.direction == direction).count();
    assert_eq!((count(Direction::Client), count(Direction::Server), count(Direction::Both)), (25, 21, 4));
    assert_eq!(VARIANTS.iter().filter(|variant| variant.hookable).count(), 28);
    assert!(VARIANTS.iter().all(|variant| !variant.hookable || variant.accepted_from_client()));
}

#[test]
fn what_ends_a_socket() {
    assert_eq!(RealtimeCode::UnrecognizedPayload.after(), AfterError::Close);
    assert_eq!(RealtimeCode::MissingPayload.after(), AfterError::Close);
    assert_eq!(RealtimeCode::BadInput.after(), AfterError::Stay);
}
