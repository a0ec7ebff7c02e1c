//! What shards tell each other about live things.
//!
//! Up goes from a session's shard to an owner, down from an owner to sessions' shards. What goes down never causes
//! anything to be sent to another shard, so the way down always empties, and no cycle of shards can wait.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::SessionId;

use super::carry::Carried;
use super::moves::{Claim, ClaimRefusal, Moved, Rebind};
use super::orders::Order;
use super::pool::{POOL, PoolAsk, PoolReply};
use super::tickets::TicketStanding;
use crate::close::CloseReason;
use crate::matches::{self, LeaveReason};
use crate::matchmaker::TicketId;
use crate::outbox::Delivery;
use crate::party;
use crate::place::{Epoch, Partition, Place};
use crate::registry::SessionKey;
use crate::rooms;
use crate::stream::{Encoding, Presence, SessionRef, SharedPayload, StreamKey};

/// A question and who waits for its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestRef {
    /// Who asks.
    pub place: Place,
    /// Its number there.
    pub id: u64,
}

/// What one shard sends to another.
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

/// What owners are told and asked.
#[derive(Debug)]
pub enum Up {
    /// A session comes to a stream.
    Join(Box<Join>),
    /// A session's presence goes from a stream.
    Leave {
        /// Which stream.
        stream: StreamKey,
        /// Whose.
        session: SessionRef,
        /// Whether it heard the stream by having listened, and in which encoding. What it heard by its join is its
        /// owner's to know: whether that was let in, its shard may not have heard yet.
        heard: Option<Encoding>,
        /// Why it goes.
        reason: LeaveReason,
    },
    /// A session hears a stream without being on it.
    Listen {
        /// Which stream.
        stream: StreamKey,
        /// Who hears.
        listener: Listener,
        /// Who is told the presences that there are.
        request: Option<RequestRef>,
    },
    /// A session no longer hears a stream.
    Unlisten {
        /// Which stream.
        stream: StreamKey,
        /// In which encoding it heard.
        listener: Listener,
        /// It heard by its join, if that was let in.
        by_join: bool,
    },
    /// Something for those who hear a stream.
    Publish(Publish),
    /// Something is asked of a party.
    Party {
        /// Who is told the outcome.
        request: Option<RequestRef>,
        /// The party's stream.
        stream: StreamKey,
        /// What.
        ask: Box<party::Request>,
    },
    /// The parties of this owner.
    Parties {
        /// Who asks.
        request: RequestRef,
        /// Which of them.
        asked: party::ListQuery,
    },
    /// Something is asked of an owner of rooms, or told to it.
    Rooms(Box<rooms::ToOwner>),
    /// Something is asked of a match of game code.
    Match {
        /// Who is told the outcome.
        request: Option<RequestRef>,
        /// The match's stream.
        stream: StreamKey,
        /// What.
        ask: Box<matches::MatchAsk>,
    },
    /// The matches of game code of this owner.
    FindMatches {
        /// Who asks.
        request: RequestRef,
        /// Which of them.
        asked: matches::ListQuery,
    },
    /// How many are on each of these streams, hidden ones included.
    Count {
        /// Who asks.
        request: RequestRef,
        /// Which streams, all of this owner.
        streams: Vec<StreamKey>,
    },
    /// Who is on a stream.
    List {
        /// Who asks.
        request: RequestRef,
        /// Which stream.
        stream: StreamKey,
        /// With hidden presences.
        with_hidden: bool,
        /// So many of the first are skipped.
        skip: usize,
        /// At most so many.
        limit: usize,
    },
    /// Something for the matchmaker.
    Pool {
        /// Who is told the outcome.
        request: Option<RequestRef>,
        /// What.
        ask: PoolAsk,
    },
    /// To the new owner of a partition: what sessions of a place are to its streams, or a part of that.
    Rebuild {
        /// Which partition.
        partition: Partition,
        /// Since when it has this owner.
        epoch: Epoch,
        /// Sessions and streams.
        standings: Vec<Standing>,
    },
    /// To the new owner of the pool: which tickets sessions of a place are on, or a part of that.
    Tickets {
        /// Since when it has this owner.
        epoch: Epoch,
        /// Sessions and tickets.
        standings: Vec<TicketStanding>,
    },
    /// To the new owner of a partition, from the former one: what that knew of it, or a part of that.
    Carried {
        /// Which partition.
        partition: Partition,
        /// Since when it has this owner.
        epoch: Epoch,
        /// What it knew, in order.
        parts: Vec<Carried>,
        /// This is the last of it.
        ends: bool,
    },
    /// To the new owner of partitions: a place has told all that it has to tell of them, since these epochs.
    Fence {
        /// Which partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// To the former owner of partitions that are on their way to others, since these epochs: nothing more comes to it
    /// about them from this place.
    Passed {
        /// Which partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// To the former owner of these, since these epochs: all that it had to say of them has been heard.
    Heard {
        /// Which partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A session's next socket arrived elsewhere: it is to go on there. To the place that has it.
    Claim {
        /// Who is told what becomes of it.
        request: RequestRef,
        /// Which session, and for whom.
        claim: Claim,
    },
    /// A session that is on a stream or hears it goes on at another place.
    Rebind {
        /// Who is told that it does.
        request: RequestRef,
        /// Which, and where.
        rebind: Box<Rebind>,
    },
    /// Something is to be done with sessions of a place. To that place.
    Order {
        /// Who is told the outcome.
        request: RequestRef,
        /// With whom, and what.
        order: Box<Order>,
    },
    /// Something for all sessions of a place. To that place.
    All {
        /// Who is told that they have it.
        request: RequestRef,
        /// What.
        payload: SharedPayload,
    },
    /// The relayed matches of this owner.
    Matches {
        /// Who asks.
        request: RequestRef,
        /// At most so many.
        limit: usize,
        /// With no fewer players, and no more.
        sizes: (usize, usize),
    },
}

impl Up {
    /// Who waits for an answer, if anybody does.
    pub fn request(&self) -> Option<RequestRef> {
        match self {
            Self::Join(join) => join.request,
            Self::Listen { request, .. }
            | Self::Party { request, .. }
            | Self::Match { request, .. }
            | Self::Pool { request, .. } => *request,
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
            | Self::Tickets { .. }
            | Self::Fence { .. }
            | Self::Passed { .. }
            | Self::Heard { .. }
            | Self::Carried { .. } => None,
        }
    }

    /// Whether it is about one of these partitions.
    pub(super) fn concerns(&self, is_one: impl Fn(Partition) -> bool) -> bool {
        match self {
            Self::Count { streams, .. } => streams.iter().any(|stream| is_one(stream.partition())),
            up => up.partition().is_some_and(is_one),
        }
    }

    /// What it is about, if that is one partition.
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
            | Self::Tickets { .. }
            | Self::Fence { .. }
            | Self::Passed { .. }
            | Self::Heard { .. }
            | Self::Carried { .. }
            | Self::Matches { .. } => None,
        }
    }
}

/// What a session is to a stream, as its place knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which stream.
    pub stream: StreamKey,
    /// As what it is there.
    pub presence: Option<Presence>,
    /// How it hears the stream.
    pub listener: Option<Listener>,
    /// It hears by its join.
    pub by_join: bool,
    /// The number of the latest message that it had of the stream, see [`Delivery::Once`].
    pub latest: u64,
}

/// A session that hears a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Who hears.
    pub session: SessionRef,
    /// In which encoding.
    pub encoding: Encoding,
    /// The session's count of its own joins, by which a late answer to an earlier one is recognised.
    pub serial: u32,
}

/// A session comes to a stream, or changes its presence there.
#[derive(Debug)]
pub struct Join {
    /// Which stream.
    pub stream: StreamKey,
    /// Who.
    pub presence: Presence,
    /// Whether it hears the stream too.
    pub listener: Option<Listener>,
    /// The session's count of its own joins, by which a late refusal of an earlier one is recognised.
    pub serial: u32,
    /// What must hold.
    pub condition: Condition,
    /// Who is told the outcome.
    pub request: Option<RequestRef>,
}

/// What must hold for a join.
#[derive(Clone, Debug)]
pub enum Condition {
    /// Nothing.
    Any,
    /// Somebody is there already.
    Occupied,
    /// A presence that is there already is replaced.
    Replace,
}

/// Something for those who hear a stream.
#[derive(Clone, Debug)]
pub struct Publish {
    /// Which stream.
    pub stream: StreamKey,
    /// What.
    pub payload: SharedPayload,
    /// To whom.
    pub audience: Audience,
    /// When a receiver's queue is full.
    pub delivery: Delivery,
    /// Only if this session is on the stream.
    pub sender: Option<SessionRef>,
}

/// Who of those that hear a stream receives something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Everybody.
    All,
    /// Everybody but one session.
    AllBut(SessionRef),
    /// Those of these sessions that are on the stream.
    Only(Vec<SessionId>),
}

/// What sessions' shards are told.
#[derive(Debug)]
pub enum Down {
    /// An answer.
    Reply(u64, Reply),
    /// A session's join was refused.
    Refused {
        /// What it wanted to join.
        stream: StreamKey,
        /// Who.
        session: SessionKey,
        /// Which of its joins.
        serial: u32,
        /// Who is told.
        request: Option<u64>,
        /// Why.
        refusal: JoinRefusal,
    },
    /// From now on a session hears a stream.
    Listening {
        /// Which stream.
        stream: StreamKey,
        /// Who hears.
        listener: Listener,
        /// What it alone is told first, in its encoding.
        told: Option<Frames>,
    },
    /// A session was taken off a stream by its owner, or will not come to it after all.
    Removed {
        /// Which stream.
        stream: StreamKey,
        /// As what; a later join of the same session is not meant.
        listener: Listener,
    },
    /// For those of this shard who hear a stream.
    Fanout {
        /// Which stream.
        stream: StreamKey,
        /// The frame in each encoding that somebody there needs.
        frames: Frames,
        /// Who receives it.
        audience: LocalAudience,
        /// When a receiver's queue is full.
        delivery: Delivery,
    },
    /// Who came and who went, for those of a place on another node who hear the stream; and for its roster.
    Event {
        /// Which stream.
        stream: StreamKey,
        /// The frame in each encoding that somebody there needs.
        frames: Frames,
        /// Who came.
        joins: Arc<[Presence]>,
        /// Who went.
        leaves: Arc<[Presence]>,
    },
    /// Who may be seen on a stream, or a part of that: for a place that begins to hear it, and from its new owner.
    Roster {
        /// Which stream.
        stream: StreamKey,
        /// Some of those.
        presences: Vec<Presence>,
        /// They are the first.
        begins: bool,
        /// They are the last.
        ends: bool,
        /// The owner is new: sessions are told what is not as they know it.
        is_anew: bool,
        /// The owner has lost the stream: this is kept for what the next one says, even if that is on the same node.
        is_last: bool,
    },
    /// From the former owner of partitions that have others since these epochs: it has nothing more to say of them.
    HandedOver {
        /// Which partitions.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// To the former owner of partitions: the next one has all that there was.
    Taken {
        /// Which partitions, and since when they are its own.
        partitions: Vec<(Partition, Epoch)>,
    },
    /// A session that goes on here is on a stream, or hears it: what comes of it from now on comes here.
    Arrived {
        /// Which session.
        session: SessionKey,
        /// As what, as the owner knows it.
        standing: Standing,
        /// Whether it hears the stream already. It may yet wait to be let in.
        hears: bool,
    },
    /// Nothing of a stream comes to a session of this place any more: it goes on elsewhere.
    Rebound {
        /// Which question that answers.
        request: u64,
        /// Which stream.
        stream: StreamKey,
        /// Which session.
        session: SessionKey,
        /// As what it goes on; `None` if its owner knows nothing of it.
        standing: Option<Standing>,
    },
    /// What was asked was not for this owner, or not any more.
    Misdirected {
        /// Which question.
        request: u64,
    },
    /// For one session.
    Push {
        /// Who.
        session: SessionKey,
        /// What.
        payload: SharedPayload,
        /// When its queue is full.
        delivery: Delivery,
        /// Tickets that it is on no more: this is the word of it.
        ended: Vec<TicketId>,
    },
    /// A session is on a ticket from now on, by who asked for it elsewhere; or no more.
    Ticket {
        /// Who.
        session: SessionKey,
        /// Which.
        ticket: TicketId,
        /// Whether it is.
        is_on: bool,
    },
    /// A session is closed by something that happened elsewhere.
    Close {
        /// Who.
        session: SessionKey,
        /// What it is sent before.
        payload: Option<SharedPayload>,
        /// Why.
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

/// Who of a shard's listeners receives something.
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
    /// What was asked of a party.
    Party(Result<party::Reply, party::Refusal>),
    /// Parties of one owner.
    Parties(party::Page),
    /// What was asked of a match of game code, or of all of an owner.
    Match(muster_domain::Result<matches::Answer>),
    /// What was asked of rooms.
    Rooms(muster_domain::Result<rooms::Answer>),
    /// To a claim: the session, which is nowhere else any more.
    Session(Result<Box<Moved>, ClaimRefusal>),
    /// A session goes on elsewhere as far as one stream is concerned.
    Rebound,
}

/// What a session finds on a stream that it joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Whether it was not there before.
    pub is_new: bool,
    /// Who may be seen there: without itself if it is new. Cut at [`super::PlaneConfig::snapshot_max`].
    /// Shared by all who come to a large stream.
    pub presences: Arc<[Presence]>,
    /// How many that are uncut.
    pub total: usize,
}

/// Why a session did not come to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinRefusal {
    /// Nobody is there, and the join asked for somebody.
    Empty,
    /// The session is on as many streams as it may be.
    TooManyStreams,
    /// The session has closed.
    Closed,
    /// The owner's node has gone, and with it what was asked: it may or may not have happened. To be asked again.
    Unavailable,
}
