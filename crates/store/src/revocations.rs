//! How both databases hold why tokens were revoked: two columns, of which servers before the second knew the first.

use muster_domain::ports::revocations::RevocationReason;

/// The columns `close_sockets` and `banned`.
pub(crate) fn reason_columns(reason: RevocationReason) -> (bool, bool) {
    (reason.closes_sockets(), reason == RevocationReason::Banned)
}

/// The reason that the columns `close_sockets` and `banned` hold.
pub(crate) fn reason(close_sockets: bool, banned: bool) -> RevocationReason {
    match (close_sockets, banned) {
        (_, true) => RevocationReason::Banned,
        (true, false) => RevocationReason::SignedOut,
        (false, false) => RevocationReason::NewerSignIn,
    }
}
