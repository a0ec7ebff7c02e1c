//! Parts of the state of owners, as they cross nodes: on the way to the next owner, and as recovery data.

use bytes::Bytes;
use muster_domain::ids::Uuid;

use super::{Standing, kinds};
use crate::matchmaker::{POOL, TicketId, TicketOwner, TicketStanding};
use crate::party::PartyId;
use crate::place::{Epoch, Partition, Place};
use crate::rooms::RoomId;
use crate::session::Millis;
use crate::stream::{Encoding, Presence, SessionRef, StreamKey};

/// A part of a thing on its way to the thing's next owner.
pub(crate) trait Part {
    /// The partition of the thing.
    fn partition(&self) -> Partition;

    /// The key under which recovery data of the thing are kept, if any are.
    fn recovery_key(&self) -> Option<RecoveryKey> {
        None
    }
}

macro_rules! parts {
    ($($(#[$doc:meta])* $kind:ident: $file:ident::$kept:ident,
        $rules:ident::{$ask:ident => $answer:ident, $part:ident};)*) => {
        /// A kind of things.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Kind {
            /// Streams, which the plane keeps beside all other things.
            Stream,
            $($(#[$doc])* $kind,)*
            /// Things that are added to a plane by [`crate::Plane::add`]; the number is the mode of their streams.
            Added(u8),
        }

        /// A part of a partition's state, as plain data. Times are written as the milliseconds that are left, since
        /// every node has a clock of its own.
        #[derive(Clone, Debug)]
        pub enum Carried {
            /// The sessions on a stream, and those that hear it.
            Stream(CarriedStream),
            /// Joins and leaves of a stream that its hearers have yet to be told; sent behind the stream.
            News(CarriedNews),
            $($(#[$doc])* $kind(crate::$rules::$part),)*
            /// A part of a thing of an added kind, by the thing's stream.
            Added(StreamKey, Bytes),
        }

        impl Carried {
            /// The kind of the thing.
            pub fn kind(&self) -> Kind {
                match self {
                    Self::Stream(_) | Self::News(_) => Kind::Stream,
                    $(Self::$kind(_) => Kind::$kind,)*
                    Self::Added(stream, _) => Kind::Added(stream.mode),
                }
            }

            /// The partition of the thing.
            pub fn partition(&self) -> Partition {
                match self {
                    Self::Stream(CarriedStream { stream, .. })
                    | Self::News(CarriedNews { stream, .. })
                    | Self::Added(stream, _) => stream.partition(),
                    $(Self::$kind(part) => part.partition(),)*
                }
            }

            /// The key under which recovery data of the thing are kept, if any are.
            pub fn recovery_key(&self) -> Option<RecoveryKey> {
                match self {
                    Self::Stream(_) | Self::News(_) => None,
                    $(Self::$kind(part) => part.recovery_key(),)*
                    Self::Added(stream, _) => Some(RecoveryKey::Added(stream.mode, stream.subject)),
                }
            }
        }
    };
}
kinds!(parts);

/// The key under which recovery data of a thing are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecoveryKey {
    /// A party.
    Party(PartyId),
    /// A room.
    Room(RoomId),
    /// A ticket that a server put into the matchmaker.
    Ticket(Uuid),
    /// A thing of an added kind, by mode and subject of its stream.
    Added(u8, Uuid),
}

impl RecoveryKey {
    /// The key of a ticket, if a server put it in and its id is a UUID.
    pub(crate) fn of_ticket(owner: &TicketOwner, id: &TicketId) -> Option<Self> {
        let is_of_server = matches!(owner, TicketOwner::Server(_));
        Uuid::try_parse(&id.0).ok().filter(|_| is_of_server).map(Self::Ticket)
    }

    /// The kind of the thing.
    pub fn kind(self) -> Kind {
        match self {
            Self::Party(_) => Kind::Party,
            Self::Room(_) => Kind::Room,
            Self::Ticket(_) => Kind::Pool,
            Self::Added(mode, _) => Kind::Added(mode),
        }
    }

    /// The partition of the thing.
    pub fn partition(self) -> Partition {
        match self {
            Self::Party(party) => party.stream().partition(),
            Self::Room(room) => room.stream().partition(),
            Self::Ticket(_) => POOL.partition(),
            Self::Added(mode, subject) => StreamKey::about(mode, subject).partition(),
        }
    }
}

/// Relations of a place's sessions to things of one partition, for the partition's new owner.
#[derive(Clone, Debug)]
pub enum Told {
    /// Relations to streams.
    Streams(Vec<Standing>),
    /// Relations to the matchmaker's pool: the tickets that the sessions are on.
    Tickets(Vec<TicketStanding>),
}

impl Told {
    /// The kind of the things.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Streams(_) => Kind::Stream,
            Self::Tickets(_) => Kind::Pool,
        }
    }
}

/// The kinds of which recovery data are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recover {
    /// All parties.
    pub parties: bool,
    /// The rooms that ask for it.
    pub rooms: bool,
    /// The tickets that servers put into the matchmaker. Tickets of sessions are told by the sessions' places instead.
    pub tickets: bool,
    /// Durable matches: their logs are asked for apart from the others, see [`crate::plane::HandlerOrder::TakeOver`].
    pub matches: bool,
}

impl Recover {
    /// Whether there may be recovery data besides logs of matches.
    pub(crate) fn any(self) -> bool {
        self.parties || self.rooms || self.tickets
    }

    /// Whether recovery data of such a thing are kept.
    pub(crate) fn keeps(self, key: RecoveryKey) -> bool {
        match key {
            RecoveryKey::Party(_) => self.parties,
            RecoveryKey::Room(_) => self.rooms,
            RecoveryKey::Ticket(_) => self.tickets,
            RecoveryKey::Added(..) => self.any(),
        }
    }
}

/// New recovery data of a thing, in place of the former ones.
#[derive(Clone, Debug)]
pub struct Recoverable {
    /// The epoch since which the thing's partition is owned here.
    pub epoch: Epoch,
    /// The key of the thing.
    pub key: RecoveryKey,
    /// The thing as it is, in pieces; none if it has ended.
    pub parts: Vec<Carried>,
}

/// A stream, or a further piece of its presences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedStream {
    /// The stream.
    pub stream: StreamKey,
    /// Number of joins so far; it wraps.
    pub came: u32,
    /// The places that hear the stream, each with its number of listening sessions by encoding; in the first piece.
    pub listeners: Vec<(Place, [u32; 2])>,
    /// Some of the stream's presences, in their order.
    pub presences: Vec<CarriedPresence>,
}

/// A session on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedPresence {
    /// The session's presence.
    pub presence: Presence,
    /// The encoding in which the session hears the stream by its join, if it does.
    pub heard: Option<Encoding>,
    /// Serial number of the join among all joins of the stream.
    pub number: u32,
}

/// Joins and leaves that are kept back, or a piece of them. Pieces with leaves come first, because leaves are told
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedNews {
    /// The stream.
    pub stream: StreamKey,
    /// Whether these are being told; otherwise they are still being collected.
    pub is_telling: bool,
    /// Sessions that came, each with the serial number of its join.
    pub joins: Vec<(SessionRef, u32)>,
    /// Presences that went.
    pub leaves: Vec<Presence>,
    /// Serial number of the first join that no hearer knows of.
    pub unknown_from: u32,
    /// Milliseconds until the next of them are told.
    pub due_ms: Millis,
}
