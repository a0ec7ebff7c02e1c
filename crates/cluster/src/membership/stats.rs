//! What a membership counts.

/// What was counted since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MembershipStats {
    /// Views that this node proposed.
    pub proposals: u64,
    /// Those that came too late: another view came about first.
    pub races_lost: u64,
    /// Nodes that this node proposed to vote out, each time that it did.
    pub removals_proposed: u64,
    /// Renewals of its lease that failed, or were not answered in time.
    pub renewals_failed: u64,
}
