//! HTTP/1.1 connections. Each is a task of its own, until it ends or becomes a socket.

pub mod activity;
pub mod address;
pub mod ambiguity;
mod answers;
pub mod body;
mod caught;
pub mod compress;
pub mod cors;
pub mod service;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use muster_domain::admission::AddressSlot;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};
use tokio_rustls::TlsAcceptor;

use self::activity::{Activity, Watched};
use self::service::{Exchange, PendingSocket};
use crate::shard::{ConnectionGuard, Shard};
use crate::ws::session::{self, Opening};
use crate::ws::stream::Transport;

/// Longest head of a request, in bytes; a longer one is answered with 431. The server library allows no lower limit.
const HEAD_BYTES_MAX: usize = 8 * 1024;
/// Most header lines of a request; a request with more is answered with 431.
const HEADERS_MAX: usize = 64;

/// Serves a connection until it ends or becomes a socket. A socket goes on in a task of its own, which is much smaller
/// than this one; most connections are sockets that wait. `guard` stays with the connection.
pub async fn serve(stream: TcpStream, peer: SocketAddr, shard: Rc<Shard>, guard: ConnectionGuard) {
    let Some(tls) = shard.config.tls.clone() else {
        return serve_transport(stream, peer, shard, guard).await;
    };
    let handshake = TlsAcceptor::from(tls).accept(stream);
    let within = std::time::Duration::from_millis(shard.config.http.read_timeout_ms);
    match tokio::time::timeout(within, handshake).await {
        Ok(Ok(stream)) => serve_transport(Box::new(stream), peer, shard, guard).await,
        Ok(Err(error)) => tracing::debug!(%peer, %error, "TLS handshake failed"),
        Err(_) => {
            shard.metrics.http_timeouts.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn serve_transport<S: Transport>(stream: S, peer: SocketAddr, shard: Rc<Shard>, mut guard: ConnectionGuard) {
    if let Some((upgraded, opening, of_address)) = serve_requests(stream, peer, shard.clone()).await
        && let Ok(parts) = upgraded.downcast::<TokioIo<Watched<S>>>()
    {
        guard.count_for_client(of_address);
        let stream = parts.io.into_inner().io;
        session::start(stream, parts.read_buf, opening, shard, guard);
    }
}

/// Answers requests until the connection ends, or until one of them turns it into a socket.
async fn serve_requests<S: Transport>(
    stream: S,
    peer: SocketAddr,
    shard: Rc<Shard>,
) -> Option<(Upgraded, Opening, Option<AddressSlot>)> {
    let activity = Arc::new(Activity::new(Instant::now()));
    let number = shard.number_connection();
    let pending: Rc<RefCell<Option<PendingSocket>>> = Rc::default();
    let exchange =
        Rc::new(Exchange { shard: shard.clone(), peer, number, activity: activity.clone(), pending: pending.clone() });
    let service = service_fn(move |request| {
        let exchange = exchange.clone();
        async move { exchange.answer(request).await }
    });
    let io = TokioIo::new(Watched { io: stream, activity: activity.clone() });
    let connection = http1_settings().serve_connection(io, service).with_upgrades();
    drive(connection, number, &activity, &shard).await;
    let pending = pending.borrow_mut().take();
    let PendingSocket { upgrade, opening, of_address } = pending?;
    Some((upgrade.await.ok()?, opening, of_address))
}

/// The settings by which the server library reads connections.
fn http1_settings() -> http1::Builder {
    let mut settings = http1::Builder::new();
    settings.max_buf_size(HEAD_BYTES_MAX).max_headers(HEADERS_MAX).header_read_timeout(None);
    // A client may close its side after its request. The request is carried out and answered all the same.
    settings.half_close(true);
    settings
}

/// Drives a connection to its end. Enforces its timeouts, and closes it when the server stops.
async fn drive<S, F>(
    connection: http1::UpgradeableConnection<TokioIo<Watched<S>>, F>,
    number: u64,
    activity: &Activity,
    shard: &Shard,
) where
    S: Transport,
    F: hyper::service::HttpService<hyper::body::Incoming, ResBody = service::Body>,
    F::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let mut connection = std::pin::pin!(connection);
    let mut timer = std::pin::pin!(sleep_until(Instant::now()));
    let mut is_stopping = false;
    poll_fn(|context| {
        shard.watch_http(number, context.waker());
        if shard.is_draining() && !is_stopping {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        // Errors of the connection are only counted: the client's requests were answered, or the client has gone.
        if let Poll::Ready(ended) = connection.as_mut().poll(context) {
            ended.unwrap_or_else(|error| shard.metrics.connection_failed(&error));
            return Poll::Ready(());
        }
        while timer.as_mut().poll(context).is_ready() {
            match activity.next_check(&shard.config.http) {
                Some(next) => timer.as_mut().reset(next),
                None => {
                    if activity.is_answer_late() {
                        shard.metrics.answers_too_slow.fetch_add(1, Ordering::Relaxed);
                    }
                    shard.metrics.http_timeouts.fetch_add(1, Ordering::Relaxed);
                    return Poll::Ready(());
                }
            }
        }
        Poll::Pending
    })
    .await;
    shard.unwatch_http(number);
}
