//! The reason of a revocation, which both databases hold in two columns. Servers before the column `banned` knew only
//! `close_sockets`.

use muster_domain::ports::revocations::RevocationReason;

/// The values of the columns `close_sockets` and `banned`. The first is false where a newer sign-in is the reason,
/// whose sockets were once left open.
pub(crate) fn reason_columns(reason: RevocationReason) -> (bool, bool) {
    (reason != RevocationReason::NewerSignIn, reason == RevocationReason::Banned)
}

/// The reason for the values of the columns `close_sockets` and `banned`.
pub(crate) fn reason(close_sockets: bool, banned: bool) -> RevocationReason {
    match (close_sockets, banned) {
        (_, true) => RevocationReason::Banned,
        (true, false) => RevocationReason::SignedOut,
        (false, false) => RevocationReason::NewerSignIn,
    }
}
