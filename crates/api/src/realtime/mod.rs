//! Messages of one socket: each envelope goes to its handler, whose answer decides what becomes of the socket.

pub mod channels;
pub mod events;
pub mod framer;
mod functions;
mod hooks;
pub mod matches;
pub mod matchmaker;
pub mod notifications;
pub mod parties;
mod spending;
pub mod status;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use muster_domain::budget::Budgets;
use muster_domain::ids::SessionId;
use muster_domain::ports::revocations::{Revocation, RevocationReason};
use muster_domain::sessions::Claims;
use muster_domain::{Error, ErrorKind};
use muster_live::plane::{JoinOptions, JoinRefusal};
use muster_live::{CloseReason, SessionInfo, SessionKey, SessionRef, StreamKey};
use muster_wire::code::{Code, RealtimeCode};
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Pong, UserPresence};

use self::functions::CODE_KEY;
use self::hooks::Hooked;
use crate::context::App;
use crate::events::session as session_event;
use crate::game::{Client, ExecutionMode, Occasion};
use crate::metrics::add;
use crate::unanswered::node_gone;

/// One player's session on a socket. Its transport hands it whole messages, in order, one at a time.
pub struct SocketSession {
    app: Rc<App>,
    format: Format,
    claims: Claims,
    session_id: SessionId,
    key: SessionKey,
    /// The address and language of its latest socket's client.
    client: RefCell<Client>,
    /// Budgets of the session's messages.
    budgets: RefCell<Budgets>,
    /// See [`SocketSession::take_hold_ms`].
    hold_ms: Cell<u32>,
}

/// The outcome of a message.
pub enum MessageOutcome {
    /// The reply, if any, was appended to the buffer.
    Done,
    /// The socket closes, after what was appended to the buffer was sent.
    Close(CloseReason),
    /// The payload is no envelope, for the reason that the text tells. The socket closes.
    Malformed(String),
    /// The message waits for something. Nothing was appended, and the socket's next message is not handled before the
    /// operation resolves.
    Later(Operation),
}

/// A message whose handling waits. The operation runs to its end even if its socket closes meanwhile, so that durable
/// writes that it began are completed. Its session may be gone when it goes on.
pub type Operation = Pin<Box<dyn Future<Output = Finished>>>;

/// The end of an [`Operation`].
pub struct Finished {
    /// The reply's payload, not framed; empty for none. The reply is sent after everything that was pushed to the
    /// socket before.
    pub reply: Vec<u8>,
    /// The reason for which the socket closes after the reply, if it does.
    pub then: Option<CloseReason>,
    /// Work that is still to be done when the reply has left. The socket's next message is not handled before its end.
    pub rest: Option<Operation>,
}

/// The answer to a message of a socket.
pub enum MessageAnswer {
    /// No answer.
    Silence,
    /// An envelope.
    Reply(Envelope),
    /// An error, and the reason for which the socket closes behind it, if it does.
    Refusal(Envelope, Option<CloseReason>),
}

/// The answer of a handler, now or later.
#[expect(clippy::large_enum_variant, reason = "most are answered at once: a box would cost each of them an allocation")]
pub enum Handled {
    /// The answer stands at once.
    Now(MessageAnswer),
    /// The answer comes later.
    Later(Pin<Box<dyn Future<Output = MessageAnswer>>>),
}

impl Handled {
    /// Wraps the future of a handler that waits.
    pub fn later(handler: impl Future<Output = MessageAnswer> + 'static) -> Self {
        Self::Later(Box::pin(handler))
    }
}

impl From<MessageAnswer> for Handled {
    fn from(answer: MessageAnswer) -> Self {
        Self::Now(answer)
    }
}

/// The measurements of one message that is being handled.
#[derive(Clone, Copy)]
struct Received {
    /// Position in the table of variants.
    variant: usize,
    bytes: usize,
}

impl SocketSession {
    /// Opens the session of a socket with a valid token.
    pub fn register(app: Rc<App>, format: Format, claims: Claims, client: Client) -> Rc<Self> {
        let session_id = SessionId(app.random_uuid());
        let info = SessionInfo {
            session_id,
            user_id: claims.user_id,
            token_id: claims.token_id,
            issued_at_sec: claims.issued_at_sec,
            only_session_since: app.live_rules.single_socket.then(|| app.clock.now()),
        };
        let username = claims.username.as_str().into();
        let key = app.live.step(|plane, _, _| plane.open(info, username, events::encoding(format)));
        Self::adopt(app, format, claims, session_id, key, client)
    }

    /// Adopts a session that was elsewhere before, as `key` of this shard's plane.
    pub fn adopt(
        app: Rc<App>,
        format: Format,
        claims: Claims,
        session_id: SessionId,
        key: SessionKey,
        client: Client,
    ) -> Rc<Self> {
        let budgets = RefCell::new(Budgets::new(&app.budgets, app.clock.now()));
        let (client, hold_ms) = (RefCell::new(client), Cell::new(0));
        Rc::new(Self { app, format, claims, session_id, key, client, budgets, hold_ms })
    }

    /// Notes that the session goes on over another socket.
    pub fn reached_from(&self, client: Client) {
        self.client.replace(client);
    }

    /// Has game code told that the session begins.
    pub fn tell_of_start(&self) {
        session_event(&self.app, Occasion::SessionStart, || self.invocation(ExecutionMode::Event), None);
    }

    /// Has game code told that the session ended, and why.
    pub fn tell_of_end(&self, reason: CloseReason) {
        session_event(&self.app, Occasion::SessionEnd, || self.invocation(ExecutionMode::Event), Some(reason.name()));
    }

    /// Begins the session, which receives its user's notifications and status from here on. With `appears` it shows an
    /// empty status itself.
    pub fn begin(&self, appears: bool) {
        let user = self.claims.user_id;
        let notified = JoinOptions { hidden: true, ..JoinOptions::default() };
        self.app.live.step(|plane, now, out| {
            plane.join(now, self.key, StreamKey::notifications(user), notified, None, out);
            plane.listen(now, self.key, StreamKey::status(user), None, out);
            if appears {
                plane.join(now, self.key, StreamKey::status(user), status::appearing(None), None, out);
            }
        });
    }

    /// Closes the session's socket because its token is void.
    pub fn revoke(&self, reason: RevocationReason) {
        end(&self.app, &[self.key], reason);
    }

    /// Takes the session from everything that it is on. Called once, when its socket has closed for good.
    pub fn close(&self) {
        self.app.live.step(|plane, now, out| plane.close(now, self.key, out));
    }

    /// The session's key on its shard.
    pub fn key(&self) -> SessionKey {
        self.key
    }

    /// The session's public id.
    pub fn session_id(&self) -> SessionId {
        self.session_id
    }

    fn session_ref(&self) -> SessionRef {
        SessionRef { place: self.app.live.place(), key: self.key }
    }

    /// The session as owners of rooms know an asker.
    pub(crate) fn caller(&self) -> muster_live::rooms::Caller {
        muster_live::rooms::Caller {
            user_id: self.claims.user_id,
            username: self.claims.username.as_str().into(),
            session: Some((self.session_ref(), self.session_id)),
        }
    }

    /// The session as others are told of it, without the parts that belong to one stream.
    fn user_presence(&self) -> UserPresence {
        UserPresence {
            user_id: self.claims.user_id.to_string(),
            session_id: self.session_id.to_string(),
            username: self.claims.username.clone(),
            ..UserPresence::default()
        }
    }

    /// The claims of the token with which the session was opened.
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The format of the session's frames.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Handles one message; a reply that stands at once is appended to `reply`.
    pub fn message(self: &Rc<Self>, payload: &[u8], reply: &mut Vec<u8>) -> MessageOutcome {
        let envelope = match envelope::decode(payload, self.format) {
            Ok(envelope) => envelope,
            Err(error) => {
                add(&self.app.metrics.malformed_messages, 1);
                return MessageOutcome::Malformed(error.to_string());
            }
        };
        let Some(message) = envelope.message else {
            add(&self.app.metrics.malformed_messages, 1);
            let text = "The envelope holds no message.";
            let error = Envelope::error(envelope.cid, RealtimeCode::MissingPayload, text);
            envelope::append(&error, self.format, reply);
            return MessageOutcome::Close(CloseReason::UnexpectedMessage);
        };
        let received = Received { variant: message.variant().index(), bytes: payload.len() };
        let spending = match self.pay(&message, payload.len()) {
            Ok(spending) => spending,
            Err((spending, over)) => {
                let answer = self.over_budget(envelope.cid, spending, over);
                return self.settle(received, answer, reply).map_or(MessageOutcome::Done, MessageOutcome::Close);
            }
        };
        let outcome = if let Some(hooked) = Hooked::of(self, &message) {
            MessageOutcome::Later(hooked.handle(self.clone(), envelope.cid, message, received))
        } else {
            match handle(self, envelope.cid, message) {
                Handled::Now(answer) => {
                    self.settle(received, answer, reply).map_or(MessageOutcome::Done, MessageOutcome::Close)
                }
                Handled::Later(handler) => MessageOutcome::Later(self.clone().finish(received, handler)),
            }
        };
        self.slow(spending);
        outcome
    }

    fn finish(self: Rc<Self>, received: Received, handler: Pin<Box<dyn Future<Output = MessageAnswer>>>) -> Operation {
        Box::pin(async move {
            let mut reply = Vec::new();
            let then = self.settle(received, handler.await, &mut reply);
            Finished { reply, then, rest: None }
        })
    }

    /// Appends the reply and books the message. Answers the reason for which the socket closes, if it does.
    fn settle(&self, received: Received, answer: MessageAnswer, reply: &mut Vec<u8>) -> Option<CloseReason> {
        let len_before = reply.len();
        let (envelope, is_error, close) = match answer {
            MessageAnswer::Reply(envelope) => (Some(envelope), false, None),
            MessageAnswer::Refusal(envelope, close) => (Some(envelope), true, close),
            MessageAnswer::Silence => (None, false, None),
        };
        if let Some(envelope) = envelope {
            envelope::append(&envelope, self.format, reply);
        }
        let sent_bytes = reply.len() - len_before;
        self.app.metrics.message(received.variant, is_error, received.bytes, sent_bytes);
        close
    }
}

/// Closes the sockets of this shard whose tokens a revocation voids.
pub fn revoke(app: &App, revocation: &Revocation) {
    let sessions = app.live.look(|plane| plane.revoked(revocation));
    end(app, &sessions, revocation.reason);
}

/// Closes the sockets of sessions whose tokens are void. A banned user is told so first.
fn end(app: &App, sessions: &[SessionKey], reason: RevocationReason) {
    let (told, closed) = match reason {
        RevocationReason::Banned => (Some(notifications::banned(app)), CloseReason::Banned),
        RevocationReason::NewerSignIn | RevocationReason::SignedOut => (None, CloseReason::TokenRevoked),
    };
    app.live.step(|plane, _, out| sessions.iter().for_each(|key| plane.end(*key, told.clone(), closed, out)));
}

/// Takes a session from a stream.
fn leave(session: &Rc<SocketSession>, cid: String, stream: StreamKey) -> Handled {
    let session = session.clone();
    Handled::later(async move {
        session.app.live.leave_for_good(session.key, stream).await;
        MessageAnswer::Reply(Envelope::acknowledgement(cid))
    })
}

/// Handles a message of any variant of the envelope.
fn handle(session: &Rc<SocketSession>, cid: String, message: Message) -> Handled {
    let name = message.variant().name;
    let answer = match message {
        Message::Ping(_) => MessageAnswer::Reply(Envelope::reply(cid, Message::Pong(Pong {}))),
        Message::Pong(_) => MessageAnswer::Silence,
        Message::Rpc(rpc) => return functions::call(session, cid, rpc),
        Message::MatchDataSend(request) => matches::send(session, request),
        Message::MatchCreate(request) => return matches::create(session, cid, &request),
        Message::MatchJoin(request) => return matches::join(session, cid, request),
        Message::MatchLeave(request) => return matches::leave(session, cid, &request),
        Message::StatusFollow(request) => return status::follow(session, cid, request),
        Message::StatusUnfollow(request) => status::unfollow(session, cid, &request),
        Message::StatusUpdate(request) => return status::update(session, cid, request),
        Message::ChannelJoin(request) => return channels::join(session, cid, request),
        Message::ChannelLeave(request) => return channels::leave(session, cid, &request),
        Message::ChannelMessageSend(request) => return channels::send(session, cid, request),
        Message::ChannelMessageUpdate(request) => return channels::update(session, cid, request),
        Message::ChannelMessageRemove(request) => return channels::remove(session, cid, request),
        Message::PartyCreate(request) => return parties::create(session, cid, request),
        Message::PartyJoin(request) => return parties::join(session, cid, &request),
        Message::PartyLeave(request) => return parties::leave(session, cid, &request),
        Message::PartyPromote(request) => return parties::promote(session, cid, request),
        Message::PartyAccept(request) => return parties::accept(session, cid, request),
        Message::PartyRemove(request) => return parties::remove(session, cid, request),
        Message::PartyClose(request) => return parties::close(session, cid, &request),
        Message::PartyJoinRequestList(request) => return parties::list_requests(session, cid, request),
        Message::PartyDataSend(request) => return parties::send(session, cid, request),
        Message::PartyUpdate(request) => return parties::update(session, cid, &request),
        Message::MatchmakerAdd(request) => return matchmaker::add(session, cid, request),
        Message::MatchmakerRemove(request) => return matchmaker::remove(session, cid, request),
        Message::PartyMatchmakerAdd(request) => return matchmaker::add_party(session, cid, request),
        Message::PartyMatchmakerRemove(request) => return matchmaker::remove_party(session, cid, request),
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

fn refuse(cid: String, code: RealtimeCode, text: impl Into<String>) -> MessageAnswer {
    MessageAnswer::Refusal(Envelope::error(cid, code, text), None)
}

fn refuse_input(cid: String, text: &str) -> MessageAnswer {
    refuse(cid, RealtimeCode::BadInput, text)
}

/// The answer to a refusal of the rules. A refusal that is not the caller's fault has the code of the server's
/// failures.
fn refuse_domain(cid: String, error: &Error) -> MessageAnswer {
    let code = match error.kind {
        ErrorKind::Internal | ErrorKind::Unavailable | ErrorKind::ResourceExhausted => RealtimeCode::RuntimeException,
        _ => RealtimeCode::BadInput,
    };
    if error.kind == ErrorKind::Internal {
        tracing::error!(cause = error.cause.as_deref().unwrap_or_default(), told = %error.message, "message failed");
    }
    let mut answer = Envelope::error(cid, code, error.message.clone());
    if let (ErrorKind::Unavailable, Some(Message::Error(told))) = (error.kind, &mut answer.message) {
        // The code of sockets does not tell a failure that another attempt may mend.
        told.context.insert(CODE_KEY.to_owned(), Code::Unavailable.number().to_string());
    }
    MessageAnswer::Refusal(answer, None)
}

fn refuse_join(cid: String, refusal: JoinRefusal) -> MessageAnswer {
    match refusal {
        JoinRefusal::TooManyStreams => refuse_input(
            cid,
            "The session is in as many channels, matches and parties, and follows as many users, as it may: leave some first.",
        ),
        JoinRefusal::Empty => refuse_input(cid, "Nobody is there."),
        JoinRefusal::Closed => refuse(cid, RealtimeCode::RuntimeException, "The session has closed."),
        JoinRefusal::Unavailable => refuse_domain(cid, &node_gone()),
    }
}

fn server_only(cid: String, name: &str) -> MessageAnswer {
    let text = format!("{name} is not accepted from clients.");
    let error = Envelope::error(cid, RealtimeCode::UnrecognizedPayload, text);
    MessageAnswer::Refusal(error, Some(CloseReason::UnexpectedMessage))
}
