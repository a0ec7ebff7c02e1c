//! Identifiers as distinct types, so that a user's id cannot stand where a token's is meant.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
pub use uuid::Uuid;

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, formatter)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text).map(Self)
            }
        }
    };
}

uuid_id!(
    /// A player's account. The nil id is the system user, which owns server-side objects.
    UserId
);
uuid_id!(
    /// One sign-in: shared by the session token, its refresh token and every refresh of them.
    TokenId
);
uuid_id!(
    /// One open socket.
    SessionId
);

impl UserId {
    /// The seeded system user.
    pub const SYSTEM: UserId = UserId(Uuid::nil());
}

/// A pseudonym of a user: what revocations are kept under, so that they can outlive the account without naming
/// it. The first 16 bytes of the SHA-256 of the user id's 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject(pub [u8; 16]);

impl From<UserId> for Subject {
    fn from(user_id: UserId) -> Self {
        let digest = Sha256::digest(user_id.0.as_bytes());
        let mut subject = [0; 16];
        subject.copy_from_slice(&digest[..16]);
        Self(subject)
    }
}
