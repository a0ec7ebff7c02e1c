//! The presences on one stream, as its owner keeps them: found by session, listed by position, and shown to sessions
//! that come.
//!
//! The structure is made for a hundred thousand presences on one stream: entries are small, so that growing copies
//! little, and all sessions that come to a large stream are shown the same snapshot, built once.

use std::sync::Arc;

use indexmap::IndexMap;
use muster_domain::ids::SessionId;

use crate::place::Place;
use crate::stream::{Encoding, Presence, SessionRef};

/// A session on a stream.
#[derive(Debug)]
pub(crate) struct Here {
    pub presence: Arc<Presence>,
    /// The encoding in which the session hears the stream by its join, if it does. Hearing by a listen is counted
    /// apart.
    pub heard: Option<Encoding>,
    /// Serial number of the join among all joins of the stream, see [`Presences::came`].
    pub number: u32,
}

/// The presences on one stream.
#[derive(Debug, Default)]
pub(crate) struct Presences {
    here: IndexMap<SessionRef, Here, foldhash::fast::RandomState>,
    visible: usize,
    /// Number of joins so far; it wraps.
    came: u32,
    /// The snapshot of a large stream, and the position at which it ends: only a change before that position changes
    /// it.
    shown: Option<(Arc<[Presence]>, usize)>,
}

impl Presences {
    /// Number of presences, hidden ones included.
    pub(crate) fn len(&self) -> usize {
        self.here.len()
    }

    /// Number of presences that are not hidden.
    pub(crate) fn visible(&self) -> usize {
        self.visible
    }

    /// Number of joins so far; it wraps.
    pub(crate) fn came(&self) -> u32 {
        self.came
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.here.is_empty()
    }

    pub(crate) fn contains(&self, session: SessionRef) -> bool {
        self.here.contains_key(&session)
    }

    pub(crate) fn get(&self, session: SessionRef) -> Option<&Here> {
        self.here.get(&session)
    }

    /// The encoding in which a session hears by its join, to be changed.
    pub(crate) fn heard_mut(&mut self, session: SessionRef) -> Option<&mut Option<Encoding>> {
        self.here.get_mut(&session).map(|here| &mut here.heard)
    }

    /// Changes the status of a presence, if there is one.
    pub(crate) fn set_status(&mut self, session: SessionRef, status: &Option<Arc<str>>) -> bool {
        let Some((place, _, here)) = self.here.get_full_mut(&session) else { return false };
        Arc::make_mut(&mut here.presence).status.clone_from(status);
        self.changed(place);
        true
    }

    /// Moves the presence of a session to the session's new place. Answers `None` if the session is not on the stream,
    /// otherwise the encoding in which the session hears the stream by its join, if it does.
    pub(crate) fn rebind(&mut self, from: SessionRef, to: SessionRef) -> Option<Option<Encoding>> {
        let (place, _, here) = self.here.get_full_mut(&from)?;
        Arc::make_mut(&mut here.presence).session = to;
        let heard = here.heard;
        if self.here.replace_index(place, to).is_err() {
            // The session was here at both places; the presence at its new place stays.
            self.remove(from);
        }
        self.changed(place);
        Some(heard)
    }

    /// The place and encoding of each session that hears the stream by its join.
    pub(crate) fn heard(&self) -> impl Iterator<Item = (Place, Encoding)> {
        self.here.iter().filter_map(|(session, here)| Some((session.place, here.heard?)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Presence> {
        self.here.values().map(|here| &*here.presence)
    }

    /// Puts a presence in, and answers the session's former one, if there was one.
    pub(crate) fn insert(&mut self, presence: Arc<Presence>, heard: Option<Encoding>) -> Option<Here> {
        let (session, is_visible) = (presence.session, !presence.hidden);
        let (place, former) = self.here.insert_full(session, Here { presence, heard, number: self.came });
        self.came = self.came.wrapping_add(1);
        self.visible += usize::from(is_visible);
        self.visible -= usize::from(former.as_ref().is_some_and(|former| !former.presence.hidden));
        self.changed(place);
        former
    }

    /// Puts a presence of a stream that comes from another place behind the others. It does not count as a join.
    pub(crate) fn carry_in(&mut self, here: Here) {
        let (session, is_visible) = (here.presence.session, !here.presence.hidden);
        if self.here.insert(session, here).is_none() {
            self.visible += usize::from(is_visible);
        }
        self.shown = None;
    }

    /// Sets the number of joins that a stream has had at its former place.
    pub(crate) fn set_came(&mut self, came: u32) {
        self.came = came;
    }

    /// All presences, in order.
    pub(crate) fn into_all(self) -> impl Iterator<Item = Here> {
        self.here.into_values()
    }

    /// Takes the presence of a session out.
    pub(crate) fn remove(&mut self, session: SessionRef) -> Option<Here> {
        // The last presence takes the position of the one that goes.
        let (place, _, here) = self.here.swap_remove_full(&session)?;
        self.visible -= usize::from(!here.presence.hidden);
        self.changed(place);
        Some(here)
    }

    /// Panics where a presence stands under another session than its own, a session is here twice, or the count or the
    /// snapshot of those that may be seen is wrong.
    pub(crate) fn assert_sound(&self) {
        assert!(self.here.iter().all(|(at, here)| *at == here.presence.session), "a presence of another session");
        let mut ids: Vec<SessionId> = self.iter().map(|presence| presence.session_id).collect();
        ids.sort_unstable();
        assert!(ids.is_sorted_by(|one, next| one < next), "a session is on a stream twice: {self:?}");
        let visible = || self.iter().filter(|presence| !presence.hidden);
        assert_eq!(self.visible, visible().count(), "presences that may be seen");
        if let Some((shown, _)) = &self.shown {
            assert!(shown.iter().eq(visible().take(shown.len())), "a snapshot of others than are here");
        }
    }

    fn changed(&mut self, place: usize) {
        self.shown.take_if(|(_, end)| place < *end);
    }

    /// The first presences that may be seen, at most `max`, and the number of all that may be seen.
    pub(crate) fn snapshot(&mut self, max: usize) -> (Arc<[Presence]>, usize) {
        if let Some((shown, _)) = &self.shown {
            return (shown.clone(), self.visible);
        }
        let (mut shown, mut end) = (Vec::with_capacity(max.min(self.visible)), 0);
        for (place, here) in self.here.values().enumerate() {
            if shown.len() == max {
                break;
            }
            if !here.presence.hidden {
                shown.push(Presence::clone(&here.presence));
                end = place + 1;
            }
        }
        let is_cut = shown.len() < self.visible;
        let shown: Arc<[Presence]> = shown.into();
        // A snapshot that shows everybody would change with the next join, so it is not kept.
        self.shown = is_cut.then(|| (shown.clone(), end));
        (shown, self.visible)
    }

    /// A page of the presences, and their number on all pages.
    pub(crate) fn page(&self, with_hidden: bool, skip: usize, limit: usize) -> (Vec<Presence>, usize) {
        let total = if with_hidden { self.here.len() } else { self.visible };
        if with_hidden || self.visible == self.here.len() {
            // The page is found by its position, so that a late page of a large stream costs no more than the first.
            let end = total.min(skip.saturating_add(limit));
            let page = self.here.as_slice().get_range(skip.min(end)..end);
            let page = page.map(|page| page.values().map(|here| Presence::clone(&here.presence)).collect());
            return (page.unwrap_or_default(), total);
        }
        let shown = self.iter().filter(|presence| !presence.hidden);
        (shown.skip(skip).take(limit).cloned().collect(), total)
    }
}

#[cfg(test)]
mod tests {
    use muster_domain::ids::{UserId, Uuid};

    use super::*;
    use crate::registry::{Registry, SessionInfo};

    /// Presences of sessions `0..count`; those in `hidden` are hidden.
    fn presences(count: u128, hidden: &[u128]) -> Vec<Arc<Presence>> {
        let mut registry = Registry::default();
        let presence = |n: u128| {
            let info = SessionInfo {
                session_id: SessionId(Uuid::from_u128(n)),
                user_id: UserId(Uuid::from_u128(n)),
                token_id: muster_domain::ids::TokenId(Uuid::nil()),
                issued_at_sec: 0,
                only_session_since: None,
            };
            let (session_id, user_id) = (info.session_id, info.user_id);
            let session = SessionRef { place: crate::Place::from(0), key: registry.open(info, ()) };
            let username = n.to_string().into();
            let hidden = hidden.contains(&n);
            Arc::new(Presence {
                session,
                session_id,
                user_id,
                username,
                hidden,
                persistence: false,
                status: None,
                only_session_since: None,
            })
        };
        (0..count).map(presence).collect()
    }

    fn names(presences: &[Presence]) -> Vec<&str> {
        presences.iter().map(|presence| &*presence.username).collect()
    }

    #[test]
    fn a_snapshot_follows_every_change_of_those_it_shows() {
        let all = presences(6, &[1]);
        let mut here = Presences::default();
        for presence in &all[..5] {
            here.insert(presence.clone(), None);
        }
        let check = |here: &mut Presences, expect: &[&str], total| {
            let (shown, all) = here.snapshot(3);
            assert_eq!((names(&shown), all), (expect.to_vec(), total));
        };
        check(&mut here, &["0", "2", "3"], 4);
        here.insert(all[5].clone(), None);
        check(&mut here, &["0", "2", "3"], 5);
        here.remove(all[4].session);
        check(&mut here, &["0", "2", "3"], 4);
        here.remove(all[0].session);
        check(&mut here, &["5", "2", "3"], 3);
        here.insert(Arc::new(Presence { hidden: true, ..Presence::clone(&all[2]) }), None);
        check(&mut here, &["5", "3"], 2);
        here.insert(all[1].clone(), None);
        assert_eq!(here.visible(), 2);
    }

    #[test]
    #[should_panic(expected = "a presence of another session")]
    fn a_presence_under_another_session_is_found() {
        let [one, two] = presences(2, &[]).try_into().unwrap();
        let mut here = Presences::default();
        here.insert(one, None);
        here.here[0].presence = two;
        here.assert_sound();
    }

    #[test]
    #[should_panic(expected = "presences that may be seen")]
    fn a_wrong_count_of_those_who_may_be_seen_is_found() {
        Presences { visible: 1, ..Presences::default() }.assert_sound();
    }

    #[test]
    #[should_panic(expected = "a snapshot of others than are here")]
    fn an_outdated_snapshot_is_found() {
        let mut here = Presences::default();
        presences(3, &[]).into_iter().for_each(|presence| drop(here.insert(presence, None)));
        here.snapshot(2);
        let shown = here.shown.take();
        here.remove(here.here[0].presence.session);
        here.shown = shown;
        here.assert_sound();
    }

    #[test]
    fn pages_hold_each_once() {
        for hidden in [&[][..], &[1, 3]] {
            let mut here = Presences::default();
            for presence in presences(5, hidden) {
                here.insert(presence, None);
            }
            let visible: Vec<String> = (0..5).filter(|n| !hidden.contains(n)).map(|n| n.to_string()).collect();
            let pages: Vec<String> =
                (0..3).flat_map(|page| here.page(false, 2 * page, 2).0).map(|p| p.username.to_string()).collect();
            assert_eq!(pages, visible);
            assert_eq!(here.page(true, 1, 2).0.len(), 2);
            assert_eq!(here.page(true, 9, 2), (Vec::new(), 5));
        }
    }
}
