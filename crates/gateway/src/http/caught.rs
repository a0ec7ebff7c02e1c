//! Containment of a request's panic: the request is answered, and nothing else is affected.

use std::future::Future;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use http::Response;
use muster_wire::code::Code;

use super::service::{Body, error};
use crate::metrics::GatewayMetrics;

/// The answer to a request of this peer. A panic is counted, logged and answered with 500.
pub(super) async fn caught(
    metrics: &GatewayMetrics,
    peer: SocketAddr,
    answer: impl Future<Output = Response<Body>>,
) -> Response<Body> {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| {
        metrics.panics.fetch_add(1, Ordering::Relaxed);
        tracing::error!(%peer, "a request panicked");
        error(Code::Internal, "An internal error occurred.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_panics_is_answered_and_counted() {
        let metrics = GatewayMetrics::default();
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let answer = async |request: &str| {
            assert_ne!(request, "wrong", "a defect");
            Response::new(Body::default())
        };
        let status = |request: &'static str| {
            let answer = caught(&metrics, peer, answer(request)).now_or_never();
            answer.map(|answer| answer.status().as_u16())
        };
        assert_eq!(["wrong", "right"].map(status), [Some(500), Some(200)]);
        assert_eq!(metrics.panics.load(Ordering::Relaxed), 1);
    }
}
