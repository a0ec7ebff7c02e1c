//! Variables as the changes make them that were answered: in the order of the versions, whatever came when.

use std::collections::BTreeMap;

use muster_live::rooms::Change;

use super::mirror::Values;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// By the version that was answered. What changed nothing has the version of what did, and agrees with it.
    changes: BTreeMap<u64, Vec<Change>>,
}

impl Ledger {
    /// A room that is made with these.
    pub fn new(first: Change) -> Self {
        Self { changes: BTreeMap::from([(0, vec![first])]) }
    }

    /// A change was made, and the variables are at this version.
    pub fn add(&mut self, version: u64, change: Change) {
        self.changes.entry(version).or_default().push(change);
    }

    /// What must be there.
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
