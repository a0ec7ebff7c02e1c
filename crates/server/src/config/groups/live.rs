//! The in-memory plane.

use std::thread::available_parallelism;

use super::super::key::{Origin, at_least, honoured, number};

/// Number of cores that this process may use.
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

impl Live {
    /// Number of shards of this server.
    pub fn shard_count(&self) -> usize {
        match self.shards {
            0 => cores(),
            count => count,
        }
    }

    /// Number of users of the database: the shards, and the thread for upkeep and health.
    pub fn database_users(&self) -> usize {
        self.shard_count() + 1
    }

    /// Smallest number of connections to PostgreSQL with which a server works: each user of the database has one for
    /// itself and one for statements of game code.
    pub fn connections_min(&self) -> usize {
        2 * self.database_users()
    }
}

honoured! {
    /// Shards: threads that own connections and live state.
    pub struct Live in "live." {
        /// Number of shards. 0 is one for each core.
        shards: usize = "0", number(0, 1024), Origin::Ours;
        /// Number of presences of one stream above which its joins and leaves are told together.
        presence_merge_size: usize = "1000", at_least(1), Origin::Ours;
        /// Time for which such joins and leaves are collected, in milliseconds.
        presence_merge_ms: u64 = "100", number(1, 60_000), Origin::Ours;
        /// Largest number of presences in one listing or event. A listing that is cut ends with a presence without a
        /// user that tells the total.
        presence_snapshot_size: usize = "1000", at_least(1), Origin::Ours;
        /// Largest number of channels, matches, parties and followed users that one session may have at a time.
        session_streams_max: usize = "4096", at_least(8), Origin::Ours;
    }
}
