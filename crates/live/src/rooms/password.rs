//! Passwords of rooms. Only digests of them are kept, guesses are slowed down, and a password ends with its room. Never
//! keeps the text of a password.

use indexmap::IndexMap;
use muster_domain::ids::{Subject, UserId, Uuid};
use muster_domain::{Error, ErrorKind, Result};
use sha2::{Digest, Sha256};

use super::RoomId;
use super::carry::CarriedAttempts;
use super::limits::{PASSWORD_ATTEMPTS_MAX, PASSWORD_BYTES_MAX, PASSWORD_PAUSE_MS, PASSWORD_USERS_MAX};
use crate::session::Millis;

/// SHA-256 of a room's id and a password. The digest fits one room only. It is made on the caller's shard, so that the
/// password itself goes no further.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PasswordDigest([u8; 32]);

impl std::fmt::Debug for PasswordDigest {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("PasswordDigest(…)")
    }
}

impl PasswordDigest {
    /// The digest of a password for one room.
    ///
    /// # Errors
    /// `InvalidArgument` when the password is empty or longer than [`PASSWORD_BYTES_MAX`].
    pub fn new(room: RoomId, text: &str) -> Result<Self> {
        if text.is_empty() || text.len() > PASSWORD_BYTES_MAX {
            return Err(Error::invalid(format!("A room's password has 1 to {PASSWORD_BYTES_MAX} bytes.")));
        }
        let room: Uuid = room.0;
        Ok(Self(Sha256::new().chain_update(room.as_bytes()).chain_update(text).finalize().into()))
    }

    /// A digest that came from another node.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest's bytes, for other nodes. Nobody else may see them.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Whether both digests are equal. The comparison always takes the same time, so that the time does not reveal
    /// where digests differ.
    fn fits(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
    }
}

/// Wrong passwords of one user.
#[derive(Clone, Copy, Debug, Default)]
struct WrongPasswords {
    count: u32,
    /// The time from which the wrong passwords no longer count.
    until: Millis,
}

/// Wrong passwords that users gave for one room.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// Entries by user, the least recent first.
    wrong: IndexMap<Subject, WrongPasswords>,
}

impl Attempts {
    /// Compares the digest that a user gave with the room's.
    ///
    /// # Errors
    /// `PermissionDenied` when the user gave none or a wrong one, `ResourceExhausted` after too many wrong ones.
    pub(super) fn check(
        &mut self,
        now: Millis,
        user: UserId,
        expected: &PasswordDigest,
        given: Option<&PasswordDigest>,
    ) -> Result<()> {
        let Some(given) = given else {
            return Err(Error::new(ErrorKind::PermissionDenied, "The room is locked: give its password."));
        };
        let subject = Subject::from(user);
        let WrongPasswords { count, until } = self.wrong.get(&subject).copied().unwrap_or_default();
        let count = if now >= until { 0 } else { count };
        if count >= PASSWORD_ATTEMPTS_MAX {
            let seconds = PASSWORD_PAUSE_MS / 1_000;
            let message = format!("Too many wrong passwords for this room. Please wait {seconds} seconds.");
            return Err(Error::new(ErrorKind::ResourceExhausted, message));
        }
        if expected.fits(given) {
            self.wrong.swap_remove(&subject);
            return Ok(());
        }
        self.wrong.shift_remove(&subject);
        if self.wrong.len() >= PASSWORD_USERS_MAX {
            self.wrong.shift_remove_index(0);
        }
        self.wrong.insert(subject, WrongPasswords { count: count + 1, until: now + PASSWORD_PAUSE_MS });
        Err(Error::new(ErrorKind::PermissionDenied, "That is not the room's password."))
    }

    /// Entries that still count, the least recent first.
    pub(super) fn carried(&self, now: Millis) -> Vec<CarriedAttempts> {
        let attempts = |(subject, wrong): (&Subject, &WrongPasswords)| {
            let left_ms = wrong.until.saturating_sub(now);
            (left_ms > 0).then_some(CarriedAttempts { subject: *subject, count: wrong.count, left_ms })
        };
        self.wrong.iter().filter_map(attempts).collect()
    }

    pub(super) fn of_carried(now: Millis, attempts: Vec<CarriedAttempts>) -> Self {
        let entry = |CarriedAttempts { subject, count, left_ms }| {
            (subject, WrongPasswords { count, until: now.saturating_add(left_ms) })
        };
        Self { wrong: attempts.into_iter().map(entry).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(room: u128, text: &str) -> PasswordDigest {
        PasswordDigest::new(RoomId(Uuid::from_u128(room)), text).unwrap()
    }

    fn user(n: u128) -> UserId {
        UserId(Uuid::from_u128(n))
    }

    #[test]
    fn a_digest_fits_its_text_and_room_alone() {
        assert!(digest(1, "open sesame").fits(&digest(1, "open sesame")));
        assert!(!digest(1, "open sesame").fits(&digest(2, "open sesame")));
        assert!(!digest(1, "open sesame").fits(&digest(1, "open barley")));
        let room = RoomId(Uuid::nil());
        assert!(PasswordDigest::new(room, "").is_err());
        assert!(PasswordDigest::new(room, &"x".repeat(PASSWORD_BYTES_MAX + 1)).is_err());
        assert_eq!(format!("{:?}", digest(1, "a")), "PasswordDigest(…)");
    }

    #[test]
    fn guessing_pauses_and_the_memory_is_bounded() {
        let (mut attempts, right, wrong) = (Attempts::default(), digest(1, "right"), digest(1, "wrong"));
        let kind = |result: Result<()>| result.map_err(|error| error.kind);
        let denied = Err(ErrorKind::PermissionDenied);
        assert_eq!(kind(attempts.check(0, user(1), &right, None)), denied);
        for _ in 0..PASSWORD_ATTEMPTS_MAX {
            assert_eq!(kind(attempts.check(0, user(1), &right, Some(&wrong))), denied);
        }
        let paused = Err(ErrorKind::ResourceExhausted);
        assert_eq!(kind(attempts.check(PASSWORD_PAUSE_MS - 1, user(1), &right, Some(&right))), paused);
        assert_eq!(kind(attempts.check(0, user(2), &right, Some(&right))), Ok(()));
        assert_eq!(kind(attempts.check(PASSWORD_PAUSE_MS, user(1), &right, Some(&right))), Ok(()));
        for n in 0..PASSWORD_USERS_MAX as u128 + 10 {
            assert_eq!(kind(attempts.check(0, user(n), &right, Some(&wrong))), denied);
        }
        assert_eq!(attempts.wrong.len(), PASSWORD_USERS_MAX);
    }
}
