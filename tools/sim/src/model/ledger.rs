//! The variables of a room as the answered changes make them, applied in the order of versions and not of answers.

use std::collections::BTreeMap;

use muster_live::rooms::Change;

use super::mirror::Values;

/// The answered changes of a room's variables.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Changes by the version in the answer. A change without effect is answered with the version of an earlier one,
    /// and agrees with it.
    changes: BTreeMap<u64, Vec<Change>>,
}

impl Ledger {
    /// The ledger of a room that is made with these variables.
    pub fn new(first: Change) -> Self {
        Self { changes: BTreeMap::from([(0, vec![first])]) }
    }

    /// Adds a change, with the version that it led to.
    pub fn add(&mut self, version: u64, change: Change) {
        self.changes.entry(version).or_default().push(change);
    }

    /// The values that the room must have.
    pub fn values(&self) -> Values {
        let mut values = Values::new();
        for change in self.changes.values().flatten() {
            values.retain(|name, _| !change.unset.contains(name));
            values.extend(change.set.clone());
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_live::rooms::Value;

    use super::*;

    #[test]
    fn the_order_of_versions_counts_and_not_that_of_answers() {
        let change = |set: &[(&str, &str)], unset: &[&str]| Change {
            set: set.iter().map(|(name, json)| (Arc::from(*name), Value::new(json).unwrap())).collect(),
            unset: unset.iter().map(|name| Arc::from(*name)).collect(),
            ..Change::default()
        };
        let mut ledger = Ledger::new(change(&[("a", "1")], &[]));
        ledger.add(3, change(&[("b", "3")], &["a"]));
        ledger.add(2, change(&[("a", "2"), ("b", "2")], &[]));
        let values: Vec<_> =
            ledger.values().into_iter().map(|(name, value)| format!("{name}={}", value.as_json())).collect();
        assert_eq!(values, ["b=3"]);
    }
}
