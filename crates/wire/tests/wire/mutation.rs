//! Damaged input for every decoder: thousands of seeded mutations of valid input. No decoder panics or uses memory out
//! of proportion to its input, and accepted input has one stable form.

use muster_wire::cursor::{CursorKind, CursorReader, CursorWriter};
use muster_wire::json::{JsonMessage, Mode, from_json, to_json};
use muster_wire::operations::TypedOperation;
use muster_wire::operations::{Method, OPERATIONS, decode_http, route, typed};
use muster_wire::realtime::Envelope;
use muster_wire::token::{Claims, Signer};

use super::generated::for_every_message;
use super::random::{Arbitrary, Random};
use super::tracking::peak_bytes;

const MUTATIONS_PER_MESSAGE: u64 = 100;
const MUTATIONS_PER_DECODER: u64 = 5000;
/// Most memory that a decoder may hold: so many bytes for each byte of input, and a base for the texts of errors. The
/// first number is the cost of `[{},{},...]` with the largest message that stands in a list.
const BYTES_PER_INPUT_BYTE_MAX: usize = 512;
const BYTES_BASE_MAX: usize = 4096;

fn mutate(random: &mut Random, input: &[u8]) -> Vec<u8> {
    const TELLING: &[u8] = b"{}[]\",:\\u0-9.eE+ntf\0\x01\x08\x7f\x80\xc3\xed\xff%&=/";
    random.mutate(input, TELLING, 8)
}

fn bounded<T>(input: &[u8], decode: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_bytes(decode);
    let bound = BYTES_BASE_MAX + BYTES_PER_INPUT_BYTE_MAX * input.len();
    assert!(peak <= bound, "{peak} bytes held for {} bytes of input", input.len());
    result
}

fn check_message<M: JsonMessage + prost::Message + Arbitrary>() {
    for seed in 0..MUTATIONS_PER_MESSAGE {
        let random = &mut Random::new(seed);
        let message = M::arbitrary(random);
        let text = mutate(random, &to_json(&message));
        check_json::<M>(&text, Mode::Strict);
        check_json::<M>(&text, Mode::Tolerant);
        check_protobuf::<M>(&mutate(random, &message.encode_to_vec()));
    }
}

fn check_json<M: JsonMessage>(text: &[u8], mode: Mode) {
    if let Ok(message) = bounded(text, || from_json::<M>(text, mode)) {
        let once = to_json(&message);
        let again = from_json::<M>(&once, Mode::Strict).expect("our own output is read back");
        assert_eq!(to_json(&again), once);
        // Another parser also takes every accepted text for JSON.
        serde_json::from_slice::<serde::de::IgnoredAny>(text).expect("accepted text is JSON");
    }
}

fn check_protobuf<M: prost::Message + Default>(bytes: &[u8]) {
    if let Ok(message) = bounded(bytes, || M::decode(bytes)) {
        let once = message.encode_to_vec();
        let again = M::decode(&*once).expect("our own output is read back");
        assert_eq!(again.encode_to_vec(), once);
    }
}

#[test]
fn every_message_decoder_stands_damage() {
    for_every_message!(check_message);
}

#[test]
fn the_envelope_decoder_stands_damage() {
    for seed in 0..MUTATIONS_PER_DECODER {
        let random = &mut Random::new(seed);
        let envelope = Envelope::arbitrary(random);
        check_json::<Envelope>(&mutate(random, &to_json(&envelope)), Mode::Strict);
        check_protobuf::<Envelope>(&mutate(random, &prost::Message::encode_to_vec(&envelope)));
    }
}

#[test]
fn the_token_decoder_accepts_no_damage() {
    let signer = Signer::new(b"key");
    let token = signer.sign(&Claims { user_id: "u".into(), expires_at_sec: 10, ..Claims::default() });
    for seed in 0..MUTATIONS_PER_DECODER {
        let damaged = mutate(&mut Random::new(seed), token.as_bytes());
        let Ok(damaged) = std::str::from_utf8(&damaged) else { continue };
        let accepted = bounded(damaged.as_bytes(), || signer.verify(damaged, 1).is_ok());
        assert_eq!(accepted, damaged == token);
    }
}

#[test]
fn the_cursor_decoder_accepts_no_damage() {
    let cursor = CursorWriter::new(CursorKind::Groups).text("name").number(-7).finish(&["filter"]);
    for seed in 0..MUTATIONS_PER_DECODER {
        let damaged = mutate(&mut Random::new(seed), cursor.as_bytes());
        let Ok(damaged) = std::str::from_utf8(&damaged) else { continue };
        let opened = bounded(damaged.as_bytes(), || CursorReader::open(damaged, CursorKind::Groups, &["filter"]));
        assert_eq!(opened.is_ok(), damaged == cursor);
    }
}

#[test]
fn routes_and_parameters_stand_damage() {
    for seed in 0..MUTATIONS_PER_DECODER {
        let random = &mut Random::new(seed);
        let row = &OPERATIONS[random.below(OPERATIONS.len())];
        let path = mutate(random, row.bindings[0].template.as_bytes());
        let query = mutate(random, b"limit=10&cursor=a%20b&vars[k]=v&account.id=x&state=1");
        let (Ok(path), Ok(query)) = (std::str::from_utf8(&path), std::str::from_utf8(&query)) else { continue };
        let method = random.pick(&Method::ALL).name();
        let (found, peak) = peak_bytes(|| route(method, path));
        assert_eq!(peak, 0, "routing does not allocate");
        if let Ok(found) = found {
            type Request = <typed::ListGroups as TypedOperation>::Request;
            let _ = bounded(query.as_bytes(), || decode_http::<Request>(&found, query, b"{}"));
        }
    }
}
