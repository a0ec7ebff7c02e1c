//! Views of the lobby. Watchers who ask for the same rooms with the same budget share a view, so that a change is
//! merged, counted against the budget and encoded once for all of them. Never knows who watches.

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use muster_domain::query::{Document, Query};
use muster_domain::{Error, ErrorKind, Result};

use super::carry::{CarriedView, PIECE_ROOMS_MAX};
use super::directory::shows;
use super::limits::LOBBY_VIEWS_MAX;
use super::message::{RoomId, ViewKey};
use crate::session::Millis;

type Hasher = foldhash::fast::RandomState;

#[derive(Debug)]
struct View {
    query: Arc<Query>,
    /// Rooms that changed since their last push, the one that waits longest first.
    changed: IndexSet<RoomId, Hasher>,
    /// The earliest time of the next push.
    next_at: Millis,
    /// Revision of the last push.
    revision: u64,
    /// Whether the next push must say that the lobby begins anew, because the state of an earlier directory is lost.
    anew: bool,
    due: Option<Millis>,
}

impl View {
    fn new(next_at: Millis, query: Query, revision: u64) -> Self {
        let (query, changed) = (Arc::new(query), IndexSet::default());
        Self { query, changed, next_at, revision, anew: false, due: None }
    }
}

/// One push that is due.
pub(super) struct DuePush {
    pub view: Arc<ViewKey>,
    pub query: Arc<Query>,
    pub revision: u64,
    pub anew: bool,
    /// Rooms that appeared, changed, closed or no longer fit the view.
    pub changed: Vec<RoomId>,
}

/// The views of the lobby that somebody watches.
#[derive(Debug, Default)]
pub(super) struct Lobby {
    views: IndexMap<Arc<ViewKey>, View, Hasher>,
    due: BTreeSet<(Millis, Arc<ViewKey>)>,
    /// Revision at which new views begin.
    first_revision: u64,
}

impl Lobby {
    /// A lobby without views; new views begin at this revision.
    pub(super) fn beginning(first_revision: u64) -> Self {
        Self { first_revision, ..Self::default() }
    }

    /// A lobby without views, whose new views begin at the same revision as those of this one.
    pub(super) fn successor(&self) -> Self {
        Self::beginning(self.first_revision)
    }

    /// All views in pieces.
    pub(super) fn carried(&self, now: Millis) -> impl Iterator<Item = CarriedView> {
        self.views.iter().flat_map(move |(key, view)| {
            let changed: Vec<RoomId> = view.changed.iter().copied().collect();
            let pieces = changed.len().div_ceil(PIECE_ROOMS_MAX).max(1);
            (0..pieces).map(move |piece| CarriedView {
                view: ViewKey::clone(key),
                revision: view.revision,
                anew: view.anew,
                due_ms: view.due.map(|at| at.saturating_sub(now)),
                next_ms: view.next_at.saturating_sub(now),
                changed: changed.iter().skip(piece * PIECE_ROOMS_MAX).take(PIECE_ROOMS_MAX).copied().collect(),
            })
        })
    }

    /// Adds a view, or more changed rooms of a view that came before.
    pub(super) fn take_in(&mut self, now: Millis, carried: CarriedView, query: Query) {
        let CarriedView { view: key, revision, anew, due_ms, next_ms, changed } = carried;
        if let Some(view) = self.views.get_mut(&key) {
            view.changed.extend(changed);
            return;
        }
        let (key, due) = (Arc::new(key), due_ms.map(|left| now.saturating_add(left)));
        let view = View::new(now.saturating_add(next_ms), query, revision);
        self.due.extend(due.map(|due| (due, key.clone())));
        self.views.insert(key, View { changed: changed.into_iter().collect(), anew, due, ..view });
    }

    pub(super) fn len(&self) -> usize {
        self.views.len()
    }

    /// Adds a view unless it exists. Returns the revision of its last push.
    pub(super) fn add(&mut self, now: Millis, key: ViewKey, query: Query) -> Result<u64> {
        if let Some(view) = self.views.get(&key) {
            return Ok(view.revision);
        }
        if self.views.len() >= LOBBY_VIEWS_MAX {
            let message = "The lobby is watched in too many different ways: use a filter that others use, or none.";
            return Err(Error::new(ErrorKind::ResourceExhausted, message));
        }
        let view = View::new(now + key.interval_ms, query, self.first_revision);
        self.views.insert(Arc::new(key), view);
        Ok(self.first_revision)
    }

    /// Adds a view that is already watched; the first push names every room in `shown`.
    pub(super) fn adopt(&mut self, now: Millis, key: ViewKey, query: Query, shown: impl Iterator<Item = RoomId>) {
        let due = now + key.interval_ms;
        let key = Arc::new(key);
        let view = View::new(due, query, self.first_revision);
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

    /// Notes a change of a room in all views that showed the room or show it now. `before` is `None` for a new room,
    /// `after` for one that closed.
    pub(super) fn changed(&mut self, now: Millis, id: RoomId, before: Option<&Document>, after: Option<&Document>) {
        for (key, view) in &mut self.views {
            let shown = |document: &&Document| shows(&key.path, &view.query, document);
            if before.filter(shown).is_none() && after.filter(shown).is_none() {
                continue;
            }
            view.changed.insert(id);
            if view.due.is_none() {
                let due = now.max(view.next_at);
                view.due = Some(due);
                self.due.insert((due, key.clone()));
            }
        }
    }

    pub(super) fn next_due(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes out one push that is due, with as many rooms as the view's budget allows.
    pub(super) fn take_due(&mut self, now: Millis) -> Option<DuePush> {
        self.due.first().filter(|(at, _)| *at <= now)?;
        let (_, key) = self.due.pop_first()?;
        let view = self.views.get_mut(&key)?;
        let rest = view.changed.split_off(view.changed.len().min(key.rooms_max));
        let told = std::mem::replace(&mut view.changed, rest);
        view.next_at = now + key.interval_ms;
        view.due = (!view.changed.is_empty()).then_some(view.next_at);
        self.due.extend(view.due.map(|due| (due, key.clone())));
        view.revision += 1;
        let (revision, anew) = (view.revision, std::mem::take(&mut view.anew));
        Some(DuePush { query: view.query.clone(), revision, anew, changed: told.into_iter().collect(), view: key })
    }
}
