//! Damaged batches, and batches that a liar could write. The decoder never panics and never allocates out of
//! proportion. A damaged seal is none.

use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::bus::Address;
use muster_cluster::codec::{Decoder, Encoder};
use muster_cluster::seal::{Seal, SealUse};
use muster_domain::query::Query;
use muster_live::party::{ListQuery, PartyAsk};
use muster_live::plane::{Ask, Message, Up};
use muster_testenv::fuzz::Fuzz;

use crate::messages::{any, every_message};
use crate::random::Random;
use crate::round_trip::{FROM, Sent, TO, bytes_of, encode};
use crate::tracking::peak_bytes;

/// Limits of the memory for a batch: per byte of input, and in addition for any batch.
const BYTES_PER_INPUT_BYTE_MAX: usize = 1_024;
const BYTES_BASE_MAX: usize = 16 * 1_024;

/// Reads a batch within the memory limit. A batch that can be read can be written, and then has one stable form.
fn check(input: Vec<u8>) {
    let input = Bytes::from(input);
    let once = again(&input);
    assert_eq!(again(&once), once);
}

/// Reads a batch within the memory limit, and writes the result.
fn again(input: &Bytes) -> Bytes {
    let read = || Decoder::new(TO, Arc::default()).decode(FROM, input.clone()).map(Iterator::collect::<Vec<_>>);
    let (received, peak) = peak_bytes(read);
    let bound = BYTES_BASE_MAX + BYTES_PER_INPUT_BYTE_MAX * input.len();
    assert!(peak <= bound, "{peak} bytes held for {} bytes of input", input.len());
    let mut encoder = Encoder::new(FROM);
    for received in received.into_iter().flatten() {
        if let Ok(message) = received.content {
            encoder.push(received.from.shard(), received.to.shard(), &message);
        }
    }
    bytes_of(&encoder.take())
}

#[test]
fn the_decoder_of_batches_stands_damage() {
    let random = &mut Random::new(1);
    let mut seeds: Vec<_> = every_message(random).into_iter().map(|(_, message)| encode(&[(0, 1, message)])).collect();
    seeds.extend((0..100).map(|_| {
        let messages: Vec<Sent> = (0..=random.below(3)).map(|_| (0, 1, any(random))).collect();
        encode(&messages)
    }));
    let tried =
        Fuzz::new("batch").seeds(seeds).words(&["{", "/*", "\u{2}\u{8}", "\"", "a:b"]).runs(20_000).run(|input| {
            check(input.to_vec());
            !again(&Bytes::copy_from_slice(input)).is_empty()
        });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}

#[test]
fn a_damaged_seal_is_none() {
    let (from, to) = (Address { number: 1, incarnation: 7 }, Address { number: 2, incarnation: 9 });
    let seal = |usage| Seal::new(&[5; 32], usage);
    let right = seal(SealUse::Require).seal_frame(from, to, 77, Bytes::from_static(&[1; 60]));
    Fuzz::new("seal").seeds([right.to_vec()]).runs(5_000).run(|input| {
        let frame = Bytes::copy_from_slice(input);
        let opened = seal(SealUse::Require).open_frame(from, to, &frame);
        assert_eq!(opened.is_ok(), frame == right);
        // During an upgrade, a frame without the mark of a seal passes as it is.
        if let Ok((opened, sequence)) = seal(SealUse::Accept).open_frame(from, to, &frame) {
            assert!(frame == right || (opened == frame && sequence.is_none()));
        }
        let sealed = seal(SealUse::Require).seal_frame(from, to, 1, frame.clone());
        let (mut again, sequence) = seal(SealUse::Require)
            .open_frame(from, to, &sealed)
            .map(|(again, sequence)| (again.to_vec(), sequence))
            .unwrap_or_default();
        if let (Some(first), Some(was)) = (again.first_mut(), frame.first()) {
            *first = *was;
        }
        assert!(frame.is_empty() || (again == frame && sequence == Some(1)));
        opened.is_ok()
    });
}

#[test]
fn no_batch_makes_its_reader_ask_for_memory_out_of_proportion() {
    let random = &mut Random::new(1);
    let whole: Vec<Sent> = every_message(random).into_iter().map(|(_, message)| (0, 1, message)).collect();
    for (_, _, message) in whole {
        // A message with many repetitions stays within the same limits.
        let once = encode(&[(0, 1, message)]);
        check(once[4..].repeat(200));
        check([&once[..4], &once[4..].repeat(200)].concat());
    }
    // Regular expressions are compiled when they are read.
    let asked = ListQuery { query: Arc::new(Query::parse(&"/(a|b|c){30}/ ".repeat(15)).unwrap()), ..any(random) };
    let ask = Ask::Party(PartyAsk::List(asked));
    let query = encode(&[(0, 1, Message::Up(Up::Ask { request: Some(any(random)), ask }))]);
    check([&query[..4], &query[4..].repeat(100)].concat());
    for empty in 0..=u8::MAX {
        check([&[0x08, 1, 0x10, 1][..], &[empty, 0].repeat(10_000)].concat());
        let nested: Vec<u8> = [empty, 0].repeat(60);
        for variant in 7..=32_u32 {
            let key = variant << 3 | 2;
            let mut message = if key < 0x80 { vec![key as u8] } else { vec![key as u8 | 0x80, 1] };
            message.push(nested.len() as u8);
            message.extend_from_slice(&nested);
            let message = [&[0x22, message.len() as u8][..], &message].concat();
            check([&[0x08, 1, 0x10, 1][..], &message.repeat(100)].concat());
        }
    }
}
