//! A cluster's view as the live plane goes by it.

use muster_cluster::membership::View;
use muster_live::{Place, Routes};

/// Who is there and who owns what.
pub(super) fn of_view(view: &View) -> Routes {
    let nodes: Vec<_> = view.nodes().iter().map(|node| (node.number, node.shards)).collect();
    Routes::of_cluster(&nodes, view.next_number, |partition| {
        let holding = view.holding(partition);
        (holding.owner.unwrap_or(Place::NONE), holding.epoch)
    })
}
