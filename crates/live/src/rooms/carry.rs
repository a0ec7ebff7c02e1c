//! What an owner of rooms knows, as plain data and in pieces of bounded size, for another that is to own it. Times are
//! milliseconds that are left, since every node has a clock of its own.

use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::{SessionId, Subject};

use super::directory::Directory;
use super::message::{Owner, Report, RoomId, ViewKey};
use super::owner::Rooms;
use super::password::PasswordDigest;
use super::path::RoomPath;
use super::room::Room;
use super::state::Summary;
use super::variables::Value;
use crate::plane::Listener;
use crate::session::Millis;

/// Rooms of a desk, or changed rooms of a view, in one piece.
pub(super) const PIECE_ROOMS_MAX: usize = 1_000;

/// Members of a room in one piece: each may have four kilobytes of variables.
pub(super) const PIECE_MEMBERS_MAX: usize = 100;

/// Rooms of the directory in one piece: each may have more than thirty kilobytes of properties and variables.
pub(super) const PIECE_LISTED_MAX: usize = 25;

/// A piece of what an owner of rooms knows.
#[derive(Clone, Debug)]
pub enum Carried {
    /// A room, but for its members.
    Room(Box<CarriedRoom>),
    /// Members of a room, behind it.
    Members(CarriedMembers),
    /// Rooms that a desk fills.
    Desk(CarriedDesk),
    /// Rooms that the directory lists.
    Listing(CarriedListing),
    /// A view of the lobby, behind what the directory lists.
    View(CarriedView),
}

impl Carried {
    /// Who knows it.
    pub fn owner(&self) -> Owner {
        match self {
            Self::Room(room) => Owner::Room(room.id),
            Self::Members(members) => Owner::Room(members.room),
            Self::Desk(desk) => Owner::Desk(desk.template.clone()),
            Self::Listing(_) | Self::View(_) => Owner::Directory,
        }
    }
}

/// A room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedRoom {
    /// Its id.
    pub id: RoomId,
    /// A name for players' eyes.
    pub name: Arc<str>,
    /// The template it was made of.
    pub template: Option<Arc<str>>,
    /// Where it stands.
    pub path: RoomPath,
    /// In no listing.
    pub hidden: bool,
    /// Whether recovery data are kept of it.
    pub recover: bool,
    /// Whether it has an owner at all.
    pub owned: bool,
    /// Whether players without a reservation may come.
    pub open: bool,
    /// Whoever comes must know it.
    pub password: Option<PasswordDigest>,
    /// Number of seats.
    pub capacity: u32,
    /// Most spectators.
    pub spectators_max: u32,
    /// Seats that are held, in the order in which that ends.
    pub held: Vec<CarriedSeat>,
    /// How many came so far.
    pub entries: u64,
    /// Who owns it.
    pub owner: Option<UserId>,
    /// Who made it; nobody where a desk did.
    pub creator: Option<UserId>,
    /// Values that only the owner changes.
    pub properties: CarriedValues,
    /// Values of the game.
    pub variables: CarriedValues,
    /// Who gave wrong passwords, longest ago first.
    pub attempts: Vec<CarriedAttempts>,
    /// Who is kept out and for how long, in the order in which that ends.
    pub barred: Vec<(UserId, Millis)>,
    /// How long it is kept while empty.
    pub empty_ms: Millis,
    /// It is empty, and closes then.
    pub closes_ms: Option<Millis>,
    /// It closes then in any case.
    pub ends_ms: Option<Millis>,
    /// A desk sends players: how many of those were dealt with, and what it was told last.
    pub desk: Option<(i64, Report)>,
    /// The directory does not know it as it is, and is told then at the latest.
    pub listed_ms: Option<Millis>,
    /// How many are in it.
    pub members: usize,
}

/// A seat that is held for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedSeat {
    /// For whom.
    pub user_id: UserId,
    /// Which.
    pub seat: u32,
    /// For how long still.
    pub left_ms: Millis,
}

/// Wrong passwords of one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedAttempts {
    /// Whose.
    pub subject: Subject,
    /// How many.
    pub count: u32,
    /// After what time they count no more.
    pub left_ms: Millis,
}

/// Properties or variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarriedValues {
    /// The number of changes so far.
    pub version: u64,
    /// By name.
    pub values: Vec<CarriedValue>,
}

/// A property or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedValue {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: Value,
    /// Who set it.
    pub author: UserId,
    /// Whether it is private.
    pub private: bool,
}

/// Members of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedMembers {
    /// Which room.
    pub room: RoomId,
    /// Some of them.
    pub members: Vec<CarriedMember>,
}

/// A member of a room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedMember {
    /// Whose session it is.
    pub user_id: UserId,
    /// The user's name.
    pub username: Arc<str>,
    /// The session's public id.
    pub session_id: SessionId,
    /// Which session, and how it hears the room.
    pub listener: Listener,
    /// None for spectators.
    pub seat: Option<u32>,
    /// The member's own.
    pub variables: CarriedValues,
    /// The how manieth came.
    pub order: u64,
}

/// What the desk of a template knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedDesk {
    /// Which template.
    pub template: Arc<str>,
    /// Rooms opened so far.
    pub opened: u64,
    /// Some of its rooms.
    pub rooms: Vec<CarriedFilling>,
}

/// A room as its desk knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CarriedFilling {
    /// Which.
    pub room: RoomId,
    /// Its seats.
    pub size: u32,
    /// Rooms opened before it.
    pub age: u64,
    /// Players sent there.
    pub sent: i64,
    /// What it told last.
    pub report: Report,
}

/// What the directory lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedListing {
    /// Where the next room is listed.
    pub next_slot: u32,
    /// Some of the rooms, in their order.
    pub rooms: Vec<CarriedListed>,
}

/// A room as the directory knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedListed {
    /// Where it is listed, to which pages refer.
    pub slot: u32,
    /// Players sent there since it was last heard of.
    pub promised: u32,
    /// What was last heard of it.
    pub summary: Arc<Summary>,
}

/// A view of the lobby.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CarriedView {
    /// Which.
    pub view: ViewKey,
    /// Of the changes that were told last.
    pub revision: u64,
    /// Those who watch were told of other rooms, by a directory that is no more.
    pub anew: bool,
    /// When its changes are told, if there are any.
    pub due_ms: Option<Millis>,
    /// When changes may be told at the soonest.
    pub next_ms: Millis,
    /// Some of the rooms that changed, the one that waits for longest first.
    pub changed: Vec<RoomId>,
}

impl Rooms {
    /// Takes out what these owners know. Nobody is told, and nothing of it is due here any more.
    pub fn carry_out(&mut self, now: Millis, is_one: impl Fn(&Owner) -> bool) -> Vec<Carried> {
        let mut parts = Vec::new();
        let mut rooms: Vec<RoomId> = self.rooms.keys().copied().filter(|room| is_one(&Owner::Room(*room))).collect();
        // In the order in which the directory is to learn of them, then in one that another run has too.
        rooms.sort_by_cached_key(|room| (self.changed.get_index_of(room).unwrap_or(usize::MAX), *room));
        for id in &rooms {
            parts.extend(self.carried_room(now, *id));
        }
        rooms.into_iter().for_each(|id| self.drop_room(id));
        let is_carried = |template: &Arc<str>| is_one(&Owner::Desk(template.clone()));
        for (template, desk) in self.desks.extract_if(.., |template, _| is_carried(template)) {
            parts.extend(desk.carried(&template).map(Carried::Desk));
        }
        if is_one(&Owner::Directory) {
            let next = self.directory.successor();
            let directory: Directory = std::mem::replace(&mut self.directory, next);
            parts.extend(directory.carried().map(Carried::Listing));
            parts.extend(directory.carried_views(now).map(Carried::View));
        }
        parts
    }

    /// A room and its members.
    pub(super) fn carried_room(&self, now: Millis, id: RoomId) -> impl Iterator<Item = Carried> {
        let room = self.rooms.get(&id);
        let is_news = self.changed.contains(&id);
        let listed_ms = self.tell_at.filter(|_| is_news).map(|at| at.saturating_sub(now));
        let of_room = move |room: &Room| Carried::Room(Box::new(CarriedRoom { listed_ms, ..room.carried(now) }));
        let members = room.into_iter().flat_map(Room::carried_members).map(Carried::Members);
        room.map(of_room).into_iter().chain(members)
    }

    /// Goes on with what another owner knew, piece by piece in order. Nobody is told.
    pub fn carry_in(&mut self, now: Millis, carried: Carried) {
        match carried {
            Carried::Room(room) => self.carry_in_room(now, *room),
            Carried::Members(CarriedMembers { room: id, members }) => {
                if let Some(room) = self.rooms.get_mut(&id) {
                    room.take_in(members);
                    let due = room.next_due();
                    self.set_due(id, due);
                }
            }
            Carried::Desk(carried) => {
                // A template that this node does not have has no desk either.
                if let Ok(desk) = self.desk(&carried.template) {
                    desk.take_in(carried);
                }
            }
            Carried::Listing(listing) => self.directory.take_in(listing),
            Carried::View(view) => self.directory.take_in_view(now, view),
        }
    }

    fn carry_in_room(&mut self, now: Millis, carried: CarriedRoom) {
        let (id, listed_ms) = (carried.id, carried.listed_ms);
        // What cannot be was not made by any node.
        let Ok(room) = Room::of_carried(now, carried) else { return };
        self.drop_room(id);
        if let Some(creator) = room.creator {
            *self.made.entry(creator).or_default() += 1;
        }
        let due = room.next_due();
        self.rooms.insert(id, room);
        self.set_due(id, due);
        if let Some(left) = listed_ms {
            self.changed.insert(id);
            let at = now.saturating_add(left);
            self.tell_at = Some(self.tell_at.map_or(at, |other| other.min(at)));
        }
    }
}
