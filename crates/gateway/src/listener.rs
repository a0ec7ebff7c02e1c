//! Accepting connections and handing each to the shard that has the fewest.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::metrics::GatewayMetrics;
use crate::shard::{ShardCommand, ShardHandle};

/// How long accepting rests when the system refuses a connection for want of files or memory.
pub(crate) const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// Bytes of a connection that the system holds and has not sent. Its own bound is megabytes, and it reports progress only
/// when a third of them is gone: a client that reads slowly would look like one that does not read, and cost that much.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 64 * 1024;

/// Of so many pauses at the limit of connections one is logged.
const PAUSES_PER_LOG_LINE: u64 = 1_000;

/// Accepts until dropped. Each accepted connection holds a permit until it closes; when there is none left the listener
/// rests, and further clients wait in the system's queue instead of being turned away.
///
/// # Errors
/// Only when every shard is gone.
pub async fn accept(
    listener: TcpListener,
    connections_max: usize,
    shards: Arc<[ShardHandle]>,
    metrics: Arc<GatewayMetrics>,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(connections_max));
    loop {
        let permit = permit(&permits, connections_max, &metrics).await?;
        match listener.accept().await {
            Ok((stream, peer)) => hand_over(stream, peer, permit, &shards).await?,
            Err(error) if is_exhausted(&error) => {
                metrics.accept_pauses.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%error, "accepting rests: the system has no file or memory left");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
            // The client gave up between its arrival and now.
            Err(error) => tracing::debug!(%error, "connection lost before it was accepted"),
        }
    }
}

async fn permit(
    permits: &Arc<Semaphore>,
    connections_max: usize,
    metrics: &GatewayMetrics,
) -> io::Result<OwnedSemaphorePermit> {
    if let Ok(permit) = permits.clone().try_acquire_owned() {
        return Ok(permit);
    }
    let pauses = metrics.accept_pauses.fetch_add(1, Ordering::Relaxed);
    // At the limit every further connection pauses once: the metric counts them, the log need not.
    if pauses.is_multiple_of(PAUSES_PER_LOG_LINE) {
        tracing::warn!(connections_max, pauses, "accepting rests: socket.max_connections reached");
    }
    permits.clone().acquire_owned().await.map_err(io::Error::other)
}

async fn hand_over(
    stream: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
    shards: &[ShardHandle],
) -> io::Result<()> {
    let Some(shard) = shards.iter().filter(|shard| shard.is_alive()).min_by_key(|shard| shard.load()) else {
        return Err(io::Error::other("no shard is running"));
    };
    match prepare(&stream).and_then(|()| stream.into_std()) {
        Ok(stream) => shard.send(ShardCommand::Connection { stream, peer, permit }).await,
        Err(error) => {
            tracing::debug!(%error, "connection lost before it was handed over");
            Ok(())
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Frames are small and complete: waiting to fill a packet only delays them.
    stream.set_nodelay(true)?;
    // A system that does not know the option costs memory, not the connection.
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
    Ok(())
}

fn is_exhausted(error: &io::Error) -> bool {
    // ENOMEM, ENFILE, EMFILE, ENOBUFS on Linux; the standard library names none of them stably.
    matches!(error.raw_os_error(), Some(12 | 23 | 24 | 105))
}
