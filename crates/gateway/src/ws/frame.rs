//! WebSocket frames (RFC 6455) on byte slices: headers in and out, masking. No I/O, no allocation on the way in.
//!
//! This module is our own because a broadcast's frame, header included, is made once and shared by every recipient, and
//! because all sockets of a shard read through one buffer: an idle socket owns none.

/// The frame types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// More of a fragmented message.
    Continuation,
    /// A UTF-8 message.
    Text,
    /// A binary message.
    Binary,
    /// The end of the connection.
    Close,
    /// Asks for a pong with the same payload.
    Ping,
    /// Answers a ping.
    Pong,
}

impl Opcode {
    fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    /// Whether frames of this type may stand between the fragments of a message.
    pub fn is_control(self) -> bool {
        self.bits() & 0x8 != 0
    }
}

/// A client's frame header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Whether this is the last frame of its message.
    pub is_final: bool,
    /// The type of the frame.
    pub opcode: Opcode,
    /// The mask of the payload.
    pub mask: [u8; 4],
    /// Bytes before the payload.
    pub header_len: usize,
    /// Bytes of payload.
    pub payload_len: usize,
}

/// The reason why a frame is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The frame breaks the protocol: reserved bits or types, no mask, a fragmented or long control frame, or a length
    /// in a longer form than needed.
    Protocol,
    /// The payload is longer than the caller allows.
    TooBig,
}

const PAYLOAD_MAX_CONTROL: u64 = 125;

/// Longest text of a close frame, which stands behind the two bytes of the code.
pub const CLOSE_TEXT_BYTES_MAX: usize = PAYLOAD_MAX_CONTROL as usize - 2;

/// Reads the header at the start of `buffer`. `Ok(None)`: more bytes are needed.
///
/// Errors: [`FrameError`], as soon as the bytes at hand show it, before any payload is waited for.
pub fn parse_header(buffer: &[u8], payload_max: usize) -> Result<Option<Header>, FrameError> {
    let (Some(&first), Some(&second)) = (buffer.first(), buffer.get(1)) else { return Ok(None) };
    let opcode = Opcode::from_bits(first & 0x0F).ok_or(FrameError::Protocol)?;
    let is_final = first & 0x80 != 0;
    let is_masked = second & 0x80 != 0;
    if first & 0x70 != 0 || !is_masked || (opcode.is_control() && !is_final) {
        return Err(FrameError::Protocol);
    }
    let Some((payload_len, length_end)) = payload_length(buffer, second & 0x7F)? else { return Ok(None) };
    if opcode.is_control() && payload_len > PAYLOAD_MAX_CONTROL {
        return Err(FrameError::Protocol);
    }
    let payload_len = usize::try_from(payload_len).map_err(|_| FrameError::TooBig)?;
    if payload_len > payload_max && !opcode.is_control() {
        return Err(FrameError::TooBig);
    }
    let Some(mask) = buffer.get(length_end..).and_then(|rest| rest.first_chunk::<4>()) else { return Ok(None) };
    Ok(Some(Header { is_final, opcode, mask: *mask, header_len: length_end + 4, payload_len }))
}

/// The length of the payload, and the position where the length field ends; `None` when bytes are missing.
fn payload_length(buffer: &[u8], short: u8) -> Result<Option<(u64, usize)>, FrameError> {
    let rest = buffer.get(2..).unwrap_or_default();
    let (length, end, least) = match short {
        126 => {
            let Some(bytes) = rest.first_chunk::<2>() else { return Ok(None) };
            (u64::from(u16::from_be_bytes(*bytes)), 4, 126)
        }
        127 => {
            let Some(bytes) = rest.first_chunk::<8>() else { return Ok(None) };
            (u64::from_be_bytes(*bytes), 10, 1 << 16)
        }
        short => (u64::from(short), 2, 0),
    };
    if length < least {
        return Err(FrameError::Protocol);
    }
    Ok(Some((length, end)))
}

/// Removes (or puts on) a client's mask.
pub fn unmask(payload: &mut [u8], mask: [u8; 4]) {
    let wide = u64::from_ne_bytes([mask[0], mask[1], mask[2], mask[3], mask[0], mask[1], mask[2], mask[3]]);
    let mut chunks = payload.chunks_exact_mut(8);
    for chunk in &mut chunks {
        if let Some(bytes) = chunk.first_chunk_mut::<8>() {
            *bytes = (u64::from_ne_bytes(*bytes) ^ wide).to_ne_bytes();
        }
    }
    // Up to seven bytes are left: more than the mask has.
    for (byte, key) in chunks.into_remainder().iter_mut().zip(mask.into_iter().cycle()) {
        *byte ^= key;
    }
}

/// Appends a whole, unfragmented frame as a server sends it.
pub fn write_frame(opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) {
    let (header, header_len) = muster_wire::frame::header(opcode.bits(), payload.len());
    out.reserve(header_len + payload.len());
    out.extend_from_slice(&header[..header_len]);
    out.extend_from_slice(payload);
}

/// The length of the first of these server frames, if the frame is whole.
pub fn server_frame_len(frames: &[u8]) -> Option<usize> {
    let (payload_len, header_len) = payload_length(frames, *frames.get(1)?).ok()??;
    let length = header_len + usize::try_from(payload_len).ok()?;
    (length <= frames.len()).then_some(length)
}

/// Whether a frame is about the connection, and not a message.
pub fn is_control(frame: &[u8]) -> bool {
    frame.first().is_some_and(|first| first & 0x08 != 0)
}

/// Appends a close frame.
pub fn write_close(code: u16, text: &str, out: &mut Vec<u8>) {
    let mut payload = Vec::with_capacity(2 + text.len());
    payload.extend_from_slice(&code.to_be_bytes());
    payload.extend_from_slice(text.as_bytes());
    write_frame(Opcode::Close, &payload, out);
}

/// Reads a close frame's payload. `Ok(None)`: no code was given.
///
/// Errors: [`FrameError::Protocol`] for a lone byte, a code that may not stand in a frame, or text that is not UTF-8.
pub fn parse_close(payload: &[u8]) -> Result<Option<u16>, FrameError> {
    if payload.is_empty() {
        return Ok(None);
    }
    let Some((code, text)) = payload.split_first_chunk::<2>() else { return Err(FrameError::Protocol) };
    let code = u16::from_be_bytes(*code);
    let is_allowed = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    if !is_allowed || std::str::from_utf8(text).is_err() {
        return Err(FrameError::Protocol);
    }
    Ok(Some(code))
}

#[cfg(test)]
mod tests {
    use muster_testenv::fuzz::Fuzz;

    use super::*;

    /// A frame as a client would send it.
    fn client_frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        write_frame(Opcode::Binary, payload, &mut frame);
        frame[0] = first;
        frame[1] |= 0x80;
        let header_len = frame.len() - payload.len();
        let mask = [1, 2, 3, 4];
        let mut masked = payload.to_vec();
        unmask(&mut masked, mask);
        frame.truncate(header_len);
        frame.extend_from_slice(&mask);
        frame.extend_from_slice(&masked);
        frame
    }

    #[test]
    fn what_is_written_is_read_at_every_length_form_and_never_early() {
        for length in [0, 1, 125, 126, 127, 65_535, 65_536] {
            let payload: Vec<u8> = (0..length).map(|index| index as u8).collect();
            let mut frame = client_frame(0x82, &payload);
            let header = parse_header(&frame, 1 << 20).unwrap().unwrap();
            assert_eq!((header.opcode, header.is_final, header.payload_len), (Opcode::Binary, true, length));
            for cut in 0..header.header_len {
                assert_eq!(parse_header(&frame[..cut], 1 << 20), Ok(None), "{length} bytes, cut at {cut}");
            }
            let body = &mut frame[header.header_len..];
            unmask(body, header.mask);
            assert_eq!(body, payload);
        }
    }

    #[test]
    fn what_the_rfc_forbids_is_refused() {
        let check =
            |frame: &[u8], expected: FrameError| assert_eq!(parse_header(frame, 100), Err(expected), "{frame:x?}");
        check(&[0xC2, 0x80], FrameError::Protocol); // reserved bit
        check(&[0x83, 0x80], FrameError::Protocol); // reserved type
        check(&[0x82, 0x05], FrameError::Protocol); // no mask
        check(&[0x09, 0x80], FrameError::Protocol); // fragmented ping
        check(&[0x89, 0xFE, 0, 126], FrameError::Protocol); // long ping
        check(&[0x82, 0xFE, 0, 125], FrameError::Protocol); // 125 in the two-byte form
        check(&[0x82, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], FrameError::Protocol); // 65,535 in the eight-byte form
        check(&[0x82, 0xE5], FrameError::TooBig); // 101 bytes, seen from two
        check(&[0x82, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0], FrameError::TooBig);
    }

    #[test]
    fn close_payloads() {
        assert_eq!(parse_close(b""), Ok(None));
        assert_eq!(parse_close(&[3, 232, b'b', b'y', b'e']), Ok(Some(1000)));
        for bad in [&[3][..], &[3, 237], &[3, 238], &[0, 0], &[3, 232, 0xFF]] {
            assert_eq!(parse_close(bad), Err(FrameError::Protocol), "{bad:?}");
        }
    }

    #[test]
    fn every_length_is_unmasked_to_its_end() {
        let mask = [1, 2, 3, 4];
        for len in 0..40 {
            let mut payload: Vec<u8> = (0..len).map(|at| b'a' ^ mask[at % mask.len()]).collect();
            unmask(&mut payload, mask);
            assert_eq!(payload, vec![b'a'; len], "{len} bytes");
        }
    }

    #[test]
    fn damaged_frames_are_refused_or_written_again_as_they_were() {
        const PAYLOAD_MAX: usize = 70_000;
        let seeds = [0, 1, 125, 126, 1_000].map(|length| client_frame(0x82, &vec![b'a'; length]));
        let closes = [client_frame(0x88, &[3, 232, b'b', b'y', b'e']), client_frame(0x09, b"")];
        let tried = Fuzz::new("frames").seeds(seeds).seeds(closes).run(|input| {
            let mut rest = input;
            let mut count = 0;
            loop {
                let header = match parse_header(rest, PAYLOAD_MAX) {
                    Ok(Some(header)) => header,
                    Ok(None) => {
                        // Only the bytes of a longest header may be missing.
                        assert!(rest.len() < 14);
                        break;
                    }
                    Err(error) => {
                        // More bytes change nothing.
                        assert_eq!(parse_header(&[rest, &[0; 14]].concat(), PAYLOAD_MAX), Err(error));
                        break;
                    }
                };
                assert!(header.payload_len <= PAYLOAD_MAX);
                let Some(masked) = rest.get(header.header_len..header.header_len + header.payload_len) else { break };
                let mut payload = masked.to_vec();
                unmask(&mut payload, header.mask);
                if header.opcode == Opcode::Close {
                    let code = parse_close(&payload);
                    assert!(
                        code.is_err()
                            || payload.is_empty()
                            || code == Ok(Some(u16::from_be_bytes([payload[0], payload[1]])))
                    );
                }
                let mut again = Vec::new();
                write_frame(header.opcode, &payload, &mut again);
                assert_eq!(server_frame_len(&again), Some(again.len()));
                assert_eq!(is_control(&again), header.opcode.is_control());
                let head = again.len() - payload.len();
                again.splice(head..head, header.mask);
                unmask(&mut again[head + 4..], header.mask);
                again[0] &= 0x7F | u8::from(header.is_final) << 7;
                again[1] |= 0x80;
                let whole = header.header_len + header.payload_len;
                assert_eq!(again, rest[..whole]);
                rest = &rest[whole..];
                count += 1;
            }
            count > 0
        });
        assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
    }
}
