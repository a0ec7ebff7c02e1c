//! The in-memory plane.

use super::super::key::{Origin, honoured, number};

honoured! {
    /// Shards: threads that own connections and live state.
    pub struct Live in "live." {
        /// Number of shards. 0 is one for each core.
        shards: usize = "0", number(0, 1024), Origin::Ours;
    }
}
