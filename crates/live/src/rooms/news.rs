//! Changes of listed rooms that views of the lobby have yet to judge, in order and bounded. A view that has not judged
//! news that fell off the end must judge all rooms.

use std::collections::VecDeque;

use muster_domain::query::Document;

use super::limits::{LOBBY_NEWS_BYTES_MAX, LOBBY_NEWS_MAX};
use super::message::RoomId;
use crate::plane::Map;

/// Numbered changes. Numbers go on when news are dropped.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Rooms with the documents that they had before the change; `None` for a new room.
    entries: VecDeque<(RoomId, Option<Document>)>,
    /// Number of the first entry.
    first: u64,
    /// Number of the latest entry of each room.
    latest: Map<RoomId, u64>,
    /// No view has judged this entry or a later one.
    unread_from: u64,
    /// Sum of the sizes of the documents.
    bytes: usize,
}

impl News {
    /// Number of the first news that are kept.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Number of the news that come next.
    pub(super) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Adds a change. A change of a room whose last change no view has judged is merged with that.
    pub(super) fn note(&mut self, room: RoomId, before: Option<Document>) {
        if self.latest.get(&room).is_some_and(|latest| *latest >= self.unread_from) {
            return;
        }
        self.latest.insert(room, self.end());
        self.bytes += bytes(before.as_ref());
        self.entries.push_back((room, before));
        while self.entries.len() > LOBBY_NEWS_MAX || self.bytes > LOBBY_NEWS_BYTES_MAX {
            self.drop_first();
        }
    }

    fn drop_first(&mut self) {
        let Some((room, before)) = self.entries.pop_front() else { return };
        self.bytes -= bytes(before.as_ref());
        if self.latest.get(&room) == Some(&self.first) {
            self.latest.remove(&room);
        }
        self.first += 1;
    }

    /// The room of an entry, the document that it had before, and whether no later entry is about the room.
    pub(super) fn get(&self, number: u64) -> Option<(RoomId, Option<&Document>, bool)> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let (room, before) = self.entries.get(at)?;
        Some((*room, before.as_ref(), self.latest.get(room) == Some(&number)))
    }

    /// The rooms of all entries from a number on. A room may come several times.
    pub(super) fn rooms_from(&self, number: u64) -> impl Iterator<Item = RoomId> {
        let skipped = usize::try_from(number.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.entries.iter().skip(skipped).map(|(room, _)| *room)
    }

    /// Whether there is an entry of a room with this number or a later one.
    pub(super) fn has_later(&self, room: RoomId, number: u64) -> bool {
        self.latest.get(&room).is_some_and(|latest| *latest >= number)
    }

    /// Notes that a view has judged all entries before a number.
    pub(super) fn was_read_to(&mut self, number: u64) {
        self.unread_from = self.unread_from.max(number);
    }

    /// The number that a view goes on from which has judged all rooms, or is about to.
    pub(super) fn read_all(&mut self) -> u64 {
        self.unread_from = self.end();
        self.end()
    }

    /// Drops all entries, once all views have judged them.
    pub(super) fn clear(&mut self) {
        self.first = self.end();
        self.entries.clear();
        self.latest.clear();
        self.bytes = 0;
    }
}

fn bytes(document: Option<&Document>) -> usize {
    document.map_or(0, Document::bytes)
}
