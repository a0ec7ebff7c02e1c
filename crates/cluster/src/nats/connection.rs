//! The connection to NATS. A lost connection is made anew, after any number of failed attempts; watches tell its state
//! to everything that depends on it.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event};
use tokio::sync::watch;
use tokio::time::Instant;

use super::options::{NatsError, NatsOptions};
use crate::bus::Connection;

/// Largest number of frames and requests that wait to be written; further ones are refused.
pub const WRITES_WAITING_MAX: usize = 2_048;

/// Largest number of frames that wait for one reader; further ones are lost and counted.
pub const FRAMES_WAITING_MAX: usize = 8_192;

/// Interval of pings to a silent server. The connection is given up when the third ping is due without an answer.
const PING_EVERY: Duration = Duration::from_secs(1);

/// Time limit of one attempt to connect.
const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Pauses between attempts to connect: doubled from the first up to the last, and shortened at random by up to half.
const PAUSE_FIRST_MS: u64 = 50;
const PAUSE_LAST_MS: u64 = 2_000;

/// Counters since the start.
#[derive(Debug, Default)]
pub struct NatsMetrics {
    /// Connections that were lost.
    pub losses: AtomicU64,
    /// Frames refused because [`WRITES_WAITING_MAX`] was reached.
    pub frames_refused: AtomicU64,
    /// Times that frames were lost because [`FRAMES_WAITING_MAX`] was reached.
    pub inbox_overflows: AtomicU64,
    /// Watches that began anew.
    pub watch_restarts: AtomicU64,
    /// Times that the server said that this user lacks a permission.
    pub permissions_missing: AtomicU64,
}

/// The connection, shared by bus, registry, recovery data and match logs.
#[derive(Clone, Debug)]
pub(super) struct NatsConnection {
    pub(super) client: Client,
    pub(super) connection: watch::Receiver<Connection>,
    /// When the connection last went up or down; `None` if it has been up from the start.
    pub(super) changed_at: watch::Receiver<Option<Instant>>,
    /// The last permission that the server said this user lacks.
    refused: watch::Receiver<Option<String>>,
    pub(super) metrics: Arc<NatsMetrics>,
}

impl NatsConnection {
    /// Connects to one of the servers.
    pub(super) async fn connect(options: &NatsOptions) -> Result<Self, NatsError> {
        options.check()?;
        let addresses = options.addresses()?;
        let metrics = Arc::new(NatsMetrics::default());
        let connection = watch::Sender::new(Connection { is_up: true, losses: 0 });
        let changed_at = watch::Sender::new(None);
        let refused = watch::Sender::new(None);
        let (connection_seen, changed_at_seen) = (connection.subscribe(), changed_at.subscribe());
        let refused_seen = refused.subscribe();
        let teller = Arc::new(Teller { connection, changed_at, refused, metrics: metrics.clone() });
        let client_options = ConnectOptions::new()
            .name("muster")
            // Answers arrive under the cluster's own prefix, so that a user of NATS can be confined to it.
            .custom_inbox_prefix(format!("muster.{}.inbox", options.cluster))
            .ping_interval(PING_EVERY)
            .connection_timeout(CONNECT_WAIT)
            .request_timeout(Some(options.request_wait))
            .client_capacity(WRITES_WAITING_MAX)
            .subscription_capacity(FRAMES_WAITING_MAX)
            .reconnect_delay_callback(pause)
            .event_callback(move |event| {
                teller.tell(&event);
                std::future::ready(())
            });
        let client_options = options.authenticate(client_options)?;
        let client = client_options.connect(addresses).await.map_err(|error| options.explain(&error))?;
        if !client.is_server_compatible(2, 12, 0) {
            return Err(NatsError::TooOld(client.server_info().version));
        }
        Ok(Self { client, connection: connection_seen, changed_at: changed_at_seen, refused: refused_seen, metrics })
    }

    pub(super) fn is_up(&self) -> bool {
        // The client changes its state before it tells the change.
        self.connection.borrow().is_up && self.client.connection_state() == State::Connected
    }

    /// Resolves when the connection is lost, or at once if it was lost since `losses` were counted.
    pub(super) async fn lost(&self, losses: u64) {
        let mut connection = self.connection.clone();
        // An error means that the client is gone, and its connection with it.
        let _ = connection.wait_for(|connection| !connection.is_up || connection.losses != losses).await;
    }

    /// Waits for `what`, or for the server's word that this user lacks a permission.
    pub(super) async fn permitted<T>(&self, what: impl Future<Output = Result<T, NatsError>>) -> Result<T, NatsError> {
        tokio::select! {
            biased;
            reason = self.refused() => Err(NatsError::NotPermitted(reason)),
            outcome = what => outcome,
        }
    }

    /// Resolves when the server says that this user lacks a permission.
    pub(super) async fn refused(&self) -> String {
        let mut refused = self.refused.clone();
        refused.mark_unchanged();
        match refused.changed().await {
            Ok(()) => refused.borrow().clone().unwrap_or_default(),
            // The client is gone, and says nothing any more.
            Err(_) => std::future::pending().await,
        }
    }

    /// Resolves when the connection is up. Answers the losses so far, or `None` if there will be no connection any
    /// more.
    pub(super) async fn up(&self) -> Option<u64> {
        let mut connection = self.connection.clone();
        let losses = connection.wait_for(|connection| connection.is_up).await.map(|connection| connection.losses);
        losses.ok()
    }
}

/// Turns the client's events into the state of the connection.
struct Teller {
    connection: watch::Sender<Connection>,
    changed_at: watch::Sender<Option<Instant>>,
    refused: watch::Sender<Option<String>>,
    metrics: Arc<NatsMetrics>,
}

impl Teller {
    fn tell(&self, event: &Event) {
        match event {
            Event::Disconnected | Event::Closed => self.set(false),
            Event::Connected => self.set(true),
            Event::SlowConsumer(_) => {
                self.metrics.inbox_overflows.fetch_add(1, Ordering::Relaxed);
            }
            Event::LameDuckMode | Event::Draining => {}
            Event::ServerError(error) => {
                tracing::warn!(%error, "nats refused a request");
                let text = error.to_string();
                if text.to_lowercase().contains("permissions violation") {
                    self.metrics.permissions_missing.fetch_add(1, Ordering::Relaxed);
                    self.refused.send_replace(Some(text));
                }
            }
            Event::ClientError(error) => tracing::debug!(%error, "no connection to nats yet"),
        }
    }

    fn set(&self, is_up: bool) {
        let before = *self.connection.borrow();
        if before.is_up == is_up {
            return;
        }
        if is_up {
            tracing::info!("connected to nats again");
        } else {
            self.metrics.losses.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("the connection to nats is lost");
        }
        // The time is set first, so that a reader that sees the connection up sees since when.
        self.changed_at.send_replace(Some(Instant::now()));
        self.connection.send_replace(Connection { is_up, losses: before.losses + u64::from(!is_up) });
    }
}

/// The pause before an attempt to connect. The first attempt comes almost at once, so that nodes whose server died are
/// away only briefly. Pauses are random, so that these nodes do not all connect at the same moment.
fn pause(attempts: usize) -> Duration {
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX).saturating_sub(1).min(16);
    let most = if attempts <= 1 { PAUSE_FIRST_MS } else { (PAUSE_FIRST_MS << doublings).min(PAUSE_LAST_MS) };
    let least = if attempts <= 1 { 0 } else { most / 2 };
    Duration::from_millis(fastrand::u64(least..=most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_differ() {
        let check = |attempts, least, most| {
            let pauses: Vec<u128> = (0..200).map(|_| pause(attempts).as_millis()).collect();
            assert!(pauses.iter().all(|pause| (least..=most).contains(pause)), "{attempts}: {pauses:?}");
            assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{attempts}");
        };
        check(1, 0, 50);
        check(2, 50, 100);
        check(3, 100, 200);
        check(7, 1_000, 2_000);
        check(usize::MAX, 1_000, 2_000);
    }
}
