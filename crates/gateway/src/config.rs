//! The gateway's configuration: addresses, limits and timeouts, under their configuration names.

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
    /// The part of public ids behind the dot: `name` in the configuration.
    pub node: Arc<str>,
    /// Whether developers use the server: players are told why their match failed.
    pub is_dev: bool,
    /// Limits and timeouts of HTTP.
    pub http: HttpLimits,
    /// Most connections at a time, sockets and HTTP together. At the limit no further connection is accepted until one
    /// closes.
    pub connections_max: usize,
    /// Number of proxies in front of the server (`socket.proxy_count`). They wrote that many entries of
    /// `X-Forwarded-For`, counted from the right. The entries are trusted only if the peer has a loopback or private
    /// address.
    pub proxy_count: usize,
    /// Whether requests that came through a proxy are refused. They are while well-known keys are in use.
    pub refuse_forwarded: bool,
    /// Headers that are added to each response (`socket.response_headers`).
    pub response_headers: Vec<(HeaderName, HeaderValue)>,
    /// Certificate and key, if the server itself speaks TLS.
    pub tls: Option<Arc<tokio_rustls::rustls::ServerConfig>>,
}

/// Limits of an HTTP request, under their configuration names.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// `socket.max_request_size_bytes`: most bytes of a body as it arrives.
    pub body_bytes_max: usize,
    /// `socket.decompressed_request_size_bytes`: most bytes of a body after decompression.
    pub decompressed_bytes_max: usize,
    /// `socket.read_timeout_ms`: longest time for a request's head, and again for its body.
    pub read_timeout_ms: Millis,
    /// `socket.write_timeout_ms`: longest time until the client has taken a response.
    pub write_timeout_ms: Millis,
    /// `socket.idle_timeout_ms`: longest time between requests.
    pub idle_timeout_ms: Millis,
    /// `limits.answer_rate_min`: least bytes of an answer of many bytes that the client reads in a second; 0 for any.
    pub answer_rate_min: u64,
}
