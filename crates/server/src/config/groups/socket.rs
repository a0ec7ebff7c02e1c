//! The listener for clients (HTTP and WebSocket), its time limits and its size limits.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    path::PathBuf,
};

use http::{HeaderName, HeaderValue};

use super::super::{
    key::{Key, Kind, Origin, PORT, at_least, honoured},
    read::choice,
    secret::Secret,
};

choice! {
    /// Versions of IP that the listener accepts.
    pub enum Protocol {
        /// IPv4 and IPv6.
        Tcp = "tcp",
        /// IPv4 only.
        Tcp4 = "tcp4",
        /// IPv6 only.
        Tcp6 = "tcp6",
    }
}

honoured! {
    /// The listener for clients.
    pub struct Socket in "socket." {
        /// Key that clients send to sign in. It tells games apart and is no secret to players. Generated at first
        /// start.
        server_key: Secret = "", Kind::Secret, Origin::Differs { original: "defaultkey", why: "a published key keeps nobody out" };
        /// TCP port for HTTP and WebSocket. 0 takes any free one.
        port: u16 = "7350", PORT;
        /// IP address of the interface to listen on; empty for all. `muster dev` listens on 127.0.0.1 unless this is
        /// set.
        address: Option<IpAddr> = "", Kind::Interface;
        /// `tcp` for IPv4 and IPv6, `tcp4` or `tcp6` for one of them.
        protocol: Protocol = "tcp", Protocol::KIND;
        /// Longest message that a client may send over its socket, in bytes; a longer one closes the socket.
        max_message_size_bytes: usize = "4096", at_least(1);
        /// Longest request body, in bytes as sent, compressed or not.
        max_request_size_bytes: usize = "262144", at_least(1);
        /// Longest request body once decompressed, in bytes, so that a small request cannot fill the memory.
        decompressed_request_size_bytes: usize = "1048576", at_least(1), Origin::Ours;
        /// Longest time to read a whole request, in milliseconds.
        read_timeout_ms: u64 = "10000", at_least(1);
        /// Longest time to write an answer, in milliseconds.
        write_timeout_ms: u64 = "10000", at_least(1);
        /// Longest wait for the next request on an open connection, in milliseconds.
        idle_timeout_ms: u64 = "60000", at_least(1);
        /// Longest time that writing to a socket may take without progress, in milliseconds; then it is closed.
        write_wait_ms: u64 = "5000", at_least(1);
        /// Longest silence of a socket, in milliseconds; then it is closed. Must be longer than
        /// `socket.ping_period_ms`.
        pong_wait_ms: u64 = "25000", at_least(1);
        /// Time between pings to a socket, in milliseconds.
        ping_period_ms: u64 = "15000", at_least(1);
        /// A ping is put off by one period when this many messages came since the last one.
        ping_backoff_threshold: u32 = "20", at_least(0);
        /// Time to wait for a client's close frame before the connection is cut, in milliseconds.
        close_ack_wait_ms: u64 = "2000", at_least(1);
        /// Largest number of messages that wait for a socket; one more closes the socket with a reason.
        /// `socket.outgoing_queue_bytes` is the limit on memory.
        outgoing_queue_size: usize = "16384", at_least(1), Origin::Differs { original: "64", why: "a client that reads survives a burst; memory is bounded by bytes" };
        /// Largest number of bytes that wait for a socket; one more closes the socket with a reason. A slow client
        /// costs at most this memory.
        outgoing_queue_bytes: usize = "262144", at_least(4096), Origin::Ours;
        /// Largest number of connections at a time; at the limit the server accepts no more until one ends. 0 derives
        /// this value from the limit on open files.
        max_connections: usize = "0", at_least(0), Origin::Ours;
        /// Certificate file (PEM) for TLS; needs `socket.ssl_private_key`. A proxy in front is the better place for
        /// TLS.
        ssl_certificate: Option<PathBuf> = "", Kind::Path;
        /// Private key file (PEM) for TLS; needs `socket.ssl_certificate`.
        ssl_private_key: Option<PathBuf> = "", Kind::Path;
        /// Headers added to every answer, as `Name=value`, in place of the server's own of that name.
        response_headers: Vec<(HeaderName, HeaderValue)> = "", Kind::Headers;
        /// Number of proxies in front that append to `X-Forwarded-For`; the client's address is the one that the
        /// outermost of them saw. With 0 the header is ignored.
        proxy_count: usize = "0", at_least(0), Origin::Differs { original: "1", why: "with no proxy in front, a client could forge its address" };
    }
}

/// Rows of this group that are not honoured.
pub const OTHERS: &[Key] = &[
    Key::no_meaning(
        "socket.read_buffer_size_bytes",
        at_least(1),
        "4096",
        "buffers grow with what a client sends and shrink when it is idle",
        "Size of the buffer for reading from a socket, in bytes.",
    ),
    Key::no_meaning(
        "socket.write_buffer_size_bytes",
        at_least(1),
        "4096",
        "waiting messages are written from where they are, in one write",
        "Size of the buffer for writing to a socket, in bytes.",
    ),
];

impl Socket {
    /// The address to listen on. For all interfaces it is `[::]`, unless only IPv4 is wanted; for [`Protocol::Tcp`] the
    /// caller makes the socket accept IPv4 too. This machine's own address is that of the wanted version.
    pub fn listen_address(&self) -> SocketAddr {
        let everywhere = match self.protocol {
            Protocol::Tcp4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Protocol::Tcp | Protocol::Tcp6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let address = match (self.address.unwrap_or(everywhere), self.protocol) {
            (IpAddr::V4(Ipv4Addr::LOCALHOST), Protocol::Tcp6) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            (address, _) => address,
        };
        SocketAddr::new(address, self.port)
    }

    /// Whether `address` is of the other version of IP than `protocol` wants.
    pub(crate) fn is_of_other_version(&self) -> bool {
        match self.protocol {
            Protocol::Tcp => false,
            Protocol::Tcp4 => !self.listen_address().is_ipv4(),
            Protocol::Tcp6 => !self.listen_address().is_ipv6(),
        }
    }
}
