//! Frames of the realtime protocol: one envelope per frame, as JSON text or protobuf.
//!
//! JSON is strict: unknown members are refused. Protobuf skips unknown fields, as the format demands.

use bytes::Bytes;
use prost::Message as _;

use crate::code::RealtimeCode;
use crate::json::{self, JsonError, JsonMessage as _, Mode};
use crate::realtime::envelope::Message;
use crate::realtime::{Envelope, Error};

/// The format of a socket's frames, which is chosen when the socket opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// Text frames.
    #[default]
    Json,
    /// Binary frames.
    Protobuf,
}

/// A frame that is no envelope. The socket is closed without an answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame is not JSON, or not an envelope.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// The frame is not protobuf, or not an envelope.
    #[error(transparent)]
    Protobuf(#[from] prost::DecodeError),
}

impl Format {
    /// The format with this name in the `format` parameter; `None` if there is no such format.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }

    /// The format's name in the `format` parameter.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Protobuf => "protobuf",
        }
    }
}

impl Envelope {
    /// An answer: the request's `cid` and a message.
    #[must_use]
    pub fn reply(cid: impl Into<String>, message: Message) -> Self {
        Self { cid: cid.into(), message: Some(message) }
    }

    /// An answer without a message, which is sent even when `cid` is empty.
    #[must_use]
    pub fn acknowledgement(cid: impl Into<String>) -> Self {
        Self { cid: cid.into(), message: None }
    }

    /// A message that is no answer to a request.
    #[must_use]
    pub fn push(message: Message) -> Self {
        Self { cid: String::new(), message: Some(message) }
    }

    /// An error answer.
    #[must_use]
    pub fn error(cid: impl Into<String>, code: RealtimeCode, message: impl Into<String>) -> Self {
        let error = Error { code: code.number(), message: message.into(), ..Error::default() };
        Self::reply(cid, Message::Error(error))
    }
}

/// Encodes an envelope as a frame.
#[must_use]
pub fn encode(envelope: &Envelope, format: Format) -> Bytes {
    match format {
        Format::Json => Bytes::from(json::to_json(envelope)),
        Format::Protobuf => Bytes::from(envelope.encode_to_vec()),
    }
}

/// Appends the frame of an envelope to a buffer that may hold other bytes already.
pub fn append(envelope: &Envelope, format: Format, out: &mut Vec<u8>) {
    match format {
        Format::Json => envelope.write_json(out),
        Format::Protobuf => envelope.encode_raw(out),
    }
}

/// Decodes a frame in `format`. The caller has to refuse frames of the wrong type, such as a text frame on a socket of
/// binary frames.
///
/// # Errors
/// Fails when the frame is not an envelope.
pub fn decode(frame: &[u8], format: Format) -> Result<Envelope, FrameError> {
    match format {
        Format::Json => Ok(json::from_json(frame, Mode::Strict)?),
        Format::Protobuf => Ok(Envelope::decode(frame)?),
    }
}
