//! A view of the lobby as one watcher knows it: the first page, and the changes since.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_live::rooms::{LobbyDelta, Page, RoomId, Summary};

use crate::violation::{Check, Checked, ensure};

/// The rooms of a view as one watcher sees them.
#[derive(Debug, Default)]
pub struct Watching {
    /// The rooms; `None` before the first page.
    pub rooms: Option<BTreeMap<RoomId, Arc<Summary>>>,
    /// Revision of the last change that is applied.
    revision: u64,
}

impl Watching {
    /// Applies a first page.
    pub fn answered(&mut self, page: &Page) -> Checked {
        let revision = page.revision.unwrap_or_default();
        ensure(Check::Lobby, self.rooms.is_none() || revision >= self.revision, || {
            format!("a first page of revision {revision} behind change {}", self.revision)
        })?;
        self.rooms = Some(page.rooms.iter().map(|room| (room.id, room.clone())).collect());
        self.revision = revision;
        Ok(())
    }

    /// Applies a push. Pushes from before the first page are part of that page, and no later push may be missing. A
    /// push that begins anew drops the known rooms.
    pub fn told(&mut self, delta: &LobbyDelta) -> Checked {
        let Some(rooms) = self.rooms.as_mut().filter(|_| delta.revision > self.revision) else { return Ok(()) };
        ensure(Check::Lobby, delta.anew || delta.revision == self.revision + 1, || {
            format!("change {} is told behind {}", delta.revision, self.revision)
        })?;
        if delta.anew {
            rooms.clear();
        }
        self.revision = delta.revision;
        delta.gone.iter().for_each(|room| drop(rooms.remove(room)));
        rooms.extend(delta.rooms.iter().map(|room| (room.id, room.clone())));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_from_before_the_page_are_in_it_and_none_behind_it_is_missed() {
        let mut watching = Watching::default();
        let delta = |revision| LobbyDelta { revision, ..LobbyDelta::default() };
        assert!(watching.told(&delta(1)).is_ok());
        assert!(watching.answered(&Page { revision: Some(4), ..Page::default() }).is_ok());
        assert!(watching.told(&delta(3)).is_ok());
        assert!(watching.told(&delta(5)).is_ok());
        assert!(watching.told(&delta(7)).is_err());
        assert!(watching.answered(&Page { revision: Some(4), ..Page::default() }).is_err());
    }
}
