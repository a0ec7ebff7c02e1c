//! Identifiers as distinct types, so that a user's id cannot stand where a token's is meant.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};
pub use uuid::Uuid;
use uuid::Variant;

use crate::error::{Error, Result};
use crate::ports::clock::Entropy;
use crate::time::Timestamp;

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

            fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
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
uuid_id!(
    /// A group of players.
    GroupId
);
uuid_id!(
    /// A message of a chat channel.
    MessageId
);
uuid_id!(
    /// A notification.
    NotificationId
);
uuid_id!(
    /// A change of a wallet, as the ledger has it.
    LedgerItemId
);

impl UserId {
    /// The seeded system user.
    pub const SYSTEM: UserId = UserId(Uuid::nil());

    /// An id for an account made at `moment`.
    pub fn new(form: UserIdForm, moment: Timestamp, random: [u8; 16]) -> Self {
        let [bytes @ .., _, _, _, _, _, _, _, _] = random;
        match form {
            UserIdForm::TimeOrdered => Self(time_ordered(moment, bytes)),
            UserIdForm::Random => Self(uuid::Builder::from_random_bytes(random).into_uuid()),
        }
    }
}

impl TokenId {
    /// An id that holds the moment of its issue to the microsecond.
    pub fn issued(moment: Timestamp, random: [u8; 8]) -> Self {
        Self(time_ordered(moment, random))
    }

    /// The moment of issue, if the id holds one. Ids of the original, random ones, do not.
    pub fn moment(self) -> Option<Timestamp> {
        if self.0.get_version_num() != 7 || self.0.get_variant() != Variant::RFC4122 {
            return None;
        }
        let (high, _) = self.0.as_u64_pair();
        let micros = (high & 0x0fff) * 1000 / 4096;
        // 48 bits of milliseconds times a thousand fit easily.
        Some(Timestamp(((high >> 16) * 1000 + micros) as i64))
    }
}

/// How ids of new accounts are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserIdForm {
    /// UUIDs of version 7: new accounts lie side by side in the database, and a registration costs half the writes.
    TimeOrdered,
    /// UUIDs of version 4, as the original makes them: in its own database, where it picks random users by
    /// comparing random ids, and would pick the oldest again and again among ordered ones.
    Random,
}

/// Reads an id that a client sent.
pub(crate) fn parse_hyphenated(text: &str) -> Option<Uuid> {
    // The hyphenated form only: other spellings would be other keys in caches and logs.
    Uuid::try_parse(text).ok().filter(|_| text.len() == 36)
}

/// Reads a user id that a client sent.
///
/// Errors: `InvalidArgument` for what is no UUID with hyphens.
pub fn parse_user_id(text: &str) -> Result<UserId> {
    parse_hyphenated(text).map(UserId).ok_or_else(|| Error::invalid("The user ID is not a valid UUID."))
}

/// A new id for something of which many are listed in the order of their making.
pub(crate) fn new_time_ordered(moment: Timestamp, entropy: &dyn Entropy) -> Uuid {
    let mut random = [0; 8];
    entropy.fill(&mut random);
    time_ordered(moment, random)
}

/// A UUID of version 7 that holds a moment to the microsecond: the twelve bits after the version are the fraction of
/// the millisecond in 1/4096.
pub(crate) fn time_ordered(moment: Timestamp, random: [u8; 8]) -> Uuid {
    let millis = moment.0.div_euclid(1000).clamp(0, (1 << 48) - 1) as u64;
    // Rounded up, so that rounding down on the way back gives the same microsecond.
    let fraction = (moment.0.rem_euclid(1000) as u64 * 4096).div_ceil(1000);
    let high = millis << 16 | 0x7000 | fraction;
    let low = u64::from_be_bytes(random) >> 2 | 1 << 63;
    Uuid::from_u64_pair(high, low)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_ids_have_the_form_asked_for() {
        let at = |micros| UserId::new(UserIdForm::TimeOrdered, Timestamp(micros), [7; 16]);
        assert!(at(1_000_000) < at(1_000_001) && at(1_000_001) < at(1_002_000));
        assert_eq!(at(5).0.get_version_num(), 7);
        let random = UserId::new(UserIdForm::Random, Timestamp(5), [7; 16]);
        assert_eq!(random.0.get_version_num(), 4);
        assert_ne!(random, UserId::new(UserIdForm::Random, Timestamp(5), [8; 16]));
        assert_ne!(at(5), UserId::new(UserIdForm::TimeOrdered, Timestamp(5), [8; 16]));
    }

    #[test]
    fn a_token_id_holds_its_microsecond() {
        for moment in [0, 1, 999, 1000, 1_700_000_000_123_456, 1_700_000_000_123_457, 1_700_000_000_999_999] {
            let id = TokenId::issued(Timestamp(moment), [0xff; 8]);
            assert_eq!(id.moment(), Some(Timestamp(moment)));
            assert_eq!((id.0.get_version_num(), id.0.get_variant()), (7, Variant::RFC4122));
        }
        let id = TokenId::issued(Timestamp::from_seconds(1_700_000_000), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(id.to_string(), "018bcfe5-6800-7000-8040-80c101418 1c2".replace(' ', ""));
    }

    #[test]
    fn every_microsecond_of_a_millisecond_survives() {
        for micro in 0..1000 {
            let moment = Timestamp(1_700_000_000_000_000 + micro);
            assert_eq!(TokenId::issued(moment, [0; 8]).moment(), Some(moment));
        }
    }

    #[test]
    fn ids_of_other_versions_hold_no_moment() {
        for id in ["7c9e6679-7425-40de-944b-e07fc1f90ae7", "00000000-0000-0000-0000-000000000000"] {
            assert_eq!(id.parse::<TokenId>().unwrap().moment(), None);
        }
    }
}
