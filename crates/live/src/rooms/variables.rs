//! Named values: a room's properties and variables, and those of its players. Never knows who receives them.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result, UserId};

use super::carry::{CarriedValue, CarriedValues};
use super::limits::{VALUE_BYTES_MAX, VARIABLE_NAME_BYTES_MAX};

/// JSON text of a value. The maker of a value has checked that the text is JSON; nothing here parses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value(Arc<str>);

impl Value {
    /// Wraps JSON text.
    ///
    /// # Errors
    /// `InvalidArgument` when it is longer than [`VALUE_BYTES_MAX`].
    pub fn new(json: &str) -> Result<Self> {
        if json.len() > VALUE_BYTES_MAX {
            return Err(Error::invalid(format!("A value has at most {VALUE_BYTES_MAX} bytes of JSON.")));
        }
        Ok(Self(Arc::from(json)))
    }

    /// The JSON text.
    pub fn as_json(&self) -> &str {
        &self.0
    }
}

/// A name with its value.
pub type Named = (Arc<str>, Value);

/// Limits of a set of values.
#[derive(Clone, Copy, Debug)]
pub struct ValueLimits {
    /// The largest number of values in the set.
    pub count_max: usize,
    /// The largest number of bytes of all names and values together.
    pub bytes_max: usize,
}

/// A change of several values at once. Either all of it is applied or none of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// New values by name.
    pub set: BTreeMap<Arc<str>, Value>,
    /// Names to remove. Names that do not exist are skipped.
    pub unset: Vec<Arc<str>>,
    /// Whether the values set become private. A private variable of a room can be changed only by the user who set it
    /// and by the room's owner. A private variable of a player is seen by nobody else.
    pub private: bool,
    /// The version that the values must have for the change to apply; any version if `None`.
    pub expected_version: Option<u64>,
}

/// Changed values as one group of receivers sees them. Receivers apply `unset` before `set`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// Version of the values after the change.
    pub version: u64,
    /// New values.
    pub set: Vec<Named>,
    /// Names that were removed.
    pub unset: Vec<Arc<str>>,
}

/// The outcome of a change. Values that the change did not alter are left out.
#[derive(Clone, Debug, Default)]
pub struct Applied {
    /// Version of the values after the change.
    pub version: u64,
    changes: Vec<Changed>,
}

#[derive(Clone, Debug)]
struct Changed {
    name: Arc<str>,
    /// Whether the value was private before; `None` if it did not exist.
    before: Option<bool>,
    after: Option<(Value, bool)>,
}

impl Applied {
    /// Whether the change had no effect.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// The delta for receivers who see private values too.
    pub fn all(&self) -> Delta {
        self.delta(|_| true)
    }

    /// The delta of private values, or that of public ones; `None` if no such value changed. A receiver of both gets
    /// the public delta first. A value that turned from private to public is in the public delta alone.
    pub fn of(&self, private: bool) -> Option<Delta> {
        let mut delta = self.delta(|is_private| is_private == private);
        if private {
            let stays = |changed: &Changed| changed.after.is_some();
            delta.unset.retain(|name| !self.changes.iter().any(|changed| changed.name == *name && stays(changed)));
        }
        (!delta.set.is_empty() || !delta.unset.is_empty()).then_some(delta)
    }

    fn delta(&self, is_seen: impl Fn(bool) -> bool) -> Delta {
        let mut delta = Delta { version: self.version, ..Delta::default() };
        for Changed { name, before, after } in &self.changes {
            match after.as_ref().filter(|(_, private)| is_seen(*private)) {
                Some((value, _)) => delta.set.push((name.clone(), value.clone())),
                None if before.is_some_and(&is_seen) => delta.unset.push(name.clone()),
                None => {}
            }
        }
        delta
    }
}

#[derive(Clone, Debug)]
struct Variable {
    value: Value,
    author: UserId,
    private: bool,
}

/// A set of named values, with a version that grows by one with each change.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    entries: BTreeMap<Arc<str>, Variable>,
    version: u64,
    bytes: usize,
}

/// The user who changes values.
#[derive(Clone, Copy, Debug)]
pub struct Editor {
    /// The user's id.
    pub user_id: UserId,
    /// Whether the user may change private values of others.
    pub is_owner: bool,
}

impl Variables {
    /// Number of changes so far.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// All values by name; the last part says whether the value is private.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Value, bool)> {
        self.entries.iter().map(|(name, variable)| (name, &variable.value, variable.private))
    }

    /// All values with the users who set them.
    pub(super) fn carried(&self) -> CarriedValues {
        let value = |(name, variable): (&Arc<str>, &Variable)| {
            let Variable { value, author, private } = variable.clone();
            CarriedValue { name: name.clone(), value, author, private }
        };
        CarriedValues { version: self.version, values: self.entries.iter().map(value).collect() }
    }

    pub(super) fn of_carried(carried: CarriedValues) -> Self {
        let entry = |CarriedValue { name, value, author, private }| (name, Variable { value, author, private });
        let entries: BTreeMap<Arc<str>, Variable> = carried.values.into_iter().map(entry).collect();
        let bytes = entries.iter().map(|(name, variable)| name.len() + variable.value.as_json().len()).sum();
        Self { entries, version: carried.version, bytes }
    }

    /// The public values, for a receiver who knows none.
    pub fn public(&self) -> Delta {
        let public = self.iter().filter(|(_, _, private)| !private);
        let set = public.map(|(name, value, _)| (name.clone(), value.clone())).collect();
        Delta { version: self.version, set, unset: Vec::new() }
    }

    /// Applies a change and returns its effect.
    ///
    /// # Errors
    /// The values are unchanged. `FailedPrecondition` when the version is not the expected one, `PermissionDenied` for
    /// private values of others, `InvalidArgument` for bad names, `ResourceExhausted` beyond the limits.
    pub fn apply(&mut self, change: &Change, editor: Editor, limits: ValueLimits) -> Result<Applied> {
        self.check(change, editor)?;
        let mut after = self.clone();
        let mut changes = Vec::new();
        for name in change.unset.iter().filter(|name| !change.set.contains_key(*name)) {
            if let Some(gone) = after.entries.remove(name) {
                after.bytes -= name.len() + gone.value.as_json().len();
                changes.push(Changed { name: name.clone(), before: Some(gone.private), after: None });
            }
        }
        for (name, value) in &change.set {
            let new = Variable { value: value.clone(), author: editor.user_id, private: change.private };
            changes.extend(after.put(name, new));
        }
        if after.entries.len() > limits.count_max {
            return Err(exhausted(format!("There may be at most {} values.", limits.count_max)));
        }
        if after.bytes > limits.bytes_max {
            return Err(exhausted(format!("Names and values may have at most {} bytes together.", limits.bytes_max)));
        }
        if !changes.is_empty() {
            after.version += 1;
            *self = after;
        }
        Ok(Applied { version: self.version, changes })
    }

    fn check(&self, change: &Change, editor: Editor) -> Result<()> {
        if let Some(expected) = change.expected_version.filter(|expected| *expected != self.version) {
            let version = self.version;
            let message = format!("The variables are at version {version}, not {expected}: read them again.");
            return Err(Error::new(ErrorKind::FailedPrecondition, message));
        }
        for name in change.set.keys() {
            if name.is_empty() || name.len() > VARIABLE_NAME_BYTES_MAX {
                return Err(Error::invalid(format!("A name has 1 to {VARIABLE_NAME_BYTES_MAX} bytes.")));
            }
        }
        for name in change.unset.iter().chain(change.set.keys()) {
            let closed = |entry: &Variable| entry.private && entry.author != editor.user_id && !editor.is_owner;
            if self.entries.get(name).is_some_and(closed) {
                let message = format!("\"{name}\" is private to whoever set it.");
                return Err(Error::new(ErrorKind::PermissionDenied, message));
            }
        }
        Ok(())
    }

    fn put(&mut self, name: &Arc<str>, new: Variable) -> Option<Changed> {
        let old = self.entries.get(name);
        if old.is_some_and(|old| old.value == new.value && old.private == new.private) {
            return None;
        }
        self.bytes += new.value.as_json().len();
        match old {
            Some(old) => self.bytes -= old.value.as_json().len(),
            None => self.bytes += name.len(),
        }
        let before = old.map(|old| old.private);
        let after = Some((new.value.clone(), new.private));
        self.entries.insert(name.clone(), new);
        Some(Changed { name: name.clone(), before, after })
    }
}

fn exhausted(message: String) -> Error {
    Error::new(ErrorKind::ResourceExhausted, message)
}

#[cfg(test)]
mod tests {
    use muster_domain::ids::Uuid;

    use super::*;

    const LIMITS: ValueLimits = ValueLimits { count_max: 3, bytes_max: 40 };

    fn editor(n: u128) -> Editor {
        Editor { user_id: UserId(Uuid::from_u128(n)), is_owner: n == 0 }
    }

    fn change(set: &[(&str, &str)], unset: &[&str]) -> Change {
        let set = set.iter().map(|(name, json)| (Arc::from(*name), Value::new(json).unwrap())).collect();
        Change { set, unset: unset.iter().map(|name| Arc::from(*name)).collect(), ..Change::default() }
    }

    fn shown(delta: &Delta) -> String {
        let set = delta.set.iter().map(|(name, value)| format!(" {name}={}", value.as_json())).collect::<String>();
        let unset = delta.unset.iter().map(|name| format!(" -{name}")).collect::<String>();
        format!("{}:{set}{unset}", delta.version)
    }

    #[test]
    fn deltas_hold_what_changed_and_versions_count_changes() {
        let mut values = Variables::default();
        let mut apply = |change: Change| {
            let applied = values.apply(&change, editor(1), LIMITS).unwrap();
            let part = |private| applied.of(private).map_or_else(String::new, |delta| shown(&delta));
            [shown(&applied.all()), part(false), part(true)]
        };
        let public = |text: &str| [text.to_owned(), text.to_owned(), String::new()];
        assert_eq!(apply(change(&[("a", "1"), ("b", "2")], &[])), public("1: a=1 b=2"));
        assert_eq!(apply(change(&[("a", "1"), ("b", "3")], &["c", "b"])), public("2: b=3"));
        assert_eq!(apply(change(&[("a", "1")], &[])), ["2:", "", ""]);
        assert_eq!(apply(change(&[("c", "4")], &["a"])), public("3: c=4 -a"));
        let private = |set, unset| Change { private: true, ..change(set, unset) };
        assert_eq!(apply(private(&[("c", "4"), ("d", "5")], &[])), ["4: c=4 d=5", "4: -c", "4: c=4 d=5"]);
        assert_eq!(apply(change(&[("c", "5")], &["d"])), ["5: c=5 -d", "5: c=5", "5: -d"]);
        let names: Vec<_> = values.iter().map(|(name, value, _)| format!("{name}={}", value.as_json())).collect();
        assert_eq!(names, ["b=3", "c=5"]);
    }

    #[test]
    fn refused_changes_leave_no_trace() {
        let mut values = Variables::default();
        values.apply(&Change { private: true, ..change(&[("a", "1")], &[]) }, editor(1), LIMITS).unwrap();
        let mut kind = |change: Change, by: u128| {
            let kind = values.apply(&change, editor(by), LIMITS).map(|_| ()).map_err(|error| error.kind);
            (kind, values.version(), values.entries.len(), values.bytes)
        };
        let refused = |kind| (Err(kind), 1, 1, 2);
        assert_eq!(kind(change(&[("b", "1"), ("c", "1"), ("d", "1")], &[]), 1), refused(ErrorKind::ResourceExhausted));
        let long = format!("\"{}\"", "x".repeat(40));
        assert_eq!(kind(change(&[("b", &long)], &[]), 1), refused(ErrorKind::ResourceExhausted));
        assert_eq!(kind(change(&[("", "1")], &[]), 1), refused(ErrorKind::InvalidArgument));
        let name = "n".repeat(VARIABLE_NAME_BYTES_MAX + 1);
        assert_eq!(kind(change(&[(&name, "1")], &[]), 1), refused(ErrorKind::InvalidArgument));
        assert_eq!(kind(change(&[("b", "1")], &["a"]), 2), refused(ErrorKind::PermissionDenied));
        assert_eq!(kind(change(&[("a", "2")], &[]), 2), refused(ErrorKind::PermissionDenied));
        let stale = Change { expected_version: Some(0), ..change(&[("a", "2")], &[]) };
        assert_eq!(kind(stale, 1), refused(ErrorKind::FailedPrecondition));
        assert_eq!(kind(change(&[("b", "1")], &["a"]), 0), (Ok(()), 2, 1, 2));
        assert!(Value::new(&"1".repeat(VALUE_BYTES_MAX + 1)).is_err());
    }
}
