//! The rule by which rooms of a template fill: while players only join, one room of each size after the other.

use std::collections::{BTreeMap, BTreeSet};

use muster_domain::UserId;

use crate::violation::{Check, Checked, ensure};

/// Number of part-filled rooms by template and size.
pub type PartFilled = BTreeMap<(usize, u32), usize>;

/// The part-filled rooms at the last rest, and the events since then that the rule depends on.
#[derive(Debug, Default)]
pub struct Filling {
    before: PartFilled,
    /// Whether anything but joins happened since the last check.
    is_disturbed: bool,
    /// Users who were placed. A user who is placed twice disturbs the rule, because the desk does not notice it.
    placed: BTreeSet<UserId>,
}

impl Filling {
    /// Notes that a user was placed.
    pub fn placed(&mut self, user: UserId) {
        self.is_disturbed |= !self.placed.insert(user);
    }

    /// Notes that a player left or was kicked, that a room was changed, or that a reservation ended unused.
    pub fn disturb(&mut self) {
        self.is_disturbed = true;
    }

    /// At rest, checks the rule, unless it was disturbed: of each size, one room may be part-filled, or as many as at
    /// the last rest.
    pub fn check(&mut self, now: PartFilled) -> Checked {
        let before = std::mem::replace(&mut self.before, now);
        if std::mem::take(&mut self.is_disturbed) {
            return Ok(());
        }
        for ((template, size), count) in &self.before {
            let was = before.get(&(*template, *size)).copied().unwrap_or_default();
            ensure(Check::Filling, *count <= was.max(1), || {
                format!("{count} rooms of template {template} and size {size} are part-filled, and {was} were")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use muster_domain::ids::Uuid;

    use super::*;

    fn user(number: u128) -> UserId {
        UserId(Uuid::from_u128(number))
    }

    #[test]
    fn a_second_part_filled_room_is_wrong_only_if_players_came_alone() {
        let rooms = |count| PartFilled::from([((0, 4), count)]);
        let mut filling = Filling::default();
        filling.placed(user(1));
        assert!(filling.check(rooms(1)).is_ok());
        filling.placed(user(2));
        assert!(filling.check(rooms(2)).is_err());
        filling.placed(user(2));
        assert!(filling.check(rooms(3)).is_ok(), "somebody was placed twice");
        filling.disturb();
        assert!(filling.check(rooms(4)).is_ok());
        assert!(filling.check(rooms(4)).is_ok());
        assert!(filling.check(rooms(5)).is_err());
    }
}
