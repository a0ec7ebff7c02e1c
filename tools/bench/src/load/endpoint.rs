//! The addresses that connections go to and come from.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::IpBindAddressNoPort;
use tokio::net::{TcpSocket, TcpStream};

use super::Fault;

/// Connections per source address. Each has some 28,000 ports, which sockets share with recently closed connections.
const CONNECTIONS_PER_SOURCE: usize = 8_000;

/// The server's addresses, used in turn, and this worker's own range of loopback source addresses.
#[derive(Debug, Clone)]
pub struct Endpoints {
    addresses: Vec<SocketAddr>,
    worker: usize,
    is_cluster: bool,
    /// Where all connections come from; otherwise from a range of this worker's own.
    source: Option<Ipv4Addr>,
}

impl Endpoints {
    /// `addresses` must not be empty; `worker` numbers the generator process from 0; `is_cluster` tells that the
    /// servers form a cluster.
    pub fn new(addresses: Vec<SocketAddr>, worker: usize, is_cluster: bool) -> Self {
        Self { addresses, worker, is_cluster, source: None }
    }

    /// Makes all connections come from one address.
    pub fn at_source(mut self, source: Ipv4Addr) -> Self {
        self.source = Some(source);
        self
    }

    /// The server's address for connection number `index` of this worker.
    pub fn address(&self, index: usize) -> SocketAddr {
        self.addresses[index % self.addresses.len()]
    }

    /// Number of groups of players who can meet: one per server, or one for a cluster.
    pub fn lanes(&self) -> usize {
        if self.is_cluster { 1 } else { self.addresses.len() }
    }

    /// The group of a connection.
    pub fn lane(&self, index: usize) -> usize {
        index % self.lanes()
    }

    /// Connects without delay for small packets, from a source address of its own range if the server is on
    /// IPv4 loopback.
    pub async fn connect(&self, index: usize) -> Result<TcpStream, Fault> {
        let address = self.address(index);
        let source = self.source.or_else(|| source_address(address, self.worker, index));
        let stream = self.connect_from(address, source).await;
        stream.map_err(|error| Fault::Connect(error.kind()))
    }

    async fn connect_from(&self, address: SocketAddr, source: Option<Ipv4Addr>) -> io::Result<TcpStream> {
        let stream = match source {
            None => TcpStream::connect(address).await?,
            Some(source) => {
                let socket = TcpSocket::new_v4()?;
                // The port is chosen on connecting, when the whole 4-tuple is known. Choosing it on binding takes
                // milliseconds once thousands of sockets are bound.
                setsockopt(&socket, IpBindAddressNoPort, &true)?;
                socket.bind((source, 0).into())?;
                socket.connect(address).await?
            }
        };
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// The source address 127.0.x.y: x is the worker, y the block of connections. Targets outside of the loopback interface
/// get no special source.
fn source_address(target: SocketAddr, worker: usize, index: usize) -> Option<Ipv4Addr> {
    let IpAddr::V4(address) = target.ip() else { return None };
    let octet = |number: usize| u8::try_from(number % 250 + 1).ok();
    address.is_loopback().then_some(())?;
    Some(Ipv4Addr::new(127, 0, octet(worker)?, octet(index / CONNECTIONS_PER_SOURCE)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn players_of_a_cluster_can_all_meet() {
        let lanes = |is_cluster| {
            let addresses = [1, 2, 3].map(|port| ([127, 0, 0, 1], port).into());
            let endpoints = Endpoints::new(addresses.to_vec(), 0, is_cluster);
            let place = |index| (endpoints.address(index).port(), endpoints.lane(index));
            [0, 1, 2, 3].map(place)
        };
        assert_eq!(lanes(false), [(1, 0), (2, 1), (3, 2), (1, 0)]);
        assert_eq!(lanes(true), [(1, 0), (2, 0), (3, 0), (1, 0)]);
    }

    #[test]
    fn sources_are_spread_on_loopback_only() {
        let loopback: SocketAddr = ([127, 0, 0, 1], 7350).into();
        assert_eq!(source_address(loopback, 0, 0), Some(Ipv4Addr::new(127, 0, 1, 1)));
        assert_eq!(source_address(loopback, 2, 8_000), Some(Ipv4Addr::new(127, 0, 3, 2)));
        assert_eq!(source_address(([10, 0, 0, 1], 7350).into(), 0, 0), None);
    }
}
