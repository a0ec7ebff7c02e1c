//! The table of all keys: every key of the original and every one of our own, by group. The reference page, the flags,
//! the environment variables and the checks are derived from it.

use super::{groups::GROUPS, key::Key};

/// Every key, group by group.
pub fn all() -> impl Iterator<Item = &'static Key> {
    GROUPS.iter().flat_map(|group| group.keys.iter().copied().flatten())
}

/// The key of this name.
pub fn find(name: &str) -> Option<&'static Key> {
    all().find(|key| key.name == name)
}

/// Whether this is the name of a group, such as `socket` or `iap.apple`.
pub(crate) fn is_group(name: &str) -> bool {
    all().any(|key| key.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Least likeness of a suggestion (0 to 1, Jaro-Winkler); below it, a suggestion would be a guess.
const LEAST_LIKENESS: f64 = 0.82;

/// The known name nearest to an unknown one: a key with the same last part if there is one, otherwise the most similar
/// in spelling.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let last_part = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let wanted = last_part(name);
    let likeness = |key: &&'static Key| {
        let whole = strsim::jaro_winkler(name, key.name);
        if last_part(key.name) == wanted { whole.max(LEAST_LIKENESS) + 0.1 } else { whole }
    };
    // The first of equals wins: the table begins with the most common keys.
    let best = all().min_by(|a, b| likeness(b).total_cmp(&likeness(a)))?;
    (likeness(&best) >= LEAST_LIKENESS).then_some(best.name)
}
