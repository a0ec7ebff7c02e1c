//! Outgoing envelopes in both formats, and the check of pongs. A ping is prepared once and its cid patched in place.

use muster_wire::envelope;
use muster_wire::realtime::Envelope;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Fault;
use super::frames::{self, Opcode};
use super::protobuf::take_field;

/// Encoding of a socket's envelopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    #[default]
    Json,
    Protobuf,
}

impl Format {
    /// The value of the socket's `format` query parameter.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
        }
    }
}

/// Appends the whole frame of any envelope.
pub fn write_envelope(format: Format, envelope: &Envelope, out: &mut Vec<u8>) {
    let (wire_format, opcode) = match format {
        Format::Json => (envelope::Format::Json, Opcode::Text),
        Format::Protobuf => (envelope::Format::Protobuf, Opcode::Binary),
    };
    frames::write_client_frame(opcode, &envelope::encode(envelope, wire_format), out);
}

/// Digits of a cid; fixed so that a prepared frame never changes its length.
pub const CID_LEN: usize = 7;
const CID_LIMIT: u32 = 10_u32.pow(CID_LEN as u32);

/// Field 32 of the envelope (ping), an empty message.
const PROTOBUF_PING: [u8; 3] = [0x82, 0x02, 0x00];
/// Field 33 of the envelope (pong), an empty message.
const PROTOBUF_PONG: [u8; 3] = [0x8a, 0x02, 0x00];
/// Field 1 of the envelope (cid), a string.
const PROTOBUF_CID: u8 = 0x0a;
const PROTOBUF_PONG_FIELD: u64 = 33;

/// The `number`th cid of a connection, in decimal digits. Numbers repeat after ten million.
pub fn cid(number: u32) -> [u8; CID_LEN] {
    let mut rest = number % CID_LIMIT;
    let mut digits = [b'0'; CID_LEN];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    digits
}

/// Appends the whole frame of a ping with this cid.
pub fn write_ping(format: Format, cid: [u8; CID_LEN], out: &mut Vec<u8>) {
    match format {
        Format::Json => {
            let mut payload = *br#"{"cid":"0000000","ping":{}}"#;
            payload[8..8 + CID_LEN].copy_from_slice(&cid);
            frames::write_client_frame(Opcode::Text, &payload, out);
        }
        Format::Protobuf => {
            let mut payload = [0; 2 + CID_LEN + 3];
            payload[0] = PROTOBUF_CID;
            payload[1] = CID_LEN as u8;
            payload[2..2 + CID_LEN].copy_from_slice(&cid);
            payload[2 + CID_LEN..].copy_from_slice(&PROTOBUF_PING);
            frames::write_client_frame(Opcode::Binary, &payload, out);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PingAnswer {
    Pong,
    /// A message without a request, such as a presence event; the heartbeat ignores it.
    Push,
}

/// Checks a message that arrived while a pong with `cid` was due.
pub fn check_pong(format: Format, opcode: Opcode, payload: &[u8], cid: [u8; CID_LEN]) -> Result<PingAnswer, Fault> {
    match (format, opcode) {
        (Format::Json, Opcode::Text) => check_json_pong(payload, cid),
        (Format::Protobuf, Opcode::Binary) => check_protobuf_pong(payload, cid),
        _ => Err(Fault::Malformed("frame type does not fit the format")),
    }
}

fn check_json_pong(payload: &[u8], cid: [u8; CID_LEN]) -> Result<PingAnswer, Fault> {
    // The form that most servers send, byte for byte; any other goes to the parser.
    if let Some(rest) = payload.strip_prefix(br#"{"cid":""#)
        && rest.strip_prefix(&cid) == Some(br#"","pong":{}}"#)
    {
        return Ok(PingAnswer::Pong);
    }
    let Ok(Value::Object(envelope)) = serde_json::from_slice(payload) else {
        return Err(Fault::Malformed("envelope is not a JSON object"));
    };
    let is_pong = envelope.get("pong").is_some_and(|pong| pong.as_object().is_some_and(|fields| fields.is_empty()));
    let messages = envelope.len() - usize::from(envelope.contains_key("cid"));
    let answered = envelope.get("cid").and_then(Value::as_str).unwrap_or_default();
    classify(answered.as_bytes(), cid, is_pong && messages == 1, envelope.contains_key("error"))
}

fn check_protobuf_pong(payload: &[u8], cid: [u8; CID_LEN]) -> Result<PingAnswer, Fault> {
    if let [PROTOBUF_CID, len, rest @ ..] = payload
        && usize::from(*len) == CID_LEN
        && rest.strip_prefix(&cid) == Some(&PROTOBUF_PONG)
    {
        return Ok(PingAnswer::Pong);
    }
    let mut rest = payload;
    let (mut answered, mut is_pong, mut is_error, mut messages) = (&[][..], false, false, 0);
    while let Some((field, content)) = take_field(&mut rest)? {
        // The only kind of field that an envelope has.
        let content = content.bytes()?;
        messages += u32::from(field != 1);
        match field {
            1 => answered = content,
            11 => is_error = true,
            PROTOBUF_PONG_FIELD => is_pong = content.is_empty(),
            _ => {}
        }
    }
    classify(answered, cid, is_pong && messages == 1, is_error)
}

fn classify(answered: &[u8], cid: [u8; CID_LEN], is_pong: bool, is_error: bool) -> Result<PingAnswer, Fault> {
    match (answered.is_empty(), answered == cid, is_pong) {
        _ if is_error => Err(Fault::Wrong("error envelope")),
        (false, true, true) => Ok(PingAnswer::Pong),
        (false, true, false) => Err(Fault::Wrong("not a pong")),
        (false, false, _) => Err(Fault::Wrong("cid of another request")),
        (true, _, true) => Err(Fault::Wrong("pong without cid")),
        (true, _, false) => Ok(PingAnswer::Push),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_json(payload: &str) -> String {
        summary(check_pong(Format::Json, Opcode::Text, payload.as_bytes(), cid(42)))
    }

    fn check_protobuf(payload: &[u8]) -> String {
        summary(check_pong(Format::Protobuf, Opcode::Binary, payload, cid(42)))
    }

    fn summary(result: Result<PingAnswer, Fault>) -> String {
        result.map_or_else(|fault| fault.to_string(), |answer| format!("{answer:?}"))
    }

    #[test]
    fn pings_are_frames_of_fixed_length() {
        for (format, len) in [(Format::Json, 33), (Format::Protobuf, 18)] {
            for number in [0, 42, 9_999_999, 10_000_001] {
                let mut out = Vec::new();
                write_ping(format, cid(number), &mut out);
                assert_eq!(out.len(), len);
            }
        }
    }

    #[test]
    fn json_pongs_are_recognised_in_any_spelling() {
        assert_eq!(check_json(r#"{"cid":"0000042","pong":{}}"#), "Pong");
        assert_eq!(check_json(r#"{ "pong": {}, "cid": "0000042" }"#), "Pong");
        assert_eq!(check_json(r#"{"status_presence_event":{"joins":[]}}"#), "Push");
    }

    #[test]
    fn json_lies_are_errors() {
        assert_eq!(check_json(r#"{"cid":"0000043","pong":{}}"#), "wrong answer: cid of another request");
        assert_eq!(check_json(r#"{"pong":{}}"#), "wrong answer: pong without cid");
        assert_eq!(check_json(r#"{"cid":"0000042"}"#), "wrong answer: not a pong");
        assert_eq!(check_json(r#"{"cid":"0000042","pong":{},"rpc":{}}"#), "wrong answer: not a pong");
        assert_eq!(check_json(r#"{"cid":"0000042","error":{"code":3}}"#), "wrong answer: error envelope");
        assert_eq!(check_json(r#"{"cid":"00000"#), "malformed answer: envelope is not a JSON object");
    }

    #[test]
    fn protobuf_answers_are_told_apart() {
        assert_eq!(check_protobuf(b"\x0a\x070000042\x8a\x02\x00"), "Pong");
        assert_eq!(check_protobuf(b"\x8a\x02\x00\x0a\x070000042"), "Pong");
        assert_eq!(check_protobuf(b"\x0a\x070000041\x8a\x02\x00"), "wrong answer: cid of another request");
        assert_eq!(check_protobuf(b"\x0a\x070000042"), "wrong answer: not a pong");
        assert_eq!(check_protobuf(b"\x0a\x070000042\x5a\x02\x08\x03"), "wrong answer: error envelope");
        assert_eq!(check_protobuf(b"\xda\x01\x00"), "Push");
        assert_eq!(check_protobuf(b"\x0a\x7f00"), "malformed answer: envelope is not protobuf");
    }
}
