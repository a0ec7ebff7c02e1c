//! The frames that a server sends on a socket (RFC 6455). Frames are whole and unmasked, so that all receivers get the
//! same bytes.
//!
//! This module neither reads frames nor looks into payloads.

use bytes::Bytes;

use crate::envelope::Format;

/// Length of the longest header of a server's frame, in bytes.
pub const HEADER_BYTES_MAX: usize = 10;

const FINAL: u8 = 0x80;
const TEXT: u8 = 0x1;
const BINARY: u8 = 0x2;

/// A frame for sockets of this format. `write` appends the payload to the buffer of the frame, which has room for the
/// header in front, so that small frames need one allocation.
#[must_use]
pub fn finished(format: Format, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    const PAYLOAD_BYTES_USUAL: usize = 246;
    let mut buffer = Vec::with_capacity(HEADER_BYTES_MAX + PAYLOAD_BYTES_USUAL);
    buffer.resize(HEADER_BYTES_MAX, 0);
    write(&mut buffer);
    let opcode = match format {
        Format::Json => TEXT,
        Format::Protobuf => BINARY,
    };
    let (header, header_len) = header(opcode, buffer.len() - HEADER_BYTES_MAX);
    let start = HEADER_BYTES_MAX - header_len;
    buffer[start..HEADER_BYTES_MAX].copy_from_slice(&header[..header_len]);
    Bytes::from(buffer).slice(start..)
}

/// The header of a whole frame. The answer is an array, and the number of its first bytes that are the header.
#[must_use]
pub fn header(opcode: u8, payload_len: usize) -> ([u8; HEADER_BYTES_MAX], usize) {
    let mut header = [0; HEADER_BYTES_MAX];
    header[0] = FINAL | opcode;
    // The patterns bound both casts.
    let len = match payload_len {
        0..=125 => {
            header[1] = payload_len as u8;
            2
        }
        126..=0xFFFF => {
            header[1] = 126;
            header[2..4].copy_from_slice(&(payload_len as u16).to_be_bytes());
            4
        }
        _ => {
            header[1] = 127;
            header[2..10].copy_from_slice(&(payload_len as u64).to_be_bytes());
            10
        }
    };
    (header, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_length_stands_right_before_its_payload() {
        let check = |format, payload_len: usize, expected_header: &[u8]| {
            let payload = vec![7; payload_len];
            let frame = finished(format, |out| out.extend_from_slice(&payload));
            assert_eq!(&frame[..expected_header.len()], expected_header, "{payload_len} bytes");
            assert_eq!(&frame[expected_header.len()..], payload, "{payload_len} bytes");
        };
        check(Format::Json, 0, &[0x81, 0]);
        check(Format::Protobuf, 125, &[0x82, 125]);
        check(Format::Json, 126, &[0x81, 126, 0, 126]);
        check(Format::Json, 65_535, &[0x81, 126, 0xFF, 0xFF]);
        check(Format::Protobuf, 65_536, &[0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
