//! Making, changing and closing rooms, and placing players in them.

use std::sync::Arc;

use muster_domain::{ErrorKind, Result};

use super::super::limits::{
    CAPACITY_MAX, MEMBERS_LISTED_MAX, PASSWORD_ATTEMPTS_MAX, PASSWORD_PAUSE_MS, ROOM_NAME_BYTES_MAX, SPECTATORS_MAX,
};
use super::super::{
    CloseCause, Creation, Entry, PasswordDigest, RoomAction, RoomAnswer, RoomEvent, RoomsConfig, Template, Templates,
    Update,
};
use super::world::{World, user};

use super::members::{create, joined, kind, look, room_of, world};

#[test]
fn locked_rooms_want_their_password() {
    let mut world = world();
    let room = world.fresh_room();
    let digest = |text: &str| PasswordDigest::new(room, text).ok();
    let creation = Creation { password: digest("sesame"), ..Creation::plain(8) };
    world.ask(1, room, RoomAction::Create(Box::new(creation))).unwrap();
    // The maker of the room holds a seat.
    world.join(1, room).unwrap();
    assert!(look(&mut world, 2, room).summary.locked);
    let mut join = |player, password| kind(world.join_by(player, room, Entry { password, spectator: false }));
    assert_eq!(join(2, None), Some(ErrorKind::PermissionDenied));
    for _ in 0..PASSWORD_ATTEMPTS_MAX {
        assert_eq!(join(2, digest("barley")), Some(ErrorKind::PermissionDenied));
    }
    assert_eq!(join(2, digest("sesame")), Some(ErrorKind::ResourceExhausted));
    assert_eq!(join(3, digest("sesame")), None);
    world.wait(PASSWORD_PAUSE_MS);
    let mut join = |player, password| kind(world.join_by(player, room, Entry { password, spectator: false }));
    assert_eq!(join(2, digest("sesame")), None);

    let unlock = Update { password: Some(None), ..Update::default() };
    world.ask(1, room, RoomAction::Update(Box::new(unlock))).unwrap();
    world.join(4, room).unwrap();
}

#[test]
fn the_owner_changes_what_the_room_is_like() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2, 3], Creation { spectators_max: 1, ..Creation::plain(3) });
    let update = |update: Update| RoomAction::Update(Box::new(update));
    let closed = Update { open: Some(false), name: Some(Arc::from("Late night")), ..Update::default() };
    assert_eq!(kind(world.ask(2, room, update(closed.clone()))), Some(ErrorKind::PermissionDenied));
    world.ask(1, room, update(closed)).unwrap();
    let told = world.take_told();
    assert!(matches!(&told[0].1, RoomEvent::Updated(room) if !room.open && &*room.name == "Late night"));
    world.send_gone(3, room);
    world.settle();
    assert_eq!(kind(world.join(4, room)), Some(ErrorKind::FailedPrecondition));

    let invalid = Some(ErrorKind::InvalidArgument);
    for (change, expect) in [
        (Update { capacity: Some(1), ..Update::default() }, invalid),
        (Update { capacity: Some(0), ..Update::default() }, invalid),
        (Update { capacity: Some(CAPACITY_MAX + 1), ..Update::default() }, invalid),
        (Update { spectators_max: Some(SPECTATORS_MAX + 1), ..Update::default() }, invalid),
        (Update { name: Some(Arc::from("x".repeat(ROOM_NAME_BYTES_MAX + 1))), ..Update::default() }, invalid),
        (Update { capacity: Some(2), open: Some(true), ..Update::default() }, None),
    ] {
        assert_eq!(kind(world.ask(1, room, update(change))), expect);
    }
    assert_eq!(kind(world.join(4, room)), Some(ErrorKind::ResourceExhausted));
}

#[test]
fn a_room_placed_in_keeps_its_size_and_takes_no_password() {
    let mut world = world();
    let RoomAnswer::Reserved(held) = world.place(1, "default", None).unwrap() else { panic!() };
    let room = held.room.id;
    world.join(1, room).unwrap();
    for update in [
        Update { capacity: Some(5), ..Update::default() },
        Update { password: Some(PasswordDigest::new(room, "x").ok()), ..Update::default() },
    ] {
        assert_eq!(kind(world.ask(1, room, RoomAction::Update(Box::new(update)))), Some(ErrorKind::InvalidArgument));
    }
    let place = |world: &mut World, player| match world.place(player, "default", None).unwrap() {
        RoomAnswer::Reserved(held) => held.room.id,
        other => panic!("{other:?}"),
    };
    assert_eq!(place(&mut world, 2), room);
    let close = Update { open: Some(false), ..Update::default() };
    world.ask(1, room, RoomAction::Update(Box::new(close))).unwrap();
    assert_ne!(place(&mut world, 3), room);
    // A player who holds a seat still gets it.
    world.join(2, room).unwrap();
}

#[test]
fn rooms_that_players_filled_otherwise_turn_the_placed_away_to_others() {
    let templates = Templates::new([Template { sizes: (2, 2), ..Template::new("duel") }]);
    let mut world = World::new(4, 7, RoomsConfig { templates, ..RoomsConfig::default() });
    let placed = |answer: Result<RoomAnswer>| match answer.unwrap() {
        RoomAnswer::Reserved(held) => held.room.id,
        other => panic!("{other:?}"),
    };
    let room = placed(world.place(1, "duel", None));
    // One player joins by the room's id while another is being placed there.
    let request = world.send_place(2, "duel", None);
    world.send_join(3, room, Entry::default());
    world.settle();
    let other = placed(world.replies.remove(&request).unwrap());
    assert!(world.occupancies().values().all(|(taken, capacity)| taken <= capacity));
    assert_eq!(world.occupancies()[&room].0, 2);
    assert!(other == room || world.occupancies()[&other].0 == 1);
    assert_eq!(kind(world.place(4, "duel", Some(3))), Some(ErrorKind::InvalidArgument));
    assert_eq!(kind(world.place(4, "chess", None)), Some(ErrorKind::NotFound));
}

#[test]
fn rooms_close_when_they_are_empty_for_long_enough_or_too_old() {
    let mut world = world();
    let room = room_of(&mut world, &[1, 2], Creation { empty_ms: 1_000, life_ms: Some(5_000), ..Creation::plain(2) });
    for player in [1, 2] {
        world.send_gone(player, room);
    }
    world.settle();
    world.wait(999);
    assert_eq!(joined(world.join(2, room)).state.summary.owner, Some(user(2)));
    world.wait(4_999);
    world.take_told();
    world.wait(5_000);
    assert_eq!(world.take_told(), [(vec![2], RoomEvent::Closed(CloseCause::Expired))]);
    assert!(world.occupancies().is_empty() && world.streams[&room].is_empty());

    let room = room_of(&mut world, &[1], Creation::plain(2));
    world.send_gone(1, room);
    world.settle();
    assert!(world.occupancies().is_empty());
    assert!(world.shards.iter().all(|rooms| rooms.stats().rooms == 0));
}

#[test]
fn one_makes_a_bounded_number_of_rooms_and_a_shard_keeps_one() {
    let config = RoomsConfig { rooms_max: 3, rooms_per_creator_max: 2, ..RoomsConfig::default() };
    let mut world = World::new(1, 1, config);
    let keep = || Creation { empty_ms: 20_000, ..Creation::plain(2) };
    let first = create(&mut world, 1, keep()).unwrap();
    create(&mut world, 1, keep()).unwrap();
    let exhausted = Some(ErrorKind::ResourceExhausted);
    assert_eq!(create(&mut world, 1, keep()).err().map(|error| error.kind), exhausted);
    create(&mut world, 2, keep()).unwrap();
    assert_eq!(create(&mut world, 2, keep()).err().map(|error| error.kind), exhausted);
    assert_eq!(kind(world.place(3, "default", None)), exhausted);
    assert_eq!(world.shards[0].stats().limited, 3);
    assert_eq!(kind(world.ask(2, first, RoomAction::Create(Box::new(keep())))), Some(ErrorKind::AlreadyExists));
    // The rooms are empty, and close ten seconds after the reservations have ended.
    world.wait(30_000);
    create(&mut world, 1, keep()).unwrap();
}

#[test]
fn a_large_room_lists_a_part_of_its_members() {
    let mut world = world();
    let players: Vec<u32> = (1..=MEMBERS_LISTED_MAX as u32 + 5).collect();
    let room = room_of(&mut world, &players, Creation::plain(1_000));
    let state = look(&mut world, 1, room);
    assert_eq!((state.members.len(), state.members_total), (MEMBERS_LISTED_MAX, MEMBERS_LISTED_MAX + 5));
}

#[test]
fn impossible_rooms_are_not_made() {
    let mut world = world();
    for creation in [
        Creation::plain(0),
        Creation::plain(CAPACITY_MAX + 1),
        Creation { spectators_max: SPECTATORS_MAX + 1, ..Creation::plain(2) },
        Creation { name: Arc::from("x".repeat(ROOM_NAME_BYTES_MAX + 1)), ..Creation::plain(2) },
    ] {
        assert_eq!(create(&mut world, 1, creation).err().map(|error| error.kind), Some(ErrorKind::InvalidArgument));
    }
    assert_eq!(world.shards.iter().map(|rooms| rooms.stats().rooms).sum::<usize>(), 0);
}
