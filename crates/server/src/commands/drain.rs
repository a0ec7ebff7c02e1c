//! `muster drain`: makes a node of a cluster give away all it owns and stop.

use std::process::ExitCode;
use std::sync::Arc;

use muster_cluster::nats::Nats;
use muster_cluster::operator;
use muster_cluster::seal::Sealed;

use super::{Outcome, configuration_with_keys, print, runtime};
use crate::cluster::{nats_options, seal_of_command};
use crate::config::{ServerMode, Setting};

/// Drains a node. Exit status 0: the node has left the cluster.
pub(super) fn drain(mode: ServerMode, node: &str, flags: &[Setting]) -> Outcome {
    let config = configuration_with_keys(mode, flags)?;
    if config.cluster.nats.is_empty() {
        return Err("which cluster? Say so as its nodes do, by --cluster.nats URL".to_owned());
    }
    let seal = seal_of_command(&config)?;
    let drained = runtime()?.block_on(async {
        let nats = Nats::connect(&nats_options(&config.cluster)).await.map_err(|error| error.to_string())?;
        let nats = Sealed::new(Arc::new(nats), seal);
        let tell = |node: &muster_cluster::membership::Node, partitions: usize| {
            // A reader that has closed the pipe gets no more lines; the drain goes on.
            let _ = print(&format!("{} (number {}) owns {partitions} partitions", node.name, node.number));
        };
        operator::drain(&nats, node, tell).await.map_err(|error| error.to_string())
    });
    drained?;
    print(&format!("{node} has left the cluster"))?;
    Ok(ExitCode::SUCCESS)
}
