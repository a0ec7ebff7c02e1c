//! `muster healthcheck`: asks a running server whether it is ready, for process managers.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::process::ExitCode;
use std::time::Duration;

use super::{Outcome, print};
use crate::cli::HealthTarget;

/// Longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
const PATH: &str = "/readycheck";
/// Largest number of bytes of the answer that are read; the first line is always shorter.
const ANSWER_BYTES_MAX: u64 = 256;

/// Asks a server. Exit status 0: the server and its database answer.
pub(super) fn check(target: &HealthTarget) -> Outcome {
    let (host, path) = match target {
        HealthTarget::Port(port) => (format!("127.0.0.1:{port}"), PATH.to_owned()),
        HealthTarget::Url(url) => split(url)?,
    };
    let status = ask(&host, &path).map_err(|error| format!("{host} does not answer: {error}"))?;
    if status == "200" {
        print(&format!("{host} is ready"))?;
        return Ok(ExitCode::SUCCESS);
    }
    Err(format!("{host} is not ready: it answered {status} to {path}"))
}

fn split(url: &str) -> Result<(String, String), String> {
    let Some(rest) = url.strip_prefix("http://") else {
        return Err("only http:// can be asked; for https:// use `curl --fail URL/readycheck`".to_owned());
    };
    let (host, path) = rest.split_once('/').map_or((rest, PATH.to_owned()), |(host, path)| (host, format!("/{path}")));
    let path = if path == "/" { PATH.to_owned() } else { path };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok((if has_port { host.to_owned() } else { format!("{host}:80") }, path))
}

fn ask(host: &str, path: &str) -> std::io::Result<String> {
    let address = host.to_socket_addrs()?.next().ok_or_else(|| std::io::Error::other("the name has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    let status = answer.split(' ').nth(1).unwrap_or("nothing that is HTTP");
    Ok(status.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_split() {
        let check = |url: &str, host: &str, path: &str| {
            assert_eq!(split(url).unwrap(), (host.to_owned(), path.to_owned()), "{url}");
        };
        check("http://host:7350", "host:7350", "/readycheck");
        check("http://host:7350/", "host:7350", "/readycheck");
        check("http://host/healthcheck", "host:80", "/healthcheck");
        check("http://[::1]:7350/", "[::1]:7350", "/readycheck");
        assert!(split("https://host").is_err());
    }
}
