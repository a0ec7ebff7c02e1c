//! Messages between shards of different nodes, from a seed: nodes join, are voted out and join again under other
//! numbers, while shards of the others send to them. Some messages cannot be read where they arrive.
//!
//! The parts that pack and unpack batches, and that wait until a node is online, are the server's. The simulation
//! replaces the links, which lose nothing, the membership, and the planes.

mod faults;
mod world;

pub use faults::Fault;
pub use world::run;

/// A promise that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Messages of one shard to another arrive in the order in which they were sent, and once.
    Order,
    /// Messages arrive at the shard that they were sent to, and not under a number that a node had before.
    Stray,
    /// Everything that was sent to a node that stays arrives, also what came before the node was online.
    Lost,
    /// The asker of a question that could not be read gets one refusal, and one credit back.
    Answers,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 4] = [Self::Order, Self::Stray, Self::Lost, Self::Answers];
}

/// A promise that was broken.
pub type Violation = crate::violation::Violation<Check>;

/// The result of a run. Its steps are messages that arrived.
pub type Outcome = crate::violation::Outcome<Check>;

type Checked = crate::violation::Checked<(), Check>;
