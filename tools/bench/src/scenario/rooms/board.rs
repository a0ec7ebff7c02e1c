//! The players of this process by room and, if the server does not place players, the free seats.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::resident::Resident;

/// Random number of seats of a room unless the command line gives one, as in SmartFoxServer's published test.
const SEATS: std::ops::RangeInclusive<usize> = 3..=8;

/// A server, and a room's id as its messages name it.
type RoomKey = (usize, String);

#[derive(Default)]
pub struct Board {
    members: RefCell<HashMap<RoomKey, Vec<Rc<Resident>>>>,
    /// Rooms that the generator fills, oldest first.
    seats: RefCell<Vec<Seats>>,
}

struct Seats {
    name: String,
    lane: usize,
    capacity: usize,
    taken: usize,
}

impl Board {
    /// Takes a seat in the oldest room of this lane that has one free, or opens the next room. Returns the room's name
    /// and number of seats.
    pub fn take_seat(
        &self,
        lane: usize,
        size: Option<usize>,
        random: &mut fastrand::Rng,
        name: impl FnOnce(usize) -> String,
    ) -> (String, usize) {
        let mut seats = self.seats.borrow_mut();
        let free = seats.iter().position(|room| room.lane == lane && room.taken < room.capacity);
        let index = free.unwrap_or_else(|| {
            let capacity = size.unwrap_or_else(|| random.usize(SEATS));
            let name = name(seats.len());
            seats.push(Seats { name, lane, capacity, taken: 0 });
            seats.len() - 1
        });
        seats[index].taken += 1;
        (seats[index].name.clone(), seats[index].capacity)
    }

    pub fn free_seat(&self, name: &str) {
        if let Some(room) = self.seats.borrow_mut().iter_mut().find(|room| room.name == name) {
            room.taken -= 1;
        }
    }

    /// Adds a resident to its room. Returns those who were there before.
    pub fn enter(&self, resident: &Rc<Resident>) -> Vec<Rc<Resident>> {
        let mut members = self.members.borrow_mut();
        let members = members.entry(key(resident)).or_default();
        let before = members.clone();
        members.push(resident.clone());
        before
    }

    pub fn leave(&self, resident: &Resident) {
        let mut all = self.members.borrow_mut();
        if let Some(members) = all.get_mut(&key(resident)) {
            members.retain(|member| member.number != resident.number);
            if members.is_empty() {
                all.remove(&key(resident));
            }
        }
    }

    pub fn rooms_len(&self) -> usize {
        self.members.borrow().len()
    }
}

fn key(resident: &Resident) -> RoomKey {
    (resident.lane, resident.room.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_fill_one_after_the_other() {
        let board = Board::default();
        let mut random = fastrand::Rng::with_seed(1);
        let mut take = |lane| board.take_seat(lane, Some(2), &mut random, |number| format!("room {number}")).0;
        assert_eq!([take(0), take(0), take(0), take(1), take(0)], ["room 0", "room 0", "room 1", "room 2", "room 1"]);
        board.free_seat("room 0");
        assert_eq!([take(0), take(0)], ["room 0", "room 3"]);
    }

    #[test]
    fn rooms_have_three_to_eight_seats() {
        let board = Board::default();
        let mut random = fastrand::Rng::with_seed(1);
        let capacities: Vec<usize> =
            (0..1_000).map(|lane| board.take_seat(lane, None, &mut random, |number| number.to_string()).1).collect();
        assert!((3..=8).all(|capacity| capacities.contains(&capacity)));
        assert!(capacities.iter().all(|capacity| SEATS.contains(capacity)));
    }
}
