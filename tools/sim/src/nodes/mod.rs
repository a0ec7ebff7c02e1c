//! Membership of several nodes, from a seed, with virtual time: a registry and a bus that lose answers, apply late,
//! restart and forget; connections that break or fall silent; nodes that pause, crash, come, drain and leave; clocks that
//! differ.
//!
//! The memberships are the product's own. What is simulated is everything around them.

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

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// A partition has one owner in an epoch.
    Owner,
    /// Epochs of views and of partitions never fall, and what changes has a new one.
    Epochs,
    /// A node's number is never given to another.
    Numbers,
    /// Nobody takes over from a living owner what that did not hand over.
    HandOver,
    /// No more partitions move at once than may, and to nodes only that are to have some.
    Moves,
    /// Nobody runs a job under another's epoch.
    Jobs,
    /// Two nodes never believe at once that they own the same: who is voted out is an island before.
    Belief,
    /// Nobody is voted out because the bus or the registry restarted.
    Steadfast,
    /// Once everything is well, all living nodes are in one view, online, with everything owned and at rest.
    Rest,
    /// And each has its share.
    Balance,
}

impl Check {
    /// All of them.
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

/// A promise that was not kept.
pub type Violation = crate::violation::Violation<Check>;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was wrong, if anything.
    pub violation: Option<Violation>,
    /// Steps of memberships.
    pub steps: u64,
    /// Views that came about.
    pub views: u64,
    /// Times that a node was voted out.
    pub voted_out: u64,
    /// Of everything that happened.
    pub hash: u64,
}

type Checked = crate::violation::Checked<(), Check>;
