//! Moves of sessions from one place to another, as the two places see them.
//!
//! The new place expects the session under a key, and claims it from the place that has it. The former place asks the
//! owner of each of the session's streams to bind the session to the new place; from then on the stream's messages for
//! the session go there. When all owners have answered, the session itself follows. The death of such an owner, or of
//! one of the two places, ends the session.

use std::sync::Arc;

use crate::matches::LeaveReason;
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{Departed, Down, Reply, RequestRef, Standing, Up};
use crate::plane::sessions::session::Session;
use crate::registry::{SessionInfo, SessionKey};
use crate::session::Millis;
use crate::stream::{Encoding, SessionRef, StreamKey};

impl Plane {
    /// Opens a session whose state is to come from another place, by [`Self::settle`].
    pub fn expect(&mut self, info: SessionInfo, username: Arc<str>, encoding: Encoding) -> SessionKey {
        self.sessions.expect(info, Session::new(username, encoding))
    }

    /// Takes the state of an expected session. Answers whether the session may go on; if not, it is to be closed.
    pub fn settle(
        &mut self,
        now: Millis,
        key: SessionKey,
        info: SessionInfo,
        departed: Departed,
        out: &mut Effects,
    ) -> bool {
        let is_whole = self.sessions.settle(now, key, info, departed);
        self.leave_others(now, out);
        is_whole
    }

    /// Begins the move of a session to another place. Answers its streams: each is to be bound by [`Self::rebind`],
    /// before [`Self::take_departed`].
    pub fn depart(&mut self, key: SessionKey, to: SessionRef) -> Vec<StreamKey> {
        self.sessions.depart(key, to)
    }

    /// Asks the owner of a stream to bind a session that departs. The answer to `request` is [`Reply::Rebound`]. After
    /// any other answer the session may or may not be bound, and the caller may try again.
    pub fn rebind(&mut self, now: Millis, key: SessionKey, stream: &StreamKey, request: RequestRef, out: &mut Effects) {
        match self.sessions.rebind_of(key, stream) {
            Some(rebind) => {
                let owner = self.sessions.routes.owner(stream.partition());
                self.send_up(now, owner, Up::Rebind { request, rebind: Box::new(rebind) }, out);
            }
            None => out.reply(request.id, Reply::Rebound),
        }
    }

    /// Takes away a session whose streams are all bound elsewhere. `None` if the session cannot go on, and is to be
    /// closed.
    pub fn take_departed(&mut self, now: Millis, key: SessionKey) -> Option<Departed> {
        self.sessions.take_departed(now, key)
    }

    /// Sends the answer to a question that the plane handed out.
    pub fn answer(&mut self, request: RequestRef, reply: Reply, out: &mut Effects) {
        self.sessions.down(request.place, Down::Reply(request.id, reply), out);
    }

    /// Tells the owner of a stray's stream that the session is not here.
    pub(crate) fn send_stray_away(&mut self, now: Millis, stray: Standing, out: &mut Effects) {
        let Standing { stream, presence, listener, by_join, .. } = stray;
        let heard = listener.filter(|_| !by_join).map(|listener| listener.encoding);
        let owner = self.sessions.routes.owner(stream.partition());
        let up = match (presence, listener) {
            (Some(presence), _) => {
                Up::Leave { stream, session: presence.session, heard, reason: LeaveReason::Disconnected }
            }
            (None, Some(listener)) => Up::Unlisten { stream, listener, by_join },
            (None, None) => return,
        };
        self.send_up(now, owner, up, out);
    }
}
