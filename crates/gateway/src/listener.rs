//! Accepts connections, and hands each to the shard that has the fewest.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use muster_domain::admission::{AddressRate, AddressSlot, SharedAdmission};
use muster_domain::ports::clock::Clock;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::address::is_proxy;
use crate::metrics::GatewayMetrics;
use crate::shard::{ShardCommand, ShardHandle};

/// Pause of accepting when the system has no file or memory for another connection.
pub(crate) const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);

/// Most bytes of a connection that the system holds unsent. The system's own limit is megabytes, and it reports
/// progress only when a third of them has been sent. A client that reads slowly would cost that much memory, and would
/// look like one that does not read.
#[cfg(target_os = "linux")]
const UNSENT_BYTES_MAX: u32 = 64 * 1024;

/// Number of pauses at the limit of connections for which one line is logged.
const PAUSES_PER_LOG_LINE: u64 = 1_000;

/// Length of the system's queue of connections that wait to be accepted.
const BACKLOG_LEN: i32 = 1024;

/// Listens on an address. On an address of IPv6, `ipv6_only` says whether clients of IPv4 are kept out; otherwise they
/// are let in, whatever the system's default is.
///
/// # Errors
/// When the address is in use or is none of this machine.
pub fn bind(address: SocketAddr, ipv6_only: bool) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(ipv6_only)?;
    }
    // A server can start again at once, while connections of its last run still end.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG_LEN)?;
    TcpListener::from_std(socket.into())
}

/// Limits of connections.
pub struct ConnectionLimits<C> {
    /// Most connections at a time.
    pub connections_max: usize,
    /// See [`GatewayConfig::proxy_count`](crate::GatewayConfig::proxy_count).
    pub proxy_count: usize,
    /// Shares of addresses of all connections.
    pub admission: Arc<SharedAdmission>,
    /// The clock by which that comes back.
    pub clock: C,
}

/// A connection's share of all connections, and of those of its address; given back when dropped.
pub struct ConnectionPermit {
    _of_all: OwnedSemaphorePermit,
    /// `None` for an address without a limit, and for a proxy.
    pub(crate) of_address: Option<AddressSlot>,
}

impl<C: Clock> ConnectionLimits<C> {
    /// The permit of a connection that was accepted; `None` if its address has taken all of its own. A proxy has no
    /// limits: its clients have.
    fn permit(&self, peer: SocketAddr, of_all: OwnedSemaphorePermit) -> Option<ConnectionPermit> {
        if is_proxy(peer.ip(), self.proxy_count) {
            return Some(ConnectionPermit { _of_all: of_all, of_address: None });
        }
        self.admission.take(AddressRate::Connections, Some(peer.ip()), self.clock.now()).ok()?;
        let of_address = self.admission.open(peer.ip()).ok()?;
        Some(ConnectionPermit { _of_all: of_all, of_address })
    }
}

/// Accepts connections until the future is dropped. Each connection holds a permit until it closes. While there is no
/// permit, nothing is accepted: further clients wait in the system's queue, and are not turned away. A connection of an
/// address that has too many is closed at once.
///
/// # Errors
/// When no shard is running any more.
pub async fn accept<C: Clock>(
    listener: TcpListener,
    limits: ConnectionLimits<C>,
    shards: Arc<[ShardHandle]>,
    metrics: Arc<GatewayMetrics>,
) -> io::Result<()> {
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    loop {
        let permit = permit(&permits, limits.connections_max, &metrics).await?;
        match listener.accept().await {
            Ok((stream, peer)) => match limits.permit(peer, permit) {
                Some(permit) => hand_over(stream, peer, permit, &shards).await?,
                None => tracing::debug!(%peer, "connection closed: its address has as many as it may"),
            },
            Err(error) if is_exhausted(&error) => {
                metrics.accept_pauses.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(%error, "accepting rests: the system has no file or memory left");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
            // The client gave up before its connection was accepted.
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
    // At the limit every further connection is a pause. The metric counts all of them, and the log shows only some.
    if pauses.is_multiple_of(PAUSES_PER_LOG_LINE) {
        tracing::warn!(connections_max, pauses, "accepting rests: socket.max_connections reached");
    }
    permits.clone().acquire_owned().await.map_err(io::Error::other)
}

async fn hand_over(
    stream: TcpStream,
    peer: SocketAddr,
    permit: ConnectionPermit,
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
    // Frames are small and complete, so waiting for a full packet would only delay them.
    stream.set_nodelay(true)?;
    // A system without this option needs more memory, but the connection works.
    #[cfg(target_os = "linux")]
    let _ = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX);
    Ok(())
}

fn is_exhausted(error: &io::Error) -> bool {
    // These are ENOMEM, ENFILE, EMFILE and ENOBUFS on Linux. The standard library has no stable names for all of them.
    matches!(error.raw_os_error(), Some(12 | 23 | 24 | 105))
}
