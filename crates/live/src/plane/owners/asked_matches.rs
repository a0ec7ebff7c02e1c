//! Matches of the matchmaker of which game code says where their players go, before the players are told.
//!
//! The pool's owner holds such a match until the answer is here, which always comes. Until then it has told nobody, so that
//! for all others the tickets still wait: if the owner dies, the next one goes on with them, and a later answer is of no use
//! any more. A pool that is on its way to another living owner goes when all answers are here.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::ids::SessionId;

use super::Owning;
use super::pool::{Matched, Pool};
use crate::matchmaker::{Match, MemberKey};
use crate::plane::Plane;
use crate::plane::effect::{Effect, Effects};
use crate::plane::message::Down;
use crate::session::Millis;
use crate::stream::SessionRef;

/// The number of a match of which game code is asked, at the place that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AskedMatch(u64);

/// The matches of which game code is asked.
#[derive(Default)]
pub(crate) struct AskedMatches {
    open: BTreeMap<AskedMatch, Matched>,
    /// Whether game code is asked at all.
    is_asked: bool,
    /// The last number that was given. None is given twice: an answer may be of a pool that this place does not own any more.
    last: u64,
}

impl AskedMatches {
    /// The same without matches, for a pool that begins anew.
    pub(crate) fn of_next_pool(&self) -> Self {
        Self { open: BTreeMap::new(), is_asked: self.is_asked, last: self.last }
    }

    /// A session goes on elsewhere, and is to be told there.
    pub(crate) fn rebind(&mut self, session_id: SessionId, to: SessionRef) {
        let tickets = self.open.values_mut().flat_map(|found| found.tickets.iter_mut().chain(&mut found.dropped));
        let members = tickets.flat_map(|ticket| &mut ticket.members);
        for member in members.filter(|member| member.key == MemberKey::Session(session_id)) {
            member.presence.session = to;
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

impl Plane {
    /// Says whether game code is asked of each match from now on, by [`Effect::AskOfMatch`]. Its answers are for
    /// [`Self::match_answered`].
    pub fn ask_of_matches(&mut self, is_asked: bool) {
        self.owners.things.pool.asked.is_asked = is_asked;
    }

    /// A match of which game code is asked; `None` if its players will not be told of it by this place any more.
    pub fn asked_match(&self, asked: AskedMatch) -> Option<&Matched> {
        self.owners.things.pool.asked.open.get(&asked)
    }

    /// Game code has said where the players of a match go: to a match of its own by this public id, or where players go
    /// without game code.
    pub fn match_answered(&mut self, now: Millis, asked: AskedMatch, match_id: Option<Arc<str>>, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        if let Some(found) = things.pool.asked.open.remove(&asked) {
            owning.announce_match(Match { match_id, ..found });
            self.hand_over(now, out);
        }
    }
}

impl Pool {
    /// A pass has found a match: players are told, or game code is asked before.
    pub(crate) fn found(&mut self, owning: &mut Owning<'_>, found: Matched) {
        if !self.asked.is_asked {
            return owning.announce_match(found);
        }
        self.asked.last += 1;
        let asked = AskedMatch(self.asked.last);
        self.asked.open.insert(asked, found);
        owning.out.push(Effect::AskOfMatch(asked));
    }
}

impl Owning<'_> {
    /// Has players told of a match, and places that tickets are no more.
    fn announce_match(&mut self, found: Matched) {
        self.note_tickets(found.tickets.iter().chain(&found.dropped).map(|ticket| &**ticket));
        if self.sessions.routes.is_of_cluster() {
            for (SessionRef { place, key: session }, ticket) in found.bereft() {
                self.down(place, Down::Ticket { session, ticket, is_on: false });
            }
        }
        self.out.push(Effect::Matched(Box::new(found)));
    }
}
