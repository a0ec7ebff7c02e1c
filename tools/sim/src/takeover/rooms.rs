//! Rooms in a cluster: each survives its owner or closes with it, and its members know each other. Watchers of the
//! lobby see the rooms that exist, whichever place owns the directory, and placed players get a room with free seats.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::ids::{SessionId, Uuid};
use muster_live::plane::{self, JoinRefusal, Reply, RequestRef};
use muster_live::rooms::{
    Caller, Change, CloseCause, Creation, DirectoryAction, Entry, Find, MessageToRoomOwner, Page, Placement, Request,
    RoomAction, RoomAnswer, RoomEvent, RoomId, Summary, Template, ViewKey,
};
use muster_live::{SessionRef, StreamKey};

use super::act::{session_id, user_id};
use super::world::{OpenRequest, World};
use crate::frames::tales::Tale;
use crate::model::{Mirror, Watching, seat_of};
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation, ensure};

/// The template whose desk places players.
const TEMPLATE: &str = "table";

/// A request about rooms that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum OpenRoomRequest {
    /// To hold a seat. A probe's answer is compared with the free rooms.
    Hold { who: Who, is_probe: bool },
    /// To join a room.
    Enter { who: Who, room: RoomId, generation: u64 },
    /// To listen to a view of the lobby.
    Hear { who: Who },
    /// To get the first page of the view.
    Watch { who: Who, period: u64 },
    /// To list all rooms.
    Find,
    /// To change a variable.
    Set,
}

impl OpenRoomRequest {
    pub(super) fn who(&self) -> Option<Who> {
        match self {
            Self::Hold { who, .. } | Self::Enter { who, .. } | Self::Hear { who } | Self::Watch { who, .. } => {
                Some(*who)
            }
            Self::Find | Self::Set => None,
        }
    }
}

/// The relation of a session to a room, as the session knows it.
#[derive(Debug, Default)]
pub(super) struct RoomTie {
    /// Whether the session has asked to join, and not left since.
    may_hear: bool,
    /// Number of times that the session left or was put out.
    generation: u64,
    /// The room as the session sees it; `None` while it is not in the room.
    mirror: Option<Mirror>,
}

impl RoomTie {
    fn end(&mut self) {
        self.generation += 1;
        self.mirror = None;
    }
}

/// Everything that a world knows of rooms.
#[derive(Default)]
pub(super) struct Rooms {
    known: BTreeSet<RoomId>,
    /// Rooms that the desk of the template may have opened.
    tables: BTreeSet<RoomId>,
    ties: BTreeMap<(RoomId, Who), RoomTie>,
    /// Sessions that watch the lobby. The number counts the times that a session asked to watch.
    watches: BTreeMap<Who, (u64, Watching)>,
    /// Sessions with a reservation that they are about to use.
    pub entering: Vec<(Who, RoomId)>,
    fresh: u128,
    /// Number of probes so far.
    probes: Who,
    /// The answer to the last listing.
    page: Option<Page>,
    /// The room of the last probe.
    placed: Option<RoomId>,
}

impl Rooms {
    /// Notes that a session is gone.
    pub(super) fn forget(&mut self, who: Who) {
        self.watches.remove(&who);
        self.entering.retain(|(other, _)| *other != who);
        for (_, tie) in self.ties.iter_mut().filter(|((_, other), _)| *other == who) {
            tie.may_hear = false;
            tie.end();
        }
    }
}

/// The members of a room with their seats.
type Seats = BTreeMap<SessionId, Option<u32>>;

/// The template of placed players' rooms.
pub(super) fn template() -> Template {
    Template { sizes: (3, 3), recover: true, ..Template::new(TEMPLATE) }
}

fn view() -> ViewKey {
    ViewKey { path: Default::default(), filter: Arc::from(""), interval_ms: 250, rooms_max: 3 }
}

impl World {
    pub(super) fn act_in_rooms(&mut self, who: Who) -> Checked {
        let at = self.clients[&who].at;
        let act = self.rng.u8(0..20);
        self.trace.line(|| format!("session {who}, rooms: {act}"));
        match act {
            0..=2 => {
                let room = self.fresh_room();
                let recover = self.rng.bool();
                let what = RoomAction::Create(Box::new(Creation { recover, ..Creation::plain(4) }));
                let asked = OpenRoomRequest::Hold { who, is_probe: false };
                self.ask_rooms(at, who, asked, |caller, reply_to| {
                    MessageToRoomOwner::Room(room, Request { caller, reply_to, what })
                })
            }
            3..=8 => self.be_placed(who, false),
            9..=12 => {
                let known: Vec<RoomId> = self.rooms.known.iter().copied().collect();
                if known.is_empty() {
                    return Ok(());
                }
                let room = known[self.rng.usize(0..known.len())];
                self.enter(who, room)
            }
            13 => {
                let of_it = self.rooms.ties.iter().filter(|((_, other), tie)| *other == who && tie.mirror.is_some());
                let rooms: Vec<RoomId> = of_it.map(|((room, _), _)| *room).collect();
                let Some(room) = rooms.first().copied() else { return Ok(()) };
                self.rooms.fresh += 1;
                let value = muster_live::rooms::Value::new(&self.rooms.fresh.to_string());
                let set = value.into_iter().map(|value| (Arc::from("score"), value)).collect();
                let what = RoomAction::SetVariables(Change { set, ..Change::default() });
                self.ask_rooms(at, who, OpenRoomRequest::Set, |caller, reply_to| {
                    MessageToRoomOwner::Room(room, Request { caller, reply_to, what })
                })
            }
            14..=16 => {
                let of_it = self.rooms.ties.iter_mut().filter(|((_, other), tie)| *other == who && tie.may_hear);
                let mut left = Vec::new();
                for ((room, _), tie) in of_it {
                    tie.may_hear = false;
                    tie.end();
                    left.push(room.stream());
                }
                self.step(at.place, |plane, now, out| {
                    for stream in left {
                        plane.leave(now, at.key, stream, out);
                    }
                })
            }
            _ => self.watch(who),
        }
    }

    fn fresh_room(&mut self) -> RoomId {
        self.rooms.fresh += 1;
        let room = RoomId(Uuid::from_u128(u128::from(self.rng.u64(..)) << 64 | self.rooms.fresh));
        self.rooms.known.insert(room);
        room
    }

    fn be_placed(&mut self, who: Who, is_probe: bool) -> Checked {
        let (fresh, random) = (self.fresh_room(), self.rng.u32(..));
        self.rooms.tables.insert(fresh);
        let what = Placement { template: Arc::from(TEMPLATE), size: None, fresh, random, tried: Vec::new() };
        let asked = OpenRoomRequest::Hold { who, is_probe };
        let at = self.clients[&who].at;
        self.ask_rooms(at, who, asked, |caller, reply_to| {
            MessageToRoomOwner::Placement(Request { caller, reply_to, what })
        })
    }

    fn ask_rooms(
        &mut self,
        at: SessionRef,
        who: Who,
        asked: OpenRoomRequest,
        to: impl FnOnce(Caller, Option<RequestRef>) -> MessageToRoomOwner,
    ) -> Checked {
        let session = Some((at, session_id(who)));
        // A probe lets its seat go by, after which its user gets none in that room for a while.
        let is_probe = matches!(asked, OpenRoomRequest::Hold { is_probe: true, .. });
        let user = if is_probe { Who::MAX - self.rooms.probes } else { who };
        self.rooms.probes += Who::from(is_probe);
        let caller = Caller { user_id: user_id(user), username: who.to_string().into(), session };
        let request = self.ask(at.place, OpenRequest::Rooms(asked));
        self.step(at.place, |plane, now, out| plane.ask_rooms(now, to(caller, request), out))
    }

    pub(super) fn enter(&mut self, who: Who, room: RoomId) -> Checked {
        let at = self.clients[&who].at;
        if self.cluster.planes[&at.place].is_on(at.key, &room.stream()) {
            return Ok(());
        }
        let tie = self.rooms.ties.entry((room, who)).or_default();
        tie.may_hear = true;
        let asked = OpenRoomRequest::Enter { who, room, generation: tie.generation };
        let Some(request) = self.ask(at.place, OpenRequest::Rooms(asked)) else { return Ok(()) };
        self.step(at.place, |plane, now, out| {
            plane.come_to_room(now, at.key, room, Entry::default(), request, out);
        })
    }

    fn watch(&mut self, who: Who) -> Checked {
        let at = self.clients[&who].at;
        let (period, watching) = self.rooms.watches.entry(who).or_default();
        *period += 1;
        *watching = Watching::default();
        let period = *period;
        let Some(request) = self.ask(at.place, OpenRequest::Rooms(OpenRoomRequest::Hear { who })) else {
            return Ok(());
        };
        self.step(at.place, |plane, now, out| plane.listen(now, at.key, view().stream(), Some(request), out))?;
        let what = DirectoryAction::Subscribe(view());
        let asked = OpenRoomRequest::Watch { who, period };
        self.ask_rooms(at, who, asked, |caller, reply_to| {
            MessageToRoomOwner::Directory(Request { caller, reply_to, what })
        })
    }

    pub(super) fn rooms_answered(&mut self, asked: OpenRoomRequest, reply: Reply) -> Checked {
        let answer = match (asked, reply) {
            (OpenRoomRequest::Hear { .. }, Reply::Presences(..)) => return Ok(()),
            (_, Reply::Joined(Err(JoinRefusal::Closed | JoinRefusal::Unavailable))) => return Ok(()),
            (_, Reply::Answer(plane::Answer::Room(Ok(answer)))) => answer,
            (_, Reply::Answer(plane::Answer::Room(Err(_)))) => return Ok(()),
            (asked, reply) => {
                return Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") });
            }
        };
        match (asked, answer) {
            (OpenRoomRequest::Hold { is_probe: true, .. }, RoomAnswer::Reserved(held)) => {
                self.rooms.placed = Some(held.room.id)
            }
            (OpenRoomRequest::Hold { who, .. }, RoomAnswer::Reserved(held)) => {
                if self.clients[&who].is_open {
                    self.rooms.entering.push((who, held.room.id));
                }
            }
            (OpenRoomRequest::Enter { who, room, generation }, RoomAnswer::Joined(joined)) => {
                let tie = self.rooms.ties.entry((room, who)).or_default();
                if tie.generation == generation {
                    tie.mirror = Some(Mirror::new(&joined.state));
                }
            }
            (OpenRoomRequest::Watch { who, period }, RoomAnswer::Page(page)) => {
                if let Some((current, watching)) = self.rooms.watches.get_mut(&who)
                    && *current == period
                {
                    watching.answered(&page)?;
                }
            }
            (OpenRoomRequest::Set, _) => {}
            (OpenRoomRequest::Find, RoomAnswer::Page(page)) => self.rooms.page = Some(page),
            (asked, answer) => {
                return Err(Violation { check: Check::Answers, detail: format!("{answer:?} answers {asked:?}") });
            }
        }
        Ok(())
    }

    /// Checks a message about a room or the lobby, and lets the receiver's view follow.
    pub(super) fn hear_tale(&mut self, who: Who, number: u32) -> Checked {
        let Some(told) = self.encoder.tales.get(number).map(|told| told.clone()) else {
            return Err(Violation { check: Check::Stray, detail: format!("session {who} hears an unknown tale") });
        };
        let is_end = matches!(&told.tale, Tale::Event(RoomEvent::Closed(_)));
        let is_anew = matches!(&told.tale, Tale::Lobby(delta) if delta.anew);
        let is_lost = matches!(&told.tale, Tale::Event(RoomEvent::Closed(CloseCause::Lost)));
        ensure(Check::Stray, !is_lost || self.cluster.crashes > 0, || {
            format!("nobody died, and yet session {who} hears that a room was lost")
        })?;
        if self.cluster.faults.silences(is_end, is_anew) {
            return Ok(());
        }
        if let Tale::Lobby(delta) = &told.tale {
            return match self.rooms.watches.get_mut(&who) {
                Some((_, watching)) => watching.told(delta),
                None => Ok(()),
            };
        }
        let Some(room) = RoomId::of_stream(&told.stream) else { return Ok(()) };
        if is_lost {
            self.check_lost(who, &told.stream)?;
        }
        let tie = self.rooms.ties.entry((room, who)).or_default();
        ensure(Check::Stray, tie.may_hear, || format!("session {who} is not in {room}, and hears {:?}", told.tale))?;
        if is_end || matches!(&told.tale, Tale::Event(RoomEvent::Out(_))) {
            tie.end();
        }
        match (&told.tale, &mut tie.mirror) {
            (Tale::Event(event), Some(mirror)) => mirror.told(event),
            (Tale::CameAndWent(joins, leaves), Some(mirror)) => mirror.came_and_went(joins, leaves),
            _ => {}
        }
        Ok(())
    }

    /// At rest, checks that owners, places and members agree on members and seats, and that the listing is right.
    pub(super) fn check_rooms(&mut self) -> Checked {
        for room in self.rooms.known.clone() {
            self.check_room(room)?;
        }
        let Some(who) = self.clients.iter().find(|(_, client)| client.is_open).map(|(who, _)| *who) else {
            return Ok(());
        };
        let at = self.clients[&who].at;
        let what = DirectoryAction::Find(Find::default());
        self.ask_rooms(at, who, OpenRoomRequest::Find, |caller, reply_to| {
            MessageToRoomOwner::Directory(Request { caller, reply_to, what })
        })?;
        // No time passes until the answer comes, so that no room closes meanwhile.
        while self.happen()? {}
        let listed = self.rooms.page.take().map(|page| page.rooms).unwrap_or_default();
        let rooms: usize = self.cluster.planes.values().map(|plane| plane.stats().rooms.rooms).sum();
        ensure(Check::Lobby, listed.len() == rooms, || format!("{rooms} rooms, and listed are {listed:?}"))?;
        self.check_watches(&listed)?;
        let is_in = |who: Who| self.rooms.ties.iter().any(|((_, other), tie)| *other == who && tie.mirror.is_some());
        let mut open = self.clients.iter().filter(|(_, client)| client.is_open).map(|(who, _)| *who);
        match open.find(|who| !is_in(*who)) {
            Some(who) => self.check_placing(who, &listed),
            None => Ok(()),
        }
    }

    fn check_room(&self, room: RoomId) -> Checked {
        let stream = room.stream();
        let owner = &self.cluster.planes[&self.cluster.owner(&stream)];
        let there: Seats = owner.owned_presences(&stream).map(|here| (here.session_id, seat_of(here))).collect();
        let open = self.clients.iter().filter(|(_, client)| client.is_open);
        let hears = open.filter(|(_, client)| self.cluster.planes[&client.at.place].hears(client.at.key, &stream));
        let hearing: BTreeMap<SessionId, Who> = hears.map(|(who, _)| (session_id(*who), *who)).collect();
        ensure(Check::Presences, hearing.keys().eq(there.keys()), || {
            format!("in {room} are {there:?}, and by their places {hearing:?}")
        })?;
        let of_it = self.rooms.ties.range((room, 0)..=(room, Who::MAX));
        for ((_, who), tie) in of_it {
            let seats =
                |mirror: &Mirror| -> Seats { mirror.members.iter().map(|(id, seen)| (*id, seen.seat)).collect() };
            let seen = tie.mirror.as_ref().map(seats);
            let should = hearing.contains_key(&session_id(*who)).then_some(&there);
            ensure(Check::Mirror, seen.as_ref() == should, || {
                format!("session {who} takes {seen:?} to be in {room}, it is {should:?}")
            })?;
        }
        Ok(())
    }

    fn check_watches(&self, listed: &[Arc<Summary>]) -> Checked {
        let listed: BTreeMap<RoomId, &Arc<Summary>> = listed.iter().map(|room| (room.id, room)).collect();
        let stream: StreamKey = view().stream();
        for (who, (_, watching)) in &self.rooms.watches {
            let at = self.clients[who].at;
            let (true, Some(rooms)) = (self.cluster.planes[&at.place].hears(at.key, &stream), &watching.rooms) else {
                continue;
            };
            let shown: BTreeMap<RoomId, &Arc<Summary>> = rooms.iter().map(|(id, room)| (*id, room)).collect();
            ensure(Check::Lobby, shown == listed, || {
                format!("session {who} sees {shown:?}, and there are {listed:?}")
            })?;
        }
        Ok(())
    }

    /// Checks that a player who is placed now gets a room with free seats that another desk filled before, if there is
    /// one.
    fn check_placing(&mut self, who: Who, listed: &[Arc<Summary>]) -> Checked {
        let has_seats = |room: &&Arc<Summary>| self.rooms.tables.contains(&room.id) && room.open && room.free > 0;
        let free: Vec<RoomId> = listed.iter().filter(has_seats).map(|room| room.id).collect();
        if free.is_empty() {
            return Ok(());
        }
        self.be_placed(who, true)?;
        while self.happen()? {}
        let placed = self.rooms.placed.take();
        ensure(Check::Filling, placed.is_some_and(|room| free.contains(&room)), || {
            format!("session {who} is placed in {placed:?}, and free are {free:?}")
        })?;
        self.settle()
    }
}
