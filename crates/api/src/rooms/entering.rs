//! Ways into a room: made, by its id, placed, or found. A seat is held first and taken by joining; over a socket both
//! happen in one call.

use muster_domain::{Error, ErrorKind, Result};
use muster_live::rooms::{
    Creation, DirectoryAction, Entry, MessageToRoomOwner, Reserved, RoomAction, RoomAnswer, RoomId, RoomPath,
};

use super::answer::Written;
use super::request as shape;
use super::{answered, ask, ask_room, room_id_for, too_many_streams, unexpected};
use crate::asker::Asker;
use crate::context::App;
use crate::function_payload::write;

pub(super) async fn create(app: &App, asker: &Asker, request: shape::Create) -> Result<String> {
    app.live.claim()?;
    let room = room_id_for(app, asker.player()?.user_id);
    let reserve = request.reserve;
    check_takes_seat(app, asker, reserve)?;
    let creation = Box::new(creation(app, room, request)?);
    let answer = ask_room(app, asker, room, RoomAction::Create(creation)).await?;
    take_seat(app, asker, answer, reserve).await
}

/// The settings of a new room: those that the request gives, and otherwise those of its template or of a plain room.
fn creation(app: &App, room: RoomId, request: shape::Create) -> Result<Creation> {
    let base = match &request.template {
        Some(name) => {
            let template = app.live.look(|plane| plane.rooms_config().templates.get(name).cloned())?;
            let capacity = template.size(request.capacity, random(app))?;
            template.creation(capacity)
        }
        None => Creation::plain(request.capacity.unwrap_or(muster_live::rooms::DEFAULT_CAPACITY)),
    };
    let seconds = |given: Option<u64>, name| given.map(|seconds| shape::milliseconds(seconds, name)).transpose();
    Ok(Creation {
        name: request.name.into(),
        path: request.path.as_deref().map(RoomPath::new).transpose()?.unwrap_or(base.path),
        spectators_max: request.spectators_max.unwrap_or(base.spectators_max),
        password: shape::password(room, request.password)?,
        hidden: request.hidden.unwrap_or(base.hidden),
        empty_ms: seconds(request.empty_sec, "empty_sec")?.unwrap_or(base.empty_ms),
        life_ms: seconds(request.life_sec, "life_sec")?.or(base.life_ms),
        recover: request.recover.unwrap_or(base.recover),
        properties: shape::change(request.properties, Vec::new())?,
        variables: shape::change(request.variables, Vec::new())?,
        ..base
    })
}

pub(super) async fn join(app: &App, asker: &Asker, request: shape::Join) -> Result<String> {
    let room = request.room.0;
    let password = shape::password(room, request.password)?;
    enter(app, asker, room, Entry { password, spectator: request.spectator }).await
}

pub(super) async fn place(app: &App, asker: &Asker, request: shape::PlaceRequest) -> Result<String> {
    app.live.claim()?;
    let template = request.template.as_deref().unwrap_or(muster_live::rooms::DEFAULT_TEMPLATE).into();
    let fresh = RoomId(app.own_uuid(|id| RoomId(id).stream()));
    let random = random(app);
    check_takes_seat(app, asker, request.reserve)?;
    let place = muster_live::rooms::Placement { template, size: request.size, fresh, random, tried: Vec::new() };
    let answer = ask(app, asker.player()?, place, MessageToRoomOwner::Placement).await?;
    take_seat(app, asker, answer, request.reserve).await
}

pub(super) async fn quick_join(app: &App, asker: &Asker, request: shape::QuickJoin) -> Result<String> {
    let find = shape::find(&request.path, request.filter)?;
    check_takes_seat(app, asker, request.reserve)?;
    let answer = ask(app, asker.player()?, DirectoryAction::QuickJoin(find), MessageToRoomOwner::Directory).await?;
    take_seat(app, asker, answer, request.reserve).await
}

/// Refuses a session that could not take the seat, before a seat is held for it or a room made.
fn check_takes_seat(app: &App, asker: &Asker, reserve: bool) -> Result<()> {
    let is_at_limit = |session| app.live.look(|plane| plane.is_at_stream_limit(session));
    if !reserve && asker.session_key().is_some_and(is_at_limit) { Err(too_many_streams()) } else { Ok(()) }
}

/// Takes the seat that is held, if the request came over a socket. Otherwise, or with `reserve`, only answers that the
/// seat is held.
async fn take_seat(app: &App, asker: &Asker, answer: RoomAnswer, reserve: bool) -> Result<String> {
    let RoomAnswer::Reserved(held) = answer else { return Err(unexpected(&answer)) };
    match asker.session_key() {
        Some(_) if !reserve => enter(app, asker, held.room.id, Entry::default()).await,
        _ => reserved(&held),
    }
}

fn reserved(held: &Reserved) -> Result<String> {
    write(&Written::reserved(held))
}

async fn enter(app: &App, asker: &Asker, room: RoomId, entry: Entry) -> Result<String> {
    let (key, _) = asker.session()?;
    let answer = if app.live.look(|plane| plane.is_on(key, &room.stream())) {
        ask_room(app, asker, room, RoomAction::Look).await?
    } else {
        let reply = app.live.ask_for(key, |plane, now, request, out| {
            plane.come_to_room(now, key, room, entry, request, out);
        });
        answered(reply.await)?
    };
    match answer {
        RoomAnswer::Joined(joined) => write(&Written::joined(&joined)),
        // The session was thrown out while it asked.
        RoomAnswer::Room(_) => Err(Error::new(ErrorKind::FailedPrecondition, "You are no longer in this room.")),
        other => Err(unexpected(&other)),
    }
}

fn random(app: &App) -> u32 {
    let mut bytes = [0; 4];
    app.entropy.fill(&mut bytes);
    u32::from_le_bytes(bytes)
}
