//! Links between nodes over a bad bus, from a seed and with virtual time. Frames are lost, delayed, doubled and
//! reordered; there are outages and pauses, and nodes die and join.
//!
//! The links are those of the server. The simulation replaces the bus, time, and the users of the links.

mod bus;
mod faults;
mod flow;
mod world;

pub use faults::Fault;
pub use world::run;

/// A promise that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Batches are handed on as they were sent: whole, in order, and once.
    Order,
    /// No batch is handed on from a link that ended.
    Stray,
    /// No more frames are on the way than the window allows, and no frame is too large for the bus.
    Limits,
    /// The sender knows whether its link is congested.
    Congestion,
    /// Once no batches are sent and the bus loses nothing, everything arrives and is acknowledged.
    Rest,
    /// A link at rest sends nothing.
    Idle,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 6] = [Self::Order, Self::Stray, Self::Limits, Self::Congestion, Self::Rest, Self::Idle];
}

/// A promise that was broken.
pub type Violation = crate::violation::Violation<Check>;

/// The result of a run. Its steps are frames published and batches handed on.
pub type Outcome = crate::violation::Outcome<Check>;

type Checked = crate::violation::Checked<(), Check>;
