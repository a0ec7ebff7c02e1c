//! `muster healthcheck`: asks a running server whether it is ready, for process managers.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::process::ExitCode;
use std::time::Duration;

use muster_gateway::tls;

use super::{Outcome, print};
use crate::cli::HealthTarget;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
const PATH: &str = "/readycheck";
/// Largest number of bytes of the answer that are read; the first line is always shorter.
const ANSWER_BYTES_MAX: u64 = 256;

/// Stands for the status of an answer that is not HTTP, such as a refusal to speak anything but TLS.
const NOT_HTTP: &str = "nothing that is HTTP";

/// Asks a server. Exit status 0: the server and its database answer.
pub(super) fn check(target: &HealthTarget) -> Outcome {
    let (host, path, secure) = match target {
        HealthTarget::Port(port) => (format!("127.0.0.1:{port}"), PATH.to_owned(), None),
        HealthTarget::Url(url) => split(url)?,
    };
    let status = match secure {
        Some(secure) => ask(&host, &path, secure),
        // A port alone does not say whether TLS is spoken there.
        None => match ask(&host, &path, false) {
            Ok(status) if status != NOT_HTTP => Ok(status),
            clear => ask(&host, &path, true).or(clear),
        },
    };
    let status = status.map_err(|error| format!("{host} does not answer: {error}"))?;
    if status == "200" {
        print(&format!("{host} is ready"))?;
        return Ok(ExitCode::SUCCESS);
    }
    Err(format!("{host} is not ready: it answered {status} to {path}"))
}

/// Host with port, path, and whether TLS is spoken.
fn split(url: &str) -> Result<(String, String, Option<bool>), String> {
    let (rest, port) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (rest, 80),
        (_, Some(rest)) => (rest, 443),
        _ => return Err("a URL begins with http:// or https://".to_owned()),
    };
    let (host, path) = rest.split_once('/').map_or((rest, PATH.to_owned()), |(host, path)| (host, format!("/{path}")));
    let path = if path == "/" { PATH.to_owned() } else { path };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok((if has_port { host.to_owned() } else { format!("{host}:{port}") }, path, Some(url.starts_with("https://"))))
}

/// The status of the answer.
fn ask(host: &str, path: &str, secure: bool) -> std::io::Result<String> {
    let address = host.to_socket_addrs()?.next().ok_or_else(|| std::io::Error::other("the name has no address"))?;
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    if !secure {
        return exchange(stream, host, path);
    }
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    exchange(tls::unverified(stream, name)?, host, path)
}

fn exchange(mut stream: impl Read + Write, host: &str, path: &str) -> std::io::Result<String> {
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    stream.flush()?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.strip_prefix("HTTP/").and_then(|rest| rest.split(' ').nth(1));
    Ok(status.unwrap_or(NOT_HTTP).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split() {
        let check = |url: &str, host: &str, path: &str, secure: bool| {
            assert_eq!(split(url).unwrap(), (host.to_owned(), path.to_owned(), Some(secure)), "{url}");
        };
        check("http://host:7350", "host:7350", "/readycheck", false);
        check("http://host:7350/", "host:7350", "/readycheck", false);
        check("http://host/healthcheck", "host:80", "/healthcheck", false);
        check("http://[::1]:7350/", "[::1]:7350", "/readycheck", false);
        check("https://host", "host:443", "/readycheck", true);
        check("https://host:7350/", "host:7350", "/readycheck", true);
        assert!(split("ftp://host").is_err());
    }
}
