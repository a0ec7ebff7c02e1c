//! Tests of requests to servers on this machine, some of which misbehave.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::exchange::RESPONSE_BYTES_MAX;
use super::{OutgoingClient, OutgoingError, OutgoingOptions, Request, Response, Trust};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn client(is_strict: bool, requests_max: usize) -> OutgoingClient {
    OutgoingClient::new(OutgoingOptions { is_strict, requests_max, trust: Trust::default() })
}

fn request(method: Method, url: &str) -> Request {
    Request {
        url: url.to_owned(),
        method,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        timeout: Duration::from_secs(30),
        insecure: false,
    }
}

async fn get(url: &str) -> Result<Response, OutgoingError> {
    client(false, 64).send(request(Method::GET, url)).await
}

fn text(response: &Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// Reads a request: its head as text, and its body.
async fn read(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                return text;
            }
        }
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            return text;
        }
    }
}

/// Answers a request by its path.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin) {
    let asked = read(&mut stream).await;
    let path = asked.split(' ').nth(1).unwrap_or_default().to_owned();
    let to = |status: &str, location: &str| {
        format!("HTTP/1.1 {status} Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
    };
    let response = match path.as_str() {
        "/302" => to("302", "/echo"),
        "/307" => to("307", "echo?again=1"),
        "/loop" => to("301", "/loop"),
        "/metadata" => to("302", "http://169.254.169.254/latest/meta-data"),
        "/file" => to("302", "file:///etc/passwd"),
        "/long" => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", RESPONSE_BYTES_MAX + 1),
        "/broken" => "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort".to_owned(),
        "/noise" => "what?\r\n\r\n".to_owned(),
        "/empty" => "HTTP/1.1 204 No Content\r\nx-a: 1\r\nx-a: 2\r\n\r\n".to_owned(),
        "/chunks" => "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n".to_owned(),
        path if path.starts_with("/to/") => to("302", &format!("http://{}/echo", &path[4..])),
        _ => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{asked}", asked.len()),
    };
    // A client that has read enough closes the connection.
    let _ = stream.write_all(response.as_bytes()).await;
    if path == "/long" {
        let _ = stream.write_all(&vec![0; RESPONSE_BYTES_MAX + 1]).await;
    }
    let _ = stream.shutdown().await;
}

/// Starts a server. Answers its host and port.
async fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    address.to_string()
}

/// Starts a server that speaks TLS, with a certificate that no authority has signed.
async fn tls_server() -> String {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![made.cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                if let Ok(stream) = acceptor.accept(stream).await {
                    answer(stream).await;
                }
            });
        }
    });
    format!("localhost:{port}")
}

#[test]
fn a_request_and_its_response() {
    block_on(async {
        let host = server().await;
        let mut asked = request(Method::POST, &format!("http://{host}/echo?a=b%20c#fragment"));
        asked.body = Bytes::from_static(b"body");
        for (name, value) in
            [("x-key", "secret"), ("host", "elsewhere"), ("content-length", "999"), ("connection", "close")]
        {
            asked.headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let response = client(false, 64).send(asked).await.unwrap();
        assert_eq!(response.status, 200);
        let expect = format!(
            "POST /echo?a=b%20c HTTP/1.1\r\nx-key: secret\r\nhost: {host}\r\nuser-agent: Muster\r\ncontent-length: 4\r\n\r\nbody"
        );
        assert_eq!(text(&response), expect);
        let response = get(&format!("http://{host}/empty")).await.unwrap();
        assert_eq!((response.status.as_u16(), response.headers.get_all("x-a").iter().count()), (204, 2));
        assert_eq!(text(&get(&format!("http://{host}/chunks")).await.unwrap()), "abc");
    });
}

#[test]
fn redirects_are_followed_with_what_is_safe_to_take_along() {
    block_on(async {
        let (host, other) = (server().await, server().await);
        let mut asked = request(Method::POST, &format!("http://{host}/302"));
        asked.body = Bytes::from_static(b"body");
        asked.headers.insert("authorization", HeaderValue::from_static("Bearer x"));
        let response = text(&client(false, 64).send(asked.clone()).await.unwrap());
        assert!(response.starts_with("GET /echo ") && response.contains("authorization: Bearer x"), "{response}");
        asked.url = format!("http://{host}/307");
        let response = text(&client(false, 64).send(asked.clone()).await.unwrap());
        assert!(response.starts_with("POST /echo?again=1 ") && response.ends_with("\r\n\r\nbody"), "{response}");
        asked.url = format!("http://{host}/to/{other}");
        let response = text(&client(false, 64).send(asked).await.unwrap());
        assert!(response.contains(&other) && !response.contains("authorization"), "{response}");
        let told = get(&format!("http://{host}/loop")).await.unwrap_err().to_string();
        assert_eq!(told, "stopped after 10 redirects");
    });
}

#[test]
fn what_may_not_be_reached_is_not_by_name_or_redirect_either() {
    block_on(async {
        let host = server().await;
        let refused = async |client: OutgoingClient, url: &str| {
            let error = client.send(request(Method::GET, url)).await.unwrap_err();
            assert!(matches!(error, OutgoingError::Refused { .. }), "{url}: {error}");
        };
        refused(client(false, 64), "http://169.254.169.254/latest/meta-data").await;
        refused(client(false, 64), "http://2852039166/").await;
        refused(client(false, 64), "http://[::ffff:169.254.169.254]/").await;
        refused(client(false, 64), &format!("http://{host}/metadata")).await;
        refused(client(true, 64), &format!("http://{host}/")).await;
        refused(client(true, 64), &format!("http://{}/", host.replace("127.0.0.1", "localhost"))).await;
        for (url, told) in [
            ("ftp://example.com/", "it is neither http nor https"),
            ("http://user:word@example.com/", "a name and password go into the header Authorization"),
            ("/relative", "write http:// or https:// before it"),
            ("localhost:1", "localhost:1 cannot be asked: write http:// or https:// before it"),
            ("http://", "empty host"),
            (&format!("http://{host}/file"), "it is neither http nor https"),
        ] {
            let error = get(url).await.unwrap_err().to_string();
            assert!(error.ends_with(told), "{error}");
        }
    });
}

#[test]
fn what_takes_too_much_or_breaks_off_ends_in_an_error() {
    block_on(async {
        let host = server().await;
        assert!(matches!(get(&format!("http://{host}/long")).await, Err(OutgoingError::TooLong(RESPONSE_BYTES_MAX))));
        for path in ["broken", "noise"] {
            let error = get(&format!("http://{host}/{path}")).await.unwrap_err();
            assert!(matches!(error, OutgoingError::Exchange(_)), "{path}: {error}");
        }
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut asked = request(Method::GET, &format!("http://{}", silent.local_addr().unwrap()));
        asked.timeout = Duration::from_millis(20);
        let error = client(false, 64).send(asked).await.unwrap_err();
        assert_eq!(error.to_string(), "the request took more than 20 ms");
        let address = silent.local_addr().unwrap();
        drop(silent);
        let error = get(&format!("http://{address}")).await.unwrap_err();
        assert!(matches!(error, OutgoingError::Connect { .. }), "{error}");
    });
}

#[test]
fn certificates_are_checked_unless_told_otherwise() {
    block_on(async {
        let host = tls_server().await;
        let mut asked = request(Method::GET, &format!("https://{host}/echo"));
        let error = client(false, 64).send(asked.clone()).await.unwrap_err();
        assert!(error.to_string().contains("certificate"), "{error}");
        asked.insecure = true;
        let response = client(false, 64).send(asked).await.unwrap();
        assert!(text(&response).starts_with("GET /echo HTTP/1.1\r\n"), "{}", text(&response));
    });
}

#[test]
fn so_many_requests_go_at_a_time_and_the_rest_wait() {
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/ok", listener.local_addr().unwrap());
        let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let both_are_there = Barrier::new(2);
        let serve = async || {
            let (stream, _) = listener.accept().await.unwrap();
            most.fetch_max(inside.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            both_are_there.wait().await;
            inside.fetch_sub(1, Ordering::Relaxed);
            answer(stream).await;
        };
        let client = client(false, 2);
        let send = || client.send(request(Method::GET, &url));
        let served = async { tokio::join!(serve(), serve(), serve(), serve()) };
        let (answers, _) = tokio::join!(async { tokio::join!(send(), send(), send(), send()) }, served);
        assert!([answers.0, answers.1, answers.2, answers.3].iter().all(Result::is_ok));
        assert_eq!(most.into_inner(), 2);
    });
}
