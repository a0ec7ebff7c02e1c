//! Matches of the matchmaker whose players are told only after game code has said where they go.
//!
//! The pool's owner holds such a match until the answer comes; an answer always comes. Until then nobody has been told,
//! so for all others the tickets still wait. If the owner dies, the next one goes on with the tickets, and a later
//! answer is dropped. A pool is handed over to another living owner only when all answers are here.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::ids::SessionId;

use super::owning::Owning;
use super::pool::OwnedPool;
use crate::matchmaker::{FoundMatch, MemberKey};
use crate::plane::Plane;
use crate::plane::effect::{AskedMatch, Effect, Effects, Matched};
use crate::plane::message::Down;
use crate::session::Millis;
use crate::stream::SessionRef;

/// The matches that wait for an answer of game code, and their numbers.
#[derive(Default)]
pub(crate) struct AskedMatches {
    open: BTreeMap<AskedMatch, Matched>,
    /// Whether game code is asked at all.
    is_asked: bool,
    /// The latest number that was given. No number is given twice: a late answer may be about a pool that this place no
    /// longer owns.
    last: u64,
}

impl AskedMatches {
    /// The numbers and settings without matches, for a pool that begins anew.
    pub(crate) fn of_next_pool(&self) -> Self {
        Self { open: BTreeMap::new(), is_asked: self.is_asked, last: self.last }
    }

    /// Notes that a session goes on elsewhere, and is to be told of its match there.
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
    /// Sets whether game code is asked about each match from now on, by [`Effect::AskOfMatch`]. The answers are for
    /// [`Self::match_answered`].
    pub fn ask_of_matches(&mut self, is_asked: bool) {
        self.owners.things.pool.asked.is_asked = is_asked;
    }

    /// A match that waits for an answer of game code; `None` if this place no longer has to tell the match's players.
    pub fn asked_match(&self, asked: AskedMatch) -> Option<&Matched> {
        self.owners.things.pool.asked.open.get(&asked)
    }

    /// Takes the answer of game code to the question where the players of a match go: to a match of its own with this
    /// public id, or, for `None`, where players go without game code.
    pub fn match_answered(&mut self, now: Millis, asked: AskedMatch, match_id: Option<Arc<str>>, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        if let Some(found) = things.pool.asked.open.remove(&asked) {
            owning.announce_match(FoundMatch { match_id, ..found });
            self.hand_over(now, out);
        }
    }
}

impl OwnedPool {
    /// Takes a match that a pass has found: has the players told at once, or has game code asked first.
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
    /// Has the players of a match told. The places of those who lose a ticket without being in the match are told that
    /// the ticket has ended.
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
