//! The membership of several nodes, from a seed and with virtual time. The registry and the bus lose answers, apply
//! writes late, restart and forget. Connections break or fall silent. Nodes pause, crash, join, drain and leave, and
//! their clocks differ.
//!
//! The memberships are those of the server. The simulation replaces everything around them.

mod act;
mod around;
mod belief;
mod effects;
mod failover;
mod faults;
mod history;
mod process;
mod registry;
mod world;

pub use failover::failover;
pub use faults::Fault;
pub use world::run;

/// A promise that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// A partition has one owner in an epoch.
    Owner,
    /// Epochs of views and of partitions never fall, and every change has a new one.
    Epochs,
    /// No two nodes are given the same number.
    Numbers,
    /// No partition of a living owner gets another owner before it was handed over.
    HandOver,
    /// No more partitions move at once than allowed, and they move only to nodes that may own some.
    Moves,
    /// No two nodes run a job in the same epoch.
    Jobs,
    /// No two nodes believe at once that they own the same partition: a node becomes an island before it is voted out.
    Belief,
    /// No node is voted out because the bus or the registry restarted.
    Steadfast,
    /// After a long time without failures, all living nodes are online in one view, every partition has an owner, and
    /// none moves.
    Rest,
    /// After a long time without failures, each node has its share of the partitions.
    Balance,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 10] = [
        Self::Owner,
        Self::Epochs,
        Self::Numbers,
        Self::HandOver,
        Self::Moves,
        Self::Jobs,
        Self::Belief,
        Self::Steadfast,
        Self::Rest,
        Self::Balance,
    ];
}

/// A promise that was broken.
pub type Violation = crate::violation::Violation<Check>;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first violation, if there was one.
    pub violation: Option<Violation>,
    /// Number of steps of memberships.
    pub steps: u64,
    /// Number of views.
    pub views: u64,
    /// Number of times that a node was voted out.
    pub voted_out: u64,
    /// A hash of everything that happened.
    pub hash: u64,
}

type Checked = crate::violation::Checked<(), Check>;
