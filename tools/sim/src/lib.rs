//! The live plane on several shards in one thread, from a seed, with virtual time: random sessions, floods, pauses and
//! drops, and checkers that know nothing of how the plane works.
//!
//! [`links`] does the same for what joins nodes, [`nodes`] for who belongs to them and owns what, and [`takeover`] for the
//! plane on nodes that die and join.
//!
//! The planes are the product's own. What is simulated is the rim: queues between shards, sockets, timers, time.

pub mod crowd;
pub mod faults;
pub mod frames;
pub mod links;
pub mod model;
pub mod nodes;
pub mod scenario;
pub mod shrink;
pub mod takeover;
mod trace;
pub mod violation;
pub mod world;
