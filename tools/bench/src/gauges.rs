//! The gauges on a server's metrics page, which show what players leave behind when they have gone.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

/// Longest page taken.
const PAGE_LEN_MAX: u64 = 16 << 20;
const READ_TIMEOUT: Duration = Duration::from_secs(5);
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
/// Parts of names of gauges that do not depend on players: times, the database, the process.
const NOT_OF_PLAYERS: [&str; 5] = ["_seconds", "_db_", "process_", "go_", "cpu"];

/// Gauges by name and labels, summed over the servers.
pub type Gauges = BTreeMap<String, f64>;

/// Reads the pages of all servers.
pub fn read(addresses: &[SocketAddr]) -> anyhow::Result<Gauges> {
    let mut gauges = Gauges::new();
    for address in addresses {
        let page = fetch(*address).with_context(|| format!("cannot read metrics of {address}"))?;
        for (name, value) in parse(&page) {
            *gauges.entry(name).or_default() += value;
        }
    }
    Ok(gauges)
}

/// All samples of the servers' pages, by name and labels, summed.
pub fn samples(addresses: &[SocketAddr]) -> anyhow::Result<Gauges> {
    let mut samples = Gauges::new();
    for address in addresses {
        let page = fetch(*address).with_context(|| format!("cannot read metrics of {address}"))?;
        let lines = page.lines().filter(|line| !line.starts_with('#'));
        for (name, value) in lines.filter_map(|line| line.rsplit_once(' ')) {
            *samples.entry(name.to_owned()).or_default() += value.parse::<f64>().unwrap_or_default();
        }
    }
    Ok(samples)
}

/// Waits, for at most `patience`, until no gauge is above its value in `before`. Answers those that still are, with the
/// difference.
pub fn left_behind(addresses: &[SocketAddr], before: &Gauges, patience: Duration) -> anyhow::Result<Gauges> {
    let deadline = Instant::now() + patience;
    loop {
        let above = read(addresses)?.into_iter().filter_map(|(name, value)| {
            let above = value - before.get(&name).copied().unwrap_or_default();
            (above > 0.0).then_some((name, above))
        });
        let above: Gauges = above.collect();
        if above.is_empty() || Instant::now() >= deadline {
            return Ok(above);
        }
        #[expect(clippy::disallowed_methods, reason = "the run is over: the coordinator has nothing else to do")]
        std::thread::sleep(LOOK_INTERVAL);
    }
}

fn fetch(address: SocketAddr) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, READ_TIMEOUT)?;
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    // HTTP/1.0, which no server answers in chunks.
    write!(stream, "GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 << 10];
    loop {
        if let Some(body) = whole_body(&bytes)? {
            return Ok(body);
        }
        ensure!((bytes.len() as u64) < PAGE_LEN_MAX, "the page is too long");
        match stream.read(&mut chunk)? {
            0 => break,
            len => bytes.extend_from_slice(&chunk[..len]),
        }
    }
    let text = String::from_utf8(bytes)?;
    let (head, body) = text.split_once("\r\n\r\n").context("no whole answer")?;
    ensure!(content_length(head).is_none(), "the page was cut short");
    Ok(body.to_owned())
}

/// The body, if its length is announced and all of it is there.
fn whole_body(bytes: &[u8]) -> anyhow::Result<Option<String>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = String::from_utf8_lossy(&bytes[..end]);
    if head.split(' ').nth(1) != Some("200") {
        bail!("{}", head.lines().next().unwrap_or_default());
    }
    let body = &bytes[end + 4..];
    match content_length(&head) {
        Some(len) if body.len() >= len => Ok(Some(String::from_utf8(body[..len].to_vec())?)),
        _ => Ok(None),
    }
}

fn content_length(head: &str) -> Option<usize> {
    let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("content-length:"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// The gauges of a page in the Prometheus text format.
fn parse(page: &str) -> Gauges {
    let mut gauges = Gauges::new();
    let mut family = "";
    for line in page.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            family = declared.strip_suffix(" gauge").unwrap_or_default();
            continue;
        }
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let is_of_family = !family.is_empty() && name.split('{').next() == Some(family);
        let is_of_players = !NOT_OF_PLAYERS.iter().any(|part| name.contains(part));
        if let (true, true, Ok(value)) = (is_of_family, is_of_players, value.parse()) {
            gauges.insert(name.to_owned(), value);
        }
    }
    gauges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_gauges_of_players_are_read() {
        let page = "# HELP a Text with gauge.\n# TYPE a gauge\na 3\na{shard=\"1\"} 4\n\
                    # TYPE b_total counter\nb_total 9\n# TYPE uptime_seconds gauge\nuptime_seconds 77.5\n";
        let expected = Gauges::from([("a".to_owned(), 3.0), ("a{shard=\"1\"}".to_owned(), 4.0)]);
        assert_eq!(parse(page), expected);
    }

    #[test]
    fn a_page_is_whole_when_its_length_has_come() {
        let page = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na 1";
        for cut in 0..page.len() {
            assert_eq!(whole_body(&page[..cut]).unwrap(), None);
        }
        assert_eq!(whole_body(page).unwrap().as_deref(), Some("a 1"));
        assert!(whole_body(b"HTTP/1.1 404 No\r\n\r\n").is_err());
    }
}
