//! The live plane on several nodes, from a seed. Nodes die and join, partitions get other owners, and places learn of
//! that at different times. Meanwhile sessions act on streams, in parties, rooms and matches.
//!
//! The planes are those of the server. The simulation replaces the view, the queues between places, and the sessions.
//! When a node dies, its messages to a place may be lost from some message on, as links guarantee; no earlier message
//! is.

mod act;
mod cluster;
mod faults;
mod hear;
mod history;
mod matches;
mod moves;
mod parties;
mod recovery;
mod rest;
mod rooms;
mod tallies;
mod tickets;
mod world;

pub use faults::Fault;
pub use world::run;
