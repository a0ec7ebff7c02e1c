//! The part of RFC 6455 that a load generator needs: whole client frames out, whole server frames in.
//!
//! Client frames carry the mask key zero, so that a prepared frame can be patched and sent without masking; the server
//! must unmask it all the same. Fragmented messages are refused: none of the answers that this tool waits for is long
//! enough.

use super::Fault;

/// Longest message taken from a server; more is a fault, not an allocation.
const PAYLOAD_LEN_MAX: usize = 1 << 20;

const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;
/// Longest header of a client frame: two bytes, eight of length, four of mask key.
const HEADER_LEN_MAX: usize = 14;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opcode {
    Text = 1,
    Binary = 2,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// Appends one frame and returns the offset at which its payload begins in `out`.
pub fn write_client_frame(opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) -> usize {
    out.reserve(HEADER_LEN_MAX + payload.len());
    out.push(FIN | opcode as u8);
    match payload.len() {
        len @ 0..=125 => out.push(MASKED | len as u8),
        len @ 126..=0xffff => {
            out.push(MASKED | 126);
            out.extend_from_slice(&(len as u16).to_be_bytes());
        }
        len => {
            out.push(MASKED | 127);
            out.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&[0; 4]);
    let payload_at = out.len();
    out.extend_from_slice(payload);
    payload_at
}

#[derive(Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    pub opcode: Opcode,
    pub payload: &'a [u8],
    /// Header and payload together.
    pub len: usize,
}

/// The first whole server frame of `bytes`; `None` if it is incomplete.
pub fn read_server_frame(bytes: &[u8]) -> Result<Option<Frame<'_>>, Fault> {
    let [first, second, ..] = *bytes else { return Ok(None) };
    let opcode = match first {
        0x81 => Opcode::Text,
        0x82 => Opcode::Binary,
        0x88 => Opcode::Close,
        0x89 => Opcode::Ping,
        0x8a => Opcode::Pong,
        _ => return Err(Fault::Malformed("frame header")),
    };
    let (header_len, payload_len) = match second {
        len @ 0..=125 => (2, usize::from(len)),
        126 => match bytes.get(2..4) {
            Some(&[high, low]) => (4, usize::from(u16::from_be_bytes([high, low]))),
            _ => return Ok(None),
        },
        127 => match bytes.get(2..10).and_then(|len| <[u8; 8]>::try_from(len).ok()) {
            Some(len) => (10, usize::try_from(u64::from_be_bytes(len)).unwrap_or(usize::MAX)),
            None => return Ok(None),
        },
        _ => return Err(Fault::Malformed("masked server frame")),
    };
    if payload_len > PAYLOAD_LEN_MAX {
        return Err(Fault::Malformed("oversized frame"));
    }
    let len = header_len + payload_len;
    Ok(bytes.get(header_len..len).map(|payload| Frame { opcode, payload, len }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_frame_is_masked_with_zero() {
        let mut out = Vec::new();
        assert_eq!(write_client_frame(Opcode::Text, b"hi", &mut out), 6);
        assert_eq!(out, [0x81, 0x82, 0, 0, 0, 0, b'h', b'i']);
    }

    #[test]
    fn lengths_take_the_shortest_form() {
        let mut out = Vec::new();
        assert_eq!(write_client_frame(Opcode::Binary, &[7; 200], &mut out), 8);
        assert_eq!(out[..4], [0x82, 0xfe, 0, 200]);
    }

    #[test]
    fn a_server_frame_is_read_when_whole() {
        let bytes = [0x82, 3, 1, 2, 3, 0x89, 0];
        for cut in 0..5 {
            assert_eq!(read_server_frame(&bytes[..cut]).unwrap(), None);
        }
        let frame = read_server_frame(&bytes).unwrap().unwrap();
        assert_eq!(frame, Frame { opcode: Opcode::Binary, payload: &[1, 2, 3], len: 5 });
        assert_eq!(read_server_frame(&bytes[5..]).unwrap().unwrap().opcode, Opcode::Ping);
    }

    #[test]
    fn what_a_server_may_not_send_is_a_fault() {
        for bytes in [&[0x01, 0][..], &[0x81, 0x80, 0, 0, 0, 0], &[0xc1, 0], &[0x82, 127, 1, 0, 0, 0, 0, 0, 0, 0]] {
            assert!(read_server_frame(bytes).is_err(), "{bytes:x?}");
        }
    }
}
