//! The parts by which several servers work as one cluster: nodes find each other, agree on the owners of partitions,
//! and send each other messages ([why so](../../../docs/adr/0011-several-nodes.md)).

pub mod arrival;
pub mod bus;
pub mod codec;
pub mod freight;
pub mod hub;
pub mod link;
pub mod match_log;
pub mod membership;
pub mod nats;
pub mod node;
pub mod operator;
pub mod recovery;
pub mod registry;
pub mod seal;
#[cfg(test)]
mod suite;

pub use muster_live::place::NodeNumber;
