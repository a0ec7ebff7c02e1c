//! Names of fields in records that are read from bytes. A record holds its names as texts of the program (`&'static
//! str`), so each name that is read is kept once, until the process ends.

use std::collections::BTreeSet;
use std::sync::Mutex;

use muster_domain::{Error, Result};

/// Limit of names. The program has fewer, so more can only come from a log that no server wrote.
const NAMES_MAX: usize = 4_096;

/// Limit of the bytes of a name. No field of the program has a longer name.
const NAME_BYTES_MAX: usize = 64;

/// The names that were read so far. There is one table per process because the names live as long as the process: a
/// table per shard would only keep more copies of the same texts.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The name as a text that lives as long as the process.
///
/// # Errors
/// `InvalidArgument` for a name that no field of the host can have.
pub(super) fn known(name: &str) -> Result<&'static str> {
    let mut names = NAMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(known) = names.get(name) {
        return Ok(known);
    }
    if names.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX {
        return Err(Error::invalid("a record has a name that no field has"));
    }
    let kept: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(kept);
    Ok(kept)
}
