//! The original's presence tracker.

use super::super::key::{Key, at_least};

/// Rows of this group.
pub const OTHERS: &[Key] = &[Key::no_meaning(
    "tracker.event_queue_size",
    at_least(1),
    "1024",
    "each stream orders its own presence events; no queue is shared by all",
    "Largest number of presence events that wait.",
)];
