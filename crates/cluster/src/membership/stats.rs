//! Counters of a membership.

/// Counters since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MembershipStats {
    /// Views that this node proposed.
    pub proposals: u64,
    /// Proposals that failed because another view was accepted first.
    pub races_lost: u64,
    /// Votes of this node to remove a node; repeated votes count again.
    pub removals_proposed: u64,
    /// Renewals of its lease that failed or got no answer in time.
    pub renewals_failed: u64,
}
