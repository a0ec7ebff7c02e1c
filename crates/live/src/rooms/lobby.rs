//! Views of the lobby: who asks for the same rooms in the same measure shares one, so that a change is merged, counted
//! against the budget and encoded once for all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use muster_domain::query::{Document, Query};
use muster_domain::{Error, ErrorKind, Result};

use super::directory::shows;
use super::limits::LOBBY_VIEWS_MAX;
use super::message::{RoomId, ViewKey};
use crate::session::Millis;

type Hasher = foldhash::fast::RandomState;

#[derive(Debug)]
struct View {
    query: Arc<Query>,
    /// Rooms that changed since they were last told, the one that waits for longest first.
    changed: IndexSet<RoomId, Hasher>,
    told_at: Option<Millis>,
    /// Of the changes that were told last.
    revision: u64,
    /// Those who watch were told of other rooms, by a directory that is no more.
    anew: bool,
    due: Option<Millis>,
}

impl View {
    fn new(now: Millis, query: Query, revision: u64) -> Self {
        let (query, changed) = (Arc::new(query), IndexSet::default());
        Self { query, changed, told_at: Some(now), revision, anew: false, due: None }
    }
}

/// What one view is to be told.
pub(super) struct Due {
    pub view: Arc<ViewKey>,
    pub query: Arc<Query>,
    pub revision: u64,
    pub anew: bool,
    /// Rooms that changed, in whatever way.
    pub changed: Vec<RoomId>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Lobby {
    views: IndexMap<Arc<ViewKey>, View, Hasher>,
    due: BTreeSet<(Millis, Arc<ViewKey>)>,
    /// Views begin with this one.
    first_revision: u64,
}

impl Lobby {
    /// Its views begin with this revision.
    pub(super) fn beginning(first_revision: u64) -> Self {
        Self { first_revision, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.views.len()
    }

    /// Adds a view unless it is there. Answers the revision of the changes that were told last.
    pub(super) fn add(&mut self, now: Millis, key: ViewKey, query: Query) -> Result<u64> {
        if let Some(view) = self.views.get(&key) {
            return Ok(view.revision);
        }
        if self.views.len() >= LOBBY_VIEWS_MAX {
            let message = "The lobby is watched in too many different ways: use a filter that others use, or none.";
            return Err(Error::new(ErrorKind::ResourceExhausted, message));
        }
        self.views.insert(Arc::new(key), View::new(now, query, self.first_revision));
        Ok(self.first_revision)
    }

    /// Adds a view that is watched already: those who do are told all that there is.
    pub(super) fn adopt(&mut self, now: Millis, key: ViewKey, query: Query, shown: impl Iterator<Item = RoomId>) {
        let due = now + key.interval_ms;
        let key = Arc::new(key);
        let view = View::new(now, query, self.first_revision);
        let view = View { changed: shown.collect(), anew: true, due: Some(due), ..view };
        if !self.views.contains_key(&key) {
            self.due.insert((due, key.clone()));
            self.views.insert(key, view);
        }
    }

    pub(super) fn drop_view(&mut self, key: &ViewKey) {
        if let Some((_, key, View { due: Some(due), .. })) = self.views.swap_remove_full(key) {
            self.due.remove(&(due, key));
        }
    }

    /// A room changed, came (from nothing) or went (to nothing).
    pub(super) fn changed(&mut self, now: Millis, id: RoomId, before: Option<&Document>, after: Option<&Document>) {
        for (key, view) in &mut self.views {
            let shown = |document: &&Document| shows(&key.path, &view.query, document);
            if before.filter(shown).is_none() && after.filter(shown).is_none() {
                continue;
            }
            view.changed.insert(id);
            if view.due.is_none() {
                let due = view.told_at.map_or(now, |at| now.max(at + key.interval_ms));
                view.due = Some(due);
                self.due.insert((due, key.clone()));
            }
        }
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes out what one view is to be told now, as much as its budget allows.
    pub(super) fn take_due(&mut self, now: Millis) -> Option<Due> {
        self.due.first().filter(|(at, _)| *at <= now)?;
        let (_, key) = self.due.pop_first()?;
        let view = self.views.get_mut(&key)?;
        let rest = view.changed.split_off(view.changed.len().min(key.rooms_max));
        let told = std::mem::replace(&mut view.changed, rest);
        view.told_at = Some(now);
        view.due = (!view.changed.is_empty()).then_some(now + key.interval_ms);
        self.due.extend(view.due.map(|due| (due, key.clone())));
        view.revision += 1;
        let (revision, anew) = (view.revision, std::mem::take(&mut view.anew));
        Some(Due { query: view.query.clone(), revision, anew, changed: told.into_iter().collect(), view: key })
    }
}
