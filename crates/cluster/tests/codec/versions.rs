//! Tests of nodes of different releases: an older node reads a newer one's batches.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use muster_cluster::codec::{CodecError, Decoder, DecoderMetrics, Unread};
use muster_live::plane::{Condition, Down, Frames, Join, LaneKind, LocalAudience, Message, RequestRef, Up};
use muster_live::{Place, SessionRef};
use muster_wire::batch::BatchError;

use crate::messages::any;
use crate::random::Random;
use crate::round_trip::{FROM, Sent, TO, decoded, encode, one, shown};

/// A protobuf field of bytes.
fn field(number: u32, content: &[u8]) -> Vec<u8> {
    let key = number << 3 | 2;
    let mut out = if key < 0x80 { vec![key as u8] } else { vec![key as u8 | 0x80, (key >> 7) as u8] };
    assert!(key < 1 << 14 && content.len() < 0x80);
    out.push(content.len() as u8);
    out.extend_from_slice(content);
    out
}

/// A message of a batch, from shard 1 to shard 2.
fn message(rest: &[&[u8]]) -> Vec<u8> {
    field(4, &[&[0x08, 1, 0x10, 2], rest.concat().as_slice()].concat())
}

/// A batch of this node's version, with these bytes after its head.
fn batch(rest: &[&[u8]]) -> Bytes {
    [&[0x08, 1, 0x10, 1], rest.concat().as_slice()].concat().into()
}

/// A field that no version has.
const UNKNOWN_FIELD: &[u8] = &[0xF8, 0x7F, 1];
const UNKNOWN_VARIANT: u32 = 1_000;
const CREDIT: &[u8] = &[0x92, 0x01, 4, 0x08, 1, 0x10, 5];

#[test]
fn a_newer_batch_is_read_but_for_what_is_new() {
    let random = &mut Random::new(1);
    let known: Vec<Sent> = (0..3).map(|_| (1, 2, any(random))).collect();
    // Question 7 of shard 1, which used a credit of the lane to owners.
    let new = message(&[&field(3, &[0x10, 7]), &[0x28, 1], &field(UNKNOWN_VARIANT, b"what is it")]);
    let with_new_fields =
        message(&[UNKNOWN_FIELD, &[0x92, 0x01, 4 + UNKNOWN_FIELD.len() as u8, 0x08, 1, 0x10, 5], UNKNOWN_FIELD]);
    let newer = [&encode(&known), UNKNOWN_FIELD, &new, &with_new_fields].concat();

    let mut received = decoded(&newer.into());
    let last = received.pop().unwrap();
    assert_eq!(shown(&last.content.unwrap()), "Credit(Up, 5)");
    let unread = received.pop().unwrap();
    assert_eq!(
        unread.content.unwrap_err(),
        Unread {
            error: CodecError::Missing("message.what"),
            question: Some(RequestRef { place: Place::new(FROM, 1), id: 7 }),
            answers: None,
            paid: Some(LaneKind::Up),
        }
    );
    for ((_, _, message), received) in known.iter().zip(received) {
        assert_eq!(shown(&received.content.unwrap()), shown(message));
    }
}

#[test]
fn an_older_batch_is_read_with_what_it_does_not_say() {
    // A join as an older node writes it, without the fields that were added later.
    let join = field(12, &[&field(1, &[0x08, 6]), &field(2, &[]), &[0x28, 1][..]].concat());
    let received = one(&batch(&[&message(&[&join])])).content.unwrap();
    let Message::Up(Up::Join(join)) = received else { panic!("{received:?}") };
    let Join { stream, presence, listener: None, serial: 0, condition: Condition::Any, request: None } = *join else {
        panic!("{join:?}")
    };
    assert_eq!((stream.mode, stream.label()), (6, ""));
    assert_eq!((presence.session, presence.username.as_ref()), (SessionRef::NOBODY, ""));
}

#[test]
fn what_is_skipped_is_counted() {
    let unknown = message(&[&field(UNKNOWN_VARIANT, b"what is it")]);
    let damaged = field(4, &[0x08]);
    let known = message(&[CREDIT]);
    let metrics = Arc::<DecoderMetrics>::default();
    let decoder = Decoder::new(TO, metrics.clone());
    let read = |bytes: Bytes| decoder.decode(FROM, bytes).map(Iterator::collect::<Vec<_>>);
    let received = read(batch(&[&unknown, &damaged, &known])).unwrap();
    assert_eq!(received.iter().map(|received| received.content.is_ok()).collect::<Vec<_>>(), [false, false, true]);
    assert!(matches!(&received[1].content, Err(Unread { error: CodecError::Damaged(_), .. })));
    assert_eq!((received[1].from, received[1].to), (Place::NONE, Place::NONE));
    assert!(read(Bytes::from_static(&[0x22, 9])).is_err());
    let counted = [&metrics.read, &metrics.unread, &metrics.batches_refused].map(|count| count.load(Ordering::Relaxed));
    assert_eq!(counted, [1, 2, 1]);
}

#[test]
fn whoever_waits_for_what_was_not_understood_is_told() {
    let (from, to) = (Place::new(FROM, 1), Place::new(TO, 2));
    let elsewhere = RequestRef { place: Place::new(9, 3), id: 7 };
    let unread =
        |question, answers, paid| Unread { error: CodecError::Missing("message.what"), question, answers, paid };
    let check = |unread: Unread, expected: &[&str]| {
        assert_eq!(unread.instead(from, to).map(|instead| shown(&instead)).collect::<Vec<_>>(), expected);
    };
    check(unread(None, None, None), &[]);
    check(
        unread(Some(elsewhere), None, Some(LaneKind::Up)),
        &["(5.2, 9.3, Down(Reply(7, Joined(Err(Unavailable)))))", "(5.2, 3.1, Credit(Up, 1))"],
    );
    check(unread(None, Some(8), None), &["(3.1, 5.2, Down(Reply(8, Joined(Err(Unavailable)))))"]);
}

#[test]
fn an_answer_of_an_unknown_kind_says_what_it_answers() {
    let reply = field(11, &field(UNKNOWN_VARIANT, b"what is it"));
    let unread = one(&batch(&[&message(&[&[0x20, 7], &reply])])).content.unwrap_err();
    assert_eq!((unread.error, unread.answers), (CodecError::Missing("reply.what"), Some(7)));
}

#[test]
fn an_unknown_value_of_an_enum_is_taken_for_the_safe_one() {
    // A stream, an audience of unknown kind 99, and a delivery of unknown kind 99.
    let fanout = field(8, &[&field(1, &[]), &[0x18, 99][..], &field(6, &[0x08, 99])].concat());
    let received = one(&batch(&[&message(&[&fanout])])).content.unwrap();
    let Message::Down(Down::Fanout { frames: Frames { json: None, .. }, audience, delivery, .. }) = received else {
        panic!("{received:?}")
    };
    assert_eq!((audience, shown(&delivery)), (LocalAudience::Only(Vec::new()), "Reliable".to_owned()));

    // Credit for unknown lane 99 must not be given to another lane.
    let credit = &[0x92, 0x01, 4, 0x08, 99, 0x10, 5];
    assert_eq!(one(&batch(&[&message(&[credit])])).content.unwrap_err().error, CodecError::Missing("lane"));
}

#[test]
fn what_is_wrong_is_named() {
    let check = |rest: &[&[u8]], expected: &str| {
        let unread = one(&batch(&[&message(rest)])).content.unwrap_err();
        assert_eq!(unread.error.to_string(), expected);
    };
    let missing = |what: &str| format!("{what} is missing, or of a kind that this node does not know");
    check(&[], &missing("message.what"));
    check(&[&field(13, &[])], &missing("leave.stream"));
    check(&[&field(24, &[])], &missing("message.request"));
    check(
        &[&field(13, &field(1, &[0x08, 0x80, 2]))],
        "stream.mode is wrong: out of range integral type conversion attempted",
    );
    check(
        &[&field(8, &[&field(1, &[]), &field(2, &[0x08, 4])[..]].concat())],
        "frames.json is wrong: the batch has no blob 4",
    );

    let unread = one(&batch(&[&field(4, &[&[0x08, 0x80, 8][..], CREDIT].concat())])).content.unwrap_err();
    assert_eq!(unread.error.to_string(), "message.from_shard is wrong: there are no such shards");
}

#[test]
fn a_batch_too_new_is_refused_as_a_whole() {
    let refused = |bytes: &'static [u8]| Decoder::new(2, Arc::default()).decode(1, Bytes::from_static(bytes)).err();
    assert_eq!(refused(&[0x08, 9, 0x10, 1]), None);
    assert_eq!(refused(&[0x08, 9, 0x10, 2]), Some(BatchError::TooNew(2)));
    assert_eq!(refused(&[]), Some(BatchError::NoVersion));
    assert!(matches!(refused(&[0x22, 9]), Some(BatchError::Malformed(_))));
}
