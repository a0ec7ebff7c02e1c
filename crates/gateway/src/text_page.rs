//! A listener that answers every GET with one page of text, made anew each time: metrics.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::listener::EXHAUSTED_PAUSE;

/// Readers at once; more wait.
const READERS_MAX: usize = 16;
/// How long a reader may take to ask, and to ask again, so that silent ones don't keep the others waiting.
const READER_WAIT: Duration = Duration::from_secs(2);

/// Serves until dropped.
pub async fn serve(listener: TcpListener, content_type: &'static str, page: Arc<dyn Fn() -> String + Send + Sync>) {
    let permits = Arc::new(Semaphore::new(READERS_MAX));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the metrics listener cannot accept");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
                continue;
            }
        };
        let page = page.clone();
        tokio::spawn(async move {
            let service = service_fn(move |_request: Request<Incoming>| {
                let mut response = Response::new(Full::new(Bytes::from(page())));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
                std::future::ready(Ok::<_, Infallible>(response))
            });
            // Whoever reads metrics and goes away midway asks again.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(READER_WAIT)
                .serve_connection(TokioIo::new(stream), service)
                .await;
            drop(permit);
        });
    }
}
