//! Indexes over storage objects.

use super::super::key::{Key, Kind};

/// Rows of this group.
pub const OTHERS: &[Key] = &[Key::not_yet(
    "storage.disable_index_only",
    Kind::Flag,
    "false",
    "storage indexes",
    "Indexes that hold whole objects read them from the database all the same.",
)];
