//! Messages of one socket: each envelope to its handler, and what becomes of the socket.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use muster_domain::sessions::Claims;
use muster_live::CloseReason;
use muster_wire::code::RealtimeCode;
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Pong};

use crate::context::App;
use crate::metrics::add;

/// One player's socket. Its transport hands it whole messages, in order, one at a time.
pub struct SocketSession {
    app: Rc<App>,
    format: Format,
    claims: Claims,
}

/// What becomes of a message.
pub enum Outcome {
    /// The reply, if any, was appended to the buffer.
    Done,
    /// The socket closes, after what was appended to the buffer was sent.
    Close(CloseReason),
    /// It waits for something. Nothing was appended, and the socket's next message is not handled before it resolves.
    Later(Operation),
}

/// A message whose handling waits. It runs to its end even if its socket closes meanwhile: what it began to write
/// durably is written whole. Its session may be gone when it goes on.
pub type Operation = Pin<Box<dyn Future<Output = Finished>>>;

/// The end of an [`Operation`].
#[derive(Debug, PartialEq, Eq)]
pub struct Finished {
    /// The reply's payload, not framed; empty for none. It leaves behind whatever was pushed to the socket before.
    pub reply: Vec<u8>,
    /// Closes the socket after the reply.
    pub then: Option<CloseReason>,
}

/// What a handler answers.
pub enum Answer {
    /// Nothing.
    Silence,
    /// An envelope.
    Reply(Envelope),
    /// An error, and whether the socket closes behind it.
    Refusal(Envelope, Option<CloseReason>),
}

/// When a handler answers.
#[expect(clippy::large_enum_variant, reason = "taken apart where it is made: a box would be made for every message")]
pub enum Handled {
    /// At once.
    Now(Answer),
    /// Once something it waits for has come.
    Later(Pin<Box<dyn Future<Output = Answer>>>),
}

impl Handled {
    /// What a handler that waits returns.
    pub fn later(handler: impl Future<Output = Answer> + 'static) -> Self {
        Self::Later(Box::pin(handler))
    }
}

impl From<Answer> for Handled {
    fn from(answer: Answer) -> Self {
        Self::Now(answer)
    }
}

/// One message on its way, measured.
#[derive(Clone, Copy)]
struct Received {
    /// Position in the table of variants.
    variant: usize,
    bytes: usize,
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

    /// Handles one message; a reply that stands at once is appended to `reply`.
    pub fn message(self: &Rc<Self>, payload: &[u8], reply: &mut Vec<u8>) -> Outcome {
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
        let received = Received { variant: usize::from(message.variant().number) - 2, bytes: payload.len() };
        match handle(envelope.cid, message) {
            Handled::Now(answer) => self.settle(received, answer, reply).map_or(Outcome::Done, Outcome::Close),
            Handled::Later(handler) => Outcome::Later(self.clone().finish(received, handler)),
        }
    }

    fn finish(self: Rc<Self>, received: Received, handler: Pin<Box<dyn Future<Output = Answer>>>) -> Operation {
        Box::pin(async move {
            let mut reply = Vec::new();
            let then = self.settle(received, handler.await, &mut reply);
            Finished { reply, then }
        })
    }

    /// Appends the reply and books the message. Answers why the socket closes, if it does.
    fn settle(&self, received: Received, answer: Answer, reply: &mut Vec<u8>) -> Option<CloseReason> {
        let len_before = reply.len();
        let (envelope, is_error, close) = match answer {
            Answer::Reply(envelope) => (Some(envelope), false, None),
            Answer::Refusal(envelope, close) => (Some(envelope), true, close),
            Answer::Silence => (None, false, None),
        };
        if let Some(envelope) = envelope {
            envelope::append(&envelope, self.format, reply);
        }
        let sent_bytes = reply.len() - len_before;
        self.app.metrics.message(received.variant, is_error, received.bytes, sent_bytes);
        close
    }
}

/// Every variant of the envelope.
fn handle(cid: String, message: Message) -> Handled {
    let name = message.variant().name;
    let answer = match message {
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
    };
    answer.into()
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
