//! The content of a ticket: what it asks for and offers, and whether a match fits it.

use std::collections::BTreeMap;

use muster_wire::realtime::matchmaker_matched::MatchmakerUser;
use muster_wire::realtime::{MatchmakerAdd, MatchmakerMatched};

use crate::load::Fault;

const MODE: &str = "mode";
const RANK: &str = "rank";
const DUEL: &str = "duel";
const SQUAD: &str = "squad";
/// Ranks of tickets that can be matched, and the largest difference: two tickets may be matched if their ranks are no
/// further apart.
const RANKS: std::ops::Range<u32> = 100..200;
const RANK_REACH: u32 = 20;
/// Ranks below and above all others, which standing tickets offer and ask for.
const RANK_OF_NOBODY: u32 = 0;
const RANK_OUT_OF_REACH: u32 = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    mode: &'static str,
    rank: u32,
    rank_least: u32,
    size_max: usize,
}

impl Wish {
    /// A wish for one opponent, or for one to three.
    pub fn new(duels_percent: f64, random: &mut fastrand::Rng) -> Self {
        let is_duel = random.f64() * 100.0 < duels_percent;
        let (mode, size_max) = if is_duel { (DUEL, 2) } else { (SQUAD, 4) };
        let rank = random.u32(RANKS);
        Self { mode, rank, rank_least: rank - RANK_REACH, size_max }
    }

    /// A wish that is compatible with no other, which only its rank shows.
    pub fn standing() -> Self {
        Self { mode: DUEL, rank: RANK_OF_NOBODY, rank_least: RANK_OUT_OF_REACH, size_max: 2 }
    }

    pub fn request(&self) -> MatchmakerAdd {
        MatchmakerAdd {
            min_count: 2,
            max_count: i32::try_from(self.size_max).unwrap_or(i32::MAX),
            query: format!("+properties.{MODE}:{} +properties.{RANK}:>={}", self.mode, self.rank_least),
            string_properties: BTreeMap::from([(MODE.to_owned(), self.mode.to_owned())]),
            numeric_properties: BTreeMap::from([(RANK.to_owned(), f64::from(self.rank))]),
            count_multiple: None,
        }
    }

    /// Whether each of the two asks for what the other offers.
    pub fn is_compatible(&self, other: &Self) -> bool {
        self.mode == other.mode && self.rank >= other.rank_least && other.rank >= self.rank_least
    }

    /// Checks a match for one member. If every member's check succeeds, the match is right.
    pub fn check(&self, own_user: &str, matched: &MatchmakerMatched) -> Result<(), Fault> {
        let users = &matched.users;
        if !(2..=self.size_max).contains(&users.len()) {
            return Err(Fault::Wrong("size of a match"));
        }
        if matched.id.is_none() {
            return Err(Fault::Wrong("a match without a way in"));
        }
        let ids: Vec<_> = users.iter().map(user_id).collect();
        if ids.iter().enumerate().any(|(index, id)| ids[..index].contains(id)) {
            return Err(Fault::Wrong("a player matched with itself"));
        }
        let Some(own) = users.iter().find(|user| user_id(user) == own_user) else {
            return Err(Fault::Wrong("a match of others"));
        };
        let offers = |user: &MatchmakerUser| {
            let mode = user.string_properties.get(MODE).map(String::as_str).unwrap_or_default().to_owned();
            (mode, user.numeric_properties.get(RANK).copied().unwrap_or(f64::NAN))
        };
        if offers(own) != (self.mode.to_owned(), f64::from(self.rank)) {
            return Err(Fault::Wrong("properties of a ticket"));
        }
        let fits =
            |user| matches!(offers(user), (mode, rank) if mode == self.mode && rank >= f64::from(self.rank_least));
        if users.iter().filter(|user| user_id(user) != own_user).all(fits) {
            Ok(())
        } else {
            Err(Fault::Wrong("a match that a member did not ask for"))
        }
    }
}

/// The user's id; empty if the server gave none.
pub fn user_id(user: &MatchmakerUser) -> &str {
    user.presence.as_ref().map(|presence| presence.user_id.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use muster_wire::realtime::UserPresence;
    use muster_wire::realtime::matchmaker_matched::Id;

    use super::*;

    fn wish(mode: &'static str, rank: u32) -> Wish {
        Wish { mode, rank, rank_least: rank - RANK_REACH, size_max: if mode == DUEL { 2 } else { 4 } }
    }

    fn check(own: Wish, others: &[Wish]) -> String {
        let user = |(number, wish): (usize, &Wish)| MatchmakerUser {
            presence: Some(UserPresence { user_id: format!("u{number}"), ..UserPresence::default() }),
            party_id: String::new(),
            string_properties: wish.request().string_properties,
            numeric_properties: wish.request().numeric_properties,
        };
        let all = [&[own], others].concat();
        let users = all.iter().enumerate().map(user).collect();
        let matched = MatchmakerMatched { users, id: Some(Id::Token("t".into())), ..MatchmakerMatched::default() };
        own.check("u0", &matched).map_or_else(|fault| fault.to_string(), |()| "fits".to_owned())
    }

    #[test]
    fn matches_are_judged_from_each_side() {
        assert_eq!(check(wish(DUEL, 150), &[wish(DUEL, 130)]), "fits");
        let unwanted = "wrong answer: a match that a member did not ask for";
        assert_eq!(check(wish(DUEL, 150), &[wish(DUEL, 129)]), unwanted);
        assert_eq!(check(wish(DUEL, 129), &[wish(DUEL, 150)]), "fits", "only one of the two minds");
        assert_eq!(check(wish(DUEL, 150), &[wish(SQUAD, 150)]), unwanted);
        let squad = [wish(SQUAD, 150); 4];
        assert_eq!(check(wish(SQUAD, 150), &squad[..3]), "fits");
        assert_eq!(check(wish(SQUAD, 150), &squad), "wrong answer: size of a match");
        assert_eq!(check(wish(SQUAD, 150), &[]), "wrong answer: size of a match");
    }

    #[test]
    fn standing_tickets_fit_nobody() {
        for rank in RANKS {
            assert!(!Wish::standing().is_compatible(&wish(DUEL, rank)));
        }
        assert!(!Wish::standing().is_compatible(&Wish::standing()));
        assert!(wish(DUEL, 150).is_compatible(&wish(DUEL, 170)));
        assert!(!wish(DUEL, 150).is_compatible(&wish(DUEL, 171)));
    }
}
