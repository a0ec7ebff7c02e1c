//! What owners of rooms are asked, by sessions' shards and by each other: all of it data.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::{SessionId, Uuid};

use super::limits::PAGE_ROOMS_MAX;
use super::password::PasswordDigest;
use super::path::RoomPath;
use super::state::Summary;
use super::variables::Change;
use crate::place::Partition;
use crate::plane::{Listener, RequestRef};
use crate::session::Millis;
use crate::stream::SessionRef;

/// A room's id. It says who owns the room: the owner of the room's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoomId(pub Uuid);

impl fmt::Display for RoomId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

impl FromStr for RoomId {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        Uuid::try_parse(text).map(Self).map_err(|_| ())
    }
}

/// Who owns what a message is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The owner of a room.
    Room(RoomId),
    /// The owner of a template's desk, where players are placed.
    Desk(Arc<str>),
    /// The owner of the directory: listings and lobbies.
    Directory,
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Whose request it is.
    pub user_id: UserId,
    /// The user's name.
    pub username: Arc<str>,
    /// The session, where it came over a socket.
    pub session: Option<(SessionRef, SessionId)>,
}

/// A request with who waits for the answer; nobody if nobody does.
#[derive(Clone, Debug)]
pub struct Request<T> {
    /// Who asks.
    pub caller: Caller,
    /// Where the answer goes.
    pub reply_to: Option<RequestRef>,
    /// What is asked.
    pub what: T,
}

/// What the owner of a room is asked.
#[derive(Clone, Debug)]
pub enum RoomAction {
    /// Make the room, and hold a seat in it for whoever asks.
    Create(Box<Creation>),
    /// Come in, and hear the room as this says.
    Join(Entry, Listener),
    /// Go.
    Leave,
    /// What the room is like.
    Look,
    /// Change the room's variables.
    SetVariables(Change),
    /// Change one's own variables.
    SetOwn(Change),
    /// Something for everybody in the room.
    Say(Arc<str>),
    /// Something for some users in the room.
    Whisper(Vec<UserId>, Arc<str>),
    /// Throw a user out, and keep the user out for so long.
    Kick(UserId, Millis),
    /// Change what the room is like.
    Update(Box<Update>),
    /// Become a spectator, or a player.
    Spectate(bool),
}

/// What a room is made with.
#[derive(Clone, Debug)]
pub struct Creation {
    /// A name for players' eyes.
    pub name: Arc<str>,
    /// The template that the rest came from, if one was named.
    pub template: Option<Arc<str>>,
    /// Where it stands.
    pub path: RoomPath,
    /// Number of seats.
    pub capacity: u32,
    /// Most spectators.
    pub spectators_max: u32,
    /// Whoever comes must know it.
    pub password: Option<PasswordDigest>,
    /// In no listing.
    pub hidden: bool,
    /// The first who comes owns it.
    pub owned: bool,
    /// How long it is kept while empty.
    pub empty_ms: Millis,
    /// How long it is kept at all.
    pub life_ms: Option<Millis>,
    /// It survives the crash of the node that owns it.
    pub recover: bool,
    /// Values that only the owner changes.
    pub properties: Change,
    /// First variables.
    pub variables: Change,
}

impl RoomAction {
    /// Whether the room may be another afterwards.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::Look | Self::Say(_) | Self::Whisper(..))
    }
}

/// How one comes into a room.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// The room's password.
    pub password: Option<PasswordDigest>,
    /// To watch, without a seat.
    pub spectator: bool,
}

/// What the owner changes of a room; nothing of what is `None`.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// A new name.
    pub name: Option<Arc<str>>,
    /// Whether players without a reservation may come.
    pub open: Option<bool>,
    /// A new password, or none any more.
    pub password: Option<Option<PasswordDigest>>,
    /// Another number of seats.
    pub capacity: Option<u32>,
    /// Another number of spectators.
    pub spectators_max: Option<u32>,
    /// Changes of the properties.
    pub properties: Change,
}

/// "Place me": a seat in an open room of a template, or in a new one. Answered with a reservation.
#[derive(Clone, Debug)]
pub struct Place {
    /// Which template.
    pub template: Arc<str>,
    /// Only rooms of this size.
    pub size: Option<u32>,
    /// The id of the new room, should one be opened. Drawn by whoever asks.
    pub fresh: RoomId,
    /// Decides the new room's size.
    pub random: u32,
    /// Rooms that refused already.
    pub tried: Vec<RoomId>,
}

/// A seat for somebody who was sent to a room, held until a deadline.
#[derive(Clone, Debug)]
pub struct Seat {
    /// Where.
    pub room: RoomId,
    /// Who sent them, and what becomes of a refusal.
    pub origin: Origin,
}

/// Who sends somebody to a room.
#[derive(Clone, Debug)]
pub enum Origin {
    /// A desk, which asks elsewhere when the room refuses.
    Desk {
        /// What was asked for.
        place: Place,
        /// The room is to be opened with this many seats.
        open: Option<u32>,
    },
    /// A quick join: when the room refuses, the next of these is asked.
    QuickJoin {
        /// Where to ask next.
        next: Vec<RoomId>,
    },
}

/// Rooms by place and filter, page by page.
#[derive(Clone, Debug)]
pub struct Find {
    /// Within this path.
    pub path: RoomPath,
    /// Only what fits this filter; all if it is empty.
    pub filter: Arc<str>,
    /// Rooms of the page.
    pub limit: usize,
    /// After this, as a page before said.
    pub after: Option<u32>,
}

impl Default for Find {
    fn default() -> Self {
        Self { path: RoomPath::default(), filter: Arc::from(""), limit: PAGE_ROOMS_MAX, after: None }
    }
}

/// Which rooms a lobby shows, and how much of their changes at a time. Those who ask for the same share a view.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewKey {
    /// Within this path.
    pub path: RoomPath,
    /// Only what fits this filter.
    pub filter: Arc<str>,
    /// Least time between two pushes.
    pub interval_ms: Millis,
    /// Most rooms of one push.
    pub rooms_max: usize,
}

impl ViewKey {
    /// The view as one text, which names its stream: `250/50/cards/poker?+open:T`.
    pub fn label(&self) -> String {
        format!("{}/{}/{}?{}", self.interval_ms, self.rooms_max, self.path.as_str(), self.filter)
    }

    /// The view of a text.
    pub fn parse(label: &str) -> Option<Self> {
        let (budget, filter) = label.split_once('?')?;
        let mut parts = budget.splitn(3, '/');
        let interval_ms = parts.next()?.parse().ok()?;
        let rooms_max = parts.next()?.parse().ok()?;
        let path = RoomPath::new(parts.next()?).ok()?;
        Some(Self { path, filter: Arc::from(filter), interval_ms, rooms_max })
    }
}

/// What the owner of the directory is asked.
#[derive(Clone, Debug)]
pub enum DirectoryAction {
    /// A page of rooms.
    Find(Find),
    /// A seat in a room that fits.
    QuickJoin(Find),
    /// The first page of a view, whose changes the caller hears from now on.
    Subscribe(ViewKey),
}

/// All that an owner of rooms is asked and told.
#[derive(Clone, Debug)]
pub enum ToOwner {
    /// To the owner of a room.
    Room(RoomId, Request<RoomAction>),
    /// To the owner of the template's desk.
    Place(Request<Place>),
    /// To the owner of the directory.
    Directory(Request<DirectoryAction>),
    /// From one owner to another.
    Across(Owner, Across),
}

impl ToOwner {
    /// Whom it is for.
    pub fn owner(&self) -> Owner {
        match self {
            Self::Room(room, _) => Owner::Room(*room),
            Self::Place(request) => Owner::Desk(request.what.template.clone()),
            Self::Directory(_) => Owner::Directory,
            Self::Across(owner, _) => owner.clone(),
        }
    }

    /// Who waits for the answer.
    pub fn reply_to(&self) -> Option<RequestRef> {
        match self {
            Self::Room(_, request) => request.reply_to,
            Self::Place(request) | Self::Across(_, Across::Elsewhere(request)) => request.reply_to,
            Self::Directory(request) => request.reply_to,
            Self::Across(_, Across::Seat(request)) => request.reply_to,
            Self::Across(..) => None,
        }
    }

    /// Whether an owner may hand the question on to another, which answers it.
    pub fn may_wander(&self) -> bool {
        matches!(self, Self::Place(_) | Self::Directory(Request { what: DirectoryAction::QuickJoin(_), .. }))
    }

    /// Whether it makes others hear something, so that who sends it must not outrun them.
    pub fn is_talk(&self) -> bool {
        use RoomAction::{Say, SetOwn, SetVariables, Spectate, Update, Whisper};
        let Self::Room(_, request) = self else { return false };
        matches!(request.what, Say(_) | Whisper(..) | SetVariables(_) | SetOwn(_) | Update(_) | Spectate(_))
    }
}

/// What owners tell each other.
#[derive(Clone, Debug)]
pub enum Across {
    /// To a room: a seat for somebody.
    Seat(Request<Seat>),
    /// To a desk: a room did not take somebody, who is to be placed elsewhere.
    Elsewhere(Request<Place>),
    /// To a desk: how full a room is.
    Report(RoomId, Report),
    /// To a desk that is another now: a room of its template.
    Filling {
        /// Which.
        room: RoomId,
        /// How many seats it has.
        size: u32,
        /// How full it is.
        report: Report,
    },
    /// To a desk: a room has closed.
    Closed(RoomId),
    /// To the directory: these partitions' owner knows of none of the rooms that were there. What it listed before, as
    /// their owner in former times, may have come late.
    Forgotten(Vec<Partition>),
    /// To the directory: rooms that changed, and `None` for those that closed.
    Listing(Vec<(RoomId, Option<Arc<Summary>>)>),
}

/// How full a room is, told to the desk that fills it.
///
/// A desk knows how many seats it sent players for. The room says how many seats are taken beyond those of the desk's
/// players that it has dealt with. Both together is how many will be taken once everything on its way has arrived: no
/// message is counted twice, however the two directions overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Taken and held seats, less the number of the desk's players dealt with.
    pub offset: i64,
    /// Whether it takes players at all.
    pub open: bool,
}
