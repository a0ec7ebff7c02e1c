//! Recovery data of this node's shards. They are written so that other nodes can go on after a crash of this node, and
//! read for shards that take over from a node that crashed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use muster_cluster::NodeNumber;
use muster_cluster::codec::{Decoder, DecoderMetrics};
use muster_cluster::nats::Nats;
use muster_cluster::recovery::{Recovery as _, RecoveryError, form};
use muster_cluster::seal::Sealed;
use muster_gateway::shard::{ShardCommand, ShardHandle};
use muster_live::plane::{RECOVERY_WAIT_MS, Recoverable, RecoveryKey};
use muster_live::{Epoch, Partition, Routes, ShardIndex};

/// Number of partitions that are read at the same time.
const READ_AT_ONCE: usize = 32;

/// The pause before a failed read is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// Time after which the data of a partition's former owners are removed: the new owner has written its own by then.
const SWEPT_AFTER: Duration = Duration::from_secs(10);

/// Writes and reads the recovery data of this node's shards.
pub(super) struct RecoveryKeeper {
    number: NodeNumber,
    nats: Arc<Sealed<Nats>>,
    shards: Arc<[ShardHandle]>,
    decoder: Arc<Decoder>,
    /// Partitions that this node owns, with their epochs.
    owned: BTreeMap<Partition, Epoch>,
    /// Things of this node whose data are kept.
    kept: BTreeSet<RecoveryKey>,
}

impl RecoveryKeeper {
    pub(super) fn new(
        number: NodeNumber,
        nats: Arc<Sealed<Nats>>,
        shards: Arc<[ShardHandle]>,
        metrics: Arc<DecoderMetrics>,
    ) -> Self {
        let decoder = Arc::new(Decoder::new(number, metrics));
        Self { number, nats, shards, decoder, owned: BTreeMap::new(), kept: BTreeSet::new() }
    }

    /// Queues data for writing.
    pub(super) fn keep(&mut self, recoverable: Vec<Recoverable>) {
        for recoverable in recoverable {
            let (thing, key) = (recoverable.key, form::key(&recoverable));
            let outcome = match form::value(self.number, recoverable) {
                Some(value) => {
                    self.kept.insert(thing);
                    self.nats.put(&key, value)
                }
                None => {
                    self.kept.remove(&thing);
                    self.nats.remove(&key)
                }
            };
            if let Err(error) = outcome {
                tracing::debug!(key, %error, "recovery data are left out");
            }
        }
    }

    /// Has the data of this node's things written again: NATS has lost what it had stored.
    pub(super) async fn keep_again(&mut self) {
        let things: Arc<[RecoveryKey]> = self.kept.iter().copied().collect();
        tracing::info!(things = things.len(), "recovery data are written again");
        for shard in self.shards.iter() {
            // A shard that has ended keeps nothing.
            let _ = shard.send(ShardCommand::KeepAgain(things.clone())).await;
        }
    }

    /// Reads the data of partitions and gives them to a shard, for as long as the shard waits.
    pub(super) fn recover(&self, shard: ShardIndex, partitions: Vec<(Partition, Epoch)>) {
        let Some(handle) = self.shards.get(usize::from(shard)).cloned() else { return };
        let (nats, decoder, number) = (self.nats.clone(), self.decoder.clone(), self.number);
        tokio::task::spawn_local(async move {
            let reading = async {
                let kept: BTreeSet<Partition> = until_read(|| nats.keys(form::WORD))
                    .await
                    .iter()
                    .filter_map(|key| form::owner_of(key))
                    .map(|(partition, _)| partition)
                    .collect();
                let (with_data, without_data): (Vec<_>, Vec<_>) =
                    partitions.into_iter().partition(|(partition, _)| kept.contains(partition));
                let without_data =
                    without_data.into_iter().map(|(partition, epoch)| (partition, epoch, Vec::new())).collect();
                // A shard that has ended waits for nothing.
                let _ = handle.send(ShardCommand::Recovered(without_data)).await;
                for group in with_data.chunks(READ_AT_ONCE) {
                    let read = group.iter().map(async |(partition, epoch)| {
                        let words = form::words_of(*partition);
                        let found = until_read(|| nats.load(&words)).await;
                        (*partition, *epoch, form::latest(&decoder, number, found))
                    });
                    let _ = handle.send(ShardCommand::Recovered(join_all(read).await)).await;
                }
            };
            if tokio::time::timeout(Duration::from_millis(RECOVERY_WAIT_MS), reading).await.is_err() {
                tracing::warn!("recovery data could not be read in time: the things that they belong to end");
            }
        });
    }

    /// Takes in new routes. Some time after a partition came to this node, the data of its former owners are removed.
    pub(super) fn follow(&mut self, routes: &Routes) {
        // While a partition is on its way, its former owner still writes.
        let is_here = |partition: &Partition| {
            routes.owner(*partition).node() == self.number && routes.former(*partition).is_none()
        };
        let here = Partition::all().filter(is_here);
        let owned: BTreeMap<Partition, Epoch> = here.map(|partition| (partition, routes.epoch(partition))).collect();
        let is_new = |(partition, epoch): &(&Partition, &Epoch)| self.owned.get(*partition) != Some(*epoch);
        let new: BTreeMap<Partition, Epoch> =
            owned.iter().filter(is_new).map(|(partition, epoch)| (*partition, *epoch)).collect();
        if self.owned.keys().any(|partition| !owned.contains_key(partition)) {
            self.kept.retain(|thing| owned.contains_key(&thing.partition()));
        }
        self.owned = owned;
        if new.is_empty() {
            return;
        }
        let nats = self.nats.clone();
        tokio::task::spawn_local(async move {
            tokio::time::sleep(SWEPT_AFTER).await;
            nats.flush().await;
            let keys = nats.keys(form::WORD).await.unwrap_or_default();
            let is_old = |key: &String| {
                form::owner_of(key).is_some_and(|(of, written)| new.get(&of).is_some_and(|epoch| written < *epoch))
            };
            for key in keys.into_iter().filter(is_old) {
                // Data that cannot be removed now are removed by the next owner.
                let _ = nats.remove(&key);
            }
        });
    }
}

/// Reads again and again until a read succeeds.
async fn until_read<T, F: Future<Output = Result<T, RecoveryError>>>(read: impl Fn() -> F) -> T {
    loop {
        match read().await {
            Ok(found) => return found,
            Err(error) => {
                tracing::debug!(%error, "recovery data cannot be read yet");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
