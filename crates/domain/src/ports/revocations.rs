//! Revoked session tokens: durable, and read by every server of a database as one ordered feed.

use super::PortFuture;
use super::job_epochs::JobEpoch;
use crate::ids::{Subject, TokenId};
use crate::time::Timestamp;

/// The tokens of a user that a revocation voids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevokedTokens {
    /// This one sign-in, with all its refreshes.
    Token(TokenId),
    /// All issued up to the revocation's time, but those of the sign-in named.
    AllBut(Option<TokenId>),
}

/// Why tokens are void, which decides what becomes of the sockets that they opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevocationReason {
    /// The user signed in again and may have one session.
    NewerSignIn,
    /// The user logged out, or the account was deleted.
    SignedOut,
    /// The user was banned: sockets are told so and close.
    Banned,
}

/// A revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revocation {
    /// The subject of the tokens.
    pub subject: Subject,
    /// The tokens that are void.
    pub tokens: RevokedTokens,
    /// When.
    pub revoked_at: Timestamp,
    /// When the last token it concerns has expired by itself and the row may go.
    pub expires_at: Timestamp,
    /// Why.
    pub reason: RevocationReason,
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

    /// Removes rows that expired before `now`; answers how many. Rejects a superseded epoch.
    fn prune_revocations(&self, now: Timestamp, job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64>;
}
