//! Properties that all nodes of one cluster must share: message formats that each can read, the same keys, the same
//! database and the same settings of recovery, and a name of its own. A node that does not fit does not join, and tells
//! the operator what to do.

use std::sync::Arc;

use crate::seal::SealUse;

/// Properties of a node that others compare with their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compatibility {
    /// Version of the message format in which the node writes.
    pub wire_version: u32,
    /// Lowest version whose nodes can read messages of `wire_version`.
    pub readable_from: u32,
    /// Fingerprint of the node's keys; 0 if the node does not tell it.
    pub keys: u128,
    /// Identity of the node's database; 0 if the node does not tell it.
    pub database: u64,
    /// Whether the node keeps recovery data of parties, if the node tells it.
    pub recovers_parties: Option<bool>,
    /// The use of seals by the node, if the node tells it.
    pub seals: Option<SealUse>,
}

/// Stands for the fingerprint of keys that are not this node's: those of a member whose seal this node cannot read.
pub(crate) const FOREIGN_KEYS: u128 = u128::MAX;

/// Explains why a node does not join. Each reason names a member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incompatible {
    /// The keys differ: each node would refuse the tokens of the other.
    #[error(
        "node `{0}` of it has other keys, so that each would refuse the tokens of the other: give both the same \
         `keys.yml`, and the same keys by configuration if there are any; to change keys, stop all nodes first. If \
         their keys are the same, correct `cluster.seals`: that node writes without seals"
    )]
    Keys(Arc<str>),
    /// The databases differ: one player would have two accounts.
    #[error(
        "node `{0}` of it has another database, so that one player would have two accounts: give all nodes the same \
         `database.address`, or this node another `cluster.name`; to change the database, stop all nodes first"
    )]
    Database(Arc<str>),
    /// The settings of recovery differ: whether a party survives would depend on its node.
    #[error(
        "node `{0}` of it has another value of `cluster.recover_parties`: give all nodes the same; to change it, stop \
         all nodes first"
    )]
    Recovery(Arc<str>),
    /// The member refuses everything that the joining node would write.
    #[error(
        "node `{0}` of it refuses what has no seal, and this node would write none: take `cluster.seals: off` out of \
         this node's configuration"
    )]
    Unsealed(Arc<str>),
    /// A living node has the name of the joining node.
    #[error(
        "another node that runs is called `{0}` too: give each node a `name` of its own, or stop the other node first"
    )]
    Name(Arc<str>),
    /// The joining node cannot read messages of the member.
    #[error("node `{0}` of it is of a release that this one does not understand: update this node")]
    TooOld(Arc<str>),
    /// The member cannot read messages of the joining node.
    #[error("node `{0}` of it is of a release that does not understand this one: update that node first")]
    TooNew(Arc<str>),
}

impl Compatibility {
    /// Whether a node with these properties can be in a cluster with another node, called `name`.
    pub(super) fn check(self, name: &Arc<str>, other: Self) -> Result<(), Incompatible> {
        let is_unlike = self.keys != other.keys && self.keys != 0 && other.keys != 0;
        if is_unlike || other.keys == FOREIGN_KEYS {
            Err(Incompatible::Keys(name.clone()))
        } else if self.database != other.database && self.database != 0 && other.database != 0 {
            Err(Incompatible::Database(name.clone()))
        } else if self.recovers_parties.zip(other.recovers_parties).is_some_and(|(mine, theirs)| mine != theirs) {
            Err(Incompatible::Recovery(name.clone()))
        } else if (self.seals, other.seals) == (Some(SealUse::Off), Some(SealUse::Require)) {
            Err(Incompatible::Unsealed(name.clone()))
        } else if self.wire_version < other.readable_from {
            Err(Incompatible::TooOld(name.clone()))
        } else if other.wire_version < self.readable_from {
            Err(Incompatible::TooNew(name.clone()))
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_releases_with_the_same_keys_go_together() {
        let name: Arc<str> = "other".into();
        let node = |wire_version, readable_from, keys| Compatibility {
            wire_version,
            readable_from,
            keys,
            ..Compatibility::default()
        };
        let check =
            |one: Compatibility, other, expect| assert_eq!(one.check(&name, other), expect, "{one:?} {other:?}");
        check(node(1, 1, 7), node(1, 1, 7), Ok(()));
        check(node(1, 1, 7), node(2, 1, 7), Ok(()));
        check(node(2, 1, 7), node(1, 1, 7), Ok(()));
        check(node(1, 1, 7), node(3, 2, 7), Err(Incompatible::TooOld(name.clone())));
        check(node(3, 2, 7), node(1, 1, 7), Err(Incompatible::TooNew(name.clone())));
        check(node(1, 1, 7), node(1, 1, 8), Err(Incompatible::Keys(name.clone())));
        check(node(1, 1, 0), node(1, 1, FOREIGN_KEYS), Err(Incompatible::Keys(name.clone())));
        // The second node was written by a release that did not know the field.
        check(node(1, 1, 7), node(1, 0, 0), Ok(()));
        let at = |database, recovers_parties| Compatibility { database, recovers_parties, ..node(1, 1, 7) };
        check(at(5, Some(true)), at(5, Some(true)), Ok(()));
        check(at(5, Some(true)), at(0, None), Ok(()));
        check(at(5, Some(true)), at(6, Some(true)), Err(Incompatible::Database(name.clone())));
        check(at(5, Some(true)), at(5, Some(false)), Err(Incompatible::Recovery(name.clone())));
        let seals = |seals| Compatibility { seals, ..node(1, 1, 7) };
        let [require, accept, off] = [SealUse::Require, SealUse::Accept, SealUse::Off].map(|used| seals(Some(used)));
        check(off, require, Err(Incompatible::Unsealed(name.clone())));
        check(off, seals(None), Ok(()));
        // The rounds of an upgrade.
        for (one, other) in [(off, off), (accept, off), (off, accept), (require, accept), (accept, require)] {
            check(one, other, Ok(()));
        }
    }
}
