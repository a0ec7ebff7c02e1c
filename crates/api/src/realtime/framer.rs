//! Events of the plane for sessions, as frames that are ready for sockets.

use std::cell::OnceCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use bytes::Bytes;
use muster_live::rooms::{self, LobbyDelta};
use muster_live::stream::{Payload, PresenceEvent, SharedPayload, mode};
use muster_live::{CloseReason, Encode, Encoding, Presence, StreamKey, matches, party};
use muster_wire::code::RealtimeCode;
use muster_wire::frame;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{self, MatchPresenceEvent};

use super::events::{Push, format, match_id, presence_event, user_presence};
use super::{notifications, parties};
use crate::context::App;

/// The key of the match's id in the context of an error that tells of the match's failure.
const MATCH_KEY: &str = "match_id";

/// Frames for sockets, in the protocol's form.
pub struct Framer {
    /// The part of public ids behind the dot.
    node: Arc<str>,
    /// Whether developers use the server: players are told why their match failed.
    is_dev: bool,
    /// The application whose plane the frames are for, once it is there.
    app: OnceCell<Weak<App>>,
}

impl Framer {
    /// A framer with the part of public ids behind the dot. `is_dev` says whether developers use the server.
    pub fn new(node: Arc<str>, is_dev: bool) -> Rc<Self> {
        Rc::new(Self { node, is_dev, app: OnceCell::new() })
    }

    /// Sets the application. From now on sessions are told why they close, too.
    pub fn frames_for(&self, app: &Rc<App>) {
        let _ = self.app.set(Rc::downgrade(app));
    }
}

impl Encode for Framer {
    fn frame(&self, payload: &dyn Payload, encoding: Encoding) -> Bytes {
        frame::finished(format(encoding), |out| payload.write(encoding, out))
    }

    fn room_event(&self, room: &StreamKey, event: rooms::RoomEvent) -> SharedPayload {
        crate::rooms::event(room, &event)
    }

    fn lobby_event(&self, view: &StreamKey, delta: LobbyDelta) -> SharedPayload {
        crate::rooms::lobby_event(view, &delta)
    }

    fn seat_status(&self, seat: Option<u32>) -> Arc<str> {
        crate::rooms::seat_status(seat)
    }

    fn farewell(&self, reason: CloseReason) -> Option<SharedPayload> {
        let app = self.app.get().and_then(Weak::upgrade).filter(|_| reason == CloseReason::SingleSocket)?;
        Some(notifications::single_socket(&app))
    }

    fn tells_presences(&self, stream: &StreamKey) -> bool {
        !matches!(stream.mode, mode::NOTIFICATIONS | mode::LOBBY)
    }

    fn presence_event(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Option<Bytes> {
        Some(self.frame(&presence_event(event, &self.node)?, encoding))
    }

    fn match_data(&self, stream: &StreamKey, data: matches::Broadcast) -> SharedPayload {
        super::matches::data(stream, data)
    }

    fn match_left(&self, stream: &StreamKey, presence: Presence) -> SharedPayload {
        let leaves = vec![user_presence(&presence)];
        let event = MatchPresenceEvent { match_id: match_id(stream), joins: Vec::new(), leaves };
        Arc::new(Push::new(Message::MatchPresenceEvent(event)))
    }

    fn match_failed(&self, stream: &StreamKey, why: &str) -> Option<SharedPayload> {
        let error = || realtime::Error {
            code: RealtimeCode::RuntimeFunctionException.number(),
            message: format!("The match has ended because its code failed: {why}"),
            context: [(MATCH_KEY.to_owned(), match_id(stream))].into(),
        };
        self.is_dev.then(|| Arc::new(Push::new(Message::Error(error()))) as SharedPayload)
    }

    fn party_event(&self, party: &StreamKey, event: party::PartyEvent) -> SharedPayload {
        Arc::new(parties::event(party, &self.node, event))
    }
}
