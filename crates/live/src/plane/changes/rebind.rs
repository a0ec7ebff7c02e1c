//! Binding of sessions that move to their new places, by the owners of their streams. For the others on a stream such a
//! session never leaves, so they are told nothing of the move.

use crate::matches::LeaveReason;
use crate::place::Place;
use crate::plane::message::{Down, Rebind, RequestRef, Standing};
use crate::plane::owners::Owning;
use crate::plane::owners::rebuilding::PART_MAX;
use crate::plane::owners::rosters::RosterCause;
use crate::plane::owners::things::Things;
use crate::stream::{Encoding, SessionRef, StreamKey};

impl Things {
    /// Binds a session to its new place. The new place gets [`Down::Arrived`] before any further message of the stream;
    /// the former place gets [`Down::Rebound`] behind all messages of the stream that were sent to it. If the new place
    /// has gone, the session leaves the stream instead.
    pub(crate) fn rebind(&mut self, owning: &mut Owning<'_>, request: RequestRef, rebind: Rebind) {
        let Rebind { from, to, standing } = rebind;
        let stream = standing.stream.clone();
        // Joins and leaves that were kept back are told now, while the session still hears them at its former place:
        // the roster of the new place shows them already.
        owning.tell_all_kept(&stream);
        let standing = if owning.sessions.is_there(to.place) {
            self.rebind_here(owning, from, to, standing)
        } else {
            // The new place has gone, and the session with it.
            let listened = standing.listener.filter(|_| !standing.by_join);
            let heard = listened.map(|listener| listener.encoding);
            self.depart(owning, &stream, from, heard, LeaveReason::Disconnected);
            self.unheard(owning, &stream);
            None
        };
        let rebound = Down::Rebound { request: request.id, stream, session: from.key, standing };
        owning.down(from.place, rebound);
    }

    fn rebind_here(
        &mut self,
        owning: &mut Owning<'_>,
        from: SessionRef,
        to: SessionRef,
        standing: Standing,
    ) -> Option<Standing> {
        let Standing { stream, presence, listener, by_join, latest } = standing;
        let here = owning.rebind_presence(&stream, from, to);
        let listened = listener.filter(|_| !by_join).map(|listener| listener.encoding);
        let heard = listened.or(here.flatten());
        let shown = presence.as_ref().filter(|_| here.is_some());
        let things = self.of_mode(stream.mode);
        let may_enter = things.is_some_and(|things| things.rebind(owning, &stream, from, to, shown));
        let is_known = here.is_some() || may_enter;
        if !is_known && listened.is_none() {
            return None;
        }
        let presence = presence.filter(|_| is_known);
        let listener = listener.filter(|_| heard.is_some() || may_enter);
        let standing = Standing { stream: stream.clone(), presence, listener, by_join, latest };
        let arrived = Down::Arrived { session: to.key, standing: standing.clone(), hears: heard.is_some() };
        owning.down(to.place, arrived);
        if let (Some(listener), Some(encoding)) = (listener, heard) {
            if !owning.count_in(&stream, listener) {
                owning.remind(&stream, to.place);
            }
            owning.discount(&stream, from, encoding);
        }
        Some(standing)
    }
}

impl Owning<'_> {
    /// Moves the presence of a session to the session's new place. Answers `None` if the session is not on the stream,
    /// otherwise the encoding in which the session hears the stream by its join, if it does.
    fn rebind_presence(&mut self, stream: &StreamKey, from: SessionRef, to: SessionRef) -> Option<Option<Encoding>> {
        let known = self.streams.map.get_mut(stream)?;
        let heard = known.presences.rebind(from, to)?;
        known.news.rebind(from, to);
        Some(heard)
    }

    /// Sends the roster of a stream to a place once more. The place may have dropped its roster when the last session
    /// there stopped hearing the stream, and the owner may not have heard of that yet. A large roster is not sent
    /// again: it would cost too much for so rare a case.
    fn remind(&mut self, stream: &StreamKey, place: Place) {
        let known = self.streams.map.get(stream);
        let is_small = known.is_some_and(|known| known.presences.len() <= PART_MAX);
        if place.node() != self.sessions.me.node() && is_small {
            self.send_roster(stream, place, RosterCause::Begins);
        }
    }

    fn discount(&mut self, stream: &StreamKey, session: SessionRef, encoding: Encoding) {
        if let Some(stream) = self.streams.map.get_mut(stream) {
            stream.discount_listener(session.place, encoding, self.config.checks_itself);
        }
    }
}
