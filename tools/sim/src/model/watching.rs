//! A view of the lobby as one who watches it knows it: the first page, and the changes since.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_live::rooms::{LobbyDelta, Page, RoomId, Summary};

use crate::violation::{Check, Checked, ensure};

/// See the module.
#[derive(Debug, Default)]
pub struct Watching {
    /// The rooms, once there was a page.
    pub rooms: Option<BTreeMap<RoomId, Arc<Summary>>>,
    /// The last change that is in them.
    revision: u64,
}

impl Watching {
    /// The first page, or a first page once more.
    pub fn answered(&mut self, page: &Page) -> Checked {
        let revision = page.revision.unwrap_or_default();
        ensure(Check::Lobby, self.rooms.is_none() || revision >= self.revision, || {
            format!("a first page of revision {revision} behind change {}", self.revision)
        })?;
        self.rooms = Some(page.rooms.iter().map(|room| (room.id, room.clone())).collect());
        self.revision = revision;
        Ok(())
    }

    /// A change. None may be missed behind the page, and those from before it are in it. Where all begins anew, what was
    /// known is forgotten.
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
