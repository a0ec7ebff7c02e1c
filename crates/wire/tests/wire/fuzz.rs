//! Damaged input for every decoder. No decoder panics or uses memory out of proportion to its input, and accepted input
//! has one stable form.

use std::cell::RefCell;

use muster_testenv::fuzz::Fuzz;
use muster_wire::cursor::{CursorKind, CursorReader, CursorWriter};
use muster_wire::envelope::{decode, encode};
use muster_wire::json::{JsonMessage, Mode, from_json, to_json};
use muster_wire::link::{HEADER_BYTES, Header, has_seal, mark_sealed, read_missing, write_missing};
use muster_wire::operations::{Method, OPERATIONS, TypedOperation, decode_http, route, typed};
use muster_wire::realtime::Envelope;
use muster_wire::token::{Claims, Signer};
use muster_wire::{Format, match_log, membership};

use super::generated::for_every_message;
use super::random::{Arbitrary, Random};
use super::tracking::peak_bytes;

/// Most memory that a decoder may hold: so many bytes for each byte of input, and a base for the texts of errors. The
/// first number is the cost of `[{},{},...]` with the largest message that stands in a list.
const BYTES_PER_INPUT_BYTE_MAX: usize = 512;
const BYTES_BASE_MAX: usize = 4096;

const JSON_WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\",
    ":",
    ",",
    "null",
    "true",
    "\"NaN\"",
    "-0",
    "1e400",
    "1e-400",
    "9223372036854775808",
    "0.1",
    "\"\":",
    "\u{7f}",
    "\u{0}",
    "ä",
    "\n",
    "\"2024-01-01T00:00:00Z\"",
    "\"cid\":",
];

fn bounded<T>(input: &[u8], decode: impl FnOnce() -> T) -> T {
    let (result, peak) = peak_bytes(decode);
    let bound = BYTES_BASE_MAX + BYTES_PER_INPUT_BYTE_MAX * input.len();
    assert!(peak <= bound, "{peak} bytes held for {} bytes of input", input.len());
    result
}

/// A type of messages: its decoders, and values of it in both formats.
struct Kind {
    check: fn(Way, &[u8]) -> bool,
    seeds: fn(&mut Random) -> [Vec<u8>; 2],
}

#[derive(Clone, Copy)]
enum Way {
    Strict,
    Tolerant,
    Protobuf,
}

thread_local! {
    static KINDS: RefCell<Vec<Kind>> = const { RefCell::new(Vec::new()) };
}

fn add<M: JsonMessage + prost::Message + Arbitrary>() {
    let seeds = |random: &mut Random| {
        let message = M::arbitrary(random);
        [to_json(&message).to_vec(), message.encode_to_vec()]
    };
    KINDS.with_borrow_mut(|kinds| kinds.push(Kind { check: check_message::<M>, seeds }));
}

fn check_message<M: JsonMessage + prost::Message + Default>(way: Way, input: &[u8]) -> bool {
    match way {
        Way::Strict => check_json::<M>(input, Mode::Strict),
        Way::Tolerant => check_json::<M>(input, Mode::Tolerant),
        Way::Protobuf => check_protobuf::<M>(input),
    }
}

fn check_json<M: JsonMessage>(text: &[u8], mode: Mode) -> bool {
    let Ok(message) = bounded(text, || from_json::<M>(text, mode)) else { return false };
    let once = to_json(&message);
    let again = from_json::<M>(&once, Mode::Strict).expect("our own output is read back");
    assert_eq!(to_json(&again), once);
    // Another parser also takes every accepted text for JSON.
    serde_json::from_slice::<serde::de::IgnoredAny>(text).expect("accepted text is JSON");
    true
}

fn check_protobuf<M: prost::Message + Default>(bytes: &[u8]) -> bool {
    let Ok(message) = bounded(bytes, || M::decode(bytes)) else { return false };
    let once = message.encode_to_vec();
    let again = M::decode(&*once).expect("our own output is read back");
    assert_eq!(again.encode_to_vec(), once);
    true
}

/// The first two bytes of an input choose the type of the message, the third one the way.
fn of_kind(kind: usize, way: u8, message: Vec<u8>) -> Vec<u8> {
    [&(kind as u16).to_le_bytes()[..], &[way], &message].concat()
}

#[test]
fn every_decoder_of_messages_stands_damage() {
    for_every_message!(add);
    let kinds = KINDS.take();
    let random = &mut Random::new(1);
    let seeds = kinds.iter().enumerate().flat_map(|(number, kind)| {
        let [json, protobuf] = (kind.seeds)(random);
        [of_kind(number, 0, json.clone()), of_kind(number, 1, json), of_kind(number, 2, protobuf)]
    });
    let tried = Fuzz::new("messages").seeds(seeds).words(JSON_WORDS).runs(30_000).run(|input| {
        let Some(([low, high, way], message)) = input.split_first_chunk() else { return false };
        let kind = &kinds[usize::from(u16::from_le_bytes([*low, *high])) % kinds.len()];
        let way = [Way::Strict, Way::Tolerant, Way::Protobuf][usize::from(way % 3)];
        (kind.check)(way, message)
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}

#[test]
fn the_decoder_of_frames_of_sockets_stands_damage() {
    let random = &mut Random::new(1);
    let seeds: Vec<_> = (0..200)
        .flat_map(|_| {
            let envelope = Envelope::arbitrary(random);
            [Format::Json, Format::Protobuf].map(|format| encode(&envelope, format).to_vec())
        })
        .collect();
    let tried = Fuzz::new("envelope").seeds(seeds).words(JSON_WORDS).run(|frame| {
        let mut is_accepted = false;
        for format in [Format::Json, Format::Protobuf] {
            let Ok(envelope) = bounded(frame, || decode(frame, format)) else { continue };
            let once = encode(&envelope, format);
            let again = decode(&once, format).expect("our own output is read back");
            assert_eq!(encode(&again, format), once);
            is_accepted = true;
        }
        is_accepted
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}

#[test]
fn a_damaged_token_is_none() {
    let signer = Signer::new(b"key");
    let claims = Claims {
        user_id: "u".into(),
        expires_at_sec: i64::MAX,
        vars: [("a".to_owned(), "b\"\n".to_owned())].into(),
        ..Claims::default()
    };
    let tokens = [signer.sign(&claims), signer.sign_match("a-match.node", i64::MAX)];
    Fuzz::new("token").seeds(tokens.clone()).words(&[".", "=", "eyJhbGciOiJub25lIn0", "{\"exp\":1}"]).run(|input| {
        // A right signature over any claims.
        let payload = signer.sign_payload(input);
        assert_eq!(signer.verify_payload(&payload).as_deref(), Ok(input));
        if let Ok(claims) = bounded(payload.as_bytes(), || signer.verify(&payload, 0)) {
            assert_eq!(signer.verify(&signer.sign(&claims), 0), Ok(claims));
        }
        // Any text in place of a token.
        let Ok(token) = std::str::from_utf8(input) else { return false };
        let accepted = bounded(input, || signer.verify(token, 0).is_ok() || signer.verify_match(token, 0).is_ok());
        assert!(!accepted || tokens.iter().any(|right| right == token));
        accepted
    });
}

#[test]
fn a_damaged_cursor_is_none() {
    let cursor = CursorWriter::new(CursorKind::Groups).text("name").number(-7).finish(&["filter"]);
    Fuzz::new("cursor").seeds([cursor.clone()]).run(|input| {
        // A right checksum over any parts.
        let text = String::from_utf8_lossy(input);
        let made = CursorWriter::new(CursorKind::Groups).text(&text).number(1).finish(&["filter"]);
        if let Ok(mut reader) = CursorReader::open(&made, CursorKind::Groups, &["filter"]) {
            assert_eq!((reader.text().as_deref(), reader.number(), reader.end()), (Ok(&*text), Ok(1), Ok(())));
        }
        if let Ok(mut reader) = CursorReader::open(&made, CursorKind::Groups, &["filter"]) {
            let _ = (reader.number(), reader.text(), reader.text(), reader.end());
        }
        let opened = bounded(input, || CursorReader::open(&text, CursorKind::Groups, &["filter"]).is_ok());
        assert_eq!(opened, text == cursor);
        opened
    });
}

#[test]
fn routes_and_parameters_stand_damage() {
    type Request = <typed::ListGroups as TypedOperation>::Request;
    let seeds = OPERATIONS.iter().map(|row| {
        let template = row.bindings[0].template;
        format!("{}{template}?limit=10&cursor=a%20b&vars[k]=v&account.id=x&state=1", '\u{1}')
    });
    let words =
        ["/", "%2f", "%", "%zz", "?", "&", "=", "[", "]", ".", "+", "limit=", "9999999999", "\u{0}", "/v2/", ":"];
    // The first request makes the table of routes.
    assert!(route("GET", "/").is_err());
    let tried = Fuzz::new("route").seeds(seeds).words(&words).run(|input| {
        let Some((method, line)) = input.split_first() else { return false };
        let Ok(line) = std::str::from_utf8(line) else { return false };
        let (path, query) = line.split_once('?').unwrap_or((line, ""));
        let method = Method::ALL[usize::from(*method) % Method::ALL.len()].name();
        let (found, peak) = peak_bytes(|| route(method, path));
        assert_eq!(peak, 0, "routing does not allocate");
        let Ok(found) = found else { return false };
        let _ = bounded(line.as_bytes(), || decode_http::<Request>(&found, query, b"{}"));
        true
    });
    assert!(tried.accepted > tried.inputs / 50, "{tried:?}");
}

#[test]
fn frames_of_links_and_values_of_nodes_stand_damage() {
    let tried = Fuzz::new("nodes").run(|input| {
        let header = Header::read(input);
        if let Some(header) = header {
            let mut report = vec![0; HEADER_BYTES];
            header.write(&mut report);
            if has_seal(input) {
                mark_sealed(&mut report);
            }
            // Two bytes are kept free.
            assert_eq!((&report[..2], &report[4..]), (&input[..2], &input[4..HEADER_BYTES]));
            let missing: Vec<_> = read_missing(&header, &input[HEADER_BYTES..]).collect();
            write_missing(&mut report, usize::MAX, header.acknowledged, missing.iter().copied());
            assert_eq!(read_missing(&header, &report[HEADER_BYTES..]).collect::<Vec<_>>(), missing);
        }
        let ways = [
            check_protobuf::<membership::View>(input),
            check_protobuf::<membership::Lease>(input),
            check_protobuf::<match_log::Record>(input),
        ];
        header.is_some() || ways.contains(&true)
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}
