//! What nodes of one cluster must have in common: formats that each can read, and the same keys. A node that lacks it does
//! not join, and says what to do.

use std::sync::Arc;

/// What a node tells of itself, for others to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compatibility {
    /// The version of the format in which it talks to others.
    pub wire_version: u32,
    /// The lowest version whose nodes can read that.
    pub readable_from: u32,
    /// The fingerprint of its keys; 0: it does not tell.
    pub keys: u128,
}

/// Why a node does not join. Each names a node that is there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Incompatible {
    /// Tokens of one would be refused by the other.
    #[error(
        "node `{0}` of it has other keys, so that each would refuse the tokens of the other: give both the same \
         `keys.yml`, and the same keys by configuration if there are any; to change keys, stop all nodes first"
    )]
    Keys(Arc<str>),
    /// It cannot read what the other writes.
    #[error("node `{0}` of it is of a release that this one does not understand: update this node")]
    TooOld(Arc<str>),
    /// The other cannot read what it writes.
    #[error("node `{0}` of it is of a release that does not understand this one: update that node first")]
    TooNew(Arc<str>),
}

impl Compatibility {
    /// Whether a node like this can be in a cluster with another, of this name.
    pub(super) fn check(self, name: &Arc<str>, other: Self) -> Result<(), Incompatible> {
        if self.keys != other.keys && self.keys != 0 && other.keys != 0 {
            Err(Incompatible::Keys(name.clone()))
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
        let node = |wire_version, readable_from, keys| Compatibility { wire_version, readable_from, keys };
        let check =
            |one: Compatibility, other, expect| assert_eq!(one.check(&name, other), expect, "{one:?} {other:?}");
        check(node(1, 1, 7), node(1, 1, 7), Ok(()));
        check(node(1, 1, 7), node(2, 1, 7), Ok(()));
        check(node(2, 1, 7), node(1, 1, 7), Ok(()));
        check(node(1, 1, 7), node(3, 2, 7), Err(Incompatible::TooOld(name.clone())));
        check(node(3, 2, 7), node(1, 1, 7), Err(Incompatible::TooNew(name.clone())));
        check(node(1, 1, 7), node(1, 1, 8), Err(Incompatible::Keys(name.clone())));
        // One that was written by a release which did not know the field.
        check(node(1, 1, 7), node(1, 0, 0), Ok(()));
    }
}
