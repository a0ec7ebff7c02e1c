//! Rosters, as owners send them: an owner tells the places that hear a stream who may be seen on it.

use super::owning::Owning;
use super::streams::Stream;
use crate::place::{Partition, Place};
use crate::plane::message::Down;
use crate::plane::owners::rebuilding::PART_MAX;
use crate::stream::{Presence, StreamKey};

/// The reason for sending a roster to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RosterCause {
    /// The place begins to hear the stream, or to hear it from this owner.
    Begins,
    /// The owner is new, and has learned who is on the stream. The place tells its sessions how the roster differs from
    /// the former one.
    NewOwner,
    /// The owner gives the stream up. Places of the owner's node keep this roster for the next owner.
    LostHere,
}

impl Owning<'_> {
    /// Prepares the streams of these partitions for another owner: tells the joins and leaves that were kept back, and
    /// then sends the rosters to the places of this node that hear the streams. These places have no rosters yet,
    /// because a place keeps none of a stream that its own node owns.
    pub(crate) fn leave_rosters(&mut self, is_one: impl Fn(Partition) -> bool) {
        let me = self.sessions.me.node();
        // Partitions that are being rebuilt are left out: this owner does not know everybody on their streams yet, and
        // the places still keep the former owner's rosters.
        let is_known = |partition: Partition| is_one(partition) && !self.rebuilding.contains_key(&partition);
        let mut streams: Vec<StreamKey> =
            self.streams.map.keys().filter(|key| is_known(key.partition())).cloned().collect();
        // Streams are sorted, so that every run sends in the same order.
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

    /// Sends the roster of a stream to a place, in parts. Streams whose joins and leaves nobody is told have no roster.
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
