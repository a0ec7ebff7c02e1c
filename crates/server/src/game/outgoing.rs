//! Requests of game code to other servers, by the gateway's client.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use muster_domain::{Error, ErrorKind, Result};
use muster_gateway::outgoing::{OutgoingClient, OutgoingError, OutgoingOptions, Request};
use muster_script::ScriptMetrics;
use muster_script::host::{HttpClient, HttpFuture, OutgoingRequest, OutgoingResponse};

/// The HTTP client of one shard's game code.
pub(super) struct Outgoing {
    client: OutgoingClient,
    metrics: Arc<ScriptMetrics>,
}

impl Outgoing {
    pub(super) fn new(options: OutgoingOptions, metrics: Arc<ScriptMetrics>) -> Self {
        Self { client: OutgoingClient::new(options), metrics }
    }

    async fn ask(&self, request: OutgoingRequest) -> Result<OutgoingResponse> {
        let method = Method::from_bytes(request.method.as_bytes());
        let request = Request {
            url: request.url,
            method: method.map_err(|_| Error::invalid("There is no such method of HTTP."))?,
            headers: to_headers(request.headers)?,
            body: request.body.into(),
            timeout: request.timeout,
            insecure: request.insecure,
        };
        let response = self.client.send(request).await.map_err(|error| to_error(&error))?;
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = response.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value)));
        Ok(OutgoingResponse {
            code: response.status.as_u16(),
            headers: headers.collect(),
            body: response.body.to_vec(),
        })
    }
}

impl HttpClient for Outgoing {
    fn send(&self, request: OutgoingRequest) -> HttpFuture<'_> {
        Box::pin(async move {
            self.metrics.http_requests.fetch_add(1, Ordering::Relaxed);
            let response = self.ask(request).await;
            if response.is_err() {
                self.metrics.http_failed.fetch_add(1, Ordering::Relaxed);
            }
            response
        })
    }
}

fn to_headers(headers: Vec<(String, String)>) -> Result<HeaderMap> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let wrong = || Error::invalid(format!("The header {name} cannot be sent as it is."));
        let value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        map.append(HeaderName::try_from(name.as_str()).map_err(|_| wrong())?, value);
    }
    Ok(map)
}

fn to_error(error: &OutgoingError) -> Error {
    let kind = match error {
        OutgoingError::Url { .. } => ErrorKind::InvalidArgument,
        OutgoingError::Refused { .. } => ErrorKind::PermissionDenied,
        OutgoingError::TooLong(_) | OutgoingError::Redirects => ErrorKind::FailedPrecondition,
        OutgoingError::Connect { .. } | OutgoingError::Exchange(_) | OutgoingError::Timeout(_) => {
            ErrorKind::Unavailable
        }
    };
    Error::new(kind, error.to_string())
}
