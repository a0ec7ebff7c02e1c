//! Messages down: from an owner to a session's shard, answers among them.

use std::sync::Arc;

use super::asks::Answer;
use super::moves::{ClaimRefusal, Moved};
use super::{Frames, Listener, Standing};
use crate::close::CloseReason;
use crate::matchmaker::TicketId;
use crate::outbox::Delivery;
use crate::place::{Epoch, Partition};
use crate::registry::SessionKey;
use crate::stream::{Presence, SharedPayload, StreamKey};

/// Messages of owners to sessions' shards.
#[derive(Debug)]
pub enum Down {
    /// An answer.
    Reply(u64, Reply),
    /// A session's join was refused.
    Refused {
        /// The stream that the session wanted to join.
        stream: StreamKey,
        /// The session.
        session: SessionKey,
        /// Serial number of the join.
        serial: u32,
        /// The question that is answered, if anybody waits.
        request: Option<u64>,
        /// The reason.
        refusal: JoinRefusal,
    },
    /// A session hears a stream from now on.
    Listening {
        /// The stream.
        stream: StreamKey,
        /// The session that hears.
        listener: Listener,
        /// A first message to this session alone, in its encoding.
        told: Option<Frames>,
    },
    /// A session was taken off a stream by its owner, or will not come to it after all.
    Removed {
        /// The stream.
        stream: StreamKey,
        /// The listener; a later join of the same session is not meant.
        listener: Listener,
    },
    /// A message for those of this shard who hear a stream.
    Fanout {
        /// The stream.
        stream: StreamKey,
        /// The frame in each encoding that somebody there needs.
        frames: Frames,
        /// The receivers.
        audience: LocalAudience,
        /// The policy for a receiver whose queue is full.
        delivery: Delivery,
    },
    /// Joins and leaves of a stream, for a place on another node: for the sessions that hear the stream there, and for
    /// the place's roster.
    Event {
        /// The stream.
        stream: StreamKey,
        /// The frame in each encoding that somebody there needs.
        frames: Frames,
        /// Presences that came.
        joins: Arc<[Presence]>,
        /// Presences that went.
        leaves: Arc<[Presence]>,
    },
    /// The roster of a stream, or a part of it: the presences that may be seen. A place gets the roster when it begins
    /// to hear the stream, and when the stream has a new owner.
    Roster {
        /// The stream.
        stream: StreamKey,
        /// Some of the presences.
        presences: Vec<Presence>,
        /// Whether this is the first part.
        begins: bool,
        /// Whether this is the last part.
        ends: bool,
        /// Whether the owner is new. The place then tells its sessions how the roster differs from the one that they
        /// know.
        is_anew: bool,
        /// Whether the owner gives the stream up. The place then keeps the roster for the next owner, even if the next
        /// owner is on the same node.
        is_last: bool,
    },
    /// The former owner of these partitions has nothing more to say of them.
    HandedOver {
        /// The partitions, each with the epoch of the next owner.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// The next owner of partitions tells the former one that it has their whole state.
    Taken {
        /// The partitions, with the epochs since which they are its own.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A session that goes on at this place is on a stream, or hears it. From now on messages for it come here.
    Arrived {
        /// The session.
        session: SessionKey,
        /// The session's relation to the stream, as the owner knows it.
        standing: Standing,
        /// Whether the session hears the stream already. Otherwise it still waits to be let in.
        hears: bool,
    },
    /// A session that goes on elsewhere gets no further message of a stream at this place.
    Rebound {
        /// The question that is answered.
        request: u64,
        /// The stream.
        stream: StreamKey,
        /// The session.
        session: SessionKey,
        /// The session's relation to the stream at its next place; `None` if the owner knows nothing of the session.
        standing: Option<Standing>,
    },
    /// The place that was asked is not, or no longer, the owner that the question was for.
    Misdirected {
        /// The question.
        request: u64,
    },
    /// A message for one session.
    Push {
        /// The session.
        session: SessionKey,
        /// The content.
        payload: SharedPayload,
        /// The policy if the session's queue is full.
        delivery: Delivery,
        /// Tickets that the session is on no longer once it has this message.
        ended: Vec<TicketId>,
    },
    /// A session is on a ticket that was asked for at another place, or is on a ticket no longer.
    Ticket {
        /// The session.
        session: SessionKey,
        /// The ticket.
        ticket: TicketId,
        /// Whether the session is on the ticket.
        is_on: bool,
    },
    /// A session is to be closed because of something that happened elsewhere.
    Close {
        /// The session.
        session: SessionKey,
        /// The last message to the session.
        payload: Option<SharedPayload>,
        /// The reason.
        reason: CloseReason,
    },
}

impl Down {
    /// The stream that the message is about, if only the stream's owner may send it.
    pub fn stream(&self) -> Option<&StreamKey> {
        match self {
            Self::Refused { stream, .. }
            | Self::Listening { stream, .. }
            | Self::Removed { stream, .. }
            | Self::Fanout { stream, .. }
            | Self::Event { stream, .. }
            | Self::Rebound { stream, .. }
            | Self::Roster { stream, .. } => Some(stream),
            Self::Arrived { standing, .. } => Some(&standing.stream),
            Self::Reply(..)
            | Self::Push { .. }
            | Self::Ticket { .. }
            | Self::Close { .. }
            | Self::HandedOver { .. }
            | Self::Taken { .. }
            | Self::Misdirected { .. } => None,
        }
    }
}

/// The receivers among a shard's listeners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalAudience {
    /// Everybody.
    All,
    /// Everybody but one.
    AllBut(SessionKey),
    /// These sessions.
    Only(Vec<SessionKey>),
}

/// Answers to questions. [`Reply::Joined`] with [`JoinRefusal::Unavailable`] may answer any question.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The answer to a join.
    Joined(Result<Joined, JoinRefusal>),
    /// The answer to a listing, and to listening: presences, and the number of all that the asker may see.
    Presences(Vec<Presence>, usize),
    /// The answer to a count, in the order of the question.
    Counts(Vec<usize>),
    /// Relayed matches, each with the number of its visible presences.
    Matches(Vec<(StreamKey, usize)>),
    /// The answer of owned things.
    Answer(Answer),
    /// The answer to a claim: the session, which is at no other place any more.
    Session(Result<Box<Moved>, ClaimRefusal>),
    /// The answer to a rebind: one stream of the session is bound to its next place.
    Rebound,
}

impl Reply {
    /// Whether the question was refused.
    pub(crate) fn is_refused(&self) -> bool {
        match self {
            Self::Joined(joined) => joined.is_err(),
            Self::Answer(answer) => answer.is_refused(),
            _ => false,
        }
    }
}

/// The state of a stream for a session that joined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Whether the session was not on the stream before.
    pub is_new: bool,
    /// Presences that may be seen, at most [`super::PlaneConfig::snapshot_max`]. A session that is new is not among
    /// them itself. All who come to a large stream share the list.
    pub presences: Arc<[Presence]>,
    /// The number of presences before they were cut.
    pub total: usize,
}

/// The reason why a session did not come to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinRefusal {
    /// Nobody is on the stream, and the join asked for a stream with somebody on it.
    Empty,
    /// The session is on as many streams as it may be.
    TooManyStreams,
    /// The session has closed.
    Closed,
    /// The owner's node has gone, and the question may or may not have been carried out. The asker may ask again.
    Unavailable,
}
