//! Requests of game code to other servers, by HTTP/1.1 over a connection for each. Every request is bounded in time and
//! bytes. The address that is connected to is checked, also after each redirect.

mod address;
mod exchange;
#[cfg(test)]
mod tests;
pub(crate) mod trust;

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, LOCATION, PROXY_AUTHORIZATION};
use http::{HeaderMap, Method, StatusCode};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::{Host, Url};

pub use trust::Trust;

/// Redirects that are followed at most.
const REDIRECTS_MAX: usize = 10;

/// Longest URL, in bytes; a longer one is refused.
const URL_BYTES_MAX: usize = 16 * 1024;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The URL: http or https.
    pub url: String,
    /// The method.
    pub method: Method,
    /// The headers; those about the connection are left out.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// Time limit for the whole exchange, redirects included.
    pub timeout: Duration,
    /// Whether to accept any certificate.
    pub insecure: bool,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum OutgoingError {
    /// The URL is not valid for requests.
    #[error("{url} cannot be asked: {why}")]
    Url {
        /// The URL, as given.
        url: String,
        /// The reason, in a few words.
        why: String,
    },
    /// Game code may not reach this address.
    #[error("requests to {host} are refused: it is at {address}, which game code may not reach")]
    Refused {
        /// Name of the host.
        host: String,
        /// The first of its addresses.
        address: std::net::IpAddr,
    },
    /// No connection could be made.
    #[error("cannot connect to {host}: {why}")]
    Connect {
        /// Name of the host.
        host: String,
        /// The reason, in the system's words.
        why: String,
    },
    /// The request or the response is not valid HTTP, or the connection broke.
    #[error("the request failed: {0}")]
    Exchange(String),
    /// The response exceeds this number of bytes.
    #[error("the response has more than {0} bytes")]
    TooLong(usize),
    /// There were too many redirects.
    #[error("stopped after {REDIRECTS_MAX} redirects")]
    Redirects,
    /// The time limit has passed.
    #[error("the request took more than {} ms", .0.as_millis())]
    Timeout(Duration),
}

/// Options of a [`OutgoingClient`].
#[derive(Clone)]
pub struct OutgoingOptions {
    /// Whether requests may only go to the public internet.
    pub is_strict: bool,
    /// Requests under way at most. Further ones wait, and the wait counts against their timeout.
    pub requests_max: usize,
    /// Certificates to trust; clones of these options share them.
    pub trust: Trust,
}

/// Sends the requests of one shard.
pub struct OutgoingClient {
    is_strict: bool,
    permits: Semaphore,
    trust: Trust,
}

impl OutgoingClient {
    /// A client with a queue of its own.
    pub fn new(options: OutgoingOptions) -> Self {
        let OutgoingOptions { is_strict, requests_max, trust } = options;
        Self { is_strict, permits: Semaphore::new(requests_max), trust }
    }

    /// Sends a request, follows redirects, and reads the response.
    ///
    /// # Errors
    /// [`OutgoingError`], which names the other server.
    pub async fn send(&self, request: Request) -> Result<Response, OutgoingError> {
        let timeout = request.timeout;
        let sent = tokio::time::timeout(
            timeout,
            Box::pin(async {
                let _permit = self.permits.acquire().await;
                self.follow(request).await
            }),
        );
        sent.await.unwrap_or(Err(OutgoingError::Timeout(timeout)))
    }

    async fn follow(&self, request: Request) -> Result<Response, OutgoingError> {
        let mut url = parse(&request.url)?;
        let Request { mut method, mut headers, mut body, insecure, .. } = request;
        for _ in 0..=REDIRECTS_MAX {
            let response = self.ask(&url, &method, &headers, &body, insecure).await?;
            let Some(next) = redirect(&url, &response)? else { return Ok(response) };
            let keeps_method =
                matches!(response.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
            if !keeps_method && method != Method::HEAD {
                method = Method::GET;
                body = Bytes::new();
                headers.remove(CONTENT_TYPE);
                headers.remove(CONTENT_LENGTH);
            }
            if next.origin() != url.origin() {
                for secret in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                    headers.remove(secret);
                }
            }
            url = next;
        }
        Err(OutgoingError::Redirects)
    }

    async fn ask(
        &self,
        url: &Url,
        method: &Method,
        headers: &HeaderMap,
        body: &Bytes,
        insecure: bool,
    ) -> Result<Response, OutgoingError> {
        let stream = self.connect(url).await?;
        let request = exchange::request(url, method, headers, body)?;
        if url.scheme() == "http" {
            return exchange::exchange(stream, request).await;
        }
        let failed = |why: String| OutgoingError::Connect { host: name(url), why };
        // The first call reads the system's certificates from disk, which takes a while.
        let trust = self.trust.clone();
        let config = tokio::task::spawn_blocking(move || trust.config(insecure)).await;
        let config = config.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
        let server = match url.host() {
            Some(Host::Domain(domain)) => {
                ServerName::try_from(domain.to_owned()).map_err(|error| failed(error.to_string()))?
            }
            Some(Host::Ipv4(address)) => ServerName::IpAddress(std::net::IpAddr::V4(address).into()),
            Some(Host::Ipv6(address)) => ServerName::IpAddress(std::net::IpAddr::V6(address).into()),
            None => return Err(failed("it has no name".to_owned())),
        };
        let stream = TlsConnector::from(config).connect(server, stream).await;
        exchange::exchange(stream.map_err(|error| failed(error.to_string()))?, request).await
    }

    /// Connects to the host, at the first of its addresses that may be reached and answers.
    async fn connect(&self, url: &Url) -> Result<TcpStream, OutgoingError> {
        let failed = |why: String| OutgoingError::Connect { host: name(url), why };
        let port = url.port_or_known_default().unwrap_or(80);
        let addresses: Vec<SocketAddr> = match url.host() {
            Some(Host::Ipv4(address)) => vec![(address, port).into()],
            Some(Host::Ipv6(address)) => vec![(address, port).into()],
            Some(Host::Domain(domain)) => {
                tokio::net::lookup_host((domain, port)).await.map_err(|error| failed(error.to_string()))?.collect()
            }
            None => Vec::new(),
        };
        let allowed = |address: &&SocketAddr| address::is_allowed(address.ip(), self.is_strict);
        let mut told = "the name has no address".to_owned();
        for address in addresses.iter().filter(allowed) {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => told = error.to_string(),
            }
        }
        match addresses.first() {
            Some(first) if !addresses.iter().any(|address| allowed(&address)) => {
                Err(OutgoingError::Refused { host: name(url), address: first.ip() })
            }
            _ => Err(failed(told)),
        }
    }
}

fn name(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

fn parse(text: &str) -> Result<Url, OutgoingError> {
    let wrong = |why: &str| OutgoingError::Url { url: text.chars().take(200).collect(), why: why.to_owned() };
    if text.len() > URL_BYTES_MAX {
        return Err(wrong("it is too long"));
    }
    if !text.contains("://") {
        return Err(wrong("write http:// or https:// before it"));
    }
    let url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
    check(&url).map_err(wrong)?;
    Ok(url)
}

fn check(url: &Url) -> Result<(), &'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err("it is neither http nor https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a name and password go into the header Authorization");
    }
    Ok(())
}

/// The URL that a response redirects to; `None` if it does not.
fn redirect(from: &Url, response: &Response) -> Result<Option<Url>, OutgoingError> {
    if !matches!(response.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers.get(LOCATION) else { return Ok(None) };
    let text = String::from_utf8_lossy(location.as_bytes());
    let wrong = |why: String| OutgoingError::Url { url: text.chars().take(200).collect(), why };
    let url = from.join(&text).map_err(|error| wrong(error.to_string()))?;
    check(&url).map_err(|why| wrong(why.to_owned()))?;
    Ok(Some(url))
}
