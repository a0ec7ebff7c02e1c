//! Servers that a comparison starts: one on its own with an SQLite file, or the nodes of a cluster. They end with the
//! value.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use muster_testenv::{Database, Nats, Postgres, free_ports};

use super::scenarios::SERVER_CORE;

/// Time in which a server is ready, and nodes have shared out what they own.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Partitions of a cluster.
const PARTITIONS: usize = 1_024;

/// The configuration that lifts the limits of what players send.
const LIFTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/lifted.yml");

/// Running servers.
pub struct Servers {
    nodes: Vec<Node>,
    folder: PathBuf,
    /// Dropped behind the nodes.
    _database: Option<Database>,
}

struct Node {
    process: Child,
    port: u16,
    metrics: u16,
}

/// Whether a program knows limits of what players send. Older ones refuse keys that they do not know.
fn has_limits(program: &Path) -> bool {
    let asked = Command::new(program).args(["help", "limits.ladder"]).stdin(Stdio::null()).output();
    asked.is_ok_and(|answer| answer.status.success())
}

impl Servers {
    /// Starts the servers, and waits until they are ready.
    ///
    /// # Errors
    /// When one does not start, or is not ready in time.
    pub fn start(program: &Path, nodes: usize, modules: Option<&Path>, flags: &[&str]) -> Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let unique = format!("muster-compare-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(unique);
        let database = if nodes > 1 { Some(Postgres::shared()?.create_database()?) } else { None };
        let mut servers = Self { nodes: Vec::new(), folder, _database: database };
        for number in 0..nodes {
            let node = servers.node(program, number, nodes > 1, modules, flags)?;
            servers.nodes.push(node);
            servers.await_ready(number)?;
        }
        if nodes > 1 {
            servers.await_shares()?;
        }
        Ok(servers)
    }

    fn node(
        &self,
        program: &Path,
        number: usize,
        is_clustered: bool,
        modules: Option<&Path>,
        flags: &[&str],
    ) -> Result<Node> {
        let data = self.folder.join(number.to_string());
        fs::create_dir_all(&data)?;
        let ports = free_ports(2)?;
        let (port, metrics) = (ports[0], ports[1]);
        let mut command = Command::new("taskset");
        command.args(["-c", SERVER_CORE]).arg(program).arg("dev").arg("--data_dir").arg(&data);
        command.args(["--live.shards", "1", "--logger.level", "warn", "--socket.address", "127.0.0.1"]);
        command.args(["--socket.port", &port.to_string(), "--metrics.prometheus_port", &metrics.to_string()]);
        if has_limits(program) {
            command.args(["--config", LIFTED]);
        }
        if let Some(modules) = modules {
            command.arg("--runtime.path").arg(modules);
        }
        if let (true, Some(database)) = (is_clustered, &self._database) {
            command.args(["--name", &format!("node-{number}"), "--database.address", database.url()]);
            command.args(["--cluster.nats", Nats::shared()?.url()]);
            let name = self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            command.args(["--cluster.name", &name]);
        }
        let log = fs::File::create(data.join("log"))?;
        command.args(flags).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let process = command.spawn().context("cannot start taskset, of the package util-linux")?;
        Ok(Node { process, port, metrics })
    }

    #[expect(clippy::disallowed_methods, reason = "nothing but asking again says that another program is ready")]
    fn await_ready(&mut self, number: usize) -> Result<()> {
        let since = Instant::now();
        while !get(self.nodes[number].port, "/healthcheck").is_some_and(|answer| answer.contains(" 200 ")) {
            let ended = self.nodes[number].process.try_wait()?;
            let log = || fs::read_to_string(self.folder.join(number.to_string()).join("log")).unwrap_or_default();
            ensure!(ended.is_none(), "the server has ended:\n{}", log());
            ensure!(since.elapsed() < READY_WITHIN, "the server is not ready:\n{}", log());
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits until each node owns its share, so that nothing moves while it is measured.
    #[expect(clippy::disallowed_methods, reason = "nothing but asking again says that another program is ready")]
    fn await_shares(&self) -> Result<()> {
        let since = Instant::now();
        let share = PARTITIONS / self.nodes.len();
        let has_share = |node: &Node| {
            let owned = get(node.metrics, "/").and_then(|page| gauge(&page, "cluster_partitions"));
            owned.is_some_and(|owned| owned.abs_diff(share) <= share / 16 + 1)
        };
        while !self.nodes.iter().all(has_share) {
            ensure!(since.elapsed() < READY_WITHIN, "the nodes have not shared out what they own");
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Addresses of the servers for players.
    pub fn addresses(&self) -> String {
        self.joined(|node| format!("127.0.0.1:{}", node.port))
    }

    /// Addresses of the servers' metrics.
    pub fn metrics(&self) -> String {
        self.joined(|node| format!("127.0.0.1:{}", node.metrics))
    }

    /// Ids of the servers' processes.
    pub fn process_ids(&self) -> String {
        self.joined(|node| node.process.id().to_string())
    }

    fn joined(&self, text: impl Fn(&Node) -> String) -> String {
        self.nodes.iter().map(text).collect::<Vec<_>>().join(",")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        for node in &mut self.nodes {
            // The data are thrown away, so nothing is to be saved.
            let _ = node.process.kill();
            let _ = node.process.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Answer to a request, with its head.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Value of a gauge on a page of metrics, whatever prefix its name has.
fn gauge(page: &str, name: &str) -> Option<usize> {
    let line = page.lines().find(|line| !line.starts_with('#') && line.contains(name))?;
    line.split_whitespace().last()?.parse::<f64>().ok().map(|value| value as usize)
}
