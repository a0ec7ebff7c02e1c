//! Requests that two servers on the way may understand differently. A proxy and this server must see the same requests,
//! hosts and credentials. Otherwise the proxy checks another request than the one that this server carries out.

use http::header::{AUTHORIZATION, HOST, HeaderName, TRANSFER_ENCODING};
use http::{HeaderMap, Version};

/// The reason why a request is refused; its connection ends after the answer. `None` if the request has only one
/// meaning.
pub fn refusal(version: Version, headers: &HeaderMap) -> Option<&'static str> {
    // Only HTTP/1.1 requires a host. Health checks of load balancers often speak HTTP/1.0.
    if version == Version::HTTP_11 && count(headers, HOST) != 1 {
        return Some("A request of HTTP/1.1 has exactly one Host header.");
    }
    if count(headers, AUTHORIZATION) > 1 {
        return Some("A request has at most one Authorization header.");
    }
    None
}

/// Whether the connection must end after the request. A request with both `Content-Length` and `Transfer-Encoding` must
/// end it. The server library drops the `Content-Length`, so every request with a `Transfer-Encoding` ends it.
pub fn ends_connection(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING)
}

fn count(headers: &HeaderMap, name: HeaderName) -> usize {
    headers.get_all(name).iter().count()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;
    use std::rc::Rc;

    use http::header::CONTENT_LENGTH;
    use http::{Request, Response};
    use http_body_util::{BodyExt as _, Empty};
    use hyper::body::Incoming;
    use hyper::service::service_fn;
    use hyper_util::rt::TokioIo;
    use muster_testenv::fuzz::Fuzz;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::super::http1_settings;
    use super::*;

    fn check(version: Version, pairs: &[(&'static str, &'static str)], is_refused: bool) {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        assert_eq!(refusal(version, &headers).is_some(), is_refused, "{version:?} {pairs:?}");
    }

    #[test]
    fn what_has_two_meanings_is_refused() {
        check(Version::HTTP_11, &[("host", "a")], false);
        check(Version::HTTP_11, &[], true);
        check(Version::HTTP_10, &[], false);
        check(Version::HTTP_11, &[("host", "a"), ("host", "a")], true);
        check(Version::HTTP_11, &[("host", "a"), ("content-length", "3")], false);
        check(Version::HTTP_11, &[("host", "a"), ("authorization", "b"), ("authorization", "b")], true);
    }

    /// A request as the server library reads it.
    #[derive(Debug)]
    struct Seen {
        headers: HeaderMap,
        is_refused: bool,
        body: Option<Vec<u8>>,
    }

    /// The requests that the server library finds in these bytes, with the settings of [`super::super`].
    async fn requests(bytes: &[u8]) -> Vec<Seen> {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let service = service_fn(|request: Request<Incoming>| {
            let seen = seen.clone();
            async move {
                let (head, body) = request.into_parts();
                let is_refused = refusal(head.version, &head.headers).is_some();
                let body = body.collect().await.ok().map(|body| body.to_bytes().to_vec());
                seen.borrow_mut().push(Seen { headers: head.headers, is_refused, body });
                Ok::<_, Infallible>(Response::new(Empty::<bytes::Bytes>::new()))
            }
        });
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let connection = http1_settings().serve_connection(TokioIo::new(server), service);
        let talk = async {
            client.write_all(bytes).await?;
            client.shutdown().await?;
            let mut answers = Vec::new();
            client.read_to_end(&mut answers).await
        };
        let (_, _) = tokio::join!(connection, talk);
        seen.take()
    }

    #[test]
    fn damaged_requests_are_refused_or_have_one_meaning() {
        let words = [
            "GET / HTTP/1.1\r\n",
            "POST / HTTP/1.0\r\n",
            "Host: a\r\n",
            "Content-Length: 3\r\n",
            "Content-Length: +3\r\n",
            "Content-Length: 3, 3\r\n",
            "Content-Length : 3\r\n",
            "Transfer-Encoding: chunked\r\n",
            " \r\n",
            "\t",
            "Transfer-Encoding: identity, chunked\r\n",
            "Transfer-Encoding:\x0bchunked\r\n",
            "\r\n",
            "\n",
            "\r",
            "\0",
            ":",
            "3\r\nabc\r\n0\r\n\r\n",
            "Authorization: Basic YTo=\r\n",
            "Connection: close\r\n",
            ",",
            "abc",
            "0",
            "-1",
        ];
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let tried = Fuzz::new("http-head").words(&words).runs(3_000).run(|input| {
            let all = runtime.block_on(requests(input));
            for seen in all.iter().filter(|seen| !seen.is_refused && !ends_connection(&seen.headers)) {
                // Whoever reads the same head must find the same body behind it.
                let lengths: Vec<_> = seen.headers.get_all(CONTENT_LENGTH).iter().collect();
                let length = match lengths[..] {
                    [] => 0,
                    [length] => {
                        let length = length.to_str().expect("digits");
                        assert!(length.bytes().all(|byte| byte.is_ascii_digit()), "{seen:?}");
                        length.parse().expect("a number")
                    }
                    _ => panic!("{seen:?}"),
                };
                assert!(seen.body.as_ref().is_none_or(|body| body.len() == length), "{seen:?}");
                // A head is read to its end: nothing of it is left in a value.
                assert!(seen.headers.values().all(|value| !value.as_bytes().contains(&b'\n')), "{seen:?}");
            }
            !all.is_empty()
        });
        assert!(tried.accepted > tried.inputs / 50, "{tried:?}");
    }
}
