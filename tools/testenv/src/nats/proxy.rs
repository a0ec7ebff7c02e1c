//! A proxy in front of a server, which can be cut: connections pass byte for byte until then.

use std::io::{Read, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result};

/// Passes connections on to a server, by two threads for each. The proxy ends with its value.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    line: Arc<Mutex<Line>>,
}

#[derive(Debug, Default)]
struct Line {
    is_cut: bool,
    /// Whether the next bytes of the server are lost, and the connection with them.
    loses_answer: bool,
    /// Both ends of every connection.
    connections: Vec<TcpStream>,
}

impl Proxy {
    /// A proxy in front of the server at `url`, as `nats://host:port`.
    ///
    /// # Errors
    /// When the URL is invalid, or no port is free.
    pub fn start(url: &str) -> Result<Self> {
        let server = url.rsplit('/').next().and_then(|address| address.parse::<SocketAddr>().ok());
        let server = server.with_context(|| format!("{url} names no address"))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on the loopback")?;
        let address = listener.local_addr()?;
        let line = Arc::new(Mutex::new(Line::default()));
        let accepting = line.clone();
        std::thread::spawn(move || accept(&listener, server, &accepting));
        Ok(Self { address, line })
    }

    /// Address for clients, in place of the server's.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Ends all connections, and accepts no others until [`Proxy::mend`].
    pub fn cut(&self) {
        let mut line = state(&self.line);
        line.is_cut = true;
        line.close();
    }

    /// Ends [`Proxy::cut`].
    pub fn mend(&self) {
        state(&self.line).is_cut = false;
    }

    /// Loses the next answer of the server: the connection ends instead. Messages of clients still arrive.
    pub fn lose_answer(&self) {
        state(&self.line).loses_answer = true;
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

impl Line {
    fn close(&mut self) {
        for connection in self.connections.drain(..) {
            // The connection may be closed already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, server: SocketAddr, line: &Arc<Mutex<Line>>) {
    for client in listener.incoming().map_while(Result::ok) {
        // The value is gone, and with it everybody who could mend the proxy.
        if Arc::strong_count(line) == 1 {
            return;
        }
        // A connection that cannot be made is dropped, and so closed, which the client sees.
        let _ = connect(client, server, line);
    }
}

fn connect(client: TcpStream, server: SocketAddr, line: &Arc<Mutex<Line>>) -> std::io::Result<()> {
    let server = TcpStream::connect(server)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut state = state(line);
    if state.is_cut {
        return Ok(());
    }
    state.connections.extend([client.try_clone()?, server.try_clone()?]);
    let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
    std::thread::spawn(move || pass(from_client, to_server, || true));
    let line = line.clone();
    std::thread::spawn(move || pass(server, client, || !lose(&line)));
    Ok(())
}

/// Whether the bytes are to be lost, which ends all connections.
fn lose(line: &Mutex<Line>) -> bool {
    let mut line = state(line);
    let is_lost = line.loses_answer;
    if is_lost {
        line.loses_answer = false;
        line.close();
    }
    is_lost
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_passed: impl Fn() -> bool) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !is_passed() || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    // When one side ends the connection, the other side ends too.
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

fn state(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}
