//! Matches. A relayed match is the stream that its players are on, and lives as long as one of them is there. A match
//! of game code has a handler, which lets players in, takes their messages, and decides what they are told.

use std::rc::Rc;
use std::sync::Arc;

use muster_domain::ErrorKind;
use muster_domain::ids::{SessionId, Uuid};
use muster_live::matches::{self, Joiner, MatchAsk, MatchesAsk};
use muster_live::plane::{self, Ask, Audience, Condition, Effects, JoinOptions, JoinRefusal, Joined, Publish, Reply};
use muster_live::stream::{SharedPayload, mode};
use muster_live::{Delivery, Plane, StreamKey};
use muster_wire::code::RealtimeCode;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{
    Envelope, Match, MatchCreate, MatchData, MatchDataSend, MatchJoin, MatchLeave, UserPresence, match_join,
};

use super::events::{self, Push};
use super::{Handled, MessageAnswer, SocketSession, refuse, refuse_input, refuse_join};
use crate::context::App;

/// The stream of a public match id: `<uuid>.` of a relayed match, `<uuid>.<node>` of one that game code runs.
pub(crate) fn parse(match_id: &str) -> Option<StreamKey> {
    let (id, node) = match_id.split_once('.')?;
    let id = Uuid::try_parse(id).ok().filter(|_| id.len() == 36)?;
    let mode = if node.is_empty() { mode::MATCH_RELAYED } else { mode::MATCH_AUTHORITATIVE };
    Some(StreamKey::new(mode, id, Uuid::nil(), node))
}

/// The stream of a relayed match.
pub(crate) fn relayed(id: Uuid) -> StreamKey {
    StreamKey::about(mode::MATCH_RELAYED, id)
}

pub(super) fn create(session: &Rc<SocketSession>, cid: String, request: &MatchCreate) -> Handled {
    if let Err(error) = session.app.live.claim() {
        return super::refuse_domain(cid, &error).into();
    }
    let id = if request.name.is_empty() {
        session.app.own_uuid(relayed)
    } else {
        // The same name is the same match, wherever it is given.
        Uuid::new_v5(&Uuid::NAMESPACE_DNS, request.name.as_bytes())
    };
    let session = session.clone();
    Handled::later(async move {
        let stream = relayed(id);
        match session.app.live.join(session.key, stream.clone(), JoinOptions::default()).await {
            // Unlike after a join, the size counts the asker too.
            Ok(joined) => {
                let size = joined.total + usize::from(joined.is_new);
                joined_match(&session, cid, &stream, &joined, size)
            }
            Err(refusal) => refuse_join(cid, refusal),
        }
    })
}

pub(super) fn join(session: &Rc<SocketSession>, cid: String, request: MatchJoin) -> Handled {
    let (stream, condition) = match request.id {
        Some(match_join::Id::MatchId(id)) => match parse(&id) {
            Some(stream) => (stream, Condition::Occupied),
            None => return refuse_input(cid, "The match ID is not valid.").into(),
        },
        // A matched player may be the first to come.
        Some(match_join::Id::Token(token)) => match verified(&session.app, &token) {
            Some(stream) => (stream, Condition::Any),
            None => return refuse_input(cid, "The match token is not valid or has expired.").into(),
        },
        None => return refuse_input(cid, "A match ID or a match token is required.").into(),
    };
    let session = session.clone();
    if stream.mode == mode::MATCH_AUTHORITATIVE {
        let joiner = Arc::new(session.joiner(request.metadata));
        return Handled::later(enter(session, cid, stream, joiner));
    }
    Handled::later(async move {
        let options = JoinOptions { condition, ..JoinOptions::default() };
        match session.app.live.join(session.key, stream.clone(), options).await {
            Ok(joined) => joined_match(&session, cid, &stream, &joined, joined.total),
            Err(JoinRefusal::Empty) => not_found(cid),
            Err(refusal) => refuse_join(cid, refusal),
        }
    })
}

/// Asks the handler of a match to let a session in.
async fn enter(session: Rc<SocketSession>, cid: String, stream: StreamKey, joiner: Arc<Joiner>) -> MessageAnswer {
    let key = session.key;
    let name = stream.clone();
    let ask = |plane: &mut Plane, now, request, out: &mut Effects| {
        plane.come_to_match(now, key, name, joiner, request, out);
    };
    match session.app.live.ask_for(key, ask).await {
        Some(Reply::Answer(plane::Answer::Match(Ok(matches::MatchAnswer::Entered(entered))))) => {
            let found = Match {
                match_id: events::match_id(&stream),
                authoritative: true,
                label: Some(entered.label.to_string()),
                size: i32::try_from(entered.total).unwrap_or(i32::MAX),
                presences: events::snapshot(&entered.presences, entered.total),
                self_: Some(session.user_presence()),
            };
            MessageAnswer::Reply(Envelope::reply(cid, Message::Match(found)))
        }
        Some(Reply::Answer(plane::Answer::Match(Err(why)))) => match why.kind {
            ErrorKind::NotFound => not_found(cid),
            ErrorKind::PermissionDenied | ErrorKind::ResourceExhausted => {
                refuse(cid, RealtimeCode::MatchJoinRejected, why.message)
            }
            _ => super::refuse_domain(cid, &why),
        },
        Some(Reply::Joined(Err(refusal))) => refuse_join(cid, refusal),
        _ => super::refuse_domain(cid, &crate::unanswered::stopping()),
    }
}

/// A message of a match of game code to its players.
pub(super) fn data(stream: &StreamKey, data: matches::Broadcast) -> SharedPayload {
    let matches::Broadcast { op_code, data, sender, reliable, .. } = data;
    let presence = sender.map(|sender| UserPresence {
        user_id: sender.user_id.to_string(),
        session_id: sender.session_id.to_string(),
        username: sender.username.to_string(),
        ..UserPresence::default()
    });
    let match_id = events::match_id(stream);
    Arc::new(Push::new(Message::MatchData(MatchData { match_id, presence, op_code, data, reliable })))
}

fn not_found(cid: String) -> MessageAnswer {
    refuse(cid, RealtimeCode::MatchNotFound, "There is no match of this ID: it may have ended.")
}

fn joined_match(
    session: &SocketSession,
    cid: String,
    stream: &StreamKey,
    joined: &Joined,
    size: usize,
) -> MessageAnswer {
    let found = Match {
        match_id: events::match_id(stream),
        authoritative: false,
        label: None,
        size: i32::try_from(size).unwrap_or(i32::MAX),
        presences: events::found(joined),
        self_: Some(session.user_presence()),
    };
    MessageAnswer::Reply(Envelope::reply(cid, Message::Match(found)))
}

pub(super) fn leave(session: &Rc<SocketSession>, cid: String, request: &MatchLeave) -> Handled {
    match parse(&request.match_id) {
        Some(stream) => super::leave(session, cid, stream),
        None => Handled::Now(refuse_input(cid, "The match ID is not valid.")),
    }
}

/// Passes data on. No answer comes unless the match id is not valid, and that answer names no request: clients do not
/// wait for it.
pub(super) fn send(session: &SocketSession, request: MatchDataSend) -> MessageAnswer {
    let Some(stream) = parse(&request.match_id) else {
        return refuse_input(String::new(), "The match ID is not valid.");
    };
    let live = &session.app.live;
    let sender = session.session_ref();
    if !live.look(|plane| plane.is_on(session.key, &stream)) {
        return MessageAnswer::Silence;
    }
    if stream.mode == mode::MATCH_AUTHORITATIVE {
        let MatchDataSend { op_code, data, reliable, .. } = request;
        let input = MatchAsk::Input { session: sender, op_code, data, reliable, received_at: session.app.clock.now() };
        let ask = Ask::Match(MatchesAsk::One { stream, what: Box::new(input) });
        live.step(|plane, now, out| plane.ask_thing(now, ask, None, out));
        return MessageAnswer::Silence;
    }
    let audience = if request.presences.is_empty() {
        Audience::AllBut(sender)
    } else {
        let ids: Option<Vec<SessionId>> = request.presences.iter().map(|each| each.session_id.parse().ok()).collect();
        match ids {
            Some(ids) => Audience::Only(ids),
            None => return MessageAnswer::Silence,
        }
    };
    match &audience {
        Audience::Only(ids) => session.pay_for(ids.len(), request.data.len()),
        _ => session.pay_for_all(&stream, request.data.len()),
    }
    let data = MatchData {
        match_id: request.match_id,
        presence: Some(session.user_presence()),
        op_code: request.op_code,
        data: request.data,
        reliable: request.reliable,
    };
    let payload = Arc::new(Push::new(Message::MatchData(data)));
    // The delivery is always reliable, as in the original: `false` is also the value of a client that leaves the field
    // out, and such a client expects no loss.
    let delivery = Delivery::Reliable;
    live.publish(Publish { stream, payload, audience, delivery, sender: Some(sender) });
    MessageAnswer::Silence
}

/// The time that a token of the matchmaker lets its holder join, in seconds.
const TOKEN_LIFE_SEC: i64 = 30;

/// A token by which matched players may join a relayed match.
pub(super) fn token(app: &App, id: Uuid) -> String {
    app.keys.sign_match(&events::match_id(&relayed(id)), app.clock.now().seconds() + TOKEN_LIFE_SEC)
}

/// The match of a token that is still valid.
fn verified(app: &App, token: &str) -> Option<StreamKey> {
    parse(&app.keys.read_match(token, app.clock.now()).ok()?)
}
