//! Tests of rooms whose members are on several shards, and of the lobby.

use super::*;
use crate::plane;
use crate::rooms::{
    Caller, Creation, DirectoryAction, Entry, LobbyDelta, MessageToRoomOwner, Placement, Request, RoomAction,
    RoomAnswer, RoomEvent, RoomId, ViewKey,
};

/// An event for members or watchers, in short.
#[derive(Debug)]
pub(super) struct RoomText(pub String);

impl Payload for RoomText {
    fn write(&self, _encoding: Encoding, out: &mut Vec<u8>) {
        out.extend_from_slice(self.0.as_bytes());
    }
}

pub(super) fn event_text(event: &RoomEvent) -> String {
    match event {
        RoomEvent::Message(who, data) | RoomEvent::Private(who, data) => format!("[{}: {data}]", who.username),
        RoomEvent::Out(reason) => format!("[{reason:?}]"),
        RoomEvent::Owner(owner) => format!("[owner {}]", owner.map_or(0, |owner| owner.0.as_u128() - 1_000)),
        RoomEvent::Seat(who, seat) => format!("[{} at {}]", who.username, seat.unwrap_or(0)),
        other => format!("{other:?}"),
    }
}

pub(super) fn delta_text(delta: &LobbyDelta) -> String {
    let rooms: String = delta.rooms.iter().map(|room| format!(" {}:{}", room.name, room.players)).collect();
    format!("[lobby{}{rooms} -{}]", if delta.anew { " anew" } else { "" }, delta.gone.len())
}

type Asked = muster_domain::Result<RoomAnswer>;

impl World {
    fn caller(&self, session: SessionRef) -> Caller {
        let presence = self.planes[usize::from(session.place.shard())].presence(session.key).unwrap();
        let session = Some((session, presence.session_id));
        Caller { user_id: presence.user_id, username: presence.username, session }
    }

    fn begin_to_ask_rooms(
        &mut self,
        session: SessionRef,
        ask: impl FnOnce(Caller, Option<RequestRef>) -> MessageToRoomOwner,
    ) {
        let caller = self.caller(session);
        self.step(session.place.shard(), |plane, now, out| {
            let request = plane.request();
            plane.ask_rooms(now, ask(caller, Some(request)), out);
        });
    }

    fn ask_room(&mut self, session: SessionRef, room: RoomId, what: RoomAction) -> Asked {
        self.begin_to_ask_rooms(session, |caller, reply_to| {
            MessageToRoomOwner::Room(room, Request { caller, reply_to, what })
        });
        self.asked()
    }

    fn begin_to_enter(&mut self, session: SessionRef, room: RoomId) {
        self.step(session.place.shard(), |plane, now, out| {
            let request = plane.request();
            plane.come_to_room(now, session.key, room, Entry::default(), request, out);
        });
    }

    fn enter(&mut self, session: SessionRef, room: RoomId) -> Asked {
        self.begin_to_enter(session, room);
        self.asked()
    }

    fn asked(&mut self) -> Asked {
        self.settle();
        match self.replies.pop() {
            Some(Reply::Answer(plane::Answer::Room(answer))) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn make_room(&mut self, session: SessionRef, id: u128, capacity: u32) -> RoomId {
        let room = RoomId(Uuid::from_u128(id << 64 | 7));
        let creation = Creation { name: id.to_string().as_str().into(), ..Creation::plain(capacity) };
        self.ask_room(session, room, RoomAction::Create(Box::new(creation))).unwrap();
        self.enter(session, room).unwrap();
        room
    }

    fn assert_no_rooms(&self) {
        self.assert_empty();
        for plane in &self.planes {
            let stats = plane.stats();
            assert_eq!((stats.rooms.rooms, stats.rooms.views), (0, 0));
        }
    }

    fn is_in(&self, session: SessionRef, room: RoomId) -> bool {
        self.planes[usize::from(session.place.shard())].is_on(session.key, &room.stream())
    }
}

fn say(text: &str) -> RoomAction {
    RoomAction::Say(text.into())
}

/// Runs a test with a room of three seats, made by the first of four sessions, on every number of shards.
fn with_room(run: impl Fn(&mut World, RoomId, [SessionRef; 4])) {
    for shards in [1, 2, 4] {
        let mut world = World::new(shards, &PlaneConfig::default());
        let sessions = [0, 1, 2, 3].map(|n| world.open(n % shards));
        let room = world.make_room(sessions[0], 1, 3);
        assert_eq!(world.take_heard(sessions[0]), ["+1"]);
        run(&mut world, room, sessions);
        sessions.iter().for_each(|session| world.close(*session));
        world.pass(11_000);
        world.assert_no_rooms();
    }
}

#[test]
fn members_hear_each_other_whatever_their_shards() {
    with_room(|world, room, [one, two, three, four]| {
        world.enter(two, room).unwrap();
        world.enter(three, room).unwrap();
        assert!(world.enter(four, room).is_err());
        assert!(!world.is_in(four, room), "who was refused is on no stream");
        world.ask_room(two, room, say("hello")).unwrap();
        assert!(world.ask_room(four, room, say("me too")).is_err());
        assert_eq!(world.take_heard(one), ["+2", "+3", "[2: hello]"]);
        assert_eq!(world.take_heard(three), ["+3", "[2: hello]"]);
        assert_eq!(world.take_heard(four), [""; 0]);
        world.close(one);
        assert_eq!(world.take_heard(two)[3..], ["-1", "[owner 2]"]);
        world.enter(four, room).unwrap();
    });
}

#[test]
fn who_is_thrown_out_hears_why_and_nothing_more() {
    with_room(|world, room, [one, two, three, _]| {
        world.enter(two, room).unwrap();
        world.enter(three, room).unwrap();
        world.heard.clear();
        let user = world.caller(two).user_id;
        world.ask_room(one, room, RoomAction::Kick(user, 0)).unwrap();
        world.ask_room(one, room, say("gone")).unwrap();
        assert_eq!(world.take_heard(two), ["[Kicked]"]);
        assert_eq!(world.take_heard(three), ["-2", "[1: gone]"]);
        assert!(!world.is_in(two, room));
        world.enter(two, room).unwrap();
        assert_eq!(world.take_heard(two), ["+2"]);
    });
}

#[test]
fn leaving_while_being_thrown_out_leaves_nothing_behind() {
    with_room(|world, room, [one, two, _, _]| {
        world.enter(two, room).unwrap();
        let user = world.caller(two).user_id;
        world.begin_to_ask_rooms(one, |caller, reply_to| {
            MessageToRoomOwner::Room(room, Request { caller, reply_to, what: RoomAction::Kick(user, 0) })
        });
        world.step(two.place.shard(), |plane, now, out| plane.leave(now, two.key, room.stream(), out));
        world.begin_to_enter(two, room);
        world.settle();
        world.heard.clear();
        // The later one of the two decides, and both sides agree.
        let is_member = world.ask_room(two, room, say("here")).is_ok();
        assert_eq!(world.is_in(two, room), is_member);
        assert_eq!(world.take_heard(two).len(), usize::from(is_member));
    });
}

#[test]
fn who_closes_while_coming_in_is_not_there() {
    with_room(|world, room, [one, two, _, _]| {
        world.begin_to_enter(two, room);
        world.step(two.place.shard(), |plane, now, out| plane.close(now, two.key, out));
        world.settle();
        let RoomAnswer::Joined(joined) = world.ask_room(one, room, RoomAction::Look).unwrap() else { panic!() };
        assert_eq!((joined.state.summary.players, joined.state.members_total), (1, 1));
    });
}

#[test]
fn a_change_of_seat_is_told_and_shown() {
    with_room(|world, room, [one, two, three, _]| {
        world.enter(two, room).unwrap();
        world.ask_room(one, room, RoomAction::Spectate(true)).unwrap_err();
        world.heard.clear();
        // The presence shows the seat.
        let seats = |world: &World| -> Vec<String> {
            let stream = room.stream();
            let shown = world.planes.iter().flat_map(|plane| plane.owned_presences(&stream));
            shown.map(|presence| presence.status.as_deref().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(seats(world), ["seat 1", "seat 2"]);
        world.close(one);
        world.enter(three, room).unwrap();
        let mut shown = seats(world);
        shown.sort();
        assert_eq!(shown, ["seat 1", "seat 2"]);
    });
}

#[test]
fn what_is_for_one_alone_has_its_place_and_does_not_reach_who_has_left() {
    for shards in [1, 2, 4] {
        let mut world = World::new(shards, &PlaneConfig { slice_deliveries: 1, ..PlaneConfig::default() });
        let [one, two] = [0, 1].map(|n| world.open(n % shards));
        let room = world.make_room(one, 1, 3);
        world.enter(two, room).unwrap();
        world.heard.clear();
        let user = world.caller(two).user_id;
        let whisper = |text: &str| RoomAction::Whisper(vec![user], text.into());
        for what in [say("all"), whisper("alone"), say("all again")] {
            world.begin_to_ask_rooms(one, |caller, reply_to| {
                MessageToRoomOwner::Room(room, Request { caller, reply_to, what })
            });
        }
        world.settle();
        assert_eq!(world.take_heard(two), ["[1: all]", "[1: alone]", "[1: all again]"]);
        world.begin_to_ask_rooms(one, |caller, reply_to| {
            MessageToRoomOwner::Room(room, Request { caller, reply_to, what: whisper("late") })
        });
        world.step(two.place.shard(), |plane, now, out| plane.leave(now, two.key, room.stream(), out));
        world.settle();
        let alone = world.take_heard(two);
        // On the room's own shard the session hears it at once.
        assert!(alone.is_empty() || shards == 1, "{alone:?}");
    }
}

/// Runs a test with a room whose joins and leaves are told together.
fn with_merged_room(run: impl Fn(&mut World, RoomId, [SessionRef; 3])) {
    for shards in [1, 2, 4] {
        let config = PlaneConfig { merge_above: 0, ..PlaneConfig::default() };
        let mut world = World::new(shards, &config);
        let sessions = [0, 1, 2].map(|n| world.open(n % shards));
        let room = RoomId(Uuid::from_u128(1 << 64 | 7));
        let creation = Creation { spectators_max: 3, ..Creation::plain(3) };
        world.ask_room(sessions[0], room, RoomAction::Create(Box::new(creation))).unwrap();
        world.enter(sessions[0], room).unwrap();
        world.pass(200);
        world.heard.clear();
        run(&mut world, room, sessions);
    }
}

#[test]
fn who_changes_seats_before_its_coming_is_told_is_told_of_all_the_same() {
    with_merged_room(|world, room, [one, two, _]| {
        world.enter(two, room).unwrap();
        world.ask_room(two, room, RoomAction::Spectate(true)).unwrap();
        world.pass(200);
        assert_eq!(world.take_heard(one), ["[2 at 0]", "+2"]);
    });
}

#[test]
fn who_was_shown_to_somebody_who_came_is_told_to_have_gone() {
    with_merged_room(|world, room, [one, two, three]| {
        world.enter(two, room).unwrap();
        // Session three finds two there, whose join was not told yet.
        world.enter(three, room).unwrap();
        world.close(two);
        world.pass(200);
        assert_eq!(world.take_heard(three), ["-2 +3"]);
        assert_eq!(world.take_heard(one), ["-2 +3"]);
    });
}

#[test]
fn players_are_placed_across_shards_and_seats_that_nobody_took_come_back() {
    for shards in [1, 2, 4] {
        let mut world = World::new(shards, &PlaneConfig::default());
        let sessions: Vec<_> = (0..20).map(|n| world.open(n % shards)).collect();
        for (session, n) in sessions.iter().zip(1u128..) {
            let fresh = RoomId(Uuid::from_u128(n << 64 | 3));
            let what = Placement { template: "default".into(), size: None, fresh, random: 0, tried: Vec::new() };
            world.begin_to_ask_rooms(*session, |caller, reply_to| {
                MessageToRoomOwner::Placement(Request { caller, reply_to, what })
            });
        }
        world.settle();
        let mut rooms = BTreeMap::<RoomId, u32>::new();
        for reply in std::mem::take(&mut world.replies) {
            let Reply::Answer(plane::Answer::Room(Ok(RoomAnswer::Reserved(held)))) = reply else { panic!("{reply:?}") };
            *rooms.entry(held.room.id).or_default() += 1;
        }
        let mut taken: Vec<u32> = rooms.into_values().collect();
        taken.sort();
        assert_eq!(taken, [4, 8, 8]);
        world.pass(10_001);
        sessions.iter().for_each(|session| world.close(*session));
        world.assert_no_rooms();
    }
}

#[test]
fn a_lobby_is_heard_by_who_watches_and_forgotten_with_the_last_of_them() {
    for shards in [1, 2, 4] {
        let mut world = World::new(shards, &PlaneConfig::default());
        let [one, two, three] = [0, 1, 2].map(|n| world.open(n % shards));
        let view = ViewKey { path: Default::default(), filter: "".into(), interval_ms: 250, rooms_max: 10 };
        for session in [two, three] {
            world.step(session.place.shard(), |plane, now, out| {
                plane.listen(now, session.key, view.stream(), None, out)
            });
            let what = DirectoryAction::Subscribe(view.clone());
            world.begin_to_ask_rooms(session, |caller, reply_to| {
                MessageToRoomOwner::Directory(Request { caller, reply_to, what })
            });
            assert!(matches!(world.asked(), Ok(RoomAnswer::Page(_))));
        }
        world.make_room(one, 1, 3);
        world.pass(100);
        world.pass(250);
        let heard = world.take_heard(two);
        assert_eq!(heard, ["[lobby 1:1 -0]"]);
        assert_eq!(world.take_heard(three), heard);
        world.close(two);
        world.step(three.place.shard(), |plane, now, out| plane.unlisten(now, three.key, view.stream(), out));
        world.settle();
        world.close(one);
        world.pass(1_000);
        assert_eq!(world.take_heard(three), [""; 0]);
        // A session that asked and was gone before the question arrived leaves no view behind.
        let what = DirectoryAction::Subscribe(view);
        world.begin_to_ask_rooms(three, |caller, reply_to| {
            MessageToRoomOwner::Directory(Request { caller, reply_to, what })
        });
        world.settle();
        world.close(three);
        world.assert_no_rooms();
    }
}

#[test]
#[should_panic(expected = "and not on its stream")]
fn a_member_of_a_room_that_is_not_on_its_stream_is_found() {
    let mut world = World::new(1, &PlaneConfig { checks_itself: true, ..PlaneConfig::default() });
    let session = world.open(0);
    let stream = world.make_room(session, 1, 2).stream();
    let streams = &mut world.planes[0].owners.streams;
    streams.map.get_mut(&stream).unwrap().presences.remove(session);
    streams.presences -= 1;
    world.pass(1);
}
