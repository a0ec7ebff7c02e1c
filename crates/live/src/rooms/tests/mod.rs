//! Tests of rooms on one shard, and a small world of shards that they share.

mod carry;
mod costly;
mod crowd;
mod keeping;
mod lobby;
mod members;
mod world;
