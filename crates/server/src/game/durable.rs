//! Durable matches: their logs, and the messages about them to a shard's plane.

use std::path::Path;
use std::rc::{Rc, Weak};

use muster_api::live::Live;
use muster_cluster::match_log::files::{FileLogs, FileOptions};
use muster_cluster::nats::JetLogs;
use muster_live::matches::{MatchLog, Outline};
use muster_live::{Epoch, Partition};
use muster_script::languages::DurableOwner;

/// The logs of durable matches of a server.
#[derive(Clone)]
pub enum MatchLogs {
    /// The logs of a server on its own, in files.
    Files(FileLogs),
    /// The logs of a cluster's node, in storage that all nodes reach.
    Cluster(JetLogs),
}

/// Folder of the logs, in the data folder of a server on its own.
pub(crate) const MATCHES: &str = "matches";

impl MatchLogs {
    /// Opens the logs of a server on its own.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub(crate) fn open(data_dir: &Path) -> Result<Self, String> {
        Self::open_files(data_dir).map(Self::Files)
    }

    /// Opens the files of a server on its own.
    ///
    /// # Errors
    /// A sentence that says what to do.
    pub(crate) fn open_files(data_dir: &Path) -> Result<FileLogs, String> {
        let opened = FileLogs::open(&data_dir.join(MATCHES), FileOptions::default());
        opened.map_err(|error| format!("cannot use the log of matches: {error}"))
    }

    /// Whether a server on its own has kept logs in its data folder.
    pub(crate) fn exist(data_dir: &Path) -> bool {
        data_dir.join(MATCHES).is_dir()
    }

    /// A shard's handle of the logs.
    pub(super) fn of_shard(&self) -> Rc<dyn MatchLog> {
        match self {
            Self::Files(logs) => Rc::new(logs.handle()),
            Self::Cluster(logs) => Rc::new(logs.handle()),
        }
    }

    /// Partitions whose matches go on when a server on its own starts. In a cluster the plane asks for them.
    pub(super) fn to_go_on(&self) -> Vec<Partition> {
        match self {
            Self::Files(logs) => logs.partitions(),
            Self::Cluster(_) => Vec::new(),
        }
    }
}

/// The plane of a shard, as the owner of durable matches.
pub(super) struct Owner(pub(super) Weak<Live>);

impl DurableOwner for Owner {
    fn taken_over(&self, partition: Partition, epoch: Epoch, matches: Vec<Outline>) {
        if let Some(live) = self.0.upgrade() {
            live.step(|plane, now, out| plane.matches_taken_over(now, partition, epoch, matches, out));
        }
    }

    fn released(&self, partition: Partition) {
        if let Some(live) = self.0.upgrade() {
            live.step(|plane, now, out| plane.matches_released(now, partition, out));
        }
    }
}
