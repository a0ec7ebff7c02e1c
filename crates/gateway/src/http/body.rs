//! Reads the whole body of a request, within its limits.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::{Body as _, Incoming};

use super::compress::{self, DecompressError, Encoding, INLINE_BYTES_MAX};
use crate::config::HttpLimits;

/// The reason why a body is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// The body as it arrives is larger than `socket.max_request_size_bytes`.
    TooBig,
    /// The decompressed body is larger than `socket.decompressed_request_size_bytes`.
    UnfoldsTooBig,
    /// The body has a `Content-Encoding` that is not supported.
    UnknownEncoding,
    /// The body does not fit its headers, or ended early.
    Malformed,
}

impl BodyError {
    /// The sentence for the caller.
    pub fn text(self) -> &'static str {
        match self {
            Self::TooBig => "The request body is larger than socket.max_request_size_bytes.",
            Self::UnfoldsTooBig => {
                "The decompressed request body is larger than socket.decompressed_request_size_bytes."
            }
            Self::UnknownEncoding => "This Content-Encoding is not supported. Send gzip, deflate or none.",
            Self::Malformed => "The request body could not be read.",
        }
    }

    /// Whether the body is too large, compressed or not.
    pub fn is_size(self) -> bool {
        matches!(self, Self::TooBig | Self::UnfoldsTooBig)
    }
}

/// Reads the body and decompresses it.
pub async fn read(headers: &HeaderMap, body: Incoming, limits: &HttpLimits) -> Result<Bytes, BodyError> {
    let encoding = compress::request_encoding(headers).ok_or(BodyError::UnknownEncoding)?;
    let raw = read_raw(body, limits.body_bytes_max).await?;
    if encoding == Encoding::Identity || raw.is_empty() {
        return Ok(raw);
    }
    let bytes_max = limits.decompressed_bytes_max;
    let unfolded = if raw.len() <= INLINE_BYTES_MAX && bytes_max <= 16 * INLINE_BYTES_MAX {
        compress::decompress(encoding, &raw, bytes_max)
    } else {
        let unfold = move || compress::decompress(encoding, &raw, bytes_max);
        tokio::task::spawn_blocking(unfold).await.map_err(|_| BodyError::Malformed)?
    };
    unfolded.map(Bytes::from).map_err(|error| match error {
        DecompressError::TooBig => BodyError::UnfoldsTooBig,
        DecompressError::Malformed => BodyError::Malformed,
    })
}

async fn read_raw(mut body: Incoming, bytes_max: usize) -> Result<Bytes, BodyError> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(BodyError::TooBig);
    }
    // Most bodies arrive in one piece, which is passed on without a copy.
    let first = next_piece(&mut body).await?.unwrap_or_default();
    if first.len() > bytes_max {
        return Err(BodyError::TooBig);
    }
    let Some(second) = next_piece(&mut body).await? else { return Ok(first) };
    let mut whole = BytesMut::from(first);
    let mut piece = Some(second);
    while let Some(bytes) = piece {
        if whole.len() + bytes.len() > bytes_max {
            return Err(BodyError::TooBig);
        }
        whole.extend_from_slice(&bytes);
        piece = next_piece(&mut body).await?;
    }
    Ok(whole.freeze())
}

async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, BodyError> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(_)) => return Err(BodyError::Malformed),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
        }
    }
}
