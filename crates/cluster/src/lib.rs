//! Several servers as one: how nodes find each other, who owns what, and what they tell each other
//! ([why so](../../../docs/adr/0011-several-nodes.md)).

pub mod link;

/// A node's number in its cluster: never used again while the cluster lives.
pub type NodeNumber = u32;
