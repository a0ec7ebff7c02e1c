//! Commands of an operator to a cluster, from a process that is not one of its nodes.

use muster_live::place::Epoch;
use muster_wire::nodes::RegistryValueError;

use crate::NodeNumber;
use crate::membership::{Node, VIEW_KEY, View, assign};
use crate::registry::{Registry, RegistryError, RegistryEvent};

/// Explains why a drain failed, or why its outcome is not known.
#[derive(Debug, thiserror::Error)]
pub enum DrainError {
    /// No node has this name or number.
    #[error("there is no node `{name}` in the cluster: {there}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// Names of the nodes in the cluster.
        there: String,
    },
    /// Several nodes have this name.
    #[error("several nodes are called `{name}`; give the number of one: {there}")]
    Ambiguous {
        /// The name that was given.
        name: String,
        /// Names of the nodes in the cluster.
        there: String,
    },
    /// The value in the registry was not written by this release or one near it.
    #[error("the cluster's view cannot be read: {0}")]
    View(#[from] RegistryValueError),
    /// The cluster's nodes have other keys than this process.
    #[error("the nodes of the cluster have other keys than this command: give it their `keys.yml`")]
    Keys,
    /// The registry did not take the change.
    #[error("{0}; try again")]
    Registry(RegistryError),
    /// The connection to the registry ended for good.
    #[error("the connection to the registry has ended; try again")]
    Ended,
}

/// Tells a node, by its name or number, to give away all that it owns and to stop, and waits until it has left the
/// cluster. `tell` is called with the number of partitions that the node still owns, whenever that number changes. The
/// command may be repeated without harm.
///
/// # Errors
/// [`DrainError`]. A node that was told goes on draining even if the connection is lost.
pub async fn drain<R: Registry>(
    registry: &R,
    name: &str,
    mut tell: impl FnMut(&Node, usize),
) -> Result<(), DrainError> {
    let mut watch = registry.watch();
    let mut number = None;
    let mut told = None;
    while let Some(event) = watch.next().await {
        let entry = match event {
            RegistryEvent::State(entries) => entries.into_iter().find(|entry| entry.key == VIEW_KEY),
            RegistryEvent::Set(entry) if entry.key == VIEW_KEY => Some(entry),
            _ => continue,
        };
        let view = match entry {
            Some(entry) => View::from_bytes(&entry.value, entry.revision)?,
            None => View::empty(Epoch::default()),
        };
        if view.has_strangers() {
            return Err(DrainError::Keys);
        }
        let node = match number {
            Some(number) => view.node(number),
            None => Some(find(&view, name)?),
        };
        let Some(node) = node else { return Ok(()) };
        number = Some(node.number);
        let owned = view.holdings().filter(|(_, holding)| holding.owner.is_some_and(|it| it.node() == node.number));
        let owned = owned.count();
        if told.replace(owned) != Some(owned) {
            tell(node, owned);
        }
        if !node.is_draining {
            match registry.update(VIEW_KEY, draining(&view, node.number).to_bytes(), view.revision, None).await {
                // The watch reports the current state next.
                Ok(_) | Err(RegistryError::Conflict) => {}
                Err(error) => return Err(DrainError::Registry(error)),
            }
        }
    }
    Err(DrainError::Ended)
}

fn draining(view: &View, number: NodeNumber) -> View {
    let mut next = view.successor(Epoch::default());
    if let Some(node) = next.node_mut(number) {
        node.is_draining = true;
    }
    assign(&mut next);
    next
}

fn find<'v>(view: &'v View, name: &str) -> Result<&'v Node, DrainError> {
    let mut named = view.nodes().iter().filter(|node| &*node.name == name);
    let numbered = || view.nodes().iter().find(|node| Ok(node.number) == name.parse());
    let there = || {
        let nodes: Vec<String> =
            view.nodes().iter().map(|node| format!("{} (number {})", node.name, node.number)).collect();
        if nodes.is_empty() { "it has none".to_owned() } else { format!("there are {}", nodes.join(", ")) }
    };
    match (named.next(), named.next()) {
        (Some(node), None) => Ok(node),
        (Some(_), Some(_)) => Err(DrainError::Ambiguous { name: name.to_owned(), there: there() }),
        (None, _) => numbered().ok_or_else(|| DrainError::Unknown { name: name.to_owned(), there: there() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::membership::{Compatibility, Roles};

    #[test]
    fn one_of_several_nodes_of_one_name_is_found_by_its_number() {
        // Former releases let nodes of one name join.
        let mut view = View::empty(Epoch(1));
        for (incarnation, name) in (1..).zip(["twin", "twin", "other"]) {
            let (roles, compatibility) = (Roles::ALL, Compatibility::default());
            let (name, shards, weight) = (name.into(), 1, 1);
            let (number, is_draining, is_busy) = (0, false, false);
            view.add(Node { number, name, incarnation, shards, weight, roles, is_draining, is_busy, compatibility });
        }
        assert!(matches!(find(&view, "twin"), Err(DrainError::Ambiguous { .. })));
        let number = |name| find(&view, name).map(|node| node.number).ok();
        assert_eq!([number("2"), number("other"), number("nobody")], [Some(2), Some(3), None]);
    }
}
