//! What nodes keep in their registry, as bytes.

use bytes::Bytes;
use prost::Message as _;

use crate::membership::{Lease, View};

/// A value of the registry that is not what its key says. Nobody but nodes writes there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a value in the registry cannot be read: {0}")]
pub struct RegistryValueError(#[from] prost::DecodeError);

impl View {
    /// As it stands in the registry.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.encode_to_vec().into()
    }

    /// From the registry.
    ///
    /// # Errors
    /// Fails when it is no view.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RegistryValueError> {
        Ok(Self::decode(bytes)?)
    }
}

impl Lease {
    /// As it stands in the registry.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        self.encode_to_vec().into()
    }

    /// From the registry.
    ///
    /// # Errors
    /// Fails when it is no lease.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RegistryValueError> {
        Ok(Self::decode(bytes)?)
    }
}
