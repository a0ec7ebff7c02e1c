//! The live plane on several nodes, from a seed: nodes that die and that join, partitions that get other owners, places
//! that learn of it at different times, and all the while sessions on streams, in parties and rooms.
//!
//! The planes are the product's own. What is simulated is the view, the queues between places, and sessions. Of what was
//! on its way to or from a dead owner some is lost, always the end of it: links see to that.

mod act;
mod cluster;
mod faults;
mod hear;
mod matches;
mod moves;
mod parties;
mod recovery;
mod rest;
mod rooms;
mod tickets;
mod world;

pub use faults::Fault;
pub use world::run;
