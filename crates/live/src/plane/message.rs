//! What shards tell each other about live things.
//!
//! Up goes from a session's shard to an owner, down from an owner to sessions' shards. What goes down never causes
//! anything to be sent to another shard, so the way down always empties, and no cycle of shards can wait.

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
    /// The question that is answered.
    pub place: Place,
    /// Its number there.
    pub id: u64,
}

/// A message of one shard to another.
#[derive(Debug)]
pub enum Message {
    /// To an owner.
    Up(Up),
    /// To an owner in a cluster, of something that it owns since this epoch, as the sender believes.
    Dated(Epoch, Up),
    /// From an owner.
    Down(Down),
    /// So many messages of a lane were worked off: as many more may be sent.
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
        /// Whether it heard the stream by having listened, and in which encoding. What it heard by its join is its
        /// owner's to know: whether that was let in, its shard may not have heard yet.
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
        /// Whether it heard by its join, if that was let in.
        by_join: bool,
    },
    /// Something for those who hear a stream.
    Publish(Publish),
    /// Something is asked of a party.
    Party {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The party's stream.
        stream: StreamKey,
        /// The request.
        ask: Box<party::Request>,
    },
    /// The parties of this owner.
    Parties {
        /// The question that is answered.
        request: RequestRef,
        /// The filter.
        asked: party::ListQuery,
    },
    /// Something is asked of an owner of rooms, or told to it.
    Rooms(Box<rooms::ToOwner>),
    /// Something is asked of a match of game code.
    Match {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The match's stream.
        stream: StreamKey,
        /// The request.
        ask: Box<matches::MatchAsk>,
    },
    /// The matches of game code of this owner.
    FindMatches {
        /// The question that is answered.
        request: RequestRef,
        /// The filter.
        asked: matches::ListQuery,
    },
    /// The number of presences on each of these streams, hidden ones included.
    Count {
        /// The question that is answered.
        request: RequestRef,
        /// The streams, all of this owner.
        streams: Vec<StreamKey>,
    },
    /// The presences on a stream.
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
    /// Something for the matchmaker.
    Pool {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The request.
        ask: PoolAsk,
    },
    /// Something is asked of a thing of an added kind, see [`crate::Plane::add`].
    Added {
        /// The question that is answered, if anybody waits.
        request: Option<RequestRef>,
        /// The thing's stream.
        stream: StreamKey,
        /// The session that wants to come to the stream by it, if one does.
        comer: Option<Box<party::Member>>,
        /// The question, in the kind's own form.
        ask: Bytes,
    },
    /// To the new owner of a partition: what sessions of a place are to its things, or a part of that.
    Rebuild {
        /// The partition.
        partition: Partition,
        /// The epoch since which it has this owner.
        epoch: Epoch,
        /// Sessions and things.
        told: Told,
    },
    /// To the new owner of a partition, from the former one: all that the former one knew of it, or a part of that.
    Carried {
        /// The partition.
        partition: Partition,
        /// The epoch since which it has this owner.
        epoch: Epoch,
        /// Parts, in order.
        parts: Vec<Carried>,
        /// Whether this is the last part.
        ends: bool,
    },
    /// To the new owner of partitions: a place has told all that it has to tell of them, since these epochs.
    Fence {
        /// The partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// To the former owner of partitions that are on their way to others, since these epochs: nothing more comes to it
    /// about them from this place.
    Passed {
        /// The partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// To the former owner of these, since these epochs: all that it had to say of them has been heard.
    Heard {
        /// The partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A session's next socket arrived elsewhere: it is to go on there. To the place that has it.
    Claim {
        /// The question that is answered.
        request: RequestRef,
        /// The session, and its next place.
        claim: Claim,
    },
    /// A session that is on a stream or hears it goes on at another place.
    Rebind {
        /// The question that is answered.
        request: RequestRef,
        /// The session, and its next place.
        rebind: Box<Rebind>,
    },
    /// Something is to be done with sessions of a place. To that place.
    Order {
        /// The question that is answered, if anybody waits.
        request: RequestRef,
        /// The sessions, and the order.
        order: Box<Order>,
    },
    /// Something for all sessions of a place. To that place.
    All {
        /// The question that is answered when all have it.
        request: RequestRef,
        /// The content.
        payload: SharedPayload,
    },
    /// The relayed matches of this owner.
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
    /// The question that it asks, if anybody waits for the answer.
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

    /// The place to which a session moves of which this tells an owner.
    pub(crate) fn moves_to(&self) -> Option<Place> {
        match self {
            Self::Rebind { rebind, .. } => Some(rebind.to.place),
            Self::Pool { ask: PoolAsk::Rebind(_, to), .. } => Some(to.place),
            _ => None,
        }
    }

    /// Whether it is done whenever the way to its owner is free again: a question that is answered at once on an island
    /// otherwise.
    pub(crate) fn outlasts_island(&self) -> bool {
        matches!(self, Self::Pool { ask: PoolAsk::RemoveOwner(_) | PoolAsk::LoseOwner(_), .. })
    }

    /// Leaves out what became old since it was sent: `is_owner` tells whether its place may speak for a partition. Answers
    /// whether anything is left.
    pub(crate) fn drop_outdated(&mut self, is_owner: impl Fn(Partition) -> bool) -> bool {
        if let Self::Rooms(ask) = self { ask.drop_outdated(is_owner) } else { true }
    }

    /// Whether it is about one of these partitions.
    pub(crate) fn concerns(&self, is_one: impl Fn(Partition) -> bool) -> bool {
        match self {
            Self::Count { streams, .. } => streams.iter().any(|stream| is_one(stream.partition())),
            up => up.partition().is_some_and(is_one),
        }
    }

    /// The partition that it is about, if that is one.
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
    /// Its presence, if it is on the stream.
    pub presence: Option<Presence>,
    /// Its listener, if it hears the stream.
    pub listener: Option<Listener>,
    /// Whether it hears by its join.
    pub by_join: bool,
    /// The number of the latest message of the stream that it had, see [`Delivery::Once`].
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
    /// The session.
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
    /// Somebody is there already.
    Occupied,
    /// A presence that is there already is replaced.
    Replace,
}

/// Something for those who hear a stream.
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
    /// Only if this session is on the stream.
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
    /// From now on a session hears a stream.
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
    /// For those of this shard who hear a stream.
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
    /// Joins and leaves of a stream, for the hearers of a place on another node; and for its roster.
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
    /// The presences that may be seen on a stream, or some of them: for a place that begins to hear it, and from its new owner.
    Roster {
        /// The stream.
        stream: StreamKey,
        /// Some of the presences.
        presences: Vec<Presence>,
        /// Whether they are the first.
        begins: bool,
        /// Whether they are the last.
        ends: bool,
        /// Whether the owner is new: sessions are told the difference to what they know.
        is_anew: bool,
        /// Whether the owner has lost the stream: the roster is kept for the next owner, even if that is on the same node.
        is_last: bool,
    },
    /// From the former owner of partitions that have others since these epochs: it has nothing more to say of them.
    HandedOver {
        /// The partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// To the former owner of partitions: the next one has all that there was.
    Taken {
        /// The partitions, with the epochs since which they are its own.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A session that goes on here is on a stream, or hears it: what comes of it from now on comes here.
    Arrived {
        /// The session.
        session: SessionKey,
        /// Its relation to the stream, as the owner knows it.
        standing: Standing,
        /// Whether it hears the stream already; it may yet wait to be let in.
        hears: bool,
    },
    /// Nothing of a stream comes to a session of this place any more: it goes on elsewhere.
    Rebound {
        /// The question that is answered.
        request: u64,
        /// The stream.
        stream: StreamKey,
        /// The session.
        session: SessionKey,
        /// Its relation to the stream as it goes on; `None` if the owner knows nothing of it.
        standing: Option<Standing>,
    },
    /// The question was not for this owner, or not any more.
    Misdirected {
        /// The question.
        request: u64,
    },
    /// For one session.
    Push {
        /// The session.
        session: SessionKey,
        /// The content.
        payload: SharedPayload,
        /// The policy if its queue is full.
        delivery: Delivery,
        /// Tickets that it is on no more by this message.
        ended: Vec<TicketId>,
    },
    /// A session is on a ticket from now on, by who asked for it elsewhere; or no more.
    Ticket {
        /// The session.
        session: SessionKey,
        /// The ticket.
        ticket: TicketId,
        /// Whether it is on the ticket.
        is_on: bool,
    },
    /// A session is closed by something that happened elsewhere.
    Close {
        /// The session.
        session: SessionKey,
        /// The last message to it.
        payload: Option<SharedPayload>,
        /// The reason.
        reason: CloseReason,
    },
}

impl Down {
    /// The stream whose owner alone says this.
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
    /// These.
    Only(Vec<SessionKey>),
}

/// The answers to what was asked. [`Reply::Joined`] with [`JoinRefusal::Unavailable`] may answer any of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// To a join.
    Joined(Result<Joined, JoinRefusal>),
    /// To a listing, and to listening: presences, and how many there are in all that the asker may see.
    Presences(Vec<Presence>, usize),
    /// To a count, in the order of the question.
    Counts(Vec<usize>),
    /// Of the matchmaker.
    Pool(muster_domain::Result<PoolReply>),
    /// Relayed matches and how many are in each.
    Matches(Vec<(StreamKey, usize)>),
    /// The answer of a party.
    Party(Result<party::Reply, party::Refusal>),
    /// Parties of one owner.
    Parties(party::Page),
    /// The answer of a match of game code, or of all matches of an owner.
    Match(muster_domain::Result<matches::Answer>),
    /// The answer of rooms.
    Rooms(muster_domain::Result<rooms::Answer>),
    /// To a claim: the session, which is nowhere else any more.
    Session(Result<Box<Moved>, ClaimRefusal>),
    /// A session goes on elsewhere as far as one stream is concerned.
    Rebound,
    /// The answer of a thing of an added kind, in the kind's own form.
    Added(Bytes),
}

/// The state of a stream for a session that joined it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Whether the session was not there before.
    pub is_new: bool,
    /// Presences that may be seen, without the session itself if it is new. Cut at [`super::PlaneConfig::snapshot_max`].
    /// Shared by all who come to a large stream.
    pub presences: Arc<[Presence]>,
    /// The number of presences before they were cut.
    pub total: usize,
}

/// The reason why a session did not come to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinRefusal {
    /// Nobody is there, and the join asked for somebody.
    Empty,
    /// The session is on as many streams as it may be.
    TooManyStreams,
    /// The session has closed.
    Closed,
    /// The owner's node has gone with the question, which may or may not have been carried out. It may be asked again.
    Unavailable,
}
