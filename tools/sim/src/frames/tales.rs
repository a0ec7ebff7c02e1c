//! Tales: messages about rooms and the lobby. The contents of tales are kept here, and a frame only holds a tale's
//! number.

use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use muster_live::rooms::{LobbyDelta, RoomEvent, ViewKey};
use muster_live::stream::{Payload, PresenceEvent, SharedPayload};
use muster_live::{Encoding, Millis, Presence, StreamKey};

use super::Say;

/// The contents of a tale.
#[derive(Clone, Debug)]
pub enum Tale {
    /// An event of a room.
    Event(RoomEvent),
    /// Presences that joined a room, and presences that left it.
    CameAndWent(Vec<Presence>, Vec<Presence>),
    /// Changes of a view of the lobby.
    Lobby(LobbyDelta),
}

/// A tale with its stream.
#[derive(Clone, Debug)]
pub struct Told {
    /// The stream that the tale is told on.
    pub stream: StreamKey,
    /// The contents.
    pub tale: Tale,
    say: Arc<Say>,
}

/// All tales of a run, by number.
#[derive(Default)]
pub struct Tales {
    all: RefCell<Vec<Told>>,
    /// The time of the plane that runs now.
    pub now: Cell<Millis>,
    /// The revision and the time of the last push of each view.
    lobby: RefCell<BTreeMap<StreamKey, (u64, Millis)>>,
    over_budget: RefCell<Option<String>>,
}

impl Tales {
    /// Adds a tale that is about to be told.
    pub fn add(&self, stream: &StreamKey, tale: Tale) -> SharedPayload {
        if let Tale::Lobby(delta) = &tale {
            self.check_budget(stream, delta);
        }
        self.push(stream, tale)
    }

    fn push(&self, stream: &StreamKey, tale: Tale) -> Arc<Say> {
        let mut all = self.all.borrow_mut();
        let say = Arc::new(Say::tale(all.len() as u32));
        all.push(Told { stream: stream.clone(), tale, say: say.clone() });
        say
    }

    /// Encodes joins and leaves of a room as a tale. A second encoding of the same event belongs to the same tale.
    pub fn came_and_went(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Vec<u8> {
        let mut out = Vec::new();
        let is_same = |told: &&Told| {
            let has_same = |joins: &[Presence], leaves: &[Presence]| (joins, leaves) == (event.joins, event.leaves);
            told.stream == *event.stream
                && matches!(&told.tale, Tale::CameAndWent(joins, leaves) if has_same(joins, leaves))
                && told.say.written(encoding) == 0
        };
        let last = self.all.borrow().last().filter(is_same).map(|told| told.say.clone());
        let tale = || Tale::CameAndWent(event.joins.to_vec(), event.leaves.to_vec());
        last.unwrap_or_else(|| self.push(event.stream, tale())).write(encoding, &mut out);
        out
    }

    fn check_budget(&self, stream: &StreamKey, delta: &LobbyDelta) {
        let now = self.now.get();
        let before = self.lobby.borrow_mut().insert(stream.clone(), (delta.revision, now));
        let Some(view) = ViewKey::parse(stream.label()) else { return };
        let count = delta.rooms.len() + delta.gone.len();
        let is_early = before.is_some_and(|(revision, at)| {
            // A view that was dropped and watched again begins with lower revisions.
            revision < delta.revision && now < at + view.interval_ms
        });
        if count > view.rooms_max || is_early {
            *self.over_budget.borrow_mut() = Some(format!("{count} rooms at {now}, before {before:?}: {view:?}"));
        }
    }

    /// A sentence about the last push that exceeded its view's budget; `None` if there was none.
    pub fn over_budget(&self) -> Option<String> {
        self.over_budget.borrow().clone()
    }

    /// The tale of a number.
    pub fn get(&self, number: u32) -> Option<Ref<'_, Told>> {
        Ref::filter_map(self.all.borrow(), |all| all.get(number as usize)).ok()
    }

    /// A tale that was encoded more than once in one encoding, if there is one.
    pub fn encoded_again(&self) -> Option<Told> {
        self.all.borrow().iter().find(|told| told.say.written_max() > 1).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_is_told_of_so_many_rooms_in_so_long() {
        let check = |told: &[(Millis, u64, usize)]| {
            let tales = Tales::default();
            let view = ViewKey { path: Default::default(), filter: "".into(), interval_ms: 250, rooms_max: 2 };
            for (now, revision, count) in told {
                tales.now.set(*now);
                let gone = vec![muster_live::rooms::RoomId(Default::default()); *count];
                let delta = LobbyDelta { revision: *revision, gone, ..LobbyDelta::default() };
                tales.add(&view.stream(), Tale::Lobby(delta));
            }
            tales.over_budget().is_none()
        };
        assert!(check(&[(0, 1, 2), (250, 2, 1)]));
        assert!(check(&[(0, 7, 2), (1, 1, 1)]), "a view anew");
        assert!(!check(&[(0, 1, 3)]));
        assert!(!check(&[(0, 1, 1), (249, 2, 1)]));
    }
}
