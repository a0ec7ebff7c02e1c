//! Views of the lobby. Watchers who ask for the same rooms with the same budget share a view, so that a change is
//! merged, counted against the budget and encoded once for all of them. Never knows who watches.
//!
//! Changes of rooms wait in [`News`] until each view has judged them. Views take turns with equal shares of work, so
//! that a costly filter delays its own view alone.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use muster_domain::query::{Candidates, Document, Found, Index, Query, Work};
use muster_domain::{Error, ErrorKind, Result, UserId};

use super::carry::{CarriedView, PIECE_ROOMS_MAX};
use super::directory::{ListedRoom, shows};
use super::effect::LobbyDelta;
use super::limits::{LOBBY_PUSH_UNITS_MAX, LOBBY_VIEW_UNITS, LOBBY_VIEWS_MAX, LOBBY_VIEWS_PER_USER_MAX};
use super::message::{RoomId, ViewKey};
use super::news::News;
use super::state::Summary;
use crate::plane::Map;
use crate::session::Millis;

type Hasher = foldhash::fast::RandomState;

/// The listed rooms, as views judge them.
#[derive(Clone, Copy)]
pub(super) struct Listed<'a> {
    pub index: &'a Index,
    pub rooms: &'a Map<u32, ListedRoom>,
    pub slots: &'a Map<RoomId, u32>,
}

impl Listed<'_> {
    fn document(&self, room: RoomId) -> Option<&Document> {
        self.slots.get(&room).and_then(|slot| self.index.document(*slot))
    }

    fn summary(&self, room: RoomId) -> Option<&Arc<Summary>> {
        self.slots.get(&room).and_then(|slot| self.rooms.get(slot)).map(|listed| &listed.summary)
    }
}

#[derive(Debug)]
struct View {
    query: Query,
    /// The user who asked for the view first; `None` if another directory made the view.
    maker: Option<UserId>,
    /// Rooms that changed since their last push, the one that waits longest first.
    order: VecDeque<RoomId>,
    /// For each of these rooms, whether the view shows it.
    changed: Map<RoomId, bool>,
    /// Rooms that watchers must be told of once their latest news is judged.
    unjudged: HashSet<RoomId, Hasher>,
    /// Rooms to judge without news. The directory at another place had not told the watchers of them.
    again: VecDeque<RoomId>,
    /// Number of the next news to judge.
    read: u64,
    /// The next slot to judge, while the view judges all rooms in order to begin anew.
    anew_from: Option<u32>,
    /// Work that exceeded the view's share.
    debt: u32,
    /// The earliest time of the next push.
    next_at: Millis,
    /// Revision of the last push.
    revision: u64,
    /// Whether the next push must say that the lobby begins anew.
    anew: bool,
    /// The time of the next push, if there is anything to tell.
    due: Option<Millis>,
}

impl View {
    fn new(next_at: Millis, query: Query, revision: u64, read: u64) -> Self {
        Self {
            query,
            maker: None,
            order: VecDeque::new(),
            changed: Map::default(),
            unjudged: HashSet::default(),
            again: VecDeque::new(),
            read,
            anew_from: None,
            debt: 0,
            next_at,
            revision,
            anew: false,
            due: None,
        }
    }

    /// Makes the view judge all rooms. Watchers forget what they know with the next push.
    fn begin_anew(&mut self, news: &mut News) {
        self.order.clear();
        self.changed.clear();
        self.unjudged.clear();
        self.again.clear();
        (self.read, self.anew_from, self.anew) = (news.read_all(), Some(0), true);
    }

    fn has_work(&self, news: &News) -> bool {
        self.read < news.end() || self.anew_from.is_some() || !self.again.is_empty()
    }

    /// Notes that watchers must be told of a room.
    fn judge(&mut self, room: RoomId, is_shown: bool) {
        self.unjudged.remove(&room);
        if self.changed.insert(room, is_shown).is_none() {
            self.order.push_back(room);
        }
    }

    /// Judges rooms until the share of work is spent or all are judged.
    fn go_on(&mut self, key: &ViewKey, news: &News, listed: Listed<'_>, share: &mut Work) {
        while !share.is_spent() {
            share.spend(1);
            // Rooms of the directory before changed earlier than any that there is news of.
            if let Some(room) = self.again.pop_front() {
                let is_shown = self.shows(key, listed.document(room), share);
                self.judge(room, is_shown);
            } else if let Some((room, before, is_latest)) = news.get(self.read) {
                self.read += 1;
                let is_known = self.unjudged.contains(&room) || self.shows(key, before, share);
                if is_latest {
                    let is_shown = self.shows(key, listed.document(room), share);
                    if is_known || is_shown {
                        self.judge(room, is_shown);
                    }
                } else if is_known {
                    self.unjudged.insert(room);
                }
            } else if let Some(from) = self.anew_from {
                self.go_on_anew(key, listed, from, share);
            } else {
                return;
            }
        }
    }

    fn go_on_anew(&mut self, key: &ViewKey, listed: Listed<'_>, from: u32, share: &mut Work) {
        let mut scan = listed.index.scan(Candidates::all(), from);
        while let Found::Slot(slot) = scan.next_within(share) {
            if let Some(room) = listed.rooms.get(&slot).map(|listed| listed.summary.id)
                && self.shows(key, listed.index.document(slot), share)
            {
                self.judge(room, true);
            }
            if share.is_spent() {
                break;
            }
        }
        self.anew_from = scan.next_slot();
    }

    fn shows(&self, key: &ViewKey, document: Option<&Document>, work: &mut Work) -> bool {
        document.is_some_and(|document| shows(&key.path, &self.query, document, work))
    }

    /// Whether there is anything to tell now.
    fn may_push(&self) -> bool {
        self.anew_from.is_none() && (self.anew || !self.order.is_empty())
    }
}

/// The views of the lobby that somebody watches.
#[derive(Default)]
pub(super) struct Lobby {
    views: IndexMap<Arc<ViewKey>, View, Hasher>,
    news: News,
    /// Views with a push in the future, in the order of the pushes.
    due: BTreeSet<(Millis, Arc<ViewKey>)>,
    /// Views whose push is due. Views that nobody watches any more may be among them.
    ready: VecDeque<Arc<ViewKey>>,
    /// The place in `views` of the next view whose turn it is.
    turn: usize,
    /// Number of views in a row that had nothing to judge at their last turn.
    idle: usize,
    /// The time of the latest step that had one.
    now: Millis,
    /// Number of views by the user who asked for them first.
    made: Map<UserId, usize>,
    /// Revision at which new views begin.
    first_revision: u64,
    /// Views so far that were refused at a limit.
    pub(super) refused: u64,
    /// Times so far that a view was too far behind and began anew.
    pub(super) restarted: u64,
}

impl Lobby {
    /// A lobby without views; new views begin at this revision.
    pub(super) fn beginning(first_revision: u64) -> Self {
        Self { first_revision, ..Self::default() }
    }

    /// A lobby without views, whose new views begin at the same revision as those of this one.
    pub(super) fn successor(&self) -> Self {
        Self { refused: self.refused, restarted: self.restarted, ..Self::beginning(self.first_revision) }
    }

    /// All views in pieces. News that a view has not judged go along as changed rooms.
    pub(super) fn carried(&self, now: Millis) -> impl Iterator<Item = CarriedView> {
        self.views.iter().flat_map(move |(key, view)| {
            let begins_anew = view.anew_from.is_some() || view.read < self.news.first();
            let mut changed: Vec<RoomId> = view.order.iter().chain(&view.again).copied().collect();
            changed.extend(self.news.rooms_from(view.read));
            let mut seen = HashSet::with_capacity_and_hasher(changed.len(), Hasher::default());
            changed.retain(|room| !begins_anew && seen.insert(*room));
            let due = view.due.or((begins_anew || !changed.is_empty()).then_some(view.next_at));
            let pieces = changed.len().div_ceil(PIECE_ROOMS_MAX).max(1);
            (0..pieces).map(move |piece| CarriedView {
                view: ViewKey::clone(key),
                maker: view.maker,
                revision: view.revision,
                anew: view.anew || begins_anew,
                due_ms: due.map(|at| at.saturating_sub(now)),
                next_ms: view.next_at.saturating_sub(now),
                changed: changed.iter().skip(piece * PIECE_ROOMS_MAX).take(PIECE_ROOMS_MAX).copied().collect(),
            })
        })
    }

    /// Adds a view, or more changed rooms of a view that came before. A view that was to begin anew does so here.
    pub(super) fn take_in(&mut self, now: Millis, carried: CarriedView, query: Query) {
        let CarriedView { view: key, maker, revision, anew, due_ms: _, next_ms, changed } = carried;
        (self.now, self.idle) = (now, 0);
        let (news, made, next_at) = (&mut self.news, &mut self.made, now.saturating_add(next_ms));
        let view = self.views.entry(Arc::new(key)).or_insert_with(|| {
            let mut view = View { maker, ..View::new(next_at, query, revision, news.read_all()) };
            if let Some(maker) = maker {
                *made.entry(maker).or_default() += 1;
            }
            if anew {
                view.begin_anew(news);
            }
            view
        });
        if view.anew_from.is_none() {
            view.again.extend(changed);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.views.len()
    }

    /// Adds a view unless it exists. Returns the revision of its last push.
    pub(super) fn add(&mut self, now: Millis, key: ViewKey, query: Query, maker: UserId) -> Result<u64> {
        if let Some(view) = self.views.get(&key) {
            return Ok(view.revision);
        }
        let made = self.made.get(&maker).copied().unwrap_or(0);
        let message = if self.views.len() >= LOBBY_VIEWS_MAX {
            "The lobby is watched in too many different ways: use a filter that others use, or none.".to_owned()
        } else if made >= LOBBY_VIEWS_PER_USER_MAX {
            format!(
                "You watch the lobby in {made} ways that nobody else began: end one, or use a filter that others use."
            )
        } else {
            self.made.insert(maker, made + 1);
            let view = View::new(now + key.interval_ms, query, self.first_revision, self.news.read_all());
            self.views.insert(Arc::new(key), View { maker: Some(maker), ..view });
            return Ok(self.first_revision);
        };
        self.refused += 1;
        Err(Error::new(ErrorKind::ResourceExhausted, message))
    }

    /// Adds a view that is already watched. Its first push names every room that it shows.
    pub(super) fn adopt(&mut self, now: Millis, key: ViewKey, query: Query) {
        let (news, next_at) = (&mut self.news, now + key.interval_ms);
        self.views.entry(Arc::new(key)).or_insert_with(|| {
            let mut view = View::new(next_at, query, self.first_revision, news.read_all());
            view.begin_anew(news);
            view
        });
        (self.now, self.idle) = (now, 0);
    }

    pub(super) fn drop_view(&mut self, key: &ViewKey) {
        let Some((_, key, view)) = self.views.swap_remove_full(key) else { return };
        if let Some(due) = view.due {
            self.due.remove(&(due, key));
        }
        if let Some(maker) = view.maker
            && let Some(made) = self.made.get_mut(&maker)
        {
            *made -= 1;
            if *made == 0 {
                self.made.remove(&maker);
            }
        }
        // Another view has taken this view's place in the order of turns.
        self.idle = 0;
    }

    /// Notes a change of a room. `before` is the room as views last saw it; `None` for a new room.
    pub(super) fn changed(&mut self, now: Millis, id: RoomId, before: Option<Document>) {
        if !self.views.is_empty() {
            self.news.note(id, before);
            (self.now, self.idle) = (now, 0);
        }
    }

    /// The time of the first push in the future.
    pub(super) fn next_due(&self) -> Option<Millis> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Notes the pushes whose time has come.
    pub(super) fn turn(&mut self, now: Millis) {
        self.now = now;
        while let Some((at, key)) = self.due.pop_first() {
            if at > now {
                self.due.insert((at, key));
                return;
            }
            self.ready.push_back(key);
        }
    }

    /// Whether there are rooms to judge or pushes to make.
    pub(super) fn is_busy(&self) -> bool {
        self.idle < self.views.len() || !self.ready.is_empty()
    }

    /// Goes on until the work is spent: half of it may go to judging rooms.
    pub(super) fn run_slice(
        &mut self,
        now: Millis,
        listed: Listed<'_>,
        work: &mut Work,
    ) -> Vec<(Arc<ViewKey>, LobbyDelta)> {
        self.now = now;
        // Judging comes first, so that a push tells of what its own step changed.
        let mut judging = Work::new(work.left() / 2);
        while !judging.is_spent() && self.idle < self.views.len() {
            judging.spend(1);
            self.give_turn(listed, &mut judging);
        }
        work.add(&judging);
        if self.idle >= self.views.len() {
            self.news.clear();
        }
        let mut pushes = Vec::new();
        while !work.is_spent()
            && let Some(key) = self.ready.pop_front()
        {
            work.spend(1);
            pushes.extend(self.push(&key, listed, work).map(|delta| (key, delta)));
        }
        pushes
    }

    /// Gives the next view its share of work.
    fn give_turn(&mut self, listed: Listed<'_>, work: &mut Work) {
        self.turn = if self.turn < self.views.len() { self.turn } else { 0 };
        let Some((key, view)) = self.views.get_index_mut(self.turn) else { return };
        self.turn += 1;
        if !view.has_work(&self.news) {
            self.idle += 1;
            return;
        }
        self.idle = 0;
        if let Some(debt) = view.debt.checked_sub(LOBBY_VIEW_UNITS) {
            view.debt = debt;
            return;
        }
        if view.read < self.news.first() {
            view.begin_anew(&mut self.news);
            self.restarted += 1;
        }
        let mut share = Work::new(LOBBY_VIEW_UNITS - view.debt);
        view.go_on(key, &self.news, listed, &mut share);
        self.news.was_read_to(view.read);
        view.debt = u32::try_from(share.spent()).unwrap_or(u32::MAX).saturating_sub(LOBBY_VIEW_UNITS - view.debt);
        work.add(&share);
        if view.due.is_none() && view.may_push() {
            let key = key.clone();
            self.time_push(&key);
        }
    }

    /// Sets the time of a view's next push.
    fn time_push(&mut self, key: &Arc<ViewKey>) {
        let Some(view) = self.views.get_mut(key) else { return };
        let due = self.now.max(view.next_at);
        view.due = Some(due);
        if due <= self.now {
            self.ready.push_back(key.clone());
        } else {
            self.due.insert((due, key.clone()));
        }
    }

    /// Makes a push that is due, with as many rooms as the view's budget allows and their size.
    fn push(&mut self, key: &Arc<ViewKey>, listed: Listed<'_>, work: &mut Work) -> Option<LobbyDelta> {
        // The view may be another one of the same name, whose push is not due yet.
        let view = self.views.get_mut(key).filter(|view| view.due.is_some_and(|due| due <= self.now))?;
        view.due = None;
        if view.read < self.news.first() || view.anew_from.is_some() {
            return None;
        }
        let (mut delta, mut units) = (LobbyDelta::default(), 0);
        while delta.rooms.len() + delta.gone.len() < key.rooms_max && units < LOBBY_PUSH_UNITS_MAX {
            let Some(room) = view.order.pop_front() else { break };
            let Some(is_shown) = view.changed.remove(&room) else { continue };
            units += 1;
            if self.news.has_later(room, view.read) {
                // The room is told as the view judges it next.
                view.unjudged.insert(room);
                continue;
            }
            match listed.summary(room).filter(|_| is_shown) {
                Some(summary) => {
                    units += summary.show_units();
                    delta.rooms.push(summary.clone());
                }
                None => delta.gone.push(room),
            }
        }
        work.spend(units);
        let tells = view.anew || !delta.rooms.is_empty() || !delta.gone.is_empty();
        if tells {
            view.next_at = self.now + key.interval_ms;
            view.revision += 1;
            (delta.revision, delta.anew) = (view.revision, std::mem::take(&mut view.anew));
        }
        if view.may_push() {
            self.time_push(key);
        }
        tells.then_some(delta)
    }
}
