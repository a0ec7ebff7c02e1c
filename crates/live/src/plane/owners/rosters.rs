//! Rosters, as owners send them: the places that hear a stream are told who may be seen on it.

use super::owning::Owning;
use super::streams::Stream;
use crate::place::{Partition, Place};
use crate::plane::message::Down;
use crate::plane::owners::rebuilding::PART_MAX;
use crate::stream::{Presence, StreamKey};

/// Why a place is told who is on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RosterCause {
    /// The place begins to hear the stream, or to hear it from this owner.
    Begins,
    /// The owner has rebuilt the stream.
    NewOwner,
    /// The owner does not know the stream any more.
    LostHere,
}

impl Owning<'_> {
    /// Tells the joins and leaves that are kept back on these partitions' streams. Then leaves the streams' rosters
    /// with the places of this node, which keep none of streams that their own node owns.
    pub(crate) fn leave_rosters(&mut self, is_one: impl Fn(Partition) -> bool) {
        let me = self.sessions.me.node();
        // Places keep the former owner's rosters of partitions that are not rebuilt yet: this owner does not know all.
        let is_known = |partition: Partition| is_one(partition) && !self.rebuilding.contains_key(&partition);
        let mut streams: Vec<StreamKey> =
            self.streams.map.keys().filter(|key| is_known(key.partition())).cloned().collect();
        // The order is the same in every run.
        streams.sort_unstable();
        for key in streams {
            self.tell_all_kept(&key);
            let places = self.streams.map.get(&key).into_iter().flat_map(Stream::places);
            let here: Vec<Place> = places.filter(|place| place.node() == me).collect();
            here.into_iter().for_each(|place| self.send_roster(&key, place, RosterCause::LostHere));
        }
    }

    /// Tells all places that hear a stream who may be seen on it.
    pub(crate) fn send_rosters(&mut self, key: &StreamKey, cause: RosterCause) {
        let places: Vec<Place> = self.streams.map.get(key).into_iter().flat_map(|stream| stream.places()).collect();
        places.into_iter().for_each(|place| self.send_roster(key, place, cause));
    }

    /// Tells a place who may be seen on a stream, if its sessions are told who comes and goes.
    pub(crate) fn send_roster(&mut self, key: &StreamKey, place: Place, cause: RosterCause) {
        let Some(stream) = self.streams.map.get_mut(key) else { return };
        if !self.sessions.encode.tells_presences(key) {
            return;
        }
        stream.news.shown(&stream.presences);
        let mut visible = stream.presences.iter().filter(|presence| !presence.hidden).peekable();
        let mut begins = true;
        loop {
            let presences: Vec<Presence> = visible.by_ref().take(PART_MAX).cloned().collect();
            let ends = visible.peek().is_none();
            let (stream, is_anew, is_last) =
                (key.clone(), cause == RosterCause::NewOwner, cause == RosterCause::LostHere);
            let roster = Down::Roster { stream, presences, begins, ends, is_anew, is_last };
            self.sessions.down(place, roster, self.out);
            if ends {
                return;
            }
            begins = false;
        }
    }
}
