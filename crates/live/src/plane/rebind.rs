//! Sessions that go on at another place, as the owners of what they are on see it: nobody on it is told anything.

use super::message::{Down, RequestRef, Standing};
use super::moves::Rebind;
use super::owner::Owning;
use super::rebuild::{Cause, PART_MAX};
use super::recovery::Thing;
use crate::matches::{LeaveReason, MatchId};
use crate::party::PartyId;
use crate::place::Place;
use crate::rooms::RoomId;
use crate::stream::{Encoding, Presence, SessionRef, StreamKey, mode};

impl Owning<'_> {
    /// Tells the new place first: what comes of the stream from here on goes there. The former one hears of it behind all
    /// that was for it.
    pub(super) fn rebind(&mut self, request: RequestRef, rebind: Rebind) {
        let Rebind { from, to, standing } = rebind;
        let stream = standing.stream.clone();
        // What it was told is to be what its new place knows of the stream.
        self.tell_all_kept(&stream);
        let standing = if self.local.is_there(to.place) {
            self.rebind_here(from, to, standing)
        } else {
            // The session has gone with its new place.
            let listened = standing.listener.filter(|_| !standing.by_join);
            let heard = listened.map(|listener| listener.encoding);
            self.depart(&stream, from, heard, LeaveReason::Disconnected);
            self.drop_unheard(&stream);
            None
        };
        let rebound = Down::Rebound { request: request.id, stream, session: from.key, standing };
        self.local.down(from.place, rebound, self.out);
    }

    fn rebind_here(&mut self, from: SessionRef, to: SessionRef, standing: Standing) -> Option<Standing> {
        let Standing { stream, presence, listener, by_join, latest } = standing;
        let here = self.rebind_presence(&stream, from, to, presence.as_ref());
        let listened = listener.filter(|_| !by_join).map(|listener| listener.encoding);
        let heard = listened.or(here.flatten());
        let may_enter = match stream.mode {
            mode::PARTY => self.parties.rebind(PartyId(stream.subject), from, to),
            mode::MATCH_AUTHORITATIVE => self.matches.rebind(MatchId(stream.subject), from, to),
            _ => false,
        };
        if may_enter && stream.mode == mode::PARTY {
            self.note_change(Thing::Party(PartyId(stream.subject)));
        }
        let is_known = here.is_some() || may_enter;
        if !is_known && listened.is_none() {
            return None;
        }
        let presence = presence.filter(|_| is_known);
        let listener = listener.filter(|_| heard.is_some() || may_enter);
        let standing = Standing { stream: stream.clone(), presence, listener, by_join, latest };
        let arrived = Down::Arrived { session: to.key, standing: standing.clone(), hears: heard.is_some() };
        self.local.down(to.place, arrived, self.out);
        if let (Some(listener), Some(encoding)) = (listener, heard) {
            if !self.count_in(&stream, listener) {
                self.remind(&stream, to.place);
            }
            self.discount(&stream, from, encoding);
        }
        Some(standing)
    }

    /// Answers in which encoding the session hears by its join, if it is there.
    fn rebind_presence(
        &mut self,
        stream: &StreamKey,
        from: SessionRef,
        to: SessionRef,
        presence: Option<&Presence>,
    ) -> Option<Option<Encoding>> {
        let known = self.streams.map.get_mut(stream)?;
        let heard = known.presences.rebind(from, to)?;
        known.news.rebind(from, to);
        if let (Some(room), Some(presence)) = (RoomId::of_stream(stream), presence) {
            self.rooms.rebind(room, presence.user_id, from, to);
            self.note_changed_rooms();
        }
        Some(heard)
    }

    /// Tells a place once more who is on a stream: of those who heard it there the last may have left, which is on its way,
    /// and the place knows no more who is there. A large stream would cost too much for so rare a case.
    fn remind(&mut self, stream: &StreamKey, place: Place) {
        let known = self.streams.map.get(stream);
        let is_small = known.is_some_and(|known| known.presences.len() <= PART_MAX);
        if place.node() != self.local.me.node() && is_small {
            self.send_roster(stream, place, Cause::Begins);
        }
    }

    fn discount(&mut self, stream: &StreamKey, session: SessionRef, encoding: Encoding) {
        if let Some(stream) = self.streams.map.get_mut(stream) {
            stream.discount_listener(session.place, encoding);
        }
    }
}
