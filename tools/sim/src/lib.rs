//! Simulations from a seed, with virtual time and on one thread. [`world`] simulates the live plane on several shards:
//! random sessions, floods, pauses and closed sockets, with checkers that know nothing of how the plane works.
//!
//! [`links`] simulates the links between nodes, [`nodes`] the membership and ownership of a cluster, [`takeover`]
//! the plane on nodes that die and join, and [`freight`] what packs and unpacks messages between their shards.
//!
//! The planes are those of the server. The simulation replaces the rim: queues between shards, sockets, timers and
//! time.

pub mod crowd;
pub mod faults;
pub mod frames;
pub mod freight;
pub mod links;
pub mod model;
pub mod nodes;
pub mod scenario;
pub mod shrink;
pub mod takeover;
mod trace;
pub mod violation;
pub mod world;
