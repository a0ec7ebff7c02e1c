//! Rooms and the lobby for clients: functions under `muster.rooms.` and `muster.lobby.`. Shapes here, rules in
//! [`muster_live::rooms`].

mod answer;
mod entering;
mod events;
mod lobby;
mod request;

use muster_domain::{Error, ErrorKind, Result};
use muster_live::StreamKey;
use muster_live::plane::{self, JoinRefusal, Reply};
use muster_live::rooms::{Caller, MessageToRoomOwner, Request, RoomAction, RoomAnswer, RoomId, Update};

pub use events::{event, lobby_event, seat_status};

use crate::asker::Asker;
use crate::context::App;
use crate::function_payload::{nothing, read, write};
use crate::unanswered::{node_gone, stopping};
use answer::{Written, WrittenVersion};
use request as shape;

/// Calls a function by the part of its id behind `muster.`.
pub(crate) async fn call(app: &App, asker: &Asker, name: &str, payload: &str) -> Result<String> {
    match name {
        "rooms.create" => entering::create(app, asker, read(payload)?).await,
        "rooms.join" => entering::join(app, asker, read(payload)?).await,
        "rooms.place" => entering::place(app, asker, read(payload)?).await,
        "rooms.quick_join" => entering::quick_join(app, asker, read(payload)?).await,
        "rooms.leave" => leave(app, asker, read(payload)?).await,
        "rooms.find" => lobby::find(app, asker, read(payload)?).await,
        "rooms.get" => get(app, asker, read(payload)?).await,
        "rooms.set" => set(app, asker, read(payload)?, RoomAction::SetVariables).await,
        "rooms.set_player" => set(app, asker, read(payload)?, RoomAction::SetOwn).await,
        "rooms.send" => send(app, asker, read(payload)?).await,
        "rooms.send_to" => send_to(app, asker, read(payload)?).await,
        "rooms.kick" => kick(app, asker, read(payload)?).await,
        "rooms.update" => update(app, asker, read(payload)?).await,
        "rooms.spectate" => spectate(app, asker, read(payload)?).await,
        "lobby.subscribe" => lobby::subscribe(app, asker, read(payload)?).await,
        "lobby.unsubscribe" => lobby::unsubscribe(app, asker, read(payload)?),
        _ => Err(Error::new(ErrorKind::NotFound, format!("There is no function \"muster.{name}\"."))),
    }
}

/// Asks an owner of rooms; `to` addresses the request.
async fn ask<T>(
    app: &App,
    caller: Caller,
    what: T,
    to: impl FnOnce(Request<T>) -> MessageToRoomOwner,
) -> Result<RoomAnswer> {
    let reply = app.live.ask(|plane, now, request, out| {
        plane.ask_rooms(now, to(Request { caller, reply_to: Some(request), what }), out);
    });
    answered(reply.await)
}

/// The answer of an owner of rooms.
fn answered(reply: Option<Reply>) -> Result<RoomAnswer> {
    match reply {
        Some(Reply::Answer(plane::Answer::Room(answer))) => answer,
        Some(Reply::Joined(Err(refusal))) => Err(not_let_in(refusal)),
        _ => Err(stopping()),
    }
}

/// The error for a session that is refused as a listener of a view.
fn not_let_in(refusal: JoinRefusal) -> Error {
    match refusal {
        JoinRefusal::Unavailable => node_gone(),
        _ => too_many_streams(),
    }
}

fn too_many_streams() -> Error {
    let message = "The session is in as many rooms, channels, matches and parties as it may: leave some first.";
    Error::new(ErrorKind::ResourceExhausted, message)
}

async fn ask_room(app: &App, asker: &Asker, room: RoomId, action: RoomAction) -> Result<RoomAnswer> {
    let caller = asker.player()?;
    if !matches!(action, RoomAction::Leave | RoomAction::Look) {
        app.live.reaches(&room.stream()).await?;
    }
    ask(app, caller, action, |request| MessageToRoomOwner::Room(room, request)).await
}

async fn leave(app: &App, asker: &Asker, request: shape::Leave) -> Result<String> {
    let room = request.room.0;
    if let Some(session) = asker.session_key() {
        if !app.live.leave_for_good(session, room.stream()).await {
            return Err(Error::new(ErrorKind::FailedPrecondition, "You are not in this room."));
        }
        return nothing();
    }
    ask_room(app, asker, room, RoomAction::Leave).await?;
    nothing()
}

async fn get(app: &App, asker: &Asker, request: shape::Get) -> Result<String> {
    let room = request.room.0;
    match ask(app, asker.viewer(), RoomAction::Look, |request| MessageToRoomOwner::Room(room, request)).await? {
        RoomAnswer::Joined(joined) => write(&Written::joined(&joined)),
        RoomAnswer::Room(state) => write(&Written::state(&state)),
        other => Err(unexpected(&other)),
    }
}

async fn set(
    app: &App,
    asker: &Asker,
    request: shape::Set,
    action: fn(muster_live::rooms::Change) -> RoomAction,
) -> Result<String> {
    let room = request.room.0;
    match ask_room(app, asker, room, action(request.change()?)).await? {
        RoomAnswer::Version(version) => write(&WrittenVersion { version }),
        other => Err(unexpected(&other)),
    }
}

async fn send(app: &App, asker: &Asker, request: shape::Send) -> Result<String> {
    ask_room(app, asker, request.room.0, RoomAction::Say(request.data.into())).await?;
    nothing()
}

async fn send_to(app: &App, asker: &Asker, request: shape::SendTo) -> Result<String> {
    let users = request.users.into_iter().map(|user| user.0).collect();
    ask_room(app, asker, request.room.0, RoomAction::Whisper(users, request.data.into())).await?;
    nothing()
}

async fn kick(app: &App, asker: &Asker, request: shape::Kick) -> Result<String> {
    let bar_ms = request.bar_sec.saturating_mul(1_000);
    ask_room(app, asker, request.room.0, RoomAction::Kick(request.user.0, bar_ms)).await?;
    nothing()
}

async fn update(app: &App, asker: &Asker, request: shape::Update) -> Result<String> {
    let room = request.room.0;
    let properties = shape::change(request.set_properties, request.unset_properties)?;
    let update = Update {
        name: request.name.map(Into::into),
        open: request.open,
        password: request.password.map(|given| shape::password(room, given)).transpose()?,
        capacity: request.capacity,
        spectators_max: request.spectators_max,
        properties,
    };
    ask_room(app, asker, room, RoomAction::Update(Box::new(update))).await?;
    nothing()
}

async fn spectate(app: &App, asker: &Asker, request: shape::Spectate) -> Result<String> {
    ask_room(app, asker, request.room.0, RoomAction::Spectate(request.spectator)).await?;
    nothing()
}

/// An id for a new room. The room's owner is also the owner of the user's notifications, because that owner counts the
/// user's rooms.
fn room_id_for(app: &App, user: muster_domain::UserId) -> RoomId {
    let routes = app.live.look(|plane| plane.routes().clone());
    let owner = routes.owner(StreamKey::notifications(user).partition());
    let mut id = app.random_uuid();
    // A try succeeds with a probability of one divided by the number of places.
    while routes.owner(RoomId(id).stream().partition()) != owner {
        id = app.random_uuid();
    }
    RoomId(id)
}

fn unexpected(answer: &RoomAnswer) -> Error {
    let cause = format!("rooms answered something else than was asked for: {answer:?}");
    Error::new(ErrorKind::Internal, "An internal error occurred.").because(cause)
}
