//! Messages of one socket: each envelope to its handler, and what becomes of the socket.

use std::rc::Rc;

use muster_domain::sessions::Claims;
use muster_live::CloseReason;
use muster_wire::code::RealtimeCode;
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Pong};

use crate::context::App;
use crate::metrics::add;

/// One player's socket. Its transport hands it whole messages, in order.
pub struct SocketSession {
    app: Rc<App>,
    format: Format,
    claims: Claims,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The reply, if any, was appended to the buffer.
    Done,
    /// The socket closes, after what was appended to the buffer was sent.
    Close(CloseReason),
}

/// What a handler answers: nothing, an envelope, or an error with what becomes of the socket.
enum Answer {
    Silence,
    Reply(Envelope),
    Refusal(Envelope, Option<CloseReason>),
}

impl SocketSession {
    /// A socket opened with a valid token.
    pub fn new(app: Rc<App>, format: Format, claims: Claims) -> Self {
        Self { app, format, claims }
    }

    /// Whose it is, and by which token it was opened.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The format of its frames.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Handles one message; a reply is appended to `reply`.
    pub fn message(&mut self, payload: &[u8], reply: &mut Vec<u8>) -> Outcome {
        let Ok(envelope) = envelope::decode(payload, self.format) else {
            add(&self.app.metrics.malformed_messages, 1);
            return Outcome::Close(CloseReason::InvalidPayload);
        };
        let Some(message) = envelope.message else {
            add(&self.app.metrics.malformed_messages, 1);
            let text = "The envelope holds no message.";
            let error = Envelope::error(envelope.cid, RealtimeCode::MissingPayload, text);
            envelope::append(&error, self.format, reply);
            return Outcome::Close(CloseReason::UnexpectedMessage);
        };
        // Numbers start with 2 and have no gaps.
        let variant = usize::from(message.variant().number) - 2;
        let len_before = reply.len();
        let answer = handle(envelope.cid, message);
        let is_error = matches!(answer, Answer::Refusal(..));
        let outcome = match answer {
            Answer::Silence => Outcome::Done,
            Answer::Reply(envelope) => {
                envelope::append(&envelope, self.format, reply);
                Outcome::Done
            }
            Answer::Refusal(envelope, close) => {
                envelope::append(&envelope, self.format, reply);
                close.map_or(Outcome::Done, Outcome::Close)
            }
        };
        self.app.metrics.message(variant, is_error, payload.len(), reply.len() - len_before);
        outcome
    }
}

/// Every variant of the envelope.
fn handle(cid: String, message: Message) -> Answer {
    let name = message.variant().name;
    match message {
        Message::Ping(_) => Answer::Reply(Envelope::reply(cid, Message::Pong(Pong {}))),
        Message::Pong(_) => Answer::Silence,
        Message::Rpc(rpc) => call_function(cid, &rpc.id),
        // Its errors never name the request: clients don't wait for an answer to it.
        Message::MatchDataSend(_) => unbuilt(String::new(), name),
        Message::ChannelJoin(_)
        | Message::ChannelLeave(_)
        | Message::ChannelMessageSend(_)
        | Message::ChannelMessageUpdate(_)
        | Message::ChannelMessageRemove(_)
        | Message::MatchCreate(_)
        | Message::MatchJoin(_)
        | Message::MatchLeave(_)
        | Message::MatchmakerAdd(_)
        | Message::MatchmakerRemove(_)
        | Message::StatusFollow(_)
        | Message::StatusUnfollow(_)
        | Message::StatusUpdate(_)
        | Message::PartyCreate(_)
        | Message::PartyJoin(_)
        | Message::PartyLeave(_)
        | Message::PartyPromote(_)
        | Message::PartyAccept(_)
        | Message::PartyRemove(_)
        | Message::PartyClose(_)
        | Message::PartyJoinRequestList(_)
        | Message::PartyMatchmakerAdd(_)
        | Message::PartyMatchmakerRemove(_)
        | Message::PartyDataSend(_)
        | Message::PartyUpdate(_) => unbuilt(cid, name),
        Message::Channel(_)
        | Message::ChannelMessage(_)
        | Message::ChannelMessageAck(_)
        | Message::ChannelPresenceEvent(_)
        | Message::Error(_)
        | Message::Match(_)
        | Message::MatchData(_)
        | Message::MatchPresenceEvent(_)
        | Message::MatchmakerMatched(_)
        | Message::MatchmakerTicket(_)
        | Message::Notifications(_)
        | Message::Status(_)
        | Message::StatusPresenceEvent(_)
        | Message::StreamData(_)
        | Message::StreamPresenceEvent(_)
        | Message::Party(_)
        | Message::PartyLeader(_)
        | Message::PartyJoinRequest(_)
        | Message::PartyMatchmakerTicket(_)
        | Message::PartyData(_)
        | Message::PartyPresenceEvent(_) => server_only(cid, name),
    }
}

/// There are no functions until scripts are built.
fn call_function(cid: String, id: &str) -> Answer {
    let (code, text) = if id.is_empty() {
        (RealtimeCode::BadInput, "The id of a function is required.")
    } else {
        (RealtimeCode::RuntimeFunctionNotFound, "The game has no function of this id.")
    };
    Answer::Refusal(Envelope::error(cid, code, text), None)
}

/// The protocol has no code for this; a fault of the server leaves the socket open and is the nearest.
fn unbuilt(cid: String, name: &str) -> Answer {
    let text = format!("{name} is not available on this server yet.");
    Answer::Refusal(Envelope::error(cid, RealtimeCode::RuntimeException, text), None)
}

fn server_only(cid: String, name: &str) -> Answer {
    let text = format!("{name} is not accepted from clients.");
    let error = Envelope::error(cid, RealtimeCode::UnrecognizedPayload, text);
    Answer::Refusal(error, Some(CloseReason::UnexpectedMessage))
}
