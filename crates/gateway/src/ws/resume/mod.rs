//! Sessions that survive their socket: the request of a handshake, and how the socket finds the session it goes on
//! with.
//!
//! Only sockets that ask for such a session have any of this. See the reference, "Sessions that survive their socket".

mod departure;
mod fetch;
mod greeting;
mod listed;
mod resumable;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;
pub(super) use greeting::disabled;
use listed::NotHere;
pub use listed::{Resumables, claimed, send_all_away};
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_live::place::{NODE_SHARDS_MAX, NODES_MAX};
use muster_live::plane::{Claim, RequestRef};
use muster_live::{Millis, NodeNumber, Place, RingLimits, ShardIndex};
use muster_wire::envelope::Format;

use super::session::Opening;
use super::stream::{Portable, Stream};
use crate::listener::ConnectionPermit;
use crate::shard::{ConnectionGuard, Shard, ShardCommand, ShardHandle};

/// The limits of sessions that survive their socket, under their configuration names.
#[derive(Clone, Copy, Debug)]
pub struct ResumeLimits {
    /// `session.resume_grace_ms`: how long a session waits for its next socket. With 0 there are no such sessions.
    pub grace_ms: Millis,
    /// `session.resume_buffer_bytes` and `session.resume_buffer_frames`: how much is kept to be sent again.
    pub ring: RingLimits,
    /// `session.resume_max_waiting`: how many sessions may wait for a socket at once.
    pub waiting_max: usize,
}

/// The request of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeRequest {
    /// The client asks for a session that survives its socket.
    New,
    /// The client asks to go on with a session.
    Continue {
        /// The session.
        session: SessionId,
        /// The place that has it.
        home: Place,
        /// Number of the session's messages that the client has.
        received: u64,
    },
    /// The client asks to go on with a session whose name cannot be read.
    Unknown,
}

impl ResumeRequest {
    /// Reads the parameters `resume` and `received`.
    ///
    /// # Errors
    /// A sentence for the client.
    pub fn read(resume: &str, received: Option<&str>) -> Result<Self, &'static str> {
        if resume == "new" {
            return Ok(Self::New);
        }
        let received = received.and_then(|number| number.parse().ok());
        let received = received.ok_or("received must be how many messages of the session arrived.")?;
        let found = named(resume);
        Ok(found.map_or(Self::Unknown, |(session, home)| Self::Continue { session, home, received }))
    }
}

/// The name by which a client finds the session again: `<id>.<shard>`, on a node of a cluster `<id>.<node>.<shard>`.
fn name_of(session: SessionId, home: Place) -> String {
    match (home.node(), home.shard()) {
        (0, shard) => format!("{session}.{shard}"),
        (node, shard) => format!("{session}.{node}.{shard}"),
    }
}

/// The session of a name, and the place that has it.
fn named(name: &str) -> Option<(SessionId, Place)> {
    let (session, home) = name.split_once('.')?;
    let (node, shard) = home.split_once('.').unwrap_or(("0", home));
    let (node, shard): (NodeNumber, ShardIndex) = (node.parse().ok()?, shard.parse().ok()?);
    let is_place = node < NODES_MAX && shard < NODE_SHARDS_MAX;
    Some((SessionId(Uuid::try_parse(session).ok()?), is_place.then(|| Place::new(node, shard))?))
}

/// The reason why a client does not go on with its former session. The client is told, and gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeRefusal {
    /// There is no such session of this user: its time is over, it was ended, or its shard is gone.
    Gone,
    /// More messages were sent to the session meanwhile than are kept.
    Overflow,
    /// The session has messages in the other format.
    Format,
}

impl ResumeRefusal {
    /// All refusals, in the order of counters kept in arrays.
    pub const ALL: [Self; 3] = [Self::Gone, Self::Overflow, Self::Format];

    /// The name in greetings and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Overflow => "overflow",
            Self::Format => "format",
        }
    }
}

/// A socket whose handshake is done.
pub struct UpgradedSocket {
    /// The transport of the socket.
    pub stream: Stream,
    /// Bytes that arrived behind the handshake.
    pub early: Bytes,
    /// The request of the handshake, as far as it was granted.
    pub opening: Opening,
    /// Counts the socket's connection.
    pub guard: ConnectionGuard,
}

/// A socket on its way to the shard that has its session.
pub struct PortableSocket {
    stream: Portable,
    early: Bytes,
    opening: Opening,
    permit: ConnectionPermit,
}

/// A way for a session to go on that has lost its socket, or is about to.
pub(super) enum Offer {
    /// The session goes on over this socket.
    Socket {
        socket: Box<UpgradedSocket>,
        /// Number of messages that the client has.
        received: u64,
    },
    /// The session goes on at another node, where its next socket is.
    Away { request: RequestRef, claim: Claim },
}

/// A socket or claim that came for a session that is about to go elsewhere.
enum Waiter {
    Socket { socket: Box<UpgradedSocket>, received: u64 },
    Claim(RequestRef),
}

/// The additional state of a session that may change its socket.
pub(super) struct Resumption {
    user_id: UserId,
    format: Format,
    /// Number of messages of the client that were taken.
    pub arrived: Cell<u64>,
    pub offer: RefCell<Option<Offer>>,
    /// Whether the node lets sessions go: the socket ends, and the next one comes to another node.
    pub is_sent_away: Cell<bool>,
    /// Sockets and claims that came for the session meanwhile; set while it goes elsewhere.
    departing: RefCell<Option<Vec<Waiter>>>,
}

impl Resumption {
    fn new(user_id: UserId, format: Format) -> Self {
        Self {
            user_id,
            format,
            arrived: Cell::new(0),
            offer: RefCell::default(),
            is_sent_away: Cell::new(false),
            departing: RefCell::default(),
        }
    }
}

/// Brings a socket to the session it asked for, here or elsewhere, or opens one.
pub async fn arrive(mut socket: UpgradedSocket, request: ResumeRequest, shard: Rc<Shard>) {
    let (socket, refusal) = match request {
        ResumeRequest::New => (socket, None),
        ResumeRequest::Unknown => (socket, Some(ResumeRefusal::Gone)),
        ResumeRequest::Continue { session, home, received } => {
            let here = shard.app.live.place();
            if home == here {
                match shard.resumables.offer(session, Box::new(socket), received) {
                    Ok(()) => return,
                    Err(NotHere::Refused(refusal, socket)) => (*socket, Some(refusal)),
                    Err(NotHere::Moved(home, socket)) => {
                        return go_to(*socket, ResumeRequest::Continue { session, home, received }, shard);
                    }
                }
            } else if home.node() != here.node() {
                return fetch::fetch(socket, fetch::WantedSession { session, home, received }, shard).await;
            } else {
                socket.opening.resume = Some(request);
                match shard.peer(usize::from(home.shard())) {
                    Some(peer) => return send_to_shard(socket, peer).await,
                    None => (socket, Some(ResumeRefusal::Gone)),
                }
            }
        }
    };
    resumable::run(socket, refusal, shard).await;
}

/// Brings a socket to the place where its session has gone.
fn go_to(socket: UpgradedSocket, request: ResumeRequest, shard: Rc<Shard>) {
    let going: Pin<Box<dyn Future<Output = ()>>> = Box::pin(arrive(socket, request, shard));
    tokio::task::spawn_local(going);
}

async fn send_to_shard(socket: UpgradedSocket, peer: ShardHandle) {
    let UpgradedSocket { stream, early, opening, guard } = socket;
    let sent = match stream.into_portable() {
        Ok(stream) => {
            let portable = PortableSocket { stream, early, opening, permit: guard.into_permit() };
            peer.send(ShardCommand::Socket(Box::new(portable))).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = sent {
        tracing::debug!(%error, "socket lost on its way to its session");
    }
}

/// Takes in a socket that another shard has accepted.
pub fn take_in(portable: PortableSocket, shard: &Rc<Shard>) {
    let PortableSocket { stream, early, opening, permit } = portable;
    let guard = ConnectionGuard::new(shard.clone(), permit);
    match stream.into_stream() {
        Ok(stream) => {
            let request = opening.resume.unwrap_or(ResumeRequest::Unknown);
            tokio::task::spawn_local(arrive(UpgradedSocket { stream, early, opening, guard }, request, shard.clone()));
        }
        Err(error) => tracing::debug!(%error, "socket lost on its way to its session"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_where_a_session_is() {
        let session = SessionId(Uuid::from_u128(7));
        for home in [Place::new(0, 3), Place::new(12, 0), Place::new(NODES_MAX - 1, NODE_SHARDS_MAX - 1)] {
            assert_eq!(named(&name_of(session, home)), Some((session, home)));
        }
        assert!(name_of(session, Place::new(0, 3)).ends_with("07.3"), "a node on its own names its shards");
        for wrong in [
            "",
            "7.0",
            "00000000-0000-0000-0000-000000000007",
            "00000000-0000-0000-0000-000000000007.x",
            "00000000-0000-0000-0000-000000000007.1.1024",
            "00000000-0000-0000-0000-000000000007.9999999.0",
        ] {
            assert_eq!(named(wrong), None, "{wrong}");
        }
    }
}
