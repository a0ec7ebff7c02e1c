//! A WebSocket client that sends any frames, right or wrong, one byte at a time if need be.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Ping};

use super::http::{self, Response};

pub const CONTINUATION: u8 = 0x0;
pub const TEXT: u8 = 0x1;
pub const BINARY: u8 = 0x2;
pub const CLOSE: u8 = 0x8;
pub const PING: u8 = 0x9;
pub const PONG: u8 = 0xA;
/// The bit of the last frame of a message.
pub const FINAL: u8 = 0x80;

const MASK: [u8; 4] = [0xA5, 0x3C, 0x00, 0x7F];

/// A frame from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub opcode: u8,
    pub payload: Vec<u8>,
}

/// A socket whose handshake is done.
pub struct Socket<S = TcpStream> {
    pub stream: S,
    pub format: Format,
    unread: Vec<u8>,
}

/// The request that opens a socket.
pub fn handshake(token: &str, format: Format) -> Vec<u8> {
    handshake_asking(token, format, "")
}

/// A handshake with more parameters, such as `&resume=new`.
pub fn handshake_asking(token: &str, format: Format, parameters: &str) -> Vec<u8> {
    let path = format!("/ws?lang=en&format={}&token={token}{parameters}", format.name());
    http::head("GET", &path, &UPGRADE)
}

/// The headers of a handshake.
pub const UPGRADE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

impl Socket {
    pub fn open(address: SocketAddr, token: &str, format: Format) -> Self {
        Self::open_with(http::connect(address), token, format, b"")
    }

    /// A second handle of the socket, to write while another thread reads.
    pub fn writer(&self) -> Self {
        Self { stream: self.stream.try_clone().unwrap(), format: self.format, unread: Vec::new() }
    }

    /// Closes the sending side; reading goes on.
    pub fn half_close(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}

impl<S: Read + Write> Socket<S> {
    /// Opens a socket on a connection, with `early` bytes sent right behind the request.
    pub fn open_with(stream: S, token: &str, format: Format, early: &[u8]) -> Self {
        let mut request = handshake(token, format);
        request.extend_from_slice(early);
        Self::open_by(stream, format, &request)
    }

    /// Opens a socket by a given request.
    pub fn open_by(mut stream: S, format: Format, request: &[u8]) -> Self {
        stream.write_all(request).unwrap();
        stream.flush().unwrap();
        let mut socket = Self { stream, format, unread: Vec::new() };
        let response = socket.read_response();
        assert_eq!(response.status, 101, "{response:?}");
        assert_eq!(response.header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        socket
    }

    fn read_response(&mut self) -> Response {
        loop {
            if let Some((response, rest)) = Response::first(&self.unread) {
                self.unread = rest.to_vec();
                return response;
            }
            assert!(self.fill(), "ended before the answer: {:?}", String::from_utf8_lossy(&self.unread));
        }
    }

    /// Reads more bytes. Answers whether there were any.
    fn fill(&mut self) -> bool {
        let mut chunk = [0; 16 * 1024];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(length) => {
                    self.unread.extend_from_slice(&chunk[..length]);
                    return length > 0;
                }
                // The connection was reset, or TLS ended without its own closing message.
                Err(error) if http::is_end(&error) || error.kind() == std::io::ErrorKind::UnexpectedEof => {
                    return false;
                }
                Err(error) if http::is_interruption(&error) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Sends any bytes. The server may have ended the connection meanwhile; its earlier frames can still be read.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        if let Err(error) = self.stream.write_all(bytes).and_then(|()| self.stream.flush()) {
            assert!(http::is_end(&error), "{error}");
        }
    }

    /// Sends a whole, masked frame.
    pub fn send(&mut self, opcode: u8, payload: &[u8]) {
        self.send_raw(&frame(FINAL | opcode, payload));
    }

    /// Sends a message in the frame that its format asks for.
    pub fn send_message(&mut self, payload: &[u8]) {
        self.send(message_opcode(self.format), payload);
    }

    pub fn send_envelope(&mut self, envelope: &Envelope) {
        let bytes = envelope::encode(envelope, self.format);
        self.send_message(&bytes);
    }

    /// The next frame; `None` at the end of the connection.
    pub fn read(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, length)) = parse(&self.unread) {
                self.unread.drain(..length);
                return Some(frame);
            }
            if !self.fill() {
                assert!(self.unread.is_empty(), "the connection ended in the middle of a frame");
                return None;
            }
        }
    }

    /// The next message that is not a ping of the server.
    pub fn read_envelope(&mut self) -> Envelope {
        loop {
            let frame = self.read().unwrap_or_else(|| panic!("no message before the end"));
            if frame.opcode != PING {
                assert_eq!(frame.opcode, message_opcode(self.format), "{frame:?}");
                return envelope::decode(&frame.payload, self.format).unwrap();
            }
        }
    }

    /// Sends an application ping and awaits its pong.
    pub fn ping_pong(&mut self, cid: &str) {
        self.send_envelope(&ping(cid));
        let reply = self.read_envelope();
        assert_eq!(reply.cid, cid);
        assert!(matches!(reply.message, Some(Message::Pong(_))), "{reply:?}");
    }

    /// Reads to the close frame and the end of the connection. Answers the frames before, the code and the text.
    pub fn read_close(&mut self) -> (Vec<Frame>, u16, String) {
        let mut before = Vec::new();
        let close = loop {
            let frame = self.read().unwrap_or_else(|| panic!("no close frame, but {before:?}"));
            if frame.opcode == CLOSE {
                break frame.payload;
            }
            before.push(frame);
        };
        // The server waits for the answer, or ends the connection by itself.
        self.send(CLOSE, &close[..close.len().min(2)]);
        assert_eq!(self.read(), None, "nothing follows a close frame");
        let code = u16::from_be_bytes([close[0], close[1]]);
        (before, code, String::from_utf8(close[2..].to_vec()).unwrap())
    }
}

/// The type of frame that messages of a format travel in.
pub fn message_opcode(format: Format) -> u8 {
    match format {
        Format::Json => TEXT,
        Format::Protobuf => BINARY,
    }
}

pub fn ping(cid: &str) -> Envelope {
    Envelope { cid: cid.to_owned(), message: Some(Message::Ping(Ping {})) }
}

/// A masked frame with its length in the shortest form.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        short @ 0..=125 => bytes.push(0x80 | short as u8),
        medium @ 126..=0xFFFF => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(medium as u16).to_be_bytes());
        }
        long => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(long as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// The frame of the server at the start of `bytes`, and its length.
fn parse(bytes: &[u8]) -> Option<(Frame, usize)> {
    let (&first, &second) = (bytes.first()?, bytes.get(1)?);
    assert_eq!(first & 0xF0, FINAL, "the server neither fragments nor uses reserved bits");
    assert_eq!(second & 0x80, 0, "the server does not mask");
    let (payload_len, start) = match second {
        126 => (usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().unwrap())), 4),
        127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().unwrap()) as usize, 10),
        short => (usize::from(short), 2),
    };
    let payload = bytes.get(start..start + payload_len)?.to_vec();
    Some((Frame { opcode: first & 0x0F, payload }, start + payload_len))
}
