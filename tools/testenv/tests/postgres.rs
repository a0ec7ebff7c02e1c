//! Tests that the server starts, keeps databases apart, and leaves nothing behind.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use muster_testenv::Postgres;

fn query(url: &str, sql: &str) -> Result<String> {
    let output = Command::new("psql").args(["--no-psqlrc", "-tA", "--dbname", url, "--command", sql]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn address(server: &Postgres) -> Result<String> {
    Ok(server.url().split(['@', '/']).nth(3).context("a URL has an address")?.to_owned())
}

#[test]
fn databases_are_empty_apart_and_dropped_with_their_value() -> Result<()> {
    let server = Postgres::shared()?;
    let (first, second) = (server.create_database()?, server.create_database()?);
    query(first.url(), "CREATE TABLE only_here (id INT)")?;
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    ensure!(query(first.url(), tables)? == "1" && query(second.url(), tables)? == "0");
    let dropped = first.url().to_owned();
    drop(first);
    ensure!(query(&dropped, "SELECT 1").is_err(), "the database outlived its value");
    Ok(())
}

#[test]
fn what_the_server_acknowledges_is_synced() -> Result<()> {
    let server = Postgres::start()?;
    ensure!(query(server.url(), "SHOW fsync")? == "on" && query(server.url(), "SHOW synchronous_commit")? == "on");
    Ok(())
}

#[test]
fn a_dropped_server_is_gone_with_its_data() -> Result<()> {
    let server = Postgres::start()?;
    let data = PathBuf::from(query(server.url(), "SHOW data_directory")?);
    let address = address(&server)?;
    ensure!(data.exists() && TcpStream::connect(&address).is_ok());
    drop(server);
    ensure!(!data.exists(), "{} is left", data.display());
    ensure!(TcpStream::connect(&address).is_err(), "something still listens at {address}");
    Ok(())
}

#[test]
fn a_crashed_server_comes_back_with_its_data() -> Result<()> {
    let mut server = Postgres::start()?;
    query(server.url(), "CREATE TABLE kept (id INT)")?;
    let address = address(&server)?;
    server.crash()?;
    ensure!(TcpStream::connect(&address).is_err(), "something still listens at {address}");
    server.start_again()?;
    ensure!(query(server.url(), "SELECT count(*) FROM kept")? == "0");
    Ok(())
}
