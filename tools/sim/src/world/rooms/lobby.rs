//! Sessions that watch views of the lobby, and the checks of the pages and changes that they get.

use muster_live::StreamKey;
use muster_live::rooms::{DirectoryAction, MessageToRoomOwner, Request, RoomAnswer};

use super::super::World;
use super::{CONTROL, OpenRoomRequest, RoomResult};
use crate::frames::tales::Tale;
use crate::model::Watching;
use crate::scenario::Who;
use crate::scenario::rooms::{VIEWS, view};
use crate::violation::{Check, Checked, Violation, ensure};

impl World {
    /// Lets a session watch a view. The session listens before it asks for the first page, so that it misses no later
    /// change.
    pub(super) fn watch(&mut self, who: Who, number: usize) -> Checked {
        let watch = self.rooms.watches.entry((number, who)).or_default();
        if watch.watching.is_none() {
            watch.period += 1;
            watch.watching = Some(Watching::default());
        }
        let (period, at, stream) = (watch.period, self.clients[&who].at, view(number).stream());
        self.control += CONTROL;
        self.step(at.place.shard(), |plane, now, out| plane.listen(now, at.key, stream, None, out))?;
        let (asked, what) =
            (OpenRoomRequest::Watch { who, view: number, period }, DirectoryAction::Subscribe(view(number)));
        self.ask_rooms(who, asked, |caller, reply_to| MessageToRoomOwner::Directory(Request { caller, reply_to, what }))
    }

    pub(super) fn unwatch(&mut self, who: Who) -> Checked {
        let own = self.rooms.watches.iter().filter(|((_, other), watch)| *other == who && watch.watching.is_some());
        let Some(number) = own.map(|((number, _), _)| *number).next() else { return Ok(()) };
        self.rooms.watches.entry((number, who)).or_default().watching = None;
        self.control += CONTROL;
        let (at, stream) = (self.clients[&who].at, view(number).stream());
        self.step(at.place.shard(), |plane, now, out| plane.unlisten(now, at.key, stream, out))
    }

    pub(super) fn watch_answered(&mut self, who: Who, view: usize, period: u64, answer: RoomResult) -> Checked {
        let Ok(RoomAnswer::Page(page)) = answer else {
            return Err(Violation { check: Check::Answers, detail: format!("view {view} is refused: {answer:?}") });
        };
        let watch = self.rooms.watches.entry((view, who)).or_default();
        match watch.watching.as_mut().filter(|_| watch.period == period) {
            Some(watching) => watching.answered(&page),
            None => Ok(()),
        }
    }

    pub(super) fn hear_of_lobby(&mut self, who: Who, stream: &StreamKey, tale: &Tale) -> Checked {
        let number = (0..VIEWS).find(|number| view(*number).stream() == *stream);
        let watch = number.and_then(|number| self.rooms.watches.get_mut(&(number, who)));
        let watching = watch.and_then(|watch| watch.watching.as_mut());
        ensure(Check::Stray, watching.is_some(), || format!("session {who} does not watch {stream:?}"))?;
        let (Some(watching), Tale::Lobby(delta)) = (watching, tale) else { return Ok(()) };
        watching.told(delta)?;
        delta.rooms.iter().try_for_each(|room| self.check_listed(room))
    }
}
