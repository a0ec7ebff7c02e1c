//! Finding rooms, and watching them come and go.

use muster_domain::{Error, ErrorKind, Result};
use muster_live::plane::Reply;
use muster_live::rooms::limits::{LOBBY_INTERVAL_MS_MIN, LOBBY_PUSH_ROOMS_MAX, LOBBY_VIEWS_PER_SESSION_MAX};
use muster_live::rooms::{DirectoryAction, MessageToRoomOwner, Page, RoomAnswer, RoomPath, ViewKey, check_view};
use muster_wire::cursor::{CursorKind, CursorReader, CursorWriter};

use super::answer::WrittenPage;
use super::request as shape;
use super::{ask, not_let_in, unexpected};
use crate::asker::Asker;
use crate::context::App;
use crate::function_payload::{nothing, write};

pub(super) async fn find(app: &App, asker: &Asker, request: shape::Find) -> Result<String> {
    let (path, filter) = (request.path, request.filter);
    let mut find = shape::find(&path, filter.clone())?;
    find.limit = request.limit.unwrap_or(find.limit);
    find.after = request.cursor.map(|cursor| read_cursor(&cursor, &path, &filter)).transpose()?;
    match ask(app, asker.viewer(), DirectoryAction::Find(find), MessageToRoomOwner::Directory).await? {
        RoomAnswer::Page(page) => {
            let cursor = cursor(&page, &path, &filter);
            write(&WrittenPage::new(&page, cursor, None))
        }
        other => Err(unexpected(&other)),
    }
}

pub(super) async fn subscribe(app: &App, asker: &Asker, request: shape::Subscribe) -> Result<String> {
    let (key, _) = asker.session()?;
    let view = ViewKey {
        path: RoomPath::new(&request.path)?,
        filter: request.filter.as_str().into(),
        interval_ms: request.interval_ms.unwrap_or(LOBBY_INTERVAL_MS_MIN),
        rooms_max: request.rooms_max.unwrap_or(LOBBY_PUSH_ROOMS_MAX),
    };
    check_view(&view)?;
    if !app.live.step(|plane, _, _| plane.may_watch(key, &view)) {
        let message =
            format!("A session watches the lobby in at most {LOBBY_VIEWS_PER_SESSION_MAX} ways: end one first.");
        return Err(Error::new(ErrorKind::ResourceExhausted, message));
    }
    // The session hears the view before it gets the first page, so that it misses no change behind that page.
    let heard = app.live.ask(|plane, now, request, out| plane.listen(now, key, view.stream(), Some(request), out));
    if let Some(Reply::Joined(Err(refusal))) = heard.await {
        return Err(not_let_in(refusal));
    }
    let subscribe = DirectoryAction::Subscribe(view.clone());
    let answer = ask(app, asker.player()?, subscribe, MessageToRoomOwner::Directory).await;
    match answer {
        Ok(RoomAnswer::Page(page)) => {
            let cursor = cursor(&page, &request.path, &request.filter);
            write(&WrittenPage::new(&page, cursor, Some(view.label())))
        }
        refused => {
            app.live.step(|plane, now, out| plane.unlisten(now, key, view.stream(), out));
            Err(refused.map_or_else(|error| error, |other| unexpected(&other)))
        }
    }
}

pub(super) fn unsubscribe(app: &App, asker: &Asker, request: shape::Unsubscribe) -> Result<String> {
    let (key, _) = asker.session()?;
    let Some(view) = ViewKey::parse(&request.lobby) else {
        let message = "A lobby is named as the answer to \"muster.lobby.subscribe\" named it.";
        return Err(Error::new(ErrorKind::InvalidArgument, message));
    };
    app.live.step(|plane, now, out| plane.unlisten(now, key, view.stream(), out));
    nothing()
}

fn cursor(page: &Page, path: &str, filter: &str) -> Option<String> {
    let after = i64::from(page.next?);
    Some(CursorWriter::new(CursorKind::Rooms).number(after).finish(&[path, filter]))
}

fn read_cursor(cursor: &str, path: &str, filter: &str) -> Result<u32> {
    let refused = || Error::invalid("The cursor is not one of this search.");
    let mut reader = CursorReader::open(cursor, CursorKind::Rooms, &[path, filter]).map_err(|_| refused())?;
    let after = reader.number().map_err(|_| refused())?;
    reader.end().map_err(|_| refused())?;
    u32::try_from(after).map_err(|_| refused())
}
