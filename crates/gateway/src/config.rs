//! What the gateway is told: addresses, limits and timeouts, under their configuration names.

use std::sync::Arc;

use http::{HeaderName, HeaderValue};
use muster_live::{Millis, OutboxLimits, PlaneConfig};

use crate::ws::resume::ResumeLimits;
use crate::ws::shared::SocketLimits;

/// The gateway's configuration.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Limits and timeouts of sockets.
    pub socket: SocketLimits,
    /// Limits of a session's outgoing queue.
    pub outbox: OutboxLimits,
    /// Sessions that survive their socket.
    pub resume: ResumeLimits,
    /// Limits of the live plane.
    pub plane: PlaneConfig,
    /// `name`: the part of public ids behind the dot.
    pub node: Arc<str>,
    /// Limits and timeouts of HTTP.
    pub http: HttpLimits,
    /// Connections accepted at once, sockets and HTTP together. At the limit accepting pauses.
    pub connections_max: usize,
    /// How many proxies stand before the server (`socket.proxy_count`): so many entries of `X-Forwarded-For`, counted
    /// from the right, were written by them. Believed only of peers with a loopback or private address.
    pub proxy_count: usize,
    /// Refuse requests that came through a proxy: well-known keys are in force.
    pub refuse_forwarded: bool,
    /// Added to each response (`socket.response_headers`).
    pub response_headers: Vec<(HeaderName, HeaderValue)>,
    /// Certificate and key, when the server speaks TLS itself.
    pub tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
}

/// Limits of an HTTP request, under their configuration names.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// `socket.max_request_size_bytes`: of the body as it arrives.
    pub body_bytes_max: usize,
    /// `socket.decompressed_request_size_bytes`: of the body after decompression.
    pub decompressed_bytes_max: usize,
    /// `socket.read_timeout_ms`: for the head, and again for the body.
    pub read_timeout_ms: Millis,
    /// `socket.write_timeout_ms`: for the client to take a response.
    pub write_timeout_ms: Millis,
    /// `socket.idle_timeout_ms`: between requests.
    pub idle_timeout_ms: Millis,
}
