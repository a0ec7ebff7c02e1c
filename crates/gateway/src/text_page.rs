//! A listener that answers every GET with one page of text, made anew each time: metrics.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use muster_api::keys::is_key;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::listener::EXHAUSTED_PAUSE;

/// Readers at once; more wait.
const READERS_MAX: usize = 16;
/// How long a reader may take to ask, and to ask again, so that silent ones don't keep the others waiting.
const READER_WAIT: Duration = Duration::from_secs(2);

/// The answer of the listener, and who may have it.
pub struct Page {
    /// The type of the text.
    pub content_type: &'static str,
    /// The header `Authorization` that readers have to send, if not everybody may read.
    pub authorization: Option<String>,
    /// Makes the text.
    pub text: Box<dyn Fn() -> String + Send + Sync>,
}

impl Page {
    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let given = request.headers().get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let is_wanted = |wanted: &String| given.is_some_and(|given| is_key(wanted.as_bytes(), given));
        let is_reader = self.authorization.as_ref().is_none_or(is_wanted);
        if !is_reader {
            let mut response =
                Response::new(Full::new(Bytes::from_static(b"send `Authorization: Bearer <metrics.token>`\n")));
            *response.status_mut() = StatusCode::UNAUTHORIZED;
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return response;
        }
        let mut response = Response::new(Full::new(Bytes::from((self.text)())));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        response
    }
}

/// Serves until dropped.
pub async fn serve(listener: TcpListener, page: Page) {
    let page = Arc::new(page);
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
            let service = service_fn(move |request: Request<Incoming>| {
                std::future::ready(Ok::<_, Infallible>(page.answer(&request)))
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
