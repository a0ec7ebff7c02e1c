//! Names of records that come back from a log. The host writes them as texts of the program, so each is kept once for good.

use std::collections::BTreeSet;
use std::sync::Mutex;

use muster_domain::{Error, Result};

/// The program has fewer names of fields. More of them can only come of a log that is not ours.
const NAMES_MAX: usize = 4_096;

/// Longer names no field has.
const NAME_BYTES_MAX: usize = 64;

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The name, as one that stays.
///
/// # Errors
/// `InvalidArgument` for one that no field of the host can have.
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
