//! Matches of the matchmaker of which game code says where their players go, before the players are told.
//!
//! The pool's owner holds such a match until the answer is here, which always comes. Until then it has told nobody, so that
//! for all others the tickets still wait: if the owner dies, the next one goes on with them, and an answer that comes after
//! that is of no use any more. A pool that is on its way to another living owner goes when all answers are here.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::ids::SessionId;

use super::Plane;
use super::effect::{Effect, Effects};
use super::message::Down;
use super::pool::Matched;
use crate::matchmaker::{Match, MemberKey};
use crate::session::Millis;
use crate::stream::SessionRef;

/// The number of a match that game code is asked of, at the place that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskedMatch(u64);

/// The matches that are held.
#[derive(Default)]
pub(super) struct AskedMatches {
    held: BTreeMap<AskedMatch, Matched>,
}

impl AskedMatches {
    /// A session goes on elsewhere, and is to be told there.
    pub(super) fn rebind(&mut self, session_id: SessionId, to: SessionRef) {
        let tickets = self.held.values_mut().flat_map(|found| found.tickets.iter_mut().chain(&mut found.dropped));
        let members = tickets.flat_map(|ticket| &mut ticket.members);
        for member in members.filter(|member| member.key == MemberKey::Session(session_id)) {
            member.presence.session = to;
        }
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }
}

impl Plane {
    /// Whether game code is asked of each match from now on. What is asked is in [`Effect::AskOfMatch`], and what it
    /// says is for [`Self::match_answered`].
    pub fn ask_of_matches(&mut self, is_asked: bool) {
        self.asks_of_matches = is_asked;
    }

    /// A match of which game code is asked; `None` if its players will not be told of it by this place any more.
    pub fn asked_match(&self, asked: AskedMatch) -> Option<&Matched> {
        self.pool.asked.held.get(&asked)
    }

    /// Game code has said where the players of a match go: to a match of its own by this public id, or where players go
    /// without game code.
    pub fn match_answered(&mut self, now: Millis, asked: AskedMatch, match_id: Option<Arc<str>>, out: &mut Effects) {
        if let Some(found) = self.pool.asked.held.remove(&asked) {
            self.announce(now, Match { match_id, ..found }, out);
            self.hand_over(now, out);
        }
    }

    /// What a pass has found is to be told, or asked of game code before.
    pub(super) fn found(&mut self, now: Millis, found: Matched, out: &mut Effects) {
        if !self.asks_of_matches {
            return self.announce(now, found, out);
        }
        // Numbers are never given twice: an answer may be of a pool that this place does not own any more.
        self.last_asked_match += 1;
        let asked = AskedMatch(self.last_asked_match);
        self.pool.asked.held.insert(asked, found);
        out.push(Effect::AskOfMatch(asked));
    }

    /// Has players told of a match, and places that tickets are no more.
    fn announce(&mut self, now: Millis, found: Matched, out: &mut Effects) {
        self.note_tickets(now, found.tickets.iter().chain(&found.dropped).map(|ticket| &**ticket));
        if self.local.routes.is_of_cluster() {
            for (SessionRef { place, key: session }, ticket) in found.bereft() {
                self.local.down(place, Down::Ticket { session, ticket, is_on: false }, out);
            }
        }
        out.push(Effect::Matched(Box::new(found)));
    }
}
