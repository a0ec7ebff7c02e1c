//! gzip and deflate of bodies, with a limit on the decompressed size of a request.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};

/// Shortest response that is compressed, in bytes: shorter ones fit into one packet anyway.
pub const COMPRESS_BYTES_MIN: usize = 1_400;
/// Largest body, in bytes, that the shard itself compresses or decompresses. Larger ones are left to another thread, so
/// that the shard goes on.
pub const INLINE_BYTES_MAX: usize = 32 * 1024;

/// The encoding of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// No encoding.
    Identity,
    /// gzip (RFC 1952).
    Gzip,
    /// DEFLATE (RFC 1951), in the frame of zlib (RFC 1950) as HTTP means it, or bare as many clients send it.
    Deflate,
}

/// The reason why a body cannot be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecompressError {
    /// The decompressed body is larger than the limit.
    TooBig,
    /// The body does not have the encoding that its header names.
    Malformed,
}

/// The encoding that the request's `Content-Encoding` names; `None` if it is not supported.
pub fn request_encoding(headers: &HeaderMap) -> Option<Encoding> {
    match headers.get(CONTENT_ENCODING).map(|value| value.as_bytes().to_ascii_lowercase()).as_deref() {
        None | Some(b"" | b"identity") => Some(Encoding::Identity),
        Some(b"gzip" | b"x-gzip") => Some(Encoding::Gzip),
        Some(b"deflate") => Some(Encoding::Deflate),
        Some(_) => None,
    }
}

/// Whether the client accepts gzip.
pub fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|entry| {
            let mut parts = entry.split(';').map(str::trim);
            let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
            let is_refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
            is_gzip && !is_refused
        })
}

/// Decompresses `body` to at most `bytes_max` bytes. No more than one byte above the limit is decompressed.
///
/// Errors: [`DecompressError`].
pub fn decompress(encoding: Encoding, body: &[u8], bytes_max: usize) -> Result<Vec<u8>, DecompressError> {
    match encoding {
        Encoding::Identity => Ok(body.to_vec()),
        Encoding::Gzip => read_capped(&mut MultiGzDecoder::new(body), bytes_max),
        Encoding::Deflate => {
            let mut rest = body;
            let unfolded = if is_framed(body) {
                read_capped(ZlibDecoder::new(&mut rest), bytes_max)?
            } else {
                read_capped(DeflateDecoder::new(&mut rest), bytes_max)?
            };
            if rest.is_empty() { Ok(unfolded) } else { Err(DecompressError::Malformed) }
        }
    }
}

/// Whether a body begins with the two bytes of zlib's frame. Bare DEFLATE never does: its first byte would begin a
/// stored block, with bits set that are always zero.
fn is_framed(body: &[u8]) -> bool {
    matches!(body, [method, flags, ..] if method & 0xf == 8 && u16::from_be_bytes([*method, *flags]) % 31 == 0)
}

fn read_capped(decoder: impl Read, bytes_max: usize) -> Result<Vec<u8>, DecompressError> {
    let mut unfolded = Vec::new();
    let limit = bytes_max as u64 + 1;
    decoder.take(limit).read_to_end(&mut unfolded).map_err(|_| DecompressError::Malformed)?;
    if unfolded.len() > bytes_max { Err(DecompressError::TooBig) } else { Ok(unfolded) }
}

/// Compresses a body with gzip, at the fast level that suits small JSON.
pub fn gzip(body: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), Compression::fast());
    encoder.write_all(body)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use flate2::write::DeflateEncoder;

    use super::*;

    #[test]
    fn what_is_folded_unfolds_and_a_bomb_does_not() {
        let body = b"{\"value\":1}".repeat(1_000);
        let folded = gzip(&body).unwrap();
        assert_eq!(decompress(Encoding::Gzip, &folded, body.len()).unwrap(), body);
        assert_eq!(decompress(Encoding::Gzip, &folded, body.len() - 1), Err(DecompressError::TooBig));
        assert_eq!(decompress(Encoding::Gzip, &folded[..folded.len() - 9], 1 << 20), Err(DecompressError::Malformed));
        assert_eq!(decompress(Encoding::Deflate, &folded, 1 << 20), Err(DecompressError::Malformed));
        let bare = {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&body).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(decompress(Encoding::Deflate, &bare, body.len()).unwrap(), body);
        assert_eq!(decompress(Encoding::Deflate, &bare, body.len() - 1), Err(DecompressError::TooBig));
        assert_eq!(decompress(Encoding::Deflate, &bare[..bare.len() - 9], 1 << 20), Err(DecompressError::Malformed));
        assert_eq!(
            decompress(Encoding::Deflate, &[&bare[..], b"x"].concat(), 1 << 20),
            Err(DecompressError::Malformed)
        );
        let bomb = gzip(&vec![0; 100 << 20]).unwrap();
        assert_eq!(decompress(Encoding::Gzip, &bomb, 1 << 20), Err(DecompressError::TooBig));
    }

    #[test]
    fn accept_encoding() {
        let check = |value: &'static str, expected| {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, value.parse().unwrap())]);
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        };
        check("gzip, deflate, br", true);
        check("br;q=1.0, GZIP;q=0.5", true);
        check("gzip;q=0", false);
        check("br", false);
    }
}
