//! The seats of a room: the taken ones, and those that are held for a user until a deadline.

use std::collections::{BTreeMap, VecDeque};

use muster_domain::UserId;

use super::carry::CarriedSeat;
use crate::session::Millis;

/// Seats numbered from 1 to the capacity. Never knows the users on them.
#[derive(Clone, Debug)]
pub(super) struct Seats {
    /// One bit for each seat, set when the seat is taken or held.
    words: Vec<u64>,
    capacity: u32,
    taken: u32,
}

impl Seats {
    pub(super) fn new(capacity: u32) -> Self {
        Self { words: vec![0; capacity.div_ceil(64) as usize], capacity, taken: 0 }
    }

    pub(super) fn capacity(&self) -> u32 {
        self.capacity
    }

    pub(super) fn taken(&self) -> u32 {
        self.taken
    }

    /// Takes the lowest free seat; `None` when there is none.
    pub(super) fn take(&mut self) -> Option<u32> {
        let (index, word) = self.words.iter_mut().enumerate().find(|(_, word)| **word != u64::MAX)?;
        let bit = word.trailing_ones();
        let seat = index as u32 * 64 + bit + 1;
        if seat > self.capacity {
            return None;
        }
        *word |= 1 << bit;
        self.taken += 1;
        Some(seat)
    }

    /// Takes one given seat, if it exists and is free.
    pub(super) fn occupy(&mut self, seat: u32) {
        let Some(index) = seat.checked_sub(1).filter(|_| seat <= self.capacity) else { return };
        let (index, bit) = (index / 64, index % 64);
        if let Some(word) = self.words.get_mut(index as usize).filter(|word| **word & 1 << bit == 0) {
            *word |= 1 << bit;
            self.taken += 1;
        }
    }

    /// Frees a taken seat.
    pub(super) fn free(&mut self, seat: u32) {
        let (index, bit) = ((seat - 1) / 64, (seat - 1) % 64);
        if let Some(word) = self.words.get_mut(index as usize) {
            debug_assert!(*word & 1 << bit != 0, "seat {seat} was not taken");
            *word &= !(1 << bit);
            self.taken -= 1;
        }
    }

    /// Changes the number of seats. Returns false, and does nothing, if a taken seat lies beyond the new number.
    pub(super) fn resize(&mut self, capacity: u32) -> bool {
        let highest = self.words.iter().rposition(|word| *word != 0).map_or(0, |index| {
            let word = self.words[index];
            index as u32 * 64 + u64::BITS - word.leading_zeros()
        });
        if highest > capacity {
            return false;
        }
        self.words.resize(capacity.div_ceil(64) as usize, 0);
        self.capacity = capacity;
        true
    }
}

/// A seat that is held for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) seat: u32,
    pub(super) until: Millis,
}

/// All reservations of a room. Every one lasts equally long, so their deadlines come in the order in which they were
/// made.
#[derive(Debug, Default)]
pub(super) struct Reservations {
    by_user: BTreeMap<UserId, Reservation>,
    /// Deadlines in order. An entry is stale when the user's reservation has another deadline.
    deadlines: VecDeque<(Millis, UserId)>,
}

impl Reservations {
    pub(super) fn get(&self, user: UserId) -> Option<Reservation> {
        self.by_user.get(&user).copied()
    }

    /// Holds a seat for a user. `until` must not be earlier than in any call before.
    pub(super) fn hold(&mut self, user: UserId, seat: u32, until: Millis) {
        self.by_user.insert(user, Reservation { seat, until });
        self.deadlines.push_back((until, user));
    }

    /// Removes a user's reservation. Its seat stays occupied: the caller gives it to the user or frees it.
    pub(super) fn remove(&mut self, user: UserId) -> Option<Reservation> {
        let removed = self.by_user.remove(&user);
        self.drop_stale();
        removed
    }

    /// Takes out one reservation whose deadline has passed, with its user. The caller frees its seat.
    pub(super) fn take_expired(&mut self, now: Millis) -> Option<(UserId, Reservation)> {
        self.drop_stale();
        let (_, user) = *self.deadlines.front().filter(|(until, _)| *until <= now)?;
        Some((user, self.remove(user)?))
    }

    /// The next deadline.
    pub(super) fn next_due(&self) -> Option<Millis> {
        self.deadlines.front().map(|(until, _)| *until)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_user.is_empty()
    }

    /// All reservations, in the order of their deadlines.
    pub(super) fn carried(&self, now: Millis) -> Vec<CarriedSeat> {
        let mut held: Vec<(Millis, UserId)> = self.deadlines.iter().copied().collect();
        held.dedup();
        let current = |(until, user_id): (Millis, UserId)| {
            let held = self.by_user.get(&user_id).filter(|held| held.until == until)?;
            Some(CarriedSeat { user_id, seat: held.seat, left_ms: until.saturating_sub(now) })
        };
        held.into_iter().filter_map(current).collect()
    }

    pub(super) fn of_carried(now: Millis, held: Vec<CarriedSeat>) -> Self {
        let mut reservations = Self::default();
        for CarriedSeat { user_id, seat, left_ms } in held {
            reservations.hold(user_id, seat, now.saturating_add(left_ms));
        }
        reservations
    }

    fn drop_stale(&mut self) {
        while let Some((until, user)) = self.deadlines.front() {
            if self.by_user.get(user).is_some_and(|held| held.until == *until) {
                return;
            }
            self.deadlines.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use muster_domain::ids::Uuid;

    use super::*;

    #[test]
    fn the_lowest_free_seat_is_taken() {
        for capacity in [1, 63, 64, 65, 200] {
            let mut seats = Seats::new(capacity);
            let taken: Vec<_> = std::iter::from_fn(|| seats.take()).collect();
            assert_eq!(taken, (1..=capacity).collect::<Vec<_>>());
            assert_eq!((seats.taken(), seats.take()), (capacity, None));
            seats.free(capacity);
            assert_eq!((seats.take(), seats.take()), (Some(capacity), None));
            seats.free(1);
            assert_eq!((seats.take(), seats.taken()), (Some(1), capacity));
        }
    }

    #[test]
    fn seats_in_use_are_not_cut_off() {
        let mut seats = Seats::new(70);
        for _ in 0..70 {
            seats.take();
        }
        (2..=69).for_each(|seat| seats.free(seat));
        assert!(!seats.resize(69));
        seats.free(70);
        assert!(seats.resize(1));
        assert_eq!((seats.capacity(), seats.take()), (1, None));
        assert!(seats.resize(130));
        assert_eq!((seats.take(), seats.taken()), (Some(2), 2));
    }

    #[test]
    fn reservations_end_at_their_last_deadline() {
        let user = |n| UserId(Uuid::from_u128(n));
        let mut held = Reservations::default();
        held.hold(user(1), 1, 10);
        held.hold(user(2), 2, 11);
        held.hold(user(1), 1, 20);
        assert_eq!(held.take_expired(10), None);
        assert_eq!(held.take_expired(11).map(|(holder, held)| (holder, held.seat)), Some((user(2), 2)));
        assert_eq!((held.take_expired(19), held.next_due()), (None, Some(20)));
        assert_eq!(held.remove(user(1)).map(|held| held.seat), Some(1));
        assert_eq!((held.take_expired(30), held.next_due()), (None, None));
        assert!(held.is_empty());
    }
}
