//! Sessions that survive their socket: what a handshake asks for, and how it finds the session it goes on with.
//!
//! Only sockets that ask for it have any of this. See the reference, "Sessions that survive their socket".

mod greeting;
mod life;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use bytes::Bytes;
pub(super) use greeting::disabled;
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_live::{CloseReason, Millis, RingLimits};
use muster_wire::envelope::Format;
use tokio::sync::OwnedSemaphorePermit;

use super::handle::SocketHandle;
use super::session::Opening;
use super::stream::{Portable, Stream};
use crate::shard::{Command, ConnectionGuard, Shard, ShardHandle};

/// The limits of sessions that survive their socket, under their configuration names.
#[derive(Clone, Copy, Debug)]
pub struct ResumeLimits {
    /// `session.resume_grace_ms`: how long a session waits for its next socket. 0: there are no such sessions.
    pub grace_ms: Millis,
    /// `session.resume_buffer_bytes` and `session.resume_buffer_frames`.
    pub ring: RingLimits,
    /// `session.resume_max_waiting`: how many may wait at once.
    pub waiting_max: usize,
}

/// What a handshake asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A session that survives its socket.
    New,
    /// To go on with one.
    Continue {
        /// Which.
        session: SessionId,
        /// The shard that has it.
        shard: usize,
        /// How many of its messages the client has.
        received: u64,
    },
    /// To go on with one that cannot be.
    Unknown,
}

impl Request {
    /// Reads the parameters `resume` and `received`.
    ///
    /// # Errors
    /// A sentence for whoever connected.
    pub fn read(resume: &str, received: Option<&str>) -> Result<Self, &'static str> {
        if resume == "new" {
            return Ok(Self::New);
        }
        let received = received.and_then(|number| number.parse().ok());
        let received = received.ok_or("received must be how many messages of the session arrived.")?;
        let place = resume.split_once('.').and_then(|(session, shard)| {
            Some((SessionId(Uuid::try_parse(session).ok()?), shard.parse::<usize>().ok()?))
        });
        Ok(place.map_or(Self::Unknown, |(session, shard)| Self::Continue { session, shard, received }))
    }
}

/// By what a client finds the session again.
fn name_of(session: SessionId, shard: usize) -> String {
    format!("{session}.{shard}")
}

/// Why a client does not go on with the session it had. It is told, and gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such session of this user: its time is over, it was ended, or its shard is gone.
    Gone,
    /// More was sent to it meanwhile than is kept.
    Overflow,
    /// It has messages in the other format.
    Format,
}

impl Refusal {
    /// All of them, in the order of counters kept in arrays.
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
pub struct Arrival {
    /// What carries it.
    pub stream: Stream,
    /// What arrived behind the handshake.
    pub early: Bytes,
    /// What it asked for and may have.
    pub opening: Opening,
    /// Counts it.
    pub guard: ConnectionGuard,
}

/// A socket on its way to the shard that has its session.
pub struct Handover {
    stream: Portable,
    early: Bytes,
    opening: Opening,
    permit: OwnedSemaphorePermit,
}

/// A socket for a session that has lost its own, or is about to.
pub(super) struct Offer {
    pub arrival: Arrival,
    /// How many messages its client has.
    pub received: u64,
}

/// What the handle of a session knows that may change its socket.
pub(super) struct Resumption {
    user_id: UserId,
    format: Format,
    /// How many messages of the client were taken.
    pub arrived: Cell<u64>,
    pub offer: RefCell<Option<Offer>>,
}

impl Resumption {
    fn new(user_id: UserId, format: Format) -> Self {
        Self { user_id, format, arrived: Cell::new(0), offer: RefCell::default() }
    }
}

/// The sessions of a shard that may change their socket.
#[derive(Default)]
pub struct Resumables(RefCell<HashMap<SessionId, Rc<SocketHandle>>>);

impl Resumables {
    fn insert(&self, session: SessionId, handle: Rc<SocketHandle>) {
        self.0.borrow_mut().insert(session, handle);
    }

    fn remove(&self, session: SessionId) {
        self.0.borrow_mut().remove(&session);
    }

    /// Gives a session its next socket. One that it still has is lost by that. A session with which the client cannot go
    /// on is given up by its asking.
    ///
    /// Errors: why the client needs a new session, and its socket.
    fn offer(&self, session: SessionId, offer: Offer) -> Result<(), (Refusal, Box<Arrival>)> {
        let sessions = self.0.borrow();
        let opening = &offer.arrival.opening;
        let found = sessions.get(&session).and_then(|handle| Some((handle, handle.resumption()?)));
        let found = found.filter(|(handle, resumption)| {
            resumption.user_id == opening.claims.user_id && handle.close_requested().is_none()
        });
        let Some((handle, resumption)) = found else { return Err((Refusal::Gone, Box::new(offer.arrival))) };
        let refusal = if resumption.format != opening.format {
            Refusal::Format
        } else if !handle.outbox().borrow().can_resume(offer.received) {
            Refusal::Overflow
        } else {
            resumption.offer.replace(Some(offer));
            handle.wake();
            return Ok(());
        };
        handle.close(CloseReason::ConnectionLost);
        Err((refusal, Box::new(offer.arrival)))
    }
}

/// Brings a socket to the session it asked for, here or on another shard, or opens one.
pub async fn arrive(arrival: Arrival, request: Request, shard: Rc<Shard>) {
    let (arrival, refusal) = match request {
        Request::New => (arrival, None),
        Request::Unknown => (arrival, Some(Refusal::Gone)),
        Request::Continue { session, shard: owner, received } if owner == shard.index() => {
            match shard.resumables.offer(session, Offer { arrival, received }) {
                Ok(()) => return,
                Err((refusal, arrival)) => (*arrival, Some(refusal)),
            }
        }
        Request::Continue { shard: owner, .. } => match shard.peer(owner) {
            Some(peer) => return hand_over(arrival, peer).await,
            None => (arrival, Some(Refusal::Gone)),
        },
    };
    life::run(arrival, refusal, shard).await;
}

async fn hand_over(arrival: Arrival, peer: ShardHandle) {
    let Arrival { stream, early, opening, guard } = arrival;
    let sent = match stream.into_portable() {
        Ok(stream) => {
            let handover = Handover { stream, early, opening, permit: guard.into_permit() };
            peer.send(Command::Socket(Box::new(handover))).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = sent {
        tracing::debug!(%error, "socket lost on its way to its session");
    }
}

/// Takes in a socket that another shard has accepted.
pub fn take_over(handover: Handover, shard: &Rc<Shard>) {
    let Handover { stream, early, opening, permit } = handover;
    let guard = ConnectionGuard::new(shard.clone(), permit);
    match stream.into_stream() {
        Ok(stream) => {
            let request = opening.resume.unwrap_or(Request::Unknown);
            tokio::task::spawn_local(arrive(Arrival { stream, early, opening, guard }, request, shard.clone()));
        }
        Err(error) => tracing::debug!(%error, "socket lost on its way to its session"),
    }
}
