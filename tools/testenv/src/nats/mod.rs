//! NATS servers with ports and folders of their own, single or three as a cluster, thrown away when no longer needed.

mod keeper;
mod program;
mod proxy;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};

use keeper::Keeper;
pub use program::nats_server;
pub use proxy::Proxy;

/// Attempts with other ports: no call reserves a port for a program that will listen on it later.
const ATTEMPTS_MAX: u32 = 5;

/// Range of ports. It avoids those that systems give to outgoing connections: a client that tries to reconnect to a
/// stopped server could get the server's port as its own, or even connect to itself.
const PORTS: std::ops::Range<u16> = 12_000..30_000;

/// Settings of servers.
#[derive(Clone, Debug, Default)]
pub struct NatsSettings {
    /// Whether every write is synced before it is acknowledged; otherwise NATS syncs every two minutes, its default.
    pub sync_always: bool,
    /// Whether JetStream is off, so that the server passes messages on and keeps nothing.
    pub without_jetstream: bool,
    /// Further lines of the configuration.
    pub more: String,
}

/// A NATS server for tests. Dropping it ends the server and removes its data.
#[derive(Debug)]
pub struct Nats {
    url: String,
    keeper: Keeper,
}

impl Nats {
    /// The one server of this process. It ends with the process.
    ///
    /// # Errors
    /// Same as [`Nats::start`].
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Nats, String>> = OnceLock::new();
        SHARED
            .get_or_init(|| Self::start(NatsSettings::default()).map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(|error| anyhow!("{error}"))
    }

    /// Starts a server. Returns once it takes connections.
    ///
    /// # Errors
    /// When no nats-server is installed and none can be built, or the server does not start; the message quotes its
    /// log.
    pub fn start(settings: NatsSettings) -> Result<Self> {
        let [server] = start_all(&|place| configuration(&settings, place))?;
        Ok(server)
    }

    /// Starts three servers as one JetStream cluster. They take a while to elect a leader.
    ///
    /// # Errors
    /// Same as [`Nats::start`].
    pub fn start_three(settings: NatsSettings) -> Result<[Self; 3]> {
        start_all(&|place| configuration(&settings, place))
    }

    /// Starts servers with configurations of the test's own.
    ///
    /// # Errors
    /// Same as [`Nats::start`].
    pub fn start_configured<const COUNT: usize>(configure: impl Fn(&NatsPlace<'_>) -> String) -> Result<[Self; COUNT]> {
        start_all(&configure)
    }

    /// Address for clients: `nats://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Kills the server, as in a crash. Returns when it is gone. Its data and its address stay.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn kill(&self) -> Result<()> {
        self.keeper.order("kill")
    }

    /// Lets the server end in order. Returns when it is gone. Its data and its address stay.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn stop(&self) -> Result<()> {
        self.keeper.order("stop")
    }

    /// Starts the server again after [`Nats::kill`] or [`Nats::stop`]. Returns once it takes connections.
    ///
    /// # Errors
    /// When the server does not start; the message quotes its log.
    pub fn start_again(&self) -> Result<()> {
        self.keeper.start_server()
    }

    /// Deletes what JetStream has stored, after [`Nats::kill`] or [`Nats::stop`].
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn lose_store(&self) -> Result<()> {
        self.keeper.order("lose")
    }

    /// Halts the server (SIGSTOP): its connections stay open, and after a moment nothing answers.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn pause(&self) -> Result<()> {
        self.keeper.order("pause")
    }

    /// Ends [`Nats::pause`].
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn resume(&self) -> Result<()> {
        self.keeper.order("resume")
    }
}

/// Places that a server's configuration has to name.
#[derive(Clone, Copy, Debug)]
pub struct NatsPlace<'a> {
    /// Number of the server, from 0.
    pub number: usize,
    /// Port for clients.
    pub port: u16,
    /// Ports for the other servers of the cluster, this server's among them.
    pub route_ports: &'a [u16],
    /// Folder for data.
    pub folder: &'a Path,
}

fn start_all<const COUNT: usize>(configure: &dyn Fn(&NatsPlace<'_>) -> String) -> Result<[Nats; COUNT]> {
    let program = nats_server()?;
    let mut last = None;
    for _ in 0..ATTEMPTS_MAX {
        match start_on_free_ports(&program, configure) {
            Ok(servers) => return Ok(servers),
            Err(error) if format!("{error:#}").contains("address already in use") => last = Some(error),
            Err(error) => return Err(error),
        }
    }
    bail!("no port stayed free for NATS in {ATTEMPTS_MAX} attempts: {last:?}")
}

fn start_on_free_ports<const COUNT: usize>(
    program: &Path,
    configure: &dyn Fn(&NatsPlace<'_>) -> String,
) -> Result<[Nats; COUNT]> {
    let client_ports: Vec<u16> = free_ports(COUNT)?;
    let route_ports: Vec<u16> = free_ports(COUNT)?;
    let mut servers = Vec::with_capacity(COUNT);
    for (number, port) in client_ports.iter().enumerate() {
        let (port, route_ports) = (*port, &*route_ports);
        let keeper = Keeper::start(program, |folder| configure(&NatsPlace { number, port, route_ports, folder }))?;
        servers.push(Nats { url: format!("nats://127.0.0.1:{port}"), keeper });
    }
    servers.try_into().map_err(|_| anyhow!("not as many servers as asked for"))
}

fn configuration(settings: &NatsSettings, place: &NatsPlace<'_>) -> String {
    let NatsPlace { number, port, route_ports, folder } = place;
    let mut text = format!("listen: \"127.0.0.1:{port}\"\nserver_name: node-{number}\n");
    if !settings.without_jetstream {
        let sync = if settings.sync_always { ", sync_interval: always" } else { "" };
        text += &format!("jetstream {{ store_dir: \"{}\"{sync} }}\n", folder.display());
    }
    if route_ports.len() > 1 {
        let own = route_ports[*number];
        let all: Vec<String> = route_ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        let all = all.join(", ");
        // Clients are not told of the other servers: a client that a test cuts off from one must not find another.
        let more = "no_advertise: true";
        text += &format!("cluster {{ name: test, listen: \"127.0.0.1:{own}\", routes: [{all}], {more} }}\n");
    }
    text += &settings.more;
    text
}

/// Ports that nobody listens on now, all different, and that systems do not give to outgoing connections.
///
/// # Errors
/// When there are none.
pub fn free_ports(count: usize) -> Result<Vec<u16>> {
    let mut random = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), count);
    // The listeners are held until all ports are found, so that none is found twice.
    let mut listeners: Vec<TcpListener> = Vec::with_capacity(count);
    for _ in 0..1_000 {
        if listeners.len() == count {
            break;
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let port = PORTS.start + u16::try_from((random >> 33) % u64::from(PORTS.end - PORTS.start))?;
        listeners.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
    }
    ensure!(listeners.len() == count, "no free port on the loopback");
    listeners.iter().map(|listener| Ok(listener.local_addr().context("no address")?.port())).collect()
}
