//! Everything that a cluster needs outside its nodes, on NATS: core subjects carry frames, one JetStream bucket holds
//! the registry, another the recovery data, and a stream the logs of durable matches.

mod bucket;
mod bus;
mod connection;
mod login;
mod match_log;
mod options;
mod reading;
mod recovery;
mod registry;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream;
use async_nats::jetstream::context::AccountErrorKind;
use async_nats::jetstream::stream;
use tokio::sync::watch;

use bucket::Bucket;
pub use bus::NatsInbox;
use connection::NatsConnection;
pub use connection::{FRAMES_WAITING_MAX, NatsMetrics, WRITES_WAITING_MAX};
pub use login::{NatsLogin, NodeCertificate};
pub use match_log::{JetLogs, MatchSubjects};
pub use options::{NatsError, NatsOptions, REPLICAS};
use recovery::BucketSink;

use crate::recovery::{Queue, RECOVERY_BYTES_MAX};
use crate::registry::VALUE_BYTES_MAX;

/// A node's connection to NATS: its bus, its registry and its recovery data. A lost connection is made anew for ever.
#[derive(Debug)]
pub struct Nats {
    nats: NatsConnection,
    /// Prefix of all subjects of this cluster.
    prefix: String,
    values: Arc<Bucket>,
    kept: Arc<Bucket>,
    recovery: Queue,
    /// Configurations of the streams that this node uses.
    ///
    /// Lock: held to push or to copy, never across an await.
    streams: Arc<Mutex<Vec<stream::Config>>>,
    /// Number of times that the recovery data were lost with JetStream's storage.
    recovery_lost: watch::Sender<u64>,
    /// Time limit of a request.
    wait: Duration,
}

impl Nats {
    /// Connects, and makes the buckets that do not exist.
    ///
    /// # Errors
    /// [`NatsError`]: no server answers, a login or certificate is refused, a permission is missing, the server is too
    /// old or has no JetStream.
    pub async fn connect(options: &NatsOptions) -> Result<Self, NatsError> {
        let nats = NatsConnection::connect(options).await?;
        // The futures of requests are large, and these are made once.
        Box::pin(nats.permitted(Self::open(nats.clone(), options))).await
    }

    async fn open(nats: NatsConnection, options: &NatsOptions) -> Result<Self, NatsError> {
        let context =
            jetstream::context::ContextBuilder::new().timeout(options.request_wait).build(nats.client.clone());
        check_jetstream(&context).await?;
        let prefix = format!("muster.{}", options.cluster);
        let [registry, recovery] = ["registry", "recovery"].map(|use_| format!("{}_{use_}", options.cluster));
        let values = Bucket::open(&nats, &context, &registry, VALUE_BYTES_MAX, options).await?;
        let kept = Arc::new(Bucket::open(&nats, &context, &recovery, RECOVERY_BYTES_MAX, options).await?);
        let recovery = Queue::start(BucketSink(kept.clone()));
        let streams = Arc::new(Mutex::new(vec![values.config.clone(), kept.config.clone()]));
        let (values, recovery_lost) = (Arc::new(values), watch::Sender::new(0));
        Ok(Self { nats, prefix, values, kept, recovery, streams, recovery_lost, wait: options.request_wait })
    }

    /// Number of times that the recovery data were lost with JetStream's storage: they have to be written again.
    pub fn recovery_lost(&self) -> watch::Receiver<u64> {
        self.recovery_lost.subscribe()
    }

    /// Counters so far.
    #[must_use]
    pub fn metrics(&self) -> &NatsMetrics {
        &self.nats.metrics
    }
}

/// Asks whether JetStream is available to this account. A cluster that has just started may take a while to answer.
async fn check_jetstream(context: &jetstream::Context) -> Result<(), NatsError> {
    const ATTEMPTS: u32 = 20;
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        match context.query_account().await {
            Ok(_) => return Ok(()),
            Err(error) => {
                last = error.to_string();
                if !matches!(error.kind(), AccountErrorKind::TimedOut | AccountErrorKind::Other) {
                    break;
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err(NatsError::NoJetStream(last))
}

#[cfg(test)]
impl Nats {
    /// Resolves when NATS says that this node's user lacks a permission.
    pub(crate) async fn refused(&self) -> String {
        self.nats.refused().await
    }
}
