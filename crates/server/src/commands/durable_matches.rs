//! `muster match list` and `muster match forget`: the durable matches in the data folder of a stopped server, or in the
//! JetStream of a cluster, whose nodes may run meanwhile.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use muster_cluster::match_log::files::{FileLog, FileLogs};
use muster_cluster::nats::{JetLogs, Nats};
use muster_cluster::seal::Seal;
use muster_live::matches::{LogError, MatchId, MatchLog as _};
use muster_live::{Epoch, Partition};
use muster_script::durable::listing::{LoggedMatch, end_record, matches_of};
use muster_wire::Timestamp;

use super::{Outcome, configuration_with_keys, print, runtime};
use crate::cluster::{nats_options, seal_of_command};
use crate::config::{Config, ServerMode, Setting};
use crate::game::MatchLogs;

/// The reason of the end of a match in its log.
const WHY: &str = "an operator has ended it";

/// The epoch in which this program takes logs of a stopped server over. A server on its own has one epoch only.
const EPOCH: Epoch = Epoch(1);

/// The logs that the configuration names. Those of a cluster need its connection for as long as they are read.
enum Logs {
    Files { logs: FileLogs, handle: FileLog },
    Cluster { logs: Box<JetLogs>, seal: Seal, _nats: Box<Nats> },
}

impl Logs {
    /// Opens the logs. `None` if the server has never had any.
    async fn open(config: &Config) -> Result<Option<Self>, String> {
        if config.cluster.is_joined() {
            let options = nats_options(&config.cluster);
            let nats = Nats::connect(&options).await.map_err(|error| error.to_string())?;
            let seal = seal_of_command(config)?;
            let logs = nats.match_logs(&options, &seal).await.map_err(|error| error.to_string())?;
            return Ok(Some(Self::Cluster { logs: Box::new(logs), seal, _nats: Box::new(nats) }));
        }
        if !MatchLogs::exist(&config.general.data_dir) {
            return Ok(None);
        }
        let logs = MatchLogs::open_files(&config.general.data_dir)?;
        Ok(Some(Self::Files { handle: logs.handle(), logs }))
    }

    async fn partitions(&self) -> Result<Vec<Partition>, LogError> {
        match self {
            Self::Files { logs, .. } => Ok(logs.partitions()),
            Self::Cluster { logs, .. } => Ok(logs.partitions().await?.into_iter().collect()),
        }
    }

    async fn read(&self, partition: Partition) -> Result<Vec<Bytes>, LogError> {
        match self {
            Self::Files { handle, .. } => handle.take_over(partition, EPOCH).await,
            Self::Cluster { logs, .. } => logs.read(partition).await,
        }
    }

    /// All matches that have not ended, by partition.
    async fn matches(&self) -> Result<Vec<(Partition, LoggedMatch)>, String> {
        let mut found = Vec::new();
        for partition in self.partitions().await.map_err(failed)? {
            let matches = matches_of(self.read(partition).await.map_err(failed)?);
            found.extend(matches.into_iter().map(|logged| (partition, logged)));
        }
        match self {
            Self::Cluster { seal, .. }
                if found.is_empty() && seal.metrics().log_messages_forged.load(Ordering::Relaxed) > 0 =>
            {
                Err("the logs of the cluster are not sealed by the keys of this command: give it the `keys.yml` of the \
                     nodes by --data_dir, or --dev if `muster dev` has started them"
                    .to_owned())
            }
            _ => Ok(found),
        }
    }

    /// Ends a match of a partition that was read. Answers what happens, for the operator.
    async fn forget(&self, partition: Partition, id: MatchId) -> Result<String, LogError> {
        match self {
            Self::Files { handle, .. } => {
                handle.append(partition, &end_record(id, WHY))?;
                handle.synced(partition, Duration::ZERO).await?;
                Ok(format!("{id} is forgotten"))
            }
            Self::Cluster { logs, .. } => {
                logs.want_forgotten(id).await?;
                Ok(format!(
                    "{id} ends when a node takes its log over next: if it still runs, that is when its node drains or \
                     starts again"
                ))
            }
        }
    }
}

fn failed(error: LogError) -> String {
    error.to_string()
}

/// Prints a line for each durable match.
pub(super) fn list(mode: ServerMode, flags: &[Setting]) -> Outcome {
    let config = configuration_with_keys(mode, flags)?;
    runtime()?.block_on(async {
        let matches = match Logs::open(&config).await? {
            Some(logs) => logs.matches().await?,
            None => Vec::new(),
        };
        if matches.is_empty() {
            return print(&format!("there are no durable matches in {}", place(&config)));
        }
        for (_, logged) in &matches {
            print(&line(logged))?;
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// Ends a durable match.
pub(super) fn forget(mode: ServerMode, id: MatchId, flags: &[Setting]) -> Outcome {
    let config = configuration_with_keys(mode, flags)?;
    runtime()?.block_on(async {
        if let Some(logs) = Logs::open(&config).await? {
            let matches = logs.matches().await?;
            if let Some((partition, _)) = matches.iter().find(|(_, logged)| logged.id == id) {
                return print(&logs.forget(*partition, id).await.map_err(failed)?);
            }
        }
        Err(format!("there is no durable match {id} in {}; `muster match list` shows those there are", place(&config)))
    })
}

/// Where the logs are, for the operator.
fn place(config: &Config) -> String {
    if config.cluster.is_joined() {
        format!("the cluster '{}'", config.cluster.name)
    } else {
        format!("the data folder {}", config.general.data_dir.display())
    }
}

fn line(logged: &LoggedMatch) -> String {
    let time = |time: muster_domain::Timestamp| {
        String::from_utf8_lossy(Timestamp::from_unix_us(time.0).rfc3339().as_bytes()).into_owned()
    };
    let about = match &logged.origin {
        Ok((handler, created_at)) => {
            format!("of '{handler}', made {}, {} players", time(*created_at), logged.players)
        }
        Err(why) => format!("whose records cannot be read: {why}"),
    };
    let why = if logged.why.is_empty() { String::new() } else { format!(": {}", logged.why) };
    let state =
        logged.stranded_at.map_or_else(String::new, |since| format!(", cannot go on since {}{why}", time(since)));
    format!("{} {about}{state}", logged.id)
}
