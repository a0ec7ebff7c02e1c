//! The state of an owner of rooms as plain data, in pieces of bounded size, for the next owner. Points in time are
//! given as the milliseconds until then, since every node has a clock of its own. Nothing here decides who the next
//! owner is.

use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::{SessionId, Subject};

use super::directory::Directory;
use super::message::{Report, RoomId, RoomOwner, ViewKey};
use super::owner::Rooms;
use super::password::PasswordDigest;
use super::path::RoomPath;
use super::room::Room;
use super::state::Summary;
use super::variables::Value;
use crate::plane::Listener;
use crate::session::Millis;

/// The largest number of rooms of a desk, or of changed rooms of a view, in one piece.
pub(super) const PIECE_ROOMS_MAX: usize = 1_000;

/// The largest number of members of a room in one piece; each may have four kilobytes of variables.
pub(super) const PIECE_MEMBERS_MAX: usize = 100;

/// The largest number of listed rooms in one piece; each may have more than thirty kilobytes of properties and
/// variables.
pub(super) const PIECE_LISTED_MAX: usize = 25;

/// One piece of the state of an owner of rooms.
#[derive(Clone, Debug)]
pub enum CarriedRooms {
    /// A room without its members.
    Room(Box<CarriedRoom>),
    /// Members of a room; sent after the room.
    Members(CarriedMembers),
    /// Rooms that a desk fills.
    Desk(CarriedDesk),
    /// Rooms that the directory lists.
    Listing(CarriedListing),
    /// A view of the lobby; sent after the listed rooms.
    View(CarriedView),
}

impl CarriedRooms {
    /// The owner that the piece belongs to.
    pub fn owner(&self) -> RoomOwner {
        match self {
            Self::Room(room) => RoomOwner::Room(room.id),
            Self::Members(members) => RoomOwner::Room(members.room),
            Self::Desk(desk) => RoomOwner::Desk(desk.template.clone()),
            Self::Listing(_) | Self::View(_) => RoomOwner::Directory,
        }
    }
}

/// A room without its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedRoom {
    /// The room's id.
    pub id: RoomId,
    /// The name that players see.
    pub name: Arc<str>,
    /// The template that the room was made from.
    pub template: Option<Arc<str>>,
    /// The room's path.
    pub path: RoomPath,
    /// Whether the room is in no listing.
    pub hidden: bool,
    /// Whether recovery data are kept of the room.
    pub recover: bool,
    /// Whether one of the room's players is always its owner.
    pub owned: bool,
    /// Whether players without a reservation may come.
    pub open: bool,
    /// The password that joining requires.
    pub password: Option<PasswordDigest>,
    /// Number of seats.
    pub capacity: u32,
    /// The largest number of spectators.
    pub spectators_max: u32,
    /// Held seats, in the order of their deadlines.
    pub held: Vec<CarriedSeat>,
    /// Number of arrivals so far, which is the next member's serial number.
    pub entries: u64,
    /// The player who owns the room.
    pub owner: Option<UserId>,
    /// The user who made the room; `None` if a desk did.
    pub creator: Option<UserId>,
    /// The room's properties, which only its owner changes.
    pub properties: CarriedValues,
    /// The room's variables, which members change.
    pub variables: CarriedValues,
    /// Users who gave wrong passwords, the least recent first.
    pub attempts: Vec<CarriedAttempts>,
    /// Users who are kept out, each with the time until that ends, in the order of these times.
    pub barred: Vec<(UserId, Millis)>,
    /// Users who let a seat go by, each with the time until one may be held for them again, in the order of these
    /// times.
    pub paused: Vec<(UserId, Millis)>,
    /// Time for which the room is kept open while nobody is in it.
    pub empty_ms: Millis,
    /// Time until the room closes because it is empty.
    pub closes_ms: Option<Millis>,
    /// Time until the room closes in any case.
    pub ends_ms: Option<Millis>,
    /// For a room that a desk fills: the number of the desk's players that were let in or refused, and the last report
    /// to the desk.
    pub desk: Option<(i64, Report)>,
    /// Time until the directory must be told of changes of the room; `None` if the directory knows of all.
    pub listed_ms: Option<Millis>,
    /// Number of members, who are sent after the room.
    pub members: usize,
}

/// A seat that is held for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedSeat {
    /// The user that the seat is held for.
    pub user_id: UserId,
    /// The seat's number.
    pub seat: u32,
    /// Time until the hold ends.
    pub left_ms: Millis,
}

/// Wrong passwords that one user gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedAttempts {
    /// The user's pseudonym.
    pub subject: Subject,
    /// Number of wrong passwords.
    pub count: u32,
    /// Time until the wrong passwords no longer count.
    pub left_ms: Millis,
}

/// A set of properties or variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedValues {
    /// Number of changes so far.
    pub version: u64,
    /// The values in the order of their names.
    pub values: Vec<CarriedValue>,
}

/// One property or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedValue {
    /// The value's name.
    pub name: Arc<str>,
    /// The value itself.
    pub value: Value,
    /// The user who set the value.
    pub author: UserId,
    /// Whether the value is private, see [`super::Change::private`].
    pub private: bool,
}

/// Members of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedMembers {
    /// The room's id.
    pub room: RoomId,
    /// Some of the room's members.
    pub members: Vec<CarriedMember>,
}

/// A member of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedMember {
    /// The user of the session.
    pub user_id: UserId,
    /// The user's name.
    pub username: Arc<str>,
    /// The session's public id.
    pub session_id: SessionId,
    /// The member's session, with the encoding and serial number by which it hears the room's stream.
    pub listener: Listener,
    /// The seat; `None` for spectators.
    pub seat: Option<u32>,
    /// The member's own variables.
    pub variables: CarriedValues,
    /// Serial number of the member's arrival in the room.
    pub order: u64,
}

/// A part of the state of a template's desk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedDesk {
    /// The template's name.
    pub template: Arc<str>,
    /// Number of rooms opened so far.
    pub opened: u64,
    /// Some of the desk's rooms.
    pub rooms: Vec<CarriedFilling>,
}

/// A room that a desk fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedFilling {
    /// The room's id.
    pub room: RoomId,
    /// Number of seats.
    pub size: u32,
    /// Number of rooms opened before this one.
    pub age: u64,
    /// Number of players that the desk sent to the room.
    pub sent: i64,
    /// The room's last report.
    pub report: Report,
}

/// A part of the directory's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedListing {
    /// The slot that the next new room gets.
    pub next_slot: u32,
    /// Some of the rooms, in the order of their slots.
    pub rooms: Vec<CarriedListed>,
}

/// A listed room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedListed {
    /// The room's slot, which pages refer to.
    pub slot: u32,
    /// Number of players sent to the room since the directory last heard of the room.
    pub promised: u32,
    /// The room as its owner last described it.
    pub summary: Arc<Summary>,
}

/// A view of the lobby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedView {
    /// The view's path, filter and budget.
    pub view: ViewKey,
    /// The user who asked for the view first, if that is known.
    pub maker: Option<UserId>,
    /// Revision of the last push to the watchers.
    pub revision: u64,
    /// Whether the next push must say that the lobby begins anew, because the state of an earlier directory is lost.
    pub anew: bool,
    /// Time until the waiting changes are pushed, if there are any.
    pub due_ms: Option<Millis>,
    /// Time until the view's budget allows another push.
    pub next_ms: Millis,
    /// Some of the changed rooms, the one that waits longest first.
    pub changed: Vec<RoomId>,
}

impl Rooms {
    /// Takes out the state of the chosen owners, and drops their timers. Sessions are told nothing.
    pub fn carry_out(&mut self, now: Millis, is_one: impl Fn(&RoomOwner) -> bool) -> Vec<CarriedRooms> {
        let mut parts = Vec::new();
        let mut rooms: Vec<RoomId> =
            self.rooms.keys().copied().filter(|room| is_one(&RoomOwner::Room(*room))).collect();
        // Rooms whose changes the directory must hear of come first, in the order of the changes. The others follow by
        // id, so that the order is the same in every run.
        rooms.sort_by_cached_key(|room| (self.changed.get_index_of(room).unwrap_or(usize::MAX), *room));
        for id in &rooms {
            parts.extend(self.carried_room(now, *id));
        }
        rooms.into_iter().for_each(|id| self.drop_room(id));
        let is_carried = |template: &Arc<str>| is_one(&RoomOwner::Desk(template.clone()));
        for (template, desk) in self.desks.extract_if(.., |template, _| is_carried(template)) {
            parts.extend(desk.carried(&template).map(CarriedRooms::Desk));
        }
        if is_one(&RoomOwner::Directory) {
            let next = self.directory.successor();
            let directory: Directory = std::mem::replace(&mut self.directory, next);
            parts.extend(directory.carried().map(CarriedRooms::Listing));
            parts.extend(directory.carried_views(now).map(CarriedRooms::View));
        }
        parts
    }

    /// One room with its members, in pieces.
    pub(super) fn carried_room(&self, now: Millis, id: RoomId) -> impl Iterator<Item = CarriedRooms> {
        let room = self.rooms.get(&id);
        let is_news = self.changed.contains(&id);
        let listed_ms = self.tell_at.filter(|_| is_news).map(|at| at.saturating_sub(now));
        let of_room = move |room: &Room| CarriedRooms::Room(Box::new(CarriedRoom { listed_ms, ..room.carried(now) }));
        let members = room.into_iter().flat_map(Room::carried_members).map(CarriedRooms::Members);
        room.map(of_room).into_iter().chain(members)
    }

    /// Takes in the pieces of another owner's state, in order. Sessions are told nothing.
    pub fn carry_in(&mut self, now: Millis, carried: CarriedRooms) {
        match carried {
            CarriedRooms::Room(room) => self.carry_in_room(now, *room),
            CarriedRooms::Members(CarriedMembers { room: id, members }) => {
                if let Some(room) = self.rooms.get_mut(&id) {
                    room.take_in(members);
                    let due = room.next_due();
                    self.set_due(id, due);
                }
            }
            CarriedRooms::Desk(carried) => {
                // A node that does not have the template has no desk for it either.
                if let Ok(desk) = self.desk(&carried.template) {
                    desk.take_in(carried);
                }
            }
            CarriedRooms::Listing(listing) => self.directory.take_in(listing),
            CarriedRooms::View(view) => self.directory.take_in_view(now, view),
        }
    }

    fn carry_in_room(&mut self, now: Millis, carried: CarriedRoom) {
        let (id, listed_ms) = (carried.id, carried.listed_ms);
        let held: Vec<UserId> = carried.held.iter().map(|held| held.user_id).collect();
        // No node makes a room with impossible settings, so such a room is left out.
        let Ok(room) = Room::of_carried(now, carried) else { return };
        self.drop_room(id);
        if let Some(creator) = room.creator {
            *self.made.entry(creator).or_default() += 1;
        }
        let due = room.next_due();
        self.rooms.insert(id, room);
        held.into_iter().for_each(|user| self.hold_came(now, id, user));
        self.set_due(id, due);
        if let Some(left) = listed_ms {
            self.changed.insert(id);
            let at = now.saturating_add(left);
            self.tell_at = Some(self.tell_at.map_or(at, |other| other.min(at)));
        }
    }
}
