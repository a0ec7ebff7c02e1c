//! One connection to NATS: made, kept, made anew for ever, and told of.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event};
use tokio::sync::watch;
use tokio::time::Instant;

use super::options::{NatsError, NatsOptions};
use crate::bus::Connection;

/// Frames and requests that wait to be written at most; more are refused.
pub const WRITES_WAITING_MAX: usize = 2_048;

/// Frames that wait for one reader at most; more are lost and counted.
pub const FRAMES_WAITING_MAX: usize = 8_192;

/// A server that says nothing for this long is asked; at the third time it is given up.
const PING_EVERY: Duration = Duration::from_secs(1);

/// How long one attempt to connect may take.
const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Pauses between attempts: doubled from the first to the last, less up to half by chance.
const PAUSE_FIRST_MS: u64 = 50;
const PAUSE_LAST_MS: u64 = 2_000;

/// What was counted since the start.
#[derive(Debug, Default)]
pub struct NatsMetrics {
    /// Connections that were lost.
    pub losses: AtomicU64,
    /// Frames refused since [`WRITES_WAITING_MAX`] others waited.
    pub frames_refused: AtomicU64,
    /// Times that frames were lost since [`FRAMES_WAITING_MAX`] others waited to be read.
    pub inbox_overflows: AtomicU64,
    /// Watches that began anew.
    pub watch_restarts: AtomicU64,
}

/// The connection, shared by bus, registry and recovery.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) client: Client,
    pub(super) connection: watch::Receiver<Connection>,
    /// When it came or went last; `None`: it has been there from the start.
    pub(super) changed_at: watch::Receiver<Option<Instant>>,
    pub(super) metrics: Arc<NatsMetrics>,
}

impl Line {
    /// Connects to one of the servers.
    pub(super) async fn connect(options: &NatsOptions) -> Result<Self, NatsError> {
        options.check()?;
        let addresses = options.addresses()?;
        let metrics = Arc::new(NatsMetrics::default());
        let connection = watch::Sender::new(Connection { is_up: true, losses: 0 });
        let changed_at = watch::Sender::new(None);
        let (connection_seen, changed_at_seen) = (connection.subscribe(), changed_at.subscribe());
        let teller = Arc::new(Teller { connection, changed_at, metrics: metrics.clone() });
        let client_options = ConnectOptions::new()
            .name("muster")
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
        let client_options = options.authenticate(client_options).await?;
        let client = client_options.connect(addresses).await.map_err(|error| options.explain(&error))?;
        if !client.is_server_compatible(2, 12, 0) {
            return Err(NatsError::TooOld(client.server_info().version));
        }
        Ok(Self { client, connection: connection_seen, changed_at: changed_at_seen, metrics })
    }

    pub(super) fn is_up(&self) -> bool {
        // The client is ahead of what it tells.
        self.connection.borrow().is_up && self.client.connection_state() == State::Connected
    }

    /// Resolves when the connection is lost, or was since `losses` were counted.
    pub(super) async fn lost(&self, losses: u64) {
        let mut connection = self.connection.clone();
        // An error: the client is gone, and its connection with it.
        let _ = connection.wait_for(|connection| !connection.is_up || connection.losses != losses).await;
    }

    /// Resolves when there is a connection; tells the losses so far. `None`: there will be none any more.
    pub(super) async fn up(&self) -> Option<u64> {
        let mut connection = self.connection.clone();
        let losses = connection.wait_for(|connection| connection.is_up).await.map(|connection| connection.losses);
        losses.ok()
    }
}

/// Makes of the client's events how the connection stands.
struct Teller {
    connection: watch::Sender<Connection>,
    changed_at: watch::Sender<Option<Instant>>,
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
            Event::ServerError(error) => tracing::warn!(%error, "nats refuses something"),
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
        // First, so that whoever sees the connection up sees since when.
        self.changed_at.send_replace(Some(Instant::now()));
        self.connection.send_replace(Connection { is_up, losses: before.losses + u64::from(!is_up) });
    }
}

/// The pause before an attempt. The first comes at once, so that nodes whose server died are hardly away; by chance
/// not all in the same moment.
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
