//! Messages up: from a session's shard to an owner, and from one place to another about owners and sessions.

use muster_domain::Error;
use muster_domain::ids::SessionId;

use super::asks::{Ask, FollowUp};
use super::down::{JoinRefusal, Reply};
use super::moves::{Claim, Rebind};
use super::orders::Order;
use super::parts::{Carried, Told};
use super::{Listener, RequestRef};
use crate::matches::LeaveReason;
use crate::outbox::Delivery;
use crate::place::{Epoch, Partition, Place};
use crate::stream::{Encoding, Presence, SessionRef, SharedPayload, StreamKey};

/// Messages up. Most are for an owner; an order, a claim or a message for all sessions is for the place of the
/// sessions.
#[derive(Debug)]
pub enum Up {
    /// A session comes to a stream.
    Join(Box<Join>),
    /// A session's presence goes from a stream.
    Leave {
        /// The stream.
        stream: StreamKey,
        /// The session.
        session: SessionRef,
        /// The encoding in which the session heard the stream by a listen, if it did. Hearing by a join is left out:
        /// the owner knows whether it let the join in, and the session's shard may not know yet.
        heard: Option<Encoding>,
        /// The reason.
        reason: LeaveReason,
    },
    /// A session hears a stream without being on it.
    Listen {
        /// The stream.
        stream: StreamKey,
        /// The session that hears.
        listener: Listener,
        /// The question whose answer is the presences on the stream, if anybody waits.
        request: Option<RequestRef>,
    },
    /// A session no longer hears a stream.
    Unlisten {
        /// The stream.
        stream: StreamKey,
        /// The listener that heard.
        listener: Listener,
        /// Whether the session heard by its join. The owner discounts such a listener only if it has let the join in.
        by_join: bool,
    },
    /// A message for those who hear a stream.
    Publish(Publish),
    /// A question to owned things.
    Ask {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The content of the question.
        ask: Ask,
    },
    /// A question for the numbers of presences on these streams, hidden ones included.
    Count {
        /// The question that is answered.
        request: RequestRef,
        /// The streams; all of them have the owner that is asked.
        streams: Vec<StreamKey>,
    },
    /// A question for the presences on a stream.
    List {
        /// The question that is answered.
        request: RequestRef,
        /// The stream.
        stream: StreamKey,
        /// Whether the answer includes hidden presences.
        with_hidden: bool,
        /// Number of presences that the answer leaves out at the front.
        skip: usize,
        /// The largest number of presences in the answer.
        limit: usize,
    },
    /// Relations of a place's sessions to things of a partition, for the partition's new owner. One message may hold a
    /// part of them.
    Rebuild {
        /// The partition.
        partition: Partition,
        /// The epoch since which the partition has this owner.
        epoch: Epoch,
        /// The relations.
        told: Told,
    },
    /// The state of a partition, from the former owner to the new one. One message may hold a part of it.
    Carried {
        /// The partition.
        partition: Partition,
        /// The epoch since which the partition has this owner.
        epoch: Epoch,
        /// Parts, in order.
        parts: Vec<Carried>,
        /// Whether this is the last part.
        ends: bool,
    },
    /// A place has told the new owner of partitions all that it knows of them.
    Fence {
        /// The partitions, each with the epoch since which it has this owner.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A place sends no further message about these partitions to their former owner, which hands them over.
    Passed {
        /// The partitions, each with the epoch of the next owner.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A place has heard everything that the former owner of these partitions had to say of them.
    Heard {
        /// The partitions, each with the epoch of the next owner.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A demand for a session whose next socket arrived at another place, sent to the place that has the session.
    Claim {
        /// The question that is answered.
        request: RequestRef,
        /// The session, and its next place.
        claim: Claim,
    },
    /// A demand to the owner of a stream, to bind a session that is on the stream or hears it to another place.
    Rebind {
        /// The question that is answered.
        request: RequestRef,
        /// The session, and its next place.
        rebind: Box<Rebind>,
    },
    /// An order about sessions of a place, sent to that place.
    Order {
        /// The question that is answered.
        request: RequestRef,
        /// The sessions, and the order.
        order: Box<Order>,
    },
    /// A message for all sessions of a place, sent to that place.
    All {
        /// The question that is answered when all sessions have the message.
        request: RequestRef,
        /// The content.
        payload: SharedPayload,
    },
    /// A question for the relayed matches of this owner.
    Matches {
        /// The question that is answered.
        request: RequestRef,
        /// The largest number of matches in the answer.
        limit: usize,
        /// The smallest and the largest number of players.
        sizes: (usize, usize),
    },
}

impl Up {
    /// The question that the message asks, if anybody waits for the answer.
    pub fn request(&self) -> Option<RequestRef> {
        match self {
            Self::Join(join) => join.request,
            Self::Listen { request, .. } | Self::Ask { request, .. } => *request,
            Self::Count { request, .. }
            | Self::List { request, .. }
            | Self::Claim { request, .. }
            | Self::Rebind { request, .. }
            | Self::Order { request, .. }
            | Self::All { request, .. }
            | Self::Matches { request, .. } => Some(*request),
            Self::Leave { .. }
            | Self::Unlisten { .. }
            | Self::Publish(_)
            | Self::Rebuild { .. }
            | Self::Fence { .. }
            | Self::Passed { .. }
            | Self::Heard { .. }
            | Self::Carried { .. } => None,
        }
    }

    /// The next place of a session, if the message tells an owner that the session moves.
    pub(crate) fn moves_to(&self) -> Option<Place> {
        match self {
            Self::Rebind { rebind, .. } => Some(rebind.to.place),
            Self::Ask { ask, .. } => ask.moves_to(),
            _ => None,
        }
    }

    /// Whether an island keeps the question until the way to its owner is free again. An island refuses all other
    /// questions to other nodes at once.
    pub(crate) fn outlasts_island(&self) -> bool {
        if let Self::Ask { ask, .. } = self { ask.outlasts_island() } else { false }
    }

    /// Whether the owner may hand the question on to another owner, which answers it.
    pub(crate) fn may_wander(&self) -> bool {
        if let Self::Ask { ask, .. } = self { ask.may_wander() } else { false }
    }

    /// Drops parts of the message that became outdated since it was sent. `is_owner` says whether the sender may speak
    /// for a partition. Answers whether anything is left.
    pub(crate) fn drop_outdated(&mut self, is_owner: impl Fn(Partition) -> bool) -> bool {
        if let Self::Ask { ask, .. } = self { ask.drop_outdated(&is_owner) } else { true }
    }

    /// The duty of the asker's place once the question has its answer, or will get none.
    pub(crate) fn follow_up(&self, asker: Place) -> Option<FollowUp> {
        if let Self::Ask { ask, .. } = self { ask.follow_up(asker) } else { None }
    }

    /// The function that makes the answer from an error, for a question whose owner has gone.
    pub(crate) fn refusal(&self) -> fn(Error) -> Reply {
        if let Self::Ask { ask, .. } = self { ask.refusal() } else { |_| Reply::Joined(Err(JoinRefusal::Unavailable)) }
    }

    /// Whether the message is about one of these partitions.
    pub(crate) fn concerns(&self, is_one: impl Fn(Partition) -> bool) -> bool {
        match self {
            Self::Count { streams, .. } => streams.iter().any(|stream| is_one(stream.partition())),
            up => up.partition().is_some_and(is_one),
        }
    }

    /// The partition that the message is about, if there is exactly one.
    pub fn partition(&self) -> Option<Partition> {
        match self {
            Self::Join(join) => Some(join.stream.partition()),
            Self::Publish(publish) => Some(publish.stream.partition()),
            Self::Rebind { rebind, .. } => Some(rebind.standing.stream.partition()),
            Self::Leave { stream, .. }
            | Self::Listen { stream, .. }
            | Self::Unlisten { stream, .. }
            | Self::List { stream, .. } => Some(stream.partition()),
            Self::Ask { ask, .. } => ask.partition(),
            Self::Count { .. }
            | Self::Claim { .. }
            | Self::Order { .. }
            | Self::All { .. }
            | Self::Rebuild { .. }
            | Self::Fence { .. }
            | Self::Passed { .. }
            | Self::Heard { .. }
            | Self::Carried { .. }
            | Self::Matches { .. } => None,
        }
    }
}

/// A session comes to a stream, or changes its presence there.
#[derive(Debug)]
pub struct Join {
    /// The stream.
    pub stream: StreamKey,
    /// The session's presence.
    pub presence: Presence,
    /// The listener, if the session hears the stream too.
    pub listener: Option<Listener>,
    /// Serial number of the join, by which a late refusal of an earlier one is recognised.
    pub serial: u32,
    /// The condition.
    pub condition: Condition,
    /// The question that is answered, if anybody waits.
    pub request: Option<RequestRef>,
}

/// The condition of a join.
#[derive(Clone, Debug)]
pub enum Condition {
    /// No condition.
    Any,
    /// The join is refused unless somebody is on the stream already.
    Occupied,
    /// The join replaces a presence that the session already has.
    Replace,
}

/// A message for those who hear a stream.
#[derive(Clone, Debug)]
pub struct Publish {
    /// The stream.
    pub stream: StreamKey,
    /// The content.
    pub payload: SharedPayload,
    /// The receivers.
    pub audience: Audience,
    /// The policy for a receiver whose queue is full.
    pub delivery: Delivery,
    /// The session that must be on the stream for the message to be published, if any.
    pub sender: Option<SessionRef>,
}

/// The receivers among those that hear a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody.
    All,
    /// Everybody but one session.
    AllBut(SessionRef),
    /// Those of these sessions that are on the stream, by their public ids.
    Only(Vec<SessionId>),
}
