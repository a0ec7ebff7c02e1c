//! Tests that NATS servers start, stop and come back on demand, and leave nothing behind.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};
use muster_testenv::{Nats, NatsSettings, Proxy};

/// The greeting that a server sends to every client.
fn greeting(url: &str) -> Result<String> {
    let stream = TcpStream::connect(url.trim_start_matches("nats://"))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    ensure!(line.starts_with("INFO "), "it said `{line}`");
    Ok(line)
}

#[test]
fn a_server_comes_back_at_its_address() -> Result<()> {
    let server = Nats::start(NatsSettings::default())?;
    ensure!(greeting(server.url())?.contains("\"jetstream\":true"));
    server.kill()?;
    ensure!(greeting(server.url()).is_err(), "it answers after it was killed");
    server.start_again()?;
    greeting(server.url())?;
    server.stop()?;
    ensure!(greeting(server.url()).is_err(), "it answers after it ended");
    server.start_again()?;
    server.pause()?;
    server.resume()?;
    greeting(server.url())?;
    let url = server.url().to_owned();
    drop(server);
    ensure!(greeting(&url).is_err(), "it outlived its value");
    Ok(())
}

#[test]
fn three_servers_are_one_cluster() -> Result<()> {
    let servers = Nats::start_three(NatsSettings::default())?;
    for server in &servers {
        ensure!(greeting(server.url())?.contains("\"cluster\":\"test\""));
    }
    Ok(())
}

#[test]
fn a_line_passes_everything_until_it_is_cut() -> Result<()> {
    let server = Nats::start(NatsSettings::default())?;
    let line = Proxy::start(server.url())?;
    greeting(&line.url())?;
    let mut connection = BufReader::new(TcpStream::connect(line.url().trim_start_matches("nats://"))?);
    let mut read = String::new();
    connection.read_line(&mut read)?;
    connection.get_mut().write_all(b"CONNECT {}\r\nPING\r\n")?;
    read.clear();
    connection.read_line(&mut read)?;
    ensure!(read.starts_with("+OK"), "it said `{read}`");

    line.cut();
    ensure!(greeting(&line.url()).is_err());
    let rest = connection.lines().collect::<Result<Vec<_>, _>>().context("the connection broke, not ended")?;
    ensure!(rest.len() <= 1, "more came: {rest:?}");
    line.mend();
    greeting(&line.url())?;
    Ok(())
}
