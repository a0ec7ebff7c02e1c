//! The kinds of things that have owners, each registered here: how a place keeps the things, and the parts in which
//! they cross nodes.

use bytes::Bytes;
use muster_domain::ids::Uuid;

use super::Owning;
use super::matches::OwnedMatches;
use super::owned::{AddedAsk, Owned};
use super::parties::OwnedParties;
use super::pool::{POOL, Pool};
use super::rooms::OwnedRooms;
use super::streams::{CarriedNews, CarriedStream};
use crate::matches::CarriedMatch;
use crate::matchmaker::{CarriedPasses, CarriedTicket, Owner, TicketId};
use crate::party::{CarriedParty, Member, PartyId};
use crate::place::Partition;
use crate::plane::message::{Down, JoinRefusal, Reply, Standing};
use crate::plane::options::PlaneConfig;
use crate::plane::sessions::tickets::TicketStanding;
use crate::rooms::{self, RoomId};
use crate::session::Millis;
use crate::stream::{Presence, StreamKey};

/// A kind of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Streams, which the plane keeps beside all other things.
    Stream,
    /// Parties.
    Party,
    /// Rooms, desks and the directory.
    Room,
    /// The matchmaker's pool.
    Pool,
    /// Matches of game code.
    Match,
    /// Things that are added to a plane by [`crate::Plane::add`]; the number is the mode of their streams.
    Added(u8),
}

macro_rules! things {
    ($($field:ident: $kept:ty),* $(,)?) => {
        /// All things that a place owns but its streams, by kind.
        pub(crate) struct Things {
            $(pub(crate) $field: $kept,)*
            /// Kinds that were added by [`crate::Plane::add`].
            pub(crate) added: Vec<Box<dyn Owned>>,
        }

        impl Things {
            pub(crate) fn new(config: &PlaneConfig) -> Self {
                Self { $($field: <$kept>::new(config),)* added: Vec::new() }
            }

            /// Every kind, in the order of their registration.
            pub(crate) fn all(&self) -> impl Iterator<Item = &dyn Owned> {
                [$(&self.$field as &dyn Owned),*].into_iter().chain(self.added.iter().map(|added| &**added))
            }

            /// Every kind, to be changed.
            pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut (dyn Owned + 'static)> {
                let registered = [$(&mut self.$field as &mut (dyn Owned + 'static)),*];
                registered.into_iter().chain(self.added.iter_mut().map(|added| &mut **added))
            }
        }
    };
}

things! {
    parties: OwnedParties,
    rooms: OwnedRooms,
    pool: Pool,
    matches: OwnedMatches,
}

impl Things {
    /// The kind that decides who comes to streams of a mode.
    pub(crate) fn of_mode(&mut self, mode: u8) -> Option<&mut (dyn Owned + 'static)> {
        self.all_mut().find(|kind| kind.mode() == Some(mode))
    }

    /// The modes of streams to which things let sessions come.
    pub(crate) fn modes(&self) -> Vec<u8> {
        self.all().filter_map(|kind| kind.mode()).collect()
    }

    /// Asks something of a thing of an added kind. A question to a kind that there is not is refused.
    pub(crate) fn ask_added(&mut self, owning: &mut Owning<'_>, asked: AddedAsk<'_>) {
        if let Some(things) = self.of_kind(Kind::Added(asked.stream.mode)) {
            return things.ask(owning, asked);
        }
        if let Some(Member { listener, .. }) = asked.comer {
            owning.down(listener.session.place, Down::Removed { stream: asked.stream.clone(), listener });
        }
        owning.reply(asked.request, Reply::Joined(Err(JoinRefusal::Unavailable)));
    }

    /// The things of a kind; `None` for streams.
    pub(crate) fn of_kind(&mut self, kind: Kind) -> Option<&mut (dyn Owned + 'static)> {
        self.all_mut().find(|things| things.kind() == kind)
    }
}

/// A part of what the owner of a partition knows, as plain data. Times are milliseconds that are left, since every node
/// has a clock of its own.
#[derive(Clone, Debug)]
pub enum Carried {
    /// The sessions on a stream, and those that hear it.
    Stream(CarriedStream),
    /// Joins and leaves of a stream that its hearers have yet to be told; sent behind the stream.
    News(CarriedNews),
    /// A party.
    Party(Box<CarriedParty>),
    /// A room, a desk, or a part of the directory.
    Rooms(rooms::Carried),
    /// A ticket in the matchmaker.
    Ticket(Box<CarriedTicket<Presence>>),
    /// The matchmaker's pool without its tickets; sent behind them.
    Pool(CarriedPool),
    /// A durable match, without its handler's state.
    Match(Box<CarriedMatch>),
    /// A part of a thing of an added kind, by the thing's stream.
    Added(StreamKey, Bytes),
}

/// The matchmaker's pool without its tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedPool {
    /// Progress of its passes.
    pub passes: CarriedPasses,
    /// Milliseconds until the next pass begins, if one is to.
    pub due_ms: Option<Millis>,
}

impl Carried {
    /// The kind of the thing.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Stream(_) | Self::News(_) => Kind::Stream,
            Self::Party(_) => Kind::Party,
            Self::Rooms(_) => Kind::Room,
            Self::Ticket(_) | Self::Pool(_) => Kind::Pool,
            Self::Match(_) => Kind::Match,
            Self::Added(stream, _) => Kind::Added(stream.mode),
        }
    }

    /// The partition of the thing.
    pub fn partition(&self) -> Partition {
        match self {
            Self::Stream(CarriedStream { stream, .. }) | Self::News(CarriedNews { stream, .. }) => stream.partition(),
            Self::Party(party) => party.party.stream().partition(),
            Self::Rooms(rooms) => rooms.owner().partition(),
            Self::Ticket(_) | Self::Pool(_) => POOL.partition(),
            Self::Match(carried) => carried.outline.id.partition(),
            Self::Added(stream, _) => stream.partition(),
        }
    }

    /// The key under which recovery data of the thing are kept, if any are.
    pub fn recovery_key(&self) -> Option<RecoveryKey> {
        match self {
            Self::Party(party) => Some(RecoveryKey::Party(party.party)),
            Self::Rooms(rooms::Carried::Room(room)) if room.recover => Some(RecoveryKey::Room(room.id)),
            Self::Ticket(ticket) => RecoveryKey::of_ticket(&ticket.ticket.owner, &ticket.ticket.id),
            Self::Added(stream, _) => Some(RecoveryKey::Added(stream.mode, stream.subject)),
            Self::Stream(_) | Self::News(_) | Self::Rooms(_) | Self::Pool(_) | Self::Match(_) => None,
        }
    }
}

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
    pub(crate) fn of_ticket(owner: &Owner, id: &TicketId) -> Option<Self> {
        let is_of_server = matches!(owner, Owner::Server(_));
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

/// Relations of sessions of a place to things of one partition, for the partition's new owner.
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
