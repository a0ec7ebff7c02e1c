//! The realtime socket: envelopes in JSON or protobuf, answers found by cid.
//!
//! The socket has no task of its own: messages arrive, and the server's pings are answered, while the caller waits in
//! one of the methods. A socket that nobody reads is closed by the server after a while.

use std::collections::VecDeque;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http::Uri;
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Ping};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::net::TcpStream;
use tokio_websockets::{ClientBuilder, CloseCode, Limits, Message as WebSocketMessage, WebSocketStream};

use crate::ClientError;
use crate::http::connect_tcp;

/// Longest message accepted from the server.
const MESSAGE_LEN_MAX: usize = 16 << 20;
/// Most messages kept while the caller waits for another one; a server that sends more is at fault.
const WAITING_LEN_MAX: usize = 100_000;
/// RFC 6455: the close frame held no code.
const NO_CODE: u16 = 1005;
/// RFC 6455: the connection ended without a close frame.
pub(crate) const ABNORMAL: u16 = 1006;

/// Options of a socket.
#[derive(Debug, Clone, Default)]
pub struct SocketOptions {
    pub format: Format,
    /// Whether to appear online, with an empty status.
    pub status: bool,
    /// Language tag; empty leaves the server's default.
    pub lang: String,
}

/// A message, undecoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    Text(String),
    Binary(Bytes),
}

/// The end of a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// 1006 if the connection ended without a close frame.
    pub code: u16,
    pub reason: String,
}

/// Identifies a request under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cid(String);

/// An open socket.
pub struct Socket {
    stream: WebSocketStream<TcpStream>,
    format: Format,
    next_cid: u64,
    /// Messages that arrived while another was waited for, oldest first.
    waiting: VecDeque<Envelope>,
}

impl Socket {
    /// Opens a socket with a session token. `address` is `host:port`.
    pub async fn open(address: &str, token: &str, options: &SocketOptions) -> Result<Self, ClientError> {
        Self::open_asking(address, token, options, "").await
    }

    /// Opens a socket with more parameters, such as `&resume=new`.
    pub(crate) async fn open_asking(
        address: &str,
        token: &str,
        options: &SocketOptions,
        parameters: &str,
    ) -> Result<Self, ClientError> {
        let token = utf8_percent_encode(token, NON_ALPHANUMERIC);
        let (format, status) = (options.format.name(), options.status);
        let mut target = format!("ws://{address}/ws?format={format}&status={status}&token={token}{parameters}");
        if !options.lang.is_empty() {
            target.push_str("&lang=");
            target.extend(utf8_percent_encode(&options.lang, NON_ALPHANUMERIC));
        }
        let uri = Uri::try_from(target).map_err(|error| ClientError::Request(error.to_string()))?;
        let stream = connect_tcp(address).await?;
        let limits = Limits::default().max_payload_len(Some(MESSAGE_LEN_MAX));
        let (stream, _) = ClientBuilder::from_uri(uri).limits(limits).connect_on(stream).await?;
        Ok(Self { stream, format: options.format, next_cid: 1, waiting: VecDeque::new() })
    }

    /// Sends a request with a new cid and waits for the answer; other messages wait for [`Socket::receive`].
    ///
    /// The result is `None` for requests whose answer is a bare acknowledgement.
    pub async fn request(&mut self, message: Message) -> Result<Option<Message>, ClientError> {
        let cid = self.begin(message).await?;
        self.answer(&cid).await
    }

    /// Sends a request without waiting. [`Socket::answer`] finds its answer by the cid returned.
    pub async fn begin(&mut self, message: Message) -> Result<Cid, ClientError> {
        let cid = Cid(self.next_cid.to_string());
        self.next_cid += 1;
        self.send(&Envelope { cid: cid.0.clone(), message: Some(message) }).await?;
        Ok(cid)
    }

    /// Waits for the answer to one of the requests under way; answers to others, and pushes, wait for their readers.
    pub async fn answer(&mut self, cid: &Cid) -> Result<Option<Message>, ClientError> {
        match self.find(|envelope| envelope.cid == cid.0).await?.message {
            Some(Message::Error(error)) => Err(ClientError::Realtime { code: error.code, message: error.message }),
            message => Ok(message),
        }
    }

    /// Sends a message without a cid. Errors come back as pushes, and success may give no answer.
    pub async fn tell(&mut self, message: Message) -> Result<(), ClientError> {
        self.send(&Envelope::push(message)).await
    }

    /// The first message, waiting or still to come, for which `is_wanted` is true; all others keep their order.
    pub(crate) async fn find(&mut self, is_wanted: impl Fn(&Envelope) -> bool) -> Result<Envelope, ClientError> {
        let waiting = self.waiting.iter().position(&is_wanted);
        if let Some(found) = waiting.and_then(|index| self.waiting.remove(index)) {
            return Ok(found);
        }
        loop {
            let envelope = self.receive_new().await?;
            if is_wanted(&envelope) {
                return Ok(envelope);
            }
            if self.waiting.len() >= WAITING_LEN_MAX {
                return Err(ClientError::Malformed(format!("{WAITING_LEN_MAX} messages and not the one awaited")));
            }
            self.waiting.push_back(envelope);
        }
    }

    /// Pings and waits for the pong.
    pub async fn ping(&mut self) -> Result<(), ClientError> {
        self.ask(Ping {}).await.map(|_| ())
    }

    /// Sends an envelope as given.
    pub async fn send(&mut self, envelope: &Envelope) -> Result<(), ClientError> {
        self.feed(envelope).await?;
        self.flush().await
    }

    /// Takes an envelope to be sent with the next flush. If cancelled, the envelope was not taken.
    pub(crate) async fn feed(&mut self, envelope: &Envelope) -> Result<(), ClientError> {
        let bytes = envelope::encode(envelope, self.format);
        let message = match self.format {
            Format::Json => WebSocketMessage::text(bytes),
            Format::Protobuf => WebSocketMessage::binary(bytes),
        };
        Ok(self.stream.feed(message).await?)
    }

    /// Sends the envelopes that were taken. Cancelling the future loses nothing.
    pub(crate) async fn flush(&mut self) -> Result<(), ClientError> {
        Ok(self.stream.flush().await?)
    }

    /// Sends a frame as given, right or wrong.
    pub async fn send_frame(&mut self, frame: Frame) -> Result<(), ClientError> {
        let message = match frame {
            Frame::Text(text) => WebSocketMessage::text(text),
            Frame::Binary(bytes) => WebSocketMessage::binary(bytes),
        };
        Ok(self.stream.send(message).await?)
    }

    /// The next message: one that waited, or the next to arrive. Cancelling the future loses nothing.
    pub async fn receive(&mut self) -> Result<Envelope, ClientError> {
        match self.waiting.pop_front() {
            Some(envelope) => Ok(envelope),
            None => self.receive_new().await,
        }
    }

    async fn receive_new(&mut self) -> Result<Envelope, ClientError> {
        let malformed = |error: envelope::FrameError| ClientError::Malformed(error.to_string());
        match (self.receive_frame().await?, self.format) {
            (Frame::Text(text), Format::Json) => envelope::decode(text.as_bytes(), Format::Json).map_err(malformed),
            (Frame::Binary(bytes), Format::Protobuf) => envelope::decode(&bytes, Format::Protobuf).map_err(malformed),
            (frame, _) => Err(ClientError::Malformed(format!("frame does not fit the format: {frame:?}"))),
        }
    }

    /// The next frame with a message, undecoded. Cancelling the future loses nothing.
    pub async fn receive_frame(&mut self) -> Result<Frame, ClientError> {
        loop {
            let Some(message) = self.stream.next().await else {
                return Err(ClientError::SocketClosed { code: ABNORMAL, reason: String::new() });
            };
            let message = message?;
            if let Some(text) = message.as_text() {
                return Ok(Frame::Text(text.to_owned()));
            }
            if message.is_binary() {
                return Ok(Frame::Binary(Bytes::copy_from_slice(message.as_payload())));
            }
            if let Some((code, reason)) = message.as_close() {
                let code = if message.as_payload().is_empty() { NO_CODE } else { u16::from(code) };
                return Err(ClientError::SocketClosed { code, reason: reason.to_owned() });
            }
        }
    }

    /// Reads until the server ends the socket, and returns how it ended. Messages on the way are dropped.
    pub async fn wait_closed(&mut self) -> Closed {
        loop {
            match self.receive_frame().await {
                Ok(_) => {}
                Err(ClientError::SocketClosed { code, reason }) => return Closed { code, reason },
                Err(error) => return Closed { code: ABNORMAL, reason: error.to_string() },
            }
        }
    }

    /// Closes the socket and waits for the server's close frame.
    pub async fn close(mut self) -> Result<Closed, ClientError> {
        self.stream.send(WebSocketMessage::close(Some(CloseCode::NORMAL_CLOSURE), "")).await?;
        Ok(self.wait_closed().await)
    }
}
