//! Tests that every written message is read back unchanged.

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::codec::{Decoder, Encoder, Incoming};
use muster_cluster::link::Batch;
use muster_live::plane::{Ask, Down, Frames, LocalAudience, Message, Publish, Up};
use muster_live::rooms::{self, MessageToRoomOwner, PasswordDigest, RoomAction};
use muster_live::stream::SharedPayload;
use muster_live::{Delivery, Encoding, Place, SessionKey};

use crate::messages::{any, every_message};
use crate::random::Random;

/// Number of the sending node in all tests.
pub const FROM: u32 = 3;
pub const TO: u32 = 5;

/// A message from one shard to another.
pub type Sent = (u16, u16, Message);

pub fn bytes_of(batch: &Batch) -> Bytes {
    Bytes::copy_from_slice(batch.content())
}

pub fn encode(messages: &[Sent]) -> Bytes {
    let mut encoder = Encoder::new(FROM);
    for (from, to, message) in messages {
        encoder.push(*from, *to, message);
    }
    bytes_of(&encoder.take())
}

pub fn decoded(bytes: &Bytes) -> Vec<Incoming> {
    Decoder::new(TO, Arc::default()).decode(FROM, bytes.clone()).unwrap().collect()
}

/// The only message of a batch.
pub fn one(bytes: &Bytes) -> Incoming {
    let mut messages = decoded(bytes);
    assert_eq!(messages.len(), 1);
    messages.remove(0)
}

fn check(messages: &[Sent]) {
    let received = decoded(&encode(messages));
    assert_eq!(received.len(), messages.len());
    for ((from, to, message), received) in messages.iter().zip(received) {
        assert_eq!((received.from, received.to), (Place::new(FROM, *from), Place::new(TO, *to)));
        assert_eq!(shown(&received.content.unwrap()), shown(message));
    }
}

pub fn shown(value: &impl Debug) -> String {
    format!("{value:?}")
}

#[test]
fn messages_of_every_kind_are_read_as_they_were_written() {
    for seed in 0..50 {
        let random = &mut Random::new(seed);
        let messages = every_message(random).into_iter();
        let messages: Vec<Sent> =
            messages.map(|(_, message)| (random.below(1_024) as u16, random.below(4) as u16, message)).collect();
        check(&messages);
    }
}

#[test]
fn any_messages_in_any_company_are_read_as_they_were_written() {
    for seed in 0..1_000 {
        let random = &mut Random::new(seed);
        let messages: Vec<Sent> = (0..random.below(6)).map(|_| (0, 1, any(random))).collect();
        if !messages.is_empty() {
            check(&messages);
        }
    }
}

#[test]
fn a_password_crosses_without_being_shown() {
    let digest = PasswordDigest::from_bytes(std::array::from_fn(|index| index as u8));
    let random = &mut Random::new(1);
    let entry = rooms::Entry { password: Some(digest), spectator: false };
    let request = rooms::Request { caller: any(random), reply_to: None, what: RoomAction::Join(entry, any(random)) };
    let ask = Up::from(MessageToRoomOwner::Room(any(random), request));
    let received = one(&encode(&[(0, 0, Message::Up(ask))])).content.unwrap();
    let Message::Up(Up::Ask { ask: Ask::Room(ask), .. }) = received else { panic!("{received:?}") };
    let MessageToRoomOwner::Room(_, rooms::Request { what: RoomAction::Join(entry, _), .. }) = *ask else {
        panic!("{ask:?}")
    };
    assert!(entry.password == Some(digest));
}

#[test]
fn a_frame_for_several_shards_stands_once() {
    let frames = Frames { json: Some(vec![1; 1_000].into()), protobuf: Some(vec![2; 500].into()) };
    let fanout = |shard: u16| {
        let (audience, delivery) = (LocalAudience::AllBut(SessionKey::from_number(9)), Delivery::Reliable);
        let stream = any(&mut Random::new(1));
        (0, shard, Message::Down(Down::Fanout { stream, frames: frames.clone(), audience, delivery }))
    };
    let all: Vec<Sent> = (0..4).map(fanout).collect();
    let (single, four) = (encode(&all[..1]).len(), encode(&all).len());
    assert!(four < single + 3 * 100, "{single} bytes for one shard, {four} for four");
    check(&all);
}

#[test]
fn a_payload_for_several_sessions_stands_once() {
    let payload: SharedPayload = any(&mut Random::new(3));
    let push = |session: u64| {
        let (session, delivery) = (SessionKey::from_number(session), Delivery::Reliable);
        (0, 0, Message::Down(Down::Push { session, payload: payload.clone(), delivery, ended: Vec::new() }))
    };
    let all: Vec<Sent> = (0..100).map(push).collect();
    let (single, hundred) = (encode(&all[..1]).len(), encode(&all).len());
    assert!(hundred < single + 99 * 30, "{single} bytes for one session, {hundred} for a hundred");
    check(&all);
    let arrived = decoded(&encode(&all)).into_iter().map(|received| match received.content {
        Ok(Message::Down(Down::Push { payload, .. })) => payload,
        other => panic!("{other:?}"),
    });
    let arrived: Vec<SharedPayload> = arrived.collect();
    assert!(arrived.iter().all(|payload| Arc::ptr_eq(payload, &arrived[0])), "it is one here too");
}

#[test]
fn each_batch_stands_for_itself() {
    let frames = Frames { json: Some(vec![1; 1_000].into()), protobuf: None };
    let stream = any(&mut Random::new(1));
    let fanout =
        Message::Down(Down::Fanout { stream, frames, audience: LocalAudience::All, delivery: Delivery::Droppable });
    let mut encoder = Encoder::new(FROM);
    for _ in 0..2 {
        assert!(encoder.is_empty());
        encoder.push(1, 2, &fanout);
        assert!(encoder.len() > 1_000);
        assert_eq!(shown(&one(&bytes_of(&encoder.take())).content.unwrap()), shown(&fanout));
    }
}

#[test]
fn a_payload_is_handed_out_in_both_encodings() {
    let random = &mut Random::new(4);
    let publish: Publish = any(random);
    let received = one(&encode(&[(0, 0, Message::Up(Up::Publish(publish.clone())))]));
    let Ok(Message::Up(Up::Publish(received))) = received.content else { panic!("{received:?}") };
    for encoding in Encoding::ALL {
        let [mut before, mut after] = [Vec::new(), Vec::new()];
        publish.payload.write(encoding, &mut before);
        received.payload.write(encoding, &mut after);
        assert_eq!(before, after);
    }
}
