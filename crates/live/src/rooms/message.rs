//! Messages to owners of rooms, desks and the directory, from sessions' shards and from each other. All of it is data.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::{SessionId, Uuid};

use super::effect::RoomAnswer;
use super::limits::PAGE_ROOMS_MAX;
use super::password::PasswordDigest;
use super::path::RoomPath;
use super::state::Summary;
use super::variables::Change;
use crate::place::Partition;
use crate::plane::{Listener, RequestRef};
use crate::session::Millis;
use crate::stream::SessionRef;

/// A room's id. The owner of the stream about this id owns the room.
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

/// The owned thing that a message is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoomOwner {
    /// A room.
    Room(RoomId),
    /// A template's desk, which places players.
    Desk(Arc<str>),
    /// The directory, which lists rooms and runs the lobby.
    Directory,
}

/// The user who makes a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The user's id.
    pub user_id: UserId,
    /// The user's name.
    pub username: Arc<str>,
    /// The user's session; `None` for a request over HTTP.
    pub session: Option<(SessionRef, SessionId)>,
}

/// A request with its caller and the place of its answer.
#[derive(Clone, Debug)]
pub struct Request<T> {
    /// The user who asks.
    pub caller: Caller,
    /// The request that waits for the answer; `None` if nothing waits.
    pub reply_to: Option<RequestRef>,
    /// The contents of the request.
    pub what: T,
}

/// A request to the owner of a room.
#[derive(Clone, Debug)]
pub enum RoomAction {
    /// Make the room, and hold a seat in it for the caller.
    Create(Box<Creation>),
    /// Join the room; the listener says how the session hears it.
    Join(Entry, Listener),
    /// Leave the room.
    Leave,
    /// Return the state of the room.
    Look,
    /// Change the room's variables.
    SetVariables(Change),
    /// Change the caller's own variables.
    SetOwn(Change),
    /// Send a message to everybody in the room.
    Say(Arc<str>),
    /// Send a message to some users in the room.
    Whisper(Vec<UserId>, Arc<str>),
    /// Throw a user out, and keep the user out for this long.
    Kick(UserId, Millis),
    /// Change settings of the room.
    Update(Box<Update>),
    /// Become a spectator (true) or a player (false).
    Spectate(bool),
}

/// Everything that a new room is made with.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The name that players see.
    pub name: Arc<str>,
    /// The template that the settings came from, if one was named.
    pub template: Option<Arc<str>>,
    /// The room's path.
    pub path: RoomPath,
    /// Number of seats.
    pub capacity: u32,
    /// Limit of the number of spectators.
    pub spectators_max: u32,
    /// The password that joining requires.
    pub password: Option<PasswordDigest>,
    /// Whether the room is in no listing.
    pub hidden: bool,
    /// Whether the room has an owner among its players, at first its maker.
    pub owned: bool,
    /// Milliseconds for which the room is kept while it is empty.
    pub empty_ms: Millis,
    /// Milliseconds for which the room is kept in any case; `None` for no limit.
    pub life_ms: Option<Millis>,
    /// Whether the room survives a crash of the node that owns it.
    pub recover: bool,
    /// Values that only the owner changes.
    pub properties: Change,
    /// The first variables.
    pub variables: Change,
}

impl RoomAction {
    /// Whether the request may change the room.
    pub fn is_change(&self) -> bool {
        !matches!(self, Self::Look | Self::Say(_) | Self::Whisper(..))
    }
}

/// The options with which a user joins a room.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// The room's password.
    pub password: Option<PasswordDigest>,
    /// Whether the user comes to watch, without a seat.
    pub spectator: bool,
}

/// Changes of a room's settings by its owner. `None` leaves a setting as it is.
#[derive(Clone, Debug, Default)]
pub struct Update {
    /// A new name.
    pub name: Option<Arc<str>>,
    /// Whether players without a reservation may come.
    pub open: Option<bool>,
    /// A new password, or `Some(None)` to take the password away.
    pub password: Option<Option<PasswordDigest>>,
    /// A new number of seats.
    pub capacity: Option<u32>,
    /// A new number of spectators.
    pub spectators_max: Option<u32>,
    /// Changes of the properties.
    pub properties: Change,
}

/// A request to place the caller: to hold a seat in an open room of a template, or in a new room. The answer is a
/// reservation.
#[derive(Clone, Debug)]
pub struct Placement {
    /// The template's name.
    pub template: Arc<str>,
    /// The number of seats that the room must have; `None` for any number.
    pub size: Option<u32>,
    /// The id of the new room, if one must be opened. Drawn by the caller's shard.
    pub fresh: RoomId,
    /// Random number that decides the new room's size.
    pub random: u32,
    /// Rooms that refused the caller already.
    pub tried: Vec<RoomId>,
}

/// A request for a seat in one room, to be held for a while.
#[derive(Clone, Debug)]
pub struct Seat {
    /// The room's id.
    pub room: RoomId,
    /// The origin of the request, which decides what follows a refusal.
    pub origin: Origin,
}

/// The origin of a request for a seat.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The desk of a template, which places the caller elsewhere when the room refuses.
    Desk {
        /// The request to the desk.
        place: Placement,
        /// The number of seats, if the room must be opened first.
        open: Option<u32>,
    },
    /// A quick join: when the room refuses, the next room is asked.
    QuickJoin {
        /// Further rooms to ask, in order.
        next: Vec<RoomId>,
    },
}

/// A search for rooms by path and filter, page by page.
#[derive(Clone, Debug)]
pub struct Find {
    /// Rooms must lie within this path.
    pub path: RoomPath,
    /// Rooms must fit this filter; the empty filter fits all.
    pub filter: Arc<str>,
    /// Limit of the rooms on the page.
    pub limit: usize,
    /// Position behind which the page begins, as the page before gave it.
    pub after: Option<u32>,
}

impl Default for Find {
    fn default() -> Self {
        Self { path: RoomPath::default(), filter: Arc::from(""), limit: PAGE_ROOMS_MAX, after: None }
    }
}

/// The name of a view of the lobby. It says which rooms the view shows, and how often and how much its watchers are
/// told.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewKey {
    /// Rooms must lie within this path.
    pub path: RoomPath,
    /// Rooms must fit this filter.
    pub filter: Arc<str>,
    /// The least time between two pushes.
    pub interval_ms: Millis,
    /// Limit of the rooms in one push.
    pub rooms_max: usize,
}

impl ViewKey {
    /// The view as one text, which names its stream: `250/50/cards/poker?+open:T`.
    pub fn label(&self) -> String {
        format!("{}/{}/{}?{}", self.interval_ms, self.rooms_max, self.path.as_str(), self.filter)
    }

    /// Reverses [`Self::label`].
    pub fn parse(label: &str) -> Option<Self> {
        let (budget, filter) = label.split_once('?')?;
        let mut parts = budget.splitn(3, '/');
        let interval_ms = parts.next()?.parse().ok()?;
        let rooms_max = parts.next()?.parse().ok()?;
        let path = RoomPath::new(parts.next()?).ok()?;
        Some(Self { path, filter: Arc::from(filter), interval_ms, rooms_max })
    }
}

/// A request to the owner of the directory.
#[derive(Clone, Debug)]
pub enum DirectoryAction {
    /// Return a page of rooms.
    Find(Find),
    /// Get the caller a seat in any room that fits.
    QuickJoin(Find),
    /// Return the first page of a view, and let the caller hear its changes from now on.
    Subscribe(ViewKey),
}

/// Any message to an owner of rooms, a desk or the directory.
#[derive(Clone, Debug)]
pub enum MessageToRoomOwner {
    /// A request to a room.
    Room(RoomId, Request<RoomAction>),
    /// A request to the desk of the template that the request names.
    Placement(Request<Placement>),
    /// A request to the directory.
    Directory(Request<DirectoryAction>),
    /// A message from one owner to another.
    FromOwner(RoomOwner, OwnerMessage),
}

impl MessageToRoomOwner {
    /// The owned thing that the message is for.
    pub fn owner(&self) -> RoomOwner {
        match self {
            Self::Room(room, _) => RoomOwner::Room(*room),
            Self::Placement(request) => RoomOwner::Desk(request.what.template.clone()),
            Self::Directory(_) => RoomOwner::Directory,
            Self::FromOwner(owner, _) => owner.clone(),
        }
    }

    /// The request that waits for the answer.
    pub fn reply_to(&self) -> Option<RequestRef> {
        match self {
            Self::Room(_, request) => request.reply_to,
            Self::Placement(request) | Self::FromOwner(_, OwnerMessage::Elsewhere(request)) => request.reply_to,
            Self::Directory(request) => request.reply_to,
            Self::FromOwner(_, OwnerMessage::Seat(request)) => request.reply_to,
            Self::FromOwner(..) => None,
        }
    }

    /// Whether the owner may pass the request on to another owner, which answers it.
    pub fn may_wander(&self) -> bool {
        matches!(self, Self::Placement(_) | Self::Directory(Request { what: DirectoryAction::QuickJoin(_), .. }))
    }

    /// Whether other sessions hear of the message. Such messages take credits, so that a sender cannot outrun the
    /// receivers.
    pub fn is_talk(&self) -> bool {
        use RoomAction::{Say, SetOwn, SetVariables, Spectate, Update, Whisper};
        let Self::Room(_, request) = self else { return false };
        matches!(request.what, Say(_) | Whisper(..) | SetVariables(_) | SetOwn(_) | Update(_) | Spectate(_))
    }
}

/// A question to an owner of rooms, a desk or the directory.
pub type RoomsAsk = Box<MessageToRoomOwner>;

/// An answer of an owner of rooms, a desk or the directory.
pub type RoomsAnswer = muster_domain::Result<RoomAnswer>;

/// A message from one owner to another.
#[derive(Clone, Debug)]
pub enum OwnerMessage {
    /// To a room: hold a seat for a player.
    Seat(Request<Seat>),
    /// To a desk: a room refused a player, who must be placed elsewhere.
    Elsewhere(Request<Placement>),
    /// To a desk: how full a room is now.
    Report(RoomId, Report),
    /// To a desk that lost its state or is new: one of the rooms that it fills.
    Filling {
        /// The room's id.
        room: RoomId,
        /// Number of seats.
        size: u32,
        /// How full the room is.
        report: Report,
    },
    /// To a desk: a room closed.
    Closed(RoomId),
    /// To the directory: the owner of these partitions has none of the rooms that were listed there before. Reports
    /// from their former owner may have come late.
    Forgotten(Vec<Partition>),
    /// To the directory: rooms that changed; `None` for rooms that closed.
    Listing(Vec<(RoomId, Option<Arc<Summary>>)>),
}

/// How full a room is, as the room reports it to the desk that fills it.
///
/// The desk counts the players that it sent to the room. The room reports how many seats are taken beyond the desk's
/// players that it has let in or refused. The sum of both is the number of seats that will be taken once every player
/// on the way has arrived. It holds however messages of the two directions overtake each other, since no player is
/// counted twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Taken and held seats, minus the number of the desk's players that were let in or refused.
    pub offset: i64,
    /// Whether the room takes players without a reservation.
    pub open: bool,
}
