//! Messages between shards about live things.
//!
//! A message up goes from a session's shard to an owner, a message down from an owner to a session's shard. A message
//! down never causes a message to another shard, so the way down always empties, and no cycle of shards can wait.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::SessionId;

use super::changes::moves::{Claim, ClaimRefusal, Moved, Rebind};
use super::owners::pool::{POOL, PoolAsk, PoolReply};
use super::owners::things::{Carried, Told};
use super::sessions::orders::Order;
use crate::close::CloseReason;
use crate::matches::{self, LeaveReason};
use crate::matchmaker::TicketId;
use crate::outbox::Delivery;
use crate::party;
use crate::place::{Epoch, Partition, Place};
use crate::registry::SessionKey;
use crate::rooms;
use crate::stream::{Encoding, Presence, SessionRef, SharedPayload, StreamKey};

/// A question, by its number at the place that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestRef {
    /// The place that asks.
    pub place: Place,
    /// The number of the question at that place.
    pub id: u64,
}

/// A message of one shard to another.
#[derive(Debug)]
pub enum Message {
    /// A message to an owner.
    Up(Up),
    /// A message to an owner in a cluster, with the epoch since which it owns the partition, as the sender believes.
    Dated(Epoch, Up),
    /// A message from an owner.
    Down(Down),
    /// Credits of a lane: its receiver has worked off that many messages, and as many more may be sent.
    Credit(LaneKind, u32),
}

/// The two lanes between each pair of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// Towards owners.
    Up,
    /// From owners.
    Down,
}

/// Messages to owners.
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
        /// The encoding in which the session heard the stream, if it had listened. The owner knows by itself whether
        /// the session heard by its join: the session's shard may not have heard yet whether the join was let in.
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
        /// The question that is answered by the presences, if anybody waits.
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
    /// A question to a party.
    Party {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The party's stream.
        stream: StreamKey,
        /// The request.
        ask: Box<party::Request>,
    },
    /// A question for the parties of this owner.
    Parties {
        /// The question that is answered.
        request: RequestRef,
        /// The filter.
        asked: party::ListQuery,
    },
    /// A question or message to an owner of rooms.
    Rooms(Box<rooms::ToOwner>),
    /// A question to a match of game code.
    Match {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The match's stream.
        stream: StreamKey,
        /// The request.
        ask: Box<matches::MatchAsk>,
    },
    /// A question for the matches of game code of this owner.
    FindMatches {
        /// The question that is answered.
        request: RequestRef,
        /// The filter.
        asked: matches::ListQuery,
    },
    /// A question for the numbers of presences on these streams, hidden ones included.
    Count {
        /// The question that is answered.
        request: RequestRef,
        /// The streams, all of this owner.
        streams: Vec<StreamKey>,
    },
    /// A question for the presences on a stream.
    List {
        /// The question that is answered.
        request: RequestRef,
        /// The stream.
        stream: StreamKey,
        /// Whether hidden presences are among them.
        with_hidden: bool,
        /// Number of presences that are skipped.
        skip: usize,
        /// The largest number of answers.
        limit: usize,
    },
    /// A question to the matchmaker.
    Pool {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The request.
        ask: PoolAsk,
    },
    /// A question to a thing of an added kind, see [`crate::Plane::add`].
    Added {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The thing's stream.
        stream: StreamKey,
        /// The session that asks to come to the thing's stream, if one does.
        comer: Option<Box<party::Member>>,
        /// The question, in the kind's own form.
        ask: Bytes,
    },
    /// Relations of a place's sessions to things of a partition, or a part of them, for the partition's new owner.
    Rebuild {
        /// The partition.
        partition: Partition,
        /// The epoch since which the partition has this owner.
        epoch: Epoch,
        /// The relations.
        told: Told,
    },
    /// The state of a partition, or a part of it, from the former owner to the new one.
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
    /// A place has told the new owner of partitions everything that it has to tell of them.
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
        /// The question that is answered, if anybody waits.
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
        /// The largest number of answers.
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
            Self::Listen { request, .. }
            | Self::Party { request, .. }
            | Self::Match { request, .. }
            | Self::Pool { request, .. }
            | Self::Added { request, .. } => *request,
            Self::Rooms(ask) => ask.reply_to(),
            Self::Parties { request, .. }
            | Self::FindMatches { request, .. }
            | Self::Count { request, .. }
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
            Self::Pool { ask: PoolAsk::Rebind(_, to), .. } => Some(to.place),
            _ => None,
        }
    }

    /// Whether the message is carried out once the way to its owner is free again. Other questions of an island are
    /// answered at once with a refusal.
    pub(crate) fn outlasts_island(&self) -> bool {
        matches!(self, Self::Pool { ask: PoolAsk::RemoveOwner(_) | PoolAsk::LoseOwner(_), .. })
    }

    /// Leaves out parts that became outdated since the message was sent: `is_owner` tells whether its sender may speak
    /// for a partition. Answers whether anything is left.
    pub(crate) fn drop_outdated(&mut self, is_owner: impl Fn(Partition) -> bool) -> bool {
        if let Self::Rooms(ask) = self { ask.drop_outdated(is_owner) } else { true }
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
            | Self::Party { stream, .. }
            | Self::Match { stream, .. }
            | Self::Added { stream, .. }
            | Self::List { stream, .. } => Some(stream.partition()),
            Self::Rooms(ask) => Some(ask.owner().partition()),
            Self::Pool { .. } => Some(POOL.partition()),
            Self::Parties { .. }
            | Self::FindMatches { .. }
            | Self::Count { .. }
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

/// A session's relation to a stream, as its place knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The stream.
    pub stream: StreamKey,
    /// The session's presence, if the session is on the stream.
    pub presence: Option<Presence>,
    /// The session's listener, if the session hears the stream.
    pub listener: Option<Listener>,
    /// Whether the session hears by its join.
    pub by_join: bool,
    /// The number of the latest message of the stream that the session had, see [`Delivery::Once`].
    pub latest: u64,
}

/// A session that hears a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The session that hears.
    pub session: SessionRef,
    /// The encoding.
    pub encoding: Encoding,
    /// Serial number of the session's join or listen, by which a late answer to an earlier one is recognised.
    pub serial: u32,
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
    /// Those of these sessions that are on the stream.
    Only(Vec<SessionId>),
}

/// Messages of owners to sessions' shards.
#[derive(Debug)]
pub enum Down {
    /// An answer.
    Reply(u64, Reply),
    /// A session's join was refused.
    Refused {
        /// The stream that it wanted to join.
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
        /// A first message to it alone, in its encoding.
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
    /// The roster of a stream, or a part of it: the presences that may be seen. A place gets it when it begins to hear
    /// the stream, and from the stream's new owner.
    Roster {
        /// The stream.
        stream: StreamKey,
        /// Some of the presences.
        presences: Vec<Presence>,
        /// Whether this is the first part.
        begins: bool,
        /// Whether this is the last part.
        ends: bool,
        /// Whether the owner is new. Sessions are then told the difference to what they know.
        is_anew: bool,
        /// Whether the owner has the stream no longer. The place then keeps the roster for the next owner, even if that
        /// is on the same node.
        is_last: bool,
    },
    /// The former owner of partitions, which have others now, has nothing more to say of them.
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
    /// The place that was asked is not the owner that the question was for, or not any more.
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
        /// Whether it is on the ticket.
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

/// One message in the encodings that somebody needs.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// For sockets of text frames.
    pub json: Option<Bytes>,
    /// For sockets of binary frames.
    pub protobuf: Option<Bytes>,
}

impl Frames {
    /// The frame of an encoding.
    pub fn get(&self, encoding: Encoding) -> Option<&Bytes> {
        match encoding {
            Encoding::Json => self.json.as_ref(),
            Encoding::Protobuf => self.protobuf.as_ref(),
        }
    }

    /// Sets the frame of an encoding.
    pub fn set(&mut self, encoding: Encoding, frame: Bytes) {
        match encoding {
            Encoding::Json => self.json = Some(frame),
            Encoding::Protobuf => self.protobuf = Some(frame),
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
    /// The answer of the matchmaker.
    Pool(muster_domain::Result<PoolReply>),
    /// Relayed matches, each with the number of its visible presences.
    Matches(Vec<(StreamKey, usize)>),
    /// The answer of a party.
    Party(Result<party::Reply, party::Refusal>),
    /// Parties of one owner.
    Parties(party::Page),
    /// The answer of a match of game code, or of all matches of an owner.
    Match(muster_domain::Result<matches::Answer>),
    /// The answer of rooms.
    Rooms(muster_domain::Result<rooms::Answer>),
    /// The answer to a claim: the session, which is at no other place any more.
    Session(Result<Box<Moved>, ClaimRefusal>),
    /// The answer to a rebind: one stream of the session is bound to its next place.
    Rebound,
    /// The answer of a thing of an added kind, in the kind's own form.
    Added(Bytes),
}

/// The state of a stream for a session that joined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Whether the session was not on the stream before.
    pub is_new: bool,
    /// Presences that may be seen, without the session itself if it is new. Cut at
    /// [`super::PlaneConfig::snapshot_max`]. Shared by all who come to a large stream.
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
