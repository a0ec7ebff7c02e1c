//! Requests to other servers, on behalf of game code: HTTP/1.1, a connection for each. What it may take is bounded in time
//! and bytes, and where it may go is checked of the address that is connected to, after each redirect anew.

mod address;
mod exchange;
#[cfg(test)]
mod tests;
mod trust;

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

/// More redirects are not followed.
const REDIRECTS_MAX: usize = 10;

/// A longer address is refused.
const URL_BYTES_MAX: usize = 16 * 1024;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where to: http or https.
    pub url: String,
    /// How.
    pub method: Method,
    /// What of the connection is among them is left out.
    pub headers: HeaderMap,
    /// Empty for none.
    pub body: Bytes,
    /// For everything, redirects too.
    pub timeout: Duration,
    /// Whether to take any certificate.
    pub insecure: bool,
}

/// A response.
#[derive(Clone, Debug)]
pub struct Response {
    /// Its status.
    pub status: StatusCode,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum OutgoingError {
    /// The address is none that can be asked.
    #[error("{url} cannot be asked: {why}")]
    Url {
        /// As it was given.
        url: String,
        /// In a few words.
        why: String,
    },
    /// It is one that game code may not reach.
    #[error("requests to {host} are refused: it is at {address}, which game code may not reach")]
    Refused {
        /// The name.
        host: String,
        /// The first of its addresses.
        address: std::net::IpAddr,
    },
    /// Nothing answers there.
    #[error("cannot connect to {host}: {why}")]
    Connect {
        /// The name.
        host: String,
        /// In the system's words.
        why: String,
    },
    /// What was sent or came is no HTTP, or broke off.
    #[error("the request failed: {0}")]
    Exchange(String),
    /// The response is too long.
    #[error("the response has more than {0} bytes")]
    TooLong(usize),
    /// It is sent from place to place.
    #[error("stopped after {REDIRECTS_MAX} redirects")]
    Redirects,
    /// Its time is over.
    #[error("the request took more than {} ms", .0.as_millis())]
    Timeout(Duration),
}

/// Sends the requests of one shard.
pub struct Client {
    strict: bool,
    permits: Semaphore,
}

impl Client {
    /// Strict: it reaches the public internet alone. So many requests go at a time; further ones wait, which counts as
    /// their time.
    pub fn new(strict: bool, requests_max: usize) -> Self {
        Self { strict, permits: Semaphore::new(requests_max) }
    }

    /// Sends a request, follows redirects, and reads the response.
    ///
    /// # Errors
    /// What went wrong, with the other server's name.
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
        // Reading the authorities for the first time takes a while.
        let config = tokio::task::spawn_blocking(move || trust::config(insecure)).await;
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

    /// Connects to the first of the host's addresses that may be reached and answers.
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
        let allowed = |address: &&SocketAddr| address::is_allowed(address.ip(), self.strict);
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

/// Where a response sends on to.
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
