//! One request and its response over a connection.

use std::pin::pin;

use bytes::{Bytes, BytesMut};
use http::header::{
    CONNECTION, CONTENT_LENGTH, HOST, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{HeaderMap, Method};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use url::{Position, Url};

use super::{OutgoingError, Response};

/// Longest body of a response, in bytes; a longer one is an error.
pub(super) const RESPONSE_BYTES_MAX: usize = 8 << 20;

/// Longest head (status and headers) of a response, in bytes.
const RESPONSE_HEAD_BYTES_MAX: usize = 64 * 1024;

/// Headers about the connection, which callers may not set.
const OURS: [http::HeaderName; 7] = [CONNECTION, CONTENT_LENGTH, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

fn failed(error: impl std::error::Error) -> OutgoingError {
    let mut told = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        told = format!("{told}: {error}");
        source = error.source();
    }
    OutgoingError::Exchange(told)
}

/// A request as it will be written to the connection.
pub(super) fn request(
    url: &Url,
    method: &Method,
    headers: &HeaderMap,
    body: &Bytes,
) -> Result<http::Request<Full<Bytes>>, OutgoingError> {
    let mut request = http::Request::new(Full::new(body.clone()));
    *request.method_mut() = method.clone();
    *request.uri_mut() = url[Position::BeforePath..Position::AfterQuery].parse().map_err(failed)?;
    let all = request.headers_mut();
    *all = headers.clone();
    for name in &OURS {
        all.remove(name);
    }
    let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort]).map_err(failed)?;
    all.insert(HOST, host);
    all.entry(USER_AGENT).or_insert(HeaderValue::from_static("Muster"));
    Ok(request)
}

/// Sends a request, and reads its response to the end.
pub(super) async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    request: http::Request<Full<Bytes>>,
) -> Result<Response, OutgoingError> {
    let mut builder = http1::Builder::new();
    builder.max_buf_size(RESPONSE_HEAD_BYTES_MAX);
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let talk = async move { read(sender.send_request(request).await.map_err(failed)?).await };
    let (mut talk, mut connection) = (pin!(talk), pin!(connection));
    tokio::select! {
        biased;
        response = &mut talk => return response,
        // The connection has ended, but parts of the body that arrived may still be unread.
        _ = &mut connection => {}
    }
    talk.await
}

async fn read(response: http::Response<Incoming>) -> Result<Response, OutgoingError> {
    let (head, mut incoming) = response.into_parts();
    let mut body = BytesMut::new();
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame.map_err(failed)?.into_data() else { continue };
        if body.len() + data.len() > RESPONSE_BYTES_MAX {
            return Err(OutgoingError::TooLong(RESPONSE_BYTES_MAX));
        }
        body.extend_from_slice(&data);
    }
    Ok(Response { status: head.status, headers: head.headers, body: body.freeze() })
}
