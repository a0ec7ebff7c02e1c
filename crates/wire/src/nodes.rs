//! The values that nodes keep in their registry, as bytes.

use bytes::Bytes;
use prost::Message as _;

use crate::membership::{Lease, View};

/// A value of the registry that its key does not allow. Only nodes write to the registry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a value in the registry cannot be read: {0}")]
pub struct RegistryValueError(#[from] prost::DecodeError);

impl View {
    /// The view as bytes, as the registry contains them.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.encode_to_vec().into()
    }

    /// Reads a view from the registry.
    ///
    /// # Errors
    /// When the bytes are no view.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RegistryValueError> {
        Ok(Self::decode(bytes)?)
    }
}

impl Lease {
    /// The lease as bytes, as the registry contains them.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.encode_to_vec().into()
    }

    /// Reads a lease from the registry.
    ///
    /// # Errors
    /// When the bytes are no lease.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RegistryValueError> {
        Ok(Self::decode(bytes)?)
    }
}
