//! Records of the log of durable matches, as bytes.

use bytes::Bytes;
use prost::Message as _;

use crate::match_log::Record;

/// Bytes that are no record of a match's log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a record of a match cannot be read: {0}")]
pub struct MatchRecordError(#[from] prost::DecodeError);

impl Record {
    /// The record as bytes, as a log contains them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    /// Reads a record from a log.
    ///
    /// # Errors
    /// When the bytes are no record.
    pub fn from_bytes(bytes: Bytes) -> Result<Self, MatchRecordError> {
        Ok(Self::decode(bytes)?)
    }
}
