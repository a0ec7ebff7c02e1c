//! Classes of wrong frames and messages, and how the socket closes on each. `docs/reference/limits.md` lists the
//! classes; a test compares the two.

use muster_wire::envelope::Format;

use super::random::Random;
use super::socket::{BINARY, CLOSE, CONTINUATION, FINAL, PING, PONG, TEXT, frame, message_opcode};

/// The end of a socket after a frame of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedEnd {
    /// A close frame with this code, counted under this reason.
    Close(u16, &'static str),
    /// An error message with the first code, then a close frame.
    Error(i32, u16, &'static str),
    /// No close frame: the client is gone.
    Lost(&'static str),
}

/// A class of frames that a client sends on an open socket.
pub struct Class {
    pub name: &'static str,
    pub end: ExpectedEnd,
    pub make: fn(&mut Random, Format) -> Vec<u8>,
}

const fn class(name: &'static str, end: ExpectedEnd, make: fn(&mut Random, Format) -> Vec<u8>) -> Class {
    Class { name, end, make }
}

const PROTOCOL: ExpectedEnd = ExpectedEnd::Close(1002, "protocol_error");
const TOO_BIG: ExpectedEnd = ExpectedEnd::Close(1009, "message_too_big");
const MALFORMED: ExpectedEnd = ExpectedEnd::Close(1007, "invalid_payload");
const LOST: ExpectedEnd = ExpectedEnd::Lost("connection_lost");

pub const CLASSES: &[Class] = &[
    class("unmasked frame", PROTOCOL, unmasked),
    class("reserved bits", PROTOCOL, reserved_bits),
    class("reserved opcode", PROTOCOL, reserved_opcode),
    class("fragmented control frame", PROTOCOL, fragmented_control),
    class("control frame over 125 bytes", PROTOCOL, long_control),
    class("length in a longer form than needed", PROTOCOL, overlong_length),
    class("continuation of nothing", PROTOCOL, lone_continuation),
    class("message inside a fragmented one", PROTOCOL, interrupted),
    class("bad close payload", PROTOCOL, bad_close),
    class("frame too long", TOO_BIG, long_frame),
    class("fragments too long together", TOO_BIG, long_fragments),
    class("length of exabytes", TOO_BIG, huge_length),
    class("message of the other format", ExpectedEnd::Close(1003, "wrong_frame_type"), wrong_type),
    class("text that is not UTF-8", MALFORMED, not_utf8),
    class("malformed envelope", MALFORMED, malformed),
    class("unknown field in a JSON envelope", MALFORMED, unknown_field),
    class("deeply nested envelope", MALFORMED, deep_nesting),
    class("message that only the server sends", ExpectedEnd::Error(1, 1003, "unexpected_message"), server_only),
    class("empty envelope", ExpectedEnd::Error(2, 1003, "unexpected_message"), empty_envelope),
    class("half a frame", LOST, half_a_frame),
    class("half a message", LOST, half_a_message),
    class("nothing", LOST, |_, _| Vec::new()),
];

/// `socket.max_message_size_bytes`.
pub const MESSAGE_BYTES_MAX: usize = 4_096;

fn whole(format: Format, payload: &[u8]) -> Vec<u8> {
    frame(FINAL | message_opcode(format), payload)
}

/// A fault that only JSON has; a protobuf socket gets the most similar one.
fn json_or_damage(format: Format, json: &str) -> Vec<u8> {
    match format {
        Format::Json => whole(format, json.as_bytes()),
        Format::Protobuf => whole(format, &[0x0a, 0x7f]),
    }
}

fn unmasked(random: &mut Random, _: Format) -> Vec<u8> {
    let length = random.between(0, 126);
    let opcode = random.pick(&[TEXT, BINARY, PING, PONG, CLOSE]);
    [&[FINAL | opcode, length as u8], random.word(length).as_bytes()].concat()
}

fn reserved_bits(random: &mut Random, format: Format) -> Vec<u8> {
    let bits = random.pick(&[0x10, 0x20, 0x40, 0x30, 0x70]);
    let opcode = random.pick(&[message_opcode(format), PING, CLOSE, CONTINUATION]);
    frame(FINAL | bits | opcode, random.word(5).as_bytes())
}

fn reserved_opcode(random: &mut Random, _: Format) -> Vec<u8> {
    let opcode = random.pick(&[0x3, 0x4, 0x5, 0x6, 0x7, 0xB, 0xC, 0xD, 0xE, 0xF]);
    let length = random.between(0, 300);
    frame(FINAL | opcode, random.word(length).as_bytes())
}

fn fragmented_control(random: &mut Random, _: Format) -> Vec<u8> {
    frame(random.pick(&[PING, PONG, CLOSE]), random.word(4).as_bytes())
}

fn long_control(random: &mut Random, _: Format) -> Vec<u8> {
    let length = random.between(126, 70_000);
    frame(FINAL | random.pick(&[PING, PONG, CLOSE]), &vec![b'a'; length])
}

fn overlong_length(random: &mut Random, format: Format) -> Vec<u8> {
    let first = FINAL | message_opcode(format);
    let length = random.between(0, 126) as u8;
    let header = if random.between(0, 2) == 0 {
        vec![first, 0xFE, 0, length]
    } else {
        vec![first, 0xFF, 0, 0, 0, 0, 0, 0, 1, length]
    };
    [header, vec![0; 4 + usize::from(length)]].concat()
}

fn lone_continuation(random: &mut Random, _: Format) -> Vec<u8> {
    let first = random.pick(&[FINAL | CONTINUATION, CONTINUATION]);
    frame(first, random.word(9).as_bytes())
}

fn interrupted(random: &mut Random, format: Format) -> Vec<u8> {
    let start = frame(message_opcode(format), b"{\"cid\"");
    let second = random.pick(&[FINAL | TEXT, FINAL | BINARY, TEXT, BINARY]);
    [start, frame(second, random.word(3).as_bytes())].concat()
}

fn bad_close(random: &mut Random, _: Format) -> Vec<u8> {
    let code = random.pick(&[0_u16, 1, 999, 1004, 1005, 1006, 1015, 1100, 2000, 2999, 5000, 65_535]);
    let payload = match random.between(0, 3) {
        0 => vec![random.byte()],
        1 => [&code.to_be_bytes()[..], b"text"].concat(),
        _ => [&1000_u16.to_be_bytes()[..], b"\xff\xfe"].concat(),
    };
    frame(FINAL | CLOSE, &payload)
}

fn long_frame(random: &mut Random, format: Format) -> Vec<u8> {
    let length = MESSAGE_BYTES_MAX + random.pick(&[1, 100, 70_000, 2_000_000]);
    let length = length + random.between(0, 1_000);
    whole(format, &vec![b' '; length])
}

fn long_fragments(random: &mut Random, format: Format) -> Vec<u8> {
    let mut bytes = frame(message_opcode(format), b"{");
    let length = random.between(1, MESSAGE_BYTES_MAX);
    for _ in 0..=MESSAGE_BYTES_MAX / length {
        bytes.extend(frame(CONTINUATION, &vec![b' '; length]));
    }
    bytes.extend(frame(FINAL | CONTINUATION, b"}"));
    bytes
}

fn huge_length(random: &mut Random, format: Format) -> Vec<u8> {
    let length = random.pick(&[u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 32, 1 << 40]);
    let mut bytes = vec![FINAL | message_opcode(format), 0xFF];
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend(random.bytes(20));
    bytes
}

fn wrong_type(random: &mut Random, format: Format) -> Vec<u8> {
    let other = match format {
        Format::Json => BINARY,
        Format::Protobuf => TEXT,
    };
    let first = random.pick(&[FINAL | other, other]);
    frame(first, b"{\"cid\":\"1\",\"ping\":{}}")
}

fn not_utf8(random: &mut Random, format: Format) -> Vec<u8> {
    let bad: &[u8] = random.pick(&[
        b"\xff",
        b"\xc0\xaf",
        b"\xe2\x28\xa1",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\x80",
        b"\\ud800",
    ]);
    match format {
        Format::Json => whole(format, &[b"{\"cid\":\"", bad, b"a\",\"ping\":{}}"].concat()),
        // The cid's field with a string that fills the rest.
        Format::Protobuf => {
            let bad: &[u8] = if bad[0] == b'\\' { b"\xff" } else { bad };
            whole(format, &[&[0x0a, bad.len() as u8 + 1], bad, b"a"].concat())
        }
    }
}

fn malformed(random: &mut Random, format: Format) -> Vec<u8> {
    match format {
        Format::Json => {
            const GOOD: &str = r#"{"cid":"1","ping":{}}"#;
            let bad = [
                "null",
                "[]",
                "1",
                "\"a\"",
                "nonsense",
                "{\"cid\":1,\"ping\":{}}",
                "{\"ping\":[]}",
                "{\"ping\":1}",
                "{\"ping\":{}}x",
                "{\"ping\":{},}",
                "{\"cid\":\"1\",\"cid\":\"2\",\"ping\":{}}",
                "{\"ping\":{},\"pong\":{}}",
                "{\"match_join\":{\"match_id\":5}}",
                "{\"rpc\":{\"payload\":{}}}",
                "{\"match_data_send\":{\"data\":\"%\"}}",
            ];
            let choice = random.between(0, bad.len() + 5);
            let cut = random.between(1, GOOD.len());
            whole(format, bad.get(choice).unwrap_or(&&GOOD[..cut]).as_bytes())
        }
        Format::Protobuf => {
            let bad: &[&[u8]] = &[
                // A length beyond the end, a tag of field 0, a wire type that does not exist, a number that does not
                // end.
                &[0x0a, 0x7f, b'a'],
                &[0x00, 0x01],
                &[0x0f],
                &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
                // The cid as a number; a ping that is a number; the end of a group that never began.
                &[0x08, 0x01],
                &[0x80, 0x02, 0x01],
                &[0x0c],
                &[0x82],
            ];
            whole(format, random.pick(bad))
        }
    }
}

fn unknown_field(random: &mut Random, format: Format) -> Vec<u8> {
    let name = random.word(8);
    let json = match random.between(0, 3) {
        0 => format!("{{\"cid\":\"1\",\"{name}\":{{}}}}"),
        1 => format!("{{\"cid\":\"1\",\"ping\":{{\"{name}\":1}}}}"),
        _ => format!("{{\"{name}\":null,\"ping\":{{}}}}"),
    };
    json_or_damage(format, &json)
}

fn deep_nesting(random: &mut Random, format: Format) -> Vec<u8> {
    match format {
        Format::Json => {
            let depth = random.between(101, 1_900);
            let (open, close) = random.pick(&[("[", "]"), ("{\"a\":", "}")]);
            let depth = depth * 2 / (open.len() + 1);
            let json = format!("{{\"cid\":\"1\",\"rpc\":{}1{}}}", open.repeat(depth), close.repeat(depth));
            whole(format, &json.as_bytes()[..json.len().min(MESSAGE_BYTES_MAX)])
        }
        // Groups of an unknown field, each inside the one before, never ended or ended deeper than anything may be.
        Format::Protobuf => {
            let depth = random.between(101, 500);
            let starts = [0xc3, 0x3e].repeat(depth);
            let ends = if random.between(0, 2) == 0 { [0xc4, 0x3e].repeat(depth) } else { Vec::new() };
            whole(format, &[starts, ends].concat())
        }
    }
}

/// Names and numbers of messages that only the server sends.
const SERVER_ONLY: [(&str, u32); 21] = [
    ("channel", 2),
    ("channel_message", 5),
    ("channel_message_ack", 6),
    ("channel_presence_event", 10),
    ("error", 11),
    ("match", 12),
    ("match_data", 14),
    ("match_presence_event", 18),
    ("matchmaker_matched", 20),
    ("matchmaker_ticket", 22),
    ("notifications", 23),
    ("status", 25),
    ("status_presence_event", 27),
    ("stream_data", 30),
    ("stream_presence_event", 31),
    ("party", 34),
    ("party_leader", 39),
    ("party_join_request", 44),
    ("party_matchmaker_ticket", 47),
    ("party_data", 48),
    ("party_presence_event", 50),
];

fn server_only(random: &mut Random, format: Format) -> Vec<u8> {
    let (name, number) = random.pick(&SERVER_ONLY);
    match format {
        Format::Json => whole(format, format!("{{\"cid\":\"7\",\"{name}\":{{}}}}").as_bytes()),
        Format::Protobuf => {
            // The cid, then an empty message under the variant's number.
            let tag = number << 3 | 2;
            let tag = if tag < 0x80 { vec![tag as u8] } else { vec![tag as u8 | 0x80, (tag >> 7) as u8] };
            whole(format, &[&[0x0a, 1, b'7'], &tag[..], &[0]].concat())
        }
    }
}

fn empty_envelope(random: &mut Random, format: Format) -> Vec<u8> {
    let has_cid = random.between(0, 2) == 0;
    let payload: &[u8] = match (format, has_cid) {
        (Format::Json, true) => b"{\"cid\":\"7\"}",
        (Format::Json, false) => b"{}",
        (Format::Protobuf, true) => &[0x0a, 1, b'7'],
        (Format::Protobuf, false) => b"",
    };
    whole(format, payload)
}

fn half_a_frame(random: &mut Random, format: Format) -> Vec<u8> {
    let mut bytes = whole(format, &vec![b' '; random.between(0, MESSAGE_BYTES_MAX)]);
    bytes.truncate(random.between(1, bytes.len()));
    bytes
}

fn half_a_message(random: &mut Random, format: Format) -> Vec<u8> {
    let length = random.between(0, MESSAGE_BYTES_MAX);
    frame(message_opcode(format), &vec![b' '; length])
}
