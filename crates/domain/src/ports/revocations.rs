//! Revoked session tokens: durable, and read by every server of a database as one ordered feed.

use super::PortFuture;
use crate::ids::{Subject, TokenId};
use crate::time::Timestamp;

/// Which tokens of a user are void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevokedTokens {
    /// This one sign-in, with all its refreshes.
    Token(TokenId),
    /// All issued up to the revocation's time, but those of the sign-in named.
    AllBut(Option<TokenId>),
}

/// A revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// Whose tokens.
    pub subject: Subject,
    /// Which of them.
    pub tokens: RevokedTokens,
    /// When.
    pub revoked_at: Timestamp,
    /// When the last token it concerns has expired by itself and the row may go.
    pub expires_at: Timestamp,
    /// Whether the user's open sockets of those tokens close (a ban, a logout) or stay (a single session's older
    /// tokens).
    pub close_sockets: bool,
}

/// A revocation with its place in the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevocationRow {
    /// Grows with each row. Of concurrent writers a lower number may become visible after a higher one, so a
    /// reader asks again for the last few seconds' worth; applying a row twice changes nothing.
    pub sequence: i64,
    /// The revocation.
    pub revocation: Revocation,
}

/// Persistence of revocations.
pub trait RevocationStore {
    /// Stores revocations.
    fn revoke<'a>(&'a self, revocations: &'a [Revocation]) -> PortFuture<'a, ()>;

    /// All rows with a sequence above `sequence`, or revoked after `since`, in order of sequence.
    fn revocations_after(&self, sequence: i64, since: Timestamp) -> PortFuture<'_, Vec<RevocationRow>>;

    /// Removes rows that expired before `now`; answers how many.
    fn prune_revocations(&self, now: Timestamp) -> PortFuture<'_, u64>;
}
