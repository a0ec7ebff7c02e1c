//! Events and rules within one room.

use std::sync::Arc;

use muster_domain::{ErrorKind, Result};

use super::super::limits::{
    BAR_MS_MAX, BARRED_MAX, LISTING_INTERVAL_MS, MESSAGE_BYTES_MAX, PLAYER_VARIABLES_MAX, PROPERTIES_MAX,
    RECIPIENTS_MAX, RESERVATION_PAUSE_MS, RESERVATIONS_PER_USER_MAX, ROOM_VALUES_BYTES_MAX, ROOM_VARIABLES_MAX,
};
use super::super::{
    Change, Creation, DirectoryAction, Entry, Find, Joined, LeaveReason, PasswordDigest, RoomAction, RoomAnswer,
    RoomEvent, RoomId, RoomState, RoomsConfig, Summary, Update, Value,
};
use super::world::{World, user};

pub(super) fn world() -> World {
    World::new(2, 1, RoomsConfig::default())
}

pub(super) fn create(world: &mut World, player: u32, creation: Creation) -> Result<RoomId> {
    let room = world.fresh_room();
    let answer = world.ask(player, room, RoomAction::Create(Box::new(creation)))?;
    assert!(matches!(answer, RoomAnswer::Reserved(ref held) if held.room.id == room && held.seat == 1), "{answer:?}");
    Ok(room)
}

/// A room with these players, of whom the first made it. Earlier events are discarded.
pub(super) fn room_of(world: &mut World, players: &[u32], creation: Creation) -> RoomId {
    let room = create(world, players[0], creation).unwrap();
    for player in players {
        world.join(*player, room).unwrap();
    }
    world.take_told();
    room
}

pub(super) fn joined(answer: Result<RoomAnswer>) -> Joined {
    match answer.unwrap() {
        RoomAnswer::Joined(joined) => *joined,
        other => panic!("{other:?}"),
    }
}

pub(super) fn look(world: &mut World, player: u32, room: RoomId) -> RoomState {
    match world.ask(player, room, RoomAction::Look).unwrap() {
        RoomAnswer::Room(state) => *state,
        RoomAnswer::Joined(joined) => joined.state,
        other => panic!("{other:?}"),
    }
}

pub(super) fn kind(answer: Result<RoomAnswer>) -> Option<ErrorKind> {
    answer.err().map(|error| error.kind)
}

pub(super) fn change(set: &[(&str, &str)], unset: &[&str]) -> Change {
    let set = set.iter().map(|(name, json)| (Arc::from(*name), Value::new(json).unwrap())).collect();
    Change { set, unset: unset.iter().map(|name| Arc::from(*name)).collect(), ..Change::default() }
}

fn shown(values: &[(Arc<str>, Value)]) -> String {
    values.iter().map(|(name, value)| format!("{name}={}", value.as_json())).collect::<Vec<_>>().join(" ")
}

#[test]
fn players_take_the_lowest_seats_and_the_room_passes_to_the_oldest() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2, 3], Creation::plain(3));
    assert_eq!(kind(world.join(4, room)), Some(ErrorKind::ResourceExhausted));
    let state = look(&mut world, 2, room);
    let seats: Vec<_> = state.members.iter().map(|member| (member.who.user_id, member.seat)).collect();
    assert_eq!(seats, [(user(1), Some(1)), (user(2), Some(2)), (user(3), Some(3))]);
    assert_eq!((state.summary.owner, state.summary.players, state.summary.free), (Some(user(1)), 3, 0));

    world.send_gone(1, room);
    world.settle();
    assert_eq!(world.take_told(), [(vec![2, 3], RoomEvent::Owner(Some(user(2))))]);
    assert_eq!(joined(world.join(4, room)).seat, Some(1));
    // A request to leave also tells the player's session that it is out of the room, unlike a closed socket.
    world.ask(2, room, RoomAction::Leave).unwrap();
    let told = [(vec![2], RoomEvent::Out(LeaveReason::Left)), (vec![3, 4], RoomEvent::Owner(Some(user(3))))];
    assert_eq!(world.take_told(), told);
    assert_eq!(world.streams[&room], [3, 4].into());
}

#[test]
fn a_stranger_sees_a_room_but_not_who_is_in_it() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2], Creation::plain(8));
    let state = look(&mut world, 9, room);
    assert_eq!((state.summary.players, state.members.len(), state.members_total), (2, 0, 2));
    for action in [
        RoomAction::Say(Arc::from("hello")),
        RoomAction::Whisper(vec![user(1)], Arc::from("psst")),
        RoomAction::SetVariables(change(&[("a", "1")], &[])),
        RoomAction::SetOwn(change(&[("a", "1")], &[])),
        RoomAction::Leave,
        RoomAction::Spectate(true),
    ] {
        assert_eq!(kind(world.ask(9, room, action.clone())), Some(ErrorKind::FailedPrecondition), "{action:?}");
    }
    let nowhere = world.fresh_room();
    assert_eq!(kind(world.join(1, nowhere)), Some(ErrorKind::NotFound));
}

#[test]
fn a_seat_held_is_the_holders_until_the_deadline() {
    let mut world = world();
    let room = create(&mut world, 1, Creation { empty_ms: 60_000, ..Creation::plain(1) }).unwrap();
    assert_eq!(kind(world.join(2, room)), Some(ErrorKind::ResourceExhausted));
    world.wait(9_999);
    assert_eq!(kind(world.join(2, room)), Some(ErrorKind::ResourceExhausted));
    world.wait(10_000);
    // The maker did not come, so the first who joins owns the room.
    assert_eq!(joined(world.join(2, room)).state.summary.owner, Some(user(2)));
    assert_eq!(kind(world.join(1, room)), Some(ErrorKind::ResourceExhausted));
}

#[test]
fn asking_again_holds_a_seat_no_longer() {
    let mut world = world();
    let held = |answer: Result<RoomAnswer>| match answer.unwrap() {
        RoomAnswer::Reserved(held) => (held.room.id, held.held_ms),
        other => panic!("{other:?}"),
    };
    let (room, held_ms) = held(world.place(1, "default", None));
    assert_eq!(held_ms, 10_000);
    world.wait(4_000);
    assert_eq!(held(world.place(1, "default", None)), (room, 6_000));
    world.wait(10_000);
    // The seat went by, so the desk holds one elsewhere.
    let (other, _) = held(world.place(1, "default", None));
    assert_ne!(other, room);
}

#[test]
fn a_user_who_let_a_seat_go_by_waits_for_the_next() {
    let mut world = world();
    let creation = Creation { empty_ms: 600_000, ..Creation::plain(4) };
    let room = create(&mut world, 1, creation).unwrap();
    world.wait(10_000 + LISTING_INTERVAL_MS);
    let quick_join = |world: &mut World, user: u32| {
        world.look_up(user, DirectoryAction::QuickJoin(Find::default())).map(|_| ()).map_err(|why| why.kind)
    };
    assert_eq!(quick_join(&mut world, 1), Err(ErrorKind::ResourceExhausted));
    assert_eq!(quick_join(&mut world, 2), Ok(()));
    world.wait(10_000 + RESERVATION_PAUSE_MS - 1);
    assert_eq!(quick_join(&mut world, 1), Err(ErrorKind::ResourceExhausted));
    world.wait(10_000 + RESERVATION_PAUSE_MS);
    assert_eq!(quick_join(&mut world, 1), Ok(()), "{room}");
}

#[test]
fn seats_are_held_for_a_user_in_few_rooms() {
    let mut world = World::new(1, 1, RoomsConfig::default());
    let make = |world: &mut World, player| {
        let creation = Creation { empty_ms: 600_000, ..Creation::plain(4) };
        create(world, player, creation).map_err(|why| why.kind)
    };
    let rooms: Vec<_> = (0..RESERVATIONS_PER_USER_MAX).map(|_| make(&mut world, 1).unwrap()).collect();
    assert_eq!(make(&mut world, 1), Err(ErrorKind::ResourceExhausted));
    assert_eq!(kind(world.place(1, "default", None)), Some(ErrorKind::ResourceExhausted));
    assert_eq!(world.occupancies().len(), rooms.len(), "no room was opened for a user who may not have a seat in it");
    assert_eq!(world.shards[0].stats().seats_refused, 2);
    make(&mut world, 2).unwrap();
    // Taking a seat, and letting one go by, make room for another.
    world.join(1, rooms[0]).unwrap();
    make(&mut world, 1).unwrap();
    assert!(make(&mut world, 1).is_err());
    world.wait(10_000);
    for _ in 0..RESERVATIONS_PER_USER_MAX {
        make(&mut world, 1).unwrap();
    }
}

#[test]
fn joining_again_changes_nothing_and_another_session_takes_over() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2], Creation::plain(2));
    world.ask(2, room, RoomAction::SetOwn(change(&[("ready", "true")], &[]))).unwrap();
    let private = Change { private: true, ..change(&[("cards", "[1]")], &[]) };
    world.ask(2, room, RoomAction::SetOwn(private)).unwrap();
    world.take_told();
    assert_eq!(joined(world.join(2, room)).seat, Some(2));
    assert_eq!((world.take_told(), world.streams[&room].len()), (vec![], 2));

    // The same user joins by another socket.
    let again = joined(world.join(100_002, room));
    assert_eq!((again.seat, shown(&again.state.members[1].variables).as_str()), (Some(2), "cards=[1] ready=true"));
    // The others are told of a new session and of the public variables that it took over from the first.
    let told = world.take_told();
    assert_eq!(told[0], (vec![2], RoomEvent::Out(LeaveReason::Replaced)));
    assert!(
        matches!(&told[1..], [(to, RoomEvent::PlayerVariables(who, delta))] if *to == [1, 100_002]
            && who.session_id == again.state.members[1].who.session_id && shown(&delta.set) == "ready=true"),
        "{told:?}"
    );
    assert_eq!(world.streams[&room], [1, 100_002].into());
    assert_eq!(kind(world.ask(2, room, RoomAction::Say(Arc::from("?")))), Some(ErrorKind::FailedPrecondition));
    // Closing the old socket does not free the seat.
    world.send_gone(2, room);
    world.settle();
    assert_eq!(look(&mut world, 1, room).members_total, 2);
}

#[test]
fn messages_reach_all_or_those_they_are_for() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2, 3], Creation::plain(8));
    world.ask(1, room, RoomAction::Say(Arc::from("hello"))).unwrap();
    world.ask(1, room, RoomAction::Whisper(vec![user(3), user(3)], Arc::from("psst"))).unwrap();
    let told = world.take_told();
    let (to, RoomEvent::Message(who, data)) = &told[0] else { panic!("{told:?}") };
    assert_eq!((&to[..], &**data, who.user_id), (&[1, 2, 3][..], "hello", user(1)));
    let (to, RoomEvent::Private(who, data)) = &told[1] else { panic!("{told:?}") };
    assert_eq!((&to[..], &**data, &*who.username), (&[3][..], "psst", "player-1"));

    let stranger = RoomAction::Whisper(vec![user(3), user(9)], Arc::from("psst"));
    assert_eq!(kind(world.ask(1, room, stranger)), Some(ErrorKind::NotFound));
    let long: Arc<str> = Arc::from("x".repeat(MESSAGE_BYTES_MAX + 1));
    for action in [
        RoomAction::Say(long.clone()),
        RoomAction::Whisper(vec![user(2)], long),
        RoomAction::Whisper(vec![], Arc::from("")),
        RoomAction::Whisper(vec![user(2); RECIPIENTS_MAX + 1], Arc::from("")),
    ] {
        assert_eq!(kind(world.ask(1, room, action)), Some(ErrorKind::InvalidArgument));
    }
    world.ask(1, room, RoomAction::Say(Arc::from("x".repeat(MESSAGE_BYTES_MAX)))).unwrap();
    assert_eq!(world.take_told().len(), 1);
}

#[test]
fn variables_travel_as_deltas() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2], Creation::plain(8));
    let set = RoomAction::SetVariables(change(&[("round", "1"), ("map", "\"x\"")], &[]));
    assert!(matches!(world.ask(2, room, set.clone()).unwrap(), RoomAnswer::Version(1)));
    assert!(matches!(world.ask(2, room, set).unwrap(), RoomAnswer::Version(1)));
    let private = RoomAction::SetVariables(Change { private: true, ..change(&[("round", "2")], &["map"]) });
    assert!(matches!(world.ask(2, room, private).unwrap(), RoomAnswer::Version(2)));
    let deltas: Vec<_> = world
        .take_told()
        .into_iter()
        .map(|(to, event)| match event {
            RoomEvent::Variables(_, delta) => (to, delta.version, shown(&delta.set), delta.unset.len()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(deltas, [(vec![1, 2], 1, "map=\"x\" round=1".to_owned(), 0), (vec![1, 2], 2, "round=2".to_owned(), 1)]);

    let other =
        |world: &mut World, player| kind(world.ask(player, room, RoomAction::SetVariables(change(&[], &["round"]))));
    world.join(3, room).unwrap();
    assert_eq!(other(&mut world, 3), Some(ErrorKind::PermissionDenied));
    assert_eq!(other(&mut world, 1), None);

    let own = Change { private: true, ..change(&[("cards", "[1]")], &[]) };
    world.take_told();
    world.ask(2, room, RoomAction::SetOwn(own)).unwrap();
    world.ask(2, room, RoomAction::SetOwn(change(&[("ready", "true")], &[]))).unwrap();
    let told = world.take_told();
    for (told, receivers, expect) in [(&told[0], &[2][..], "cards=[1]"), (&told[1], &[1, 2, 3], "ready=true")] {
        let (to, RoomEvent::PlayerVariables(_, delta)) = told else { panic!("{told:?}") };
        assert_eq!((&to[..], &*shown(&delta.set)), (receivers, expect));
    }
    let seen = |world: &mut World, player| shown(&look(world, player, room).members[1].variables);
    assert_eq!(
        (seen(&mut world, 2), seen(&mut world, 1)),
        ("cards=[1] ready=true".to_owned(), "ready=true".to_owned())
    );
}

#[test]
fn values_have_limits_of_number_and_size() {
    let mut world = world();
    let room = room_of(&mut world, &[1], Creation::plain(8));
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("v{n}")).collect();
        change(&names.iter().map(|name| (name.as_str(), "1")).collect::<Vec<_>>(), &[])
    };
    let update = |properties| RoomAction::Update(Box::new(Update { properties, ..Update::default() }));
    let exhausted = Some(ErrorKind::ResourceExhausted);
    for (action, expect) in [
        (RoomAction::SetVariables(many(ROOM_VARIABLES_MAX + 1)), exhausted),
        (RoomAction::SetVariables(many(ROOM_VARIABLES_MAX)), None),
        (RoomAction::SetOwn(many(PLAYER_VARIABLES_MAX + 1)), exhausted),
        (RoomAction::SetOwn(many(PLAYER_VARIABLES_MAX)), None),
        (update(many(PROPERTIES_MAX + 1)), exhausted),
        (update(many(PROPERTIES_MAX)), None),
    ] {
        assert_eq!(kind(world.ask(1, room, action)), expect);
    }
    let text = format!("\"{}\"", "x".repeat(1_990));
    let big: Vec<String> = (0..ROOM_VALUES_BYTES_MAX / 2_000 + 1).map(|n| format!("v{n}")).collect();
    let big = change(&big.iter().map(|name| (name.as_str(), text.as_str())).collect::<Vec<_>>(), &[]);
    assert_eq!(kind(world.ask(1, room, RoomAction::SetVariables(big))), exhausted);
}

#[test]
fn the_owner_throws_out_and_keeps_out_for_a_time() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2, 3], Creation::plain(3));
    let kick = |user_of, bar_ms| RoomAction::Kick(user(user_of), bar_ms);
    assert_eq!(kind(world.ask(2, room, kick(3, 0))), Some(ErrorKind::PermissionDenied));
    assert_eq!(kind(world.ask(1, room, kick(1, 0))), Some(ErrorKind::InvalidArgument));
    assert_eq!(kind(world.ask(1, room, kick(9, 0))), Some(ErrorKind::NotFound));
    assert_eq!(kind(world.ask(1, room, kick(2, BAR_MS_MAX + 1))), Some(ErrorKind::InvalidArgument));

    world.ask(1, room, kick(2, 5_000)).unwrap();
    assert_eq!(world.take_told(), [(vec![2], RoomEvent::Out(LeaveReason::Kicked))]);
    assert_eq!(world.streams[&room], [1, 3].into());
    assert_eq!(kind(world.join(2, room)), Some(ErrorKind::PermissionDenied));
    world.wait(5_000);
    world.join(2, room).unwrap();
    world.ask(1, room, kick(2, 0)).unwrap();
    world.join(2, room).unwrap();
}

#[test]
fn a_room_keeps_out_a_bounded_number_of_users() {
    let mut world = world();
    let room = room_of(&mut world, &[1], Creation::plain(2));
    for player in 2..2 + BARRED_MAX as u32 {
        world.join(player, room).unwrap();
        world.ask(1, room, RoomAction::Kick(user(player), 1_000)).unwrap();
    }
    let one_more = 2 + BARRED_MAX as u32;
    world.join(one_more, room).unwrap();
    assert_eq!(kind(world.ask(1, room, RoomAction::Kick(user(one_more), 1_000))), Some(ErrorKind::ResourceExhausted));
    world.wait(1_000);
    world.ask(1, room, RoomAction::Kick(user(one_more), 1_000)).unwrap();
}

#[test]
fn spectators_have_no_seat_and_may_take_one() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2], Creation { spectators_max: 1, ..Creation::plain(2) });
    let watch = Entry { spectator: true, ..Entry::default() };
    assert_eq!(joined(world.join_by(3, room, watch)).seat, None);
    assert_eq!(kind(world.join_by(4, room, watch)), Some(ErrorKind::ResourceExhausted));
    let set = RoomAction::SetVariables(change(&[("a", "1")], &[]));
    assert_eq!(kind(world.ask(3, room, set)), Some(ErrorKind::PermissionDenied));
    assert_eq!(kind(world.ask(3, room, RoomAction::Spectate(false))), Some(ErrorKind::ResourceExhausted));
    assert_eq!(kind(world.ask(1, room, RoomAction::Spectate(true))), Some(ErrorKind::ResourceExhausted));

    world.send_gone(2, room);
    world.settle();
    world.ask(3, room, RoomAction::Spectate(false)).unwrap();
    world.take_told();
    // The owner becomes a spectator, so the room gets another owner.
    world.ask(1, room, RoomAction::Spectate(true)).unwrap();
    let told = world.take_told();
    assert!(matches!(&told[0].1, RoomEvent::Seat(who, None) if who.user_id == user(1)));
    assert_eq!(told[1].1, RoomEvent::Owner(Some(user(3))));
    let summary = look(&mut world, 1, room).summary;
    assert_eq!((summary.players, summary.free, summary.spectators), (1, 1, 1));
}

#[test]
fn nobody_outside_sees_values_of_a_hidden_room_with_a_password() {
    let mut world = world();
    for (is_hidden, is_locked) in [(true, true), (true, false), (false, true), (false, false)] {
        let room = world.fresh_room();
        let password = is_locked.then(|| PasswordDigest::new(room, "right").unwrap());
        let creation = Creation {
            hidden: is_hidden,
            password,
            properties: change(&[("rules", "1")], &[]),
            variables: change(&[("card", "7")], &[]),
            ..Creation::plain(2)
        };
        world.ask(1, room, RoomAction::Create(Box::new(creation))).unwrap();
        world.join(1, room).unwrap();
        let shown = |world: &mut World, player| {
            let state = look(world, player, room);
            let Summary { properties, variables, locked, .. } = state.summary;
            assert_eq!(locked, is_locked);
            (properties.len(), variables.len(), state.version)
        };
        let inside = shown(&mut world, 1);
        assert_eq!((inside.0, inside.1), (1, 1));
        let outside = if is_hidden && is_locked { (0, 0, 0) } else { inside };
        assert_eq!(shown(&mut world, 2), outside, "hidden: {is_hidden}, locked: {is_locked}");
    }
}
