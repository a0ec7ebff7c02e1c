//! Links between nodes over a bad bus, from a seed, with virtual time: frames that are lost, delayed, doubled and
//! reordered, outages, pauses, nodes that die and that come.
//!
//! The links are the product's own. What is simulated is the bus, time, and who fills and empties the links.

mod bus;
mod faults;
mod flow;
mod world;

pub use faults::Fault;
pub use world::run;

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// What is handed on is what was sent: whole, in order, once.
    Order,
    /// Nothing is handed on from a link that ended.
    Stray,
    /// No more is under way than the window holds, and no frame is larger than the bus takes.
    Limits,
    /// Whoever fills a link knows whether it is congested.
    Congestion,
    /// Once nothing is put in and the bus is well, everything arrives and is acknowledged.
    Rest,
    /// A link at rest sends nothing.
    Idle,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Order, Self::Stray, Self::Limits, Self::Congestion, Self::Rest, Self::Idle];
}

/// A promise that was not kept.
pub type Violation = crate::violation::Violation<Check>;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// What was wrong, if anything.
    pub violation: Option<Violation>,
    /// Frames published and batches handed on.
    pub steps: u64,
    /// Of everything that happened.
    pub hash: u64,
}

type Checked = crate::violation::Checked<(), Check>;
