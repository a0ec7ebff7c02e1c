//! Rooms that move to another owner.

use std::sync::Arc;

use super::super::{CarriedRoom, CarriedRooms, CarriedSeat, Creation, RoomAction, RoomOwner, Rooms, RoomsConfig};
use super::members::{room_of, world};
use super::world::{World, user};

fn carry_out(world: &mut World) -> Vec<CarriedRooms> {
    let now = world.now;
    world.shards.iter_mut().flat_map(|rooms| rooms.carry_out(now, |_| true)).collect()
}

fn rooms() -> Rooms {
    Rooms::new(Arc::new(RoomsConfig::default()))
}

/// Number of taken seats, and of all seats, of each room.
fn occupancies(rooms: &Rooms) -> Vec<(u32, u32)> {
    rooms.rooms().map(|room| room.occupancy()).collect()
}

#[test]
fn nothing_of_a_room_is_due_before_all_of_it_is_there() {
    let mut world = world();
    let room = room_of(&mut world, &(1..=250).collect::<Vec<_>>(), Creation::plain(300));
    let mut parts = carry_out(&mut world);
    parts.retain(|part| part.owner() == RoomOwner::Room(room));
    assert_eq!(parts.len(), 4, "the room, and its members in pieces");
    let CarriedRooms::Room(carried) = &mut parts[0] else { panic!() };
    // A seat is held for a user who never comes.
    carried.held.push(CarriedSeat { user_id: user(900), seat: 299, left_ms: 10 });
    let (mut next, mut out) = (rooms(), Vec::new());
    for part in parts {
        assert_ne!(next.next_due(), Some(10));
        next.carry_in(0, part);
    }
    next.turn(9, &mut out);
    assert_eq!(occupancies(&next), [(251, 300)]);
    next.turn(10, &mut out);
    assert_eq!(occupancies(&next), [(250, 300)]);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "there are fewer awaited members of a room than go")]
fn more_members_than_were_announced_are_found() {
    let mut world = world();
    room_of(&mut world, &[1, 2], Creation::plain(4));
    let parts = carry_out(&mut world);
    let mut next = rooms();
    for part in parts {
        let part = match part {
            CarriedRooms::Room(room) => CarriedRooms::Room(Box::new(CarriedRoom { members: 1, ..*room })),
            other => other,
        };
        next.carry_in(0, part);
    }
}

#[test]
fn what_no_node_would_have_made_is_passed_over() {
    let mut world = world();
    room_of(&mut world, &[1], Creation::plain(4));
    let Some(CarriedRooms::Room(room)) = carry_out(&mut world).into_iter().next() else { panic!() };
    let mut next = rooms();
    next.carry_in(0, CarriedRooms::Room(Box::new(CarriedRoom { capacity: u32::MAX, ..(*room).clone() })));
    assert_eq!(next.rooms().count(), 0);
    let seat = |seat| CarriedSeat { user_id: user(seat), seat, left_ms: 5 };
    let held = vec![seat(0), seat(9), seat(u32::MAX), seat(2)];
    next.carry_in(0, CarriedRooms::Room(Box::new(CarriedRoom { held, ..*room })));
    assert_eq!(occupancies(&next), [(1, 4)]);
}

#[test]
fn a_creators_rooms_are_counted_where_they_are() {
    let config = RoomsConfig { rooms_per_creator_max: 2, ..RoomsConfig::default() };
    let mut world = World::new(1, 1, config);
    let made = [0, 1].map(|_| room_of(&mut world, &[1], Creation::plain(4)));
    let create = |world: &mut World| {
        let room = world.fresh_room();
        world.ask(1, room, RoomAction::Create(Box::new(Creation::plain(4)))).map(|_| ())
    };
    assert!(create(&mut world).is_err());
    let parts = carry_out(&mut world);
    assert!(create(&mut world).is_ok(), "none of {made:?} is here");
    let now = world.now;
    parts.into_iter().for_each(|part| world.shards[0].carry_in(now, part));
    assert!(create(&mut world).is_err());
}
