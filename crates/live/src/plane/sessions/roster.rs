//! Rosters of streams that another node owns: the presences that the owner told of. When a stream gets another owner,
//! those who hear it are told how the roster differs. A place on a node of its own keeps no rosters.

use indexmap::IndexMap;
use muster_domain::ids::SessionId;

use super::Sessions;
use crate::impossible::count_down;
use crate::outbox::Delivery;
use crate::place::Place;
use crate::plane::Map;
use crate::plane::effect::Effects;
use crate::plane::message::{Frames, LocalAudience};
use crate::stream::{Encoding, Presence, PresenceEvent, StreamKey};

/// The presences that may be seen on a stream, by public ids of sessions: a session may go on at another place.
pub(crate) type Roster = IndexMap<SessionId, Known, foldhash::fast::RandomState>;

/// A presence on a roster.
#[derive(Debug)]
pub(crate) struct Known {
    presence: Presence,
    /// Whether all who hear the stream were told of the presence. Otherwise somebody was shown it in a snapshot before.
    is_told: bool,
}

impl Known {
    fn told(presence: &Presence) -> (SessionId, Self) {
        (presence.session_id, Self { presence: presence.clone(), is_told: true })
    }

    /// Whether others see both presences as the same, wherever their session is.
    fn shows(&self, presence: &Presence) -> bool {
        self.presence == Presence { session: self.presence.session, ..presence.clone() }
    }
}

/// The rosters of a place, by stream.
#[derive(Debug, Default)]
pub(crate) struct Rosters(Map<StreamKey, Hearers>);

/// The sessions of this place that hear a stream, or are about to, and the roster that they know.
#[derive(Debug, Default)]
struct Hearers {
    count: u32,
    roster: Option<Roster>,
    /// The first parts of the next roster, until its last part comes.
    incoming: Vec<Presence>,
}

impl Rosters {
    /// Changes a roster by the presences that came and went.
    pub(crate) fn change(&mut self, stream: &StreamKey, joins: &[Presence], leaves: &[Presence]) {
        if let Some(roster) = self.0.get_mut(stream).and_then(|hearers| hearers.roster.as_mut()) {
            leaves.iter().for_each(|left| drop(roster.swap_remove(&left.session_id)));
            roster.extend(joins.iter().map(Known::told));
        }
    }
}

impl Sessions {
    /// Notes the presences that a session was shown in an answer. The others may not have been told of them yet, and
    /// the owner may die before it tells. An owner on this node dies only together with this place, so no roster of its
    /// streams is kept.
    pub(crate) fn show(&mut self, owner: Place, stream: &StreamKey, presences: &[Presence]) {
        let has_roster = owner.node() != self.me.node() && self.encode.tells_presences(stream);
        if let Some(hearers) = self.rosters.0.get_mut(stream).filter(|_| has_roster) {
            // If there is no roster yet, this session is the only one that hears the stream here, so all have been
            // shown the presences.
            let is_told = hearers.roster.is_none();
            let roster = hearers.roster.get_or_insert_default();
            for shown in presences {
                roster.entry(shown.session_id).or_insert_with(|| Known { presence: shown.clone(), is_told });
            }
        }
    }

    pub(crate) fn count_hearer(&mut self, stream: &StreamKey) {
        if self.questions.is_some() {
            self.rosters.0.entry(stream.clone()).or_default().count += 1;
        }
    }

    /// Notes that one session fewer hears a stream. With the last one the roster goes, since the stream's owner sends
    /// it again when the next session comes.
    pub(crate) fn discount_hearer(&mut self, stream: &StreamKey) {
        if let Some(hearers) = self.rosters.0.get_mut(stream) {
            count_down(&mut hearers.count, 1, "sessions that hear a stream here");
            if hearers.count == 0 {
                self.rosters.0.remove(stream);
            }
        }
    }

    /// Takes a part of a roster. With the last part answers the former roster, if there was one.
    pub(crate) fn take_roster(
        &mut self,
        stream: &StreamKey,
        presences: Vec<Presence>,
        begins: bool,
        ends: bool,
    ) -> Option<Roster> {
        let hearers = self.rosters.0.get_mut(stream)?;
        if begins {
            hearers.incoming.clear();
        }
        hearers.incoming.extend(presences);
        if !ends {
            return None;
        }
        let incoming = std::mem::take(&mut hearers.incoming);
        hearers.roster.replace(incoming.iter().map(Known::told).collect())
    }

    /// Drops the roster of a stream if the stream's owner is on this node. The former owner may have shown presences to
    /// a session that the present owner is the first to let hear.
    pub(crate) fn drop_roster_of_own(&mut self, owner: Place, stream: &StreamKey) {
        let hearers = self.rosters.0.get_mut(stream).filter(|_| owner.node() == self.me.node());
        if let Some(hearers) = hearers {
            hearers.roster = None;
        }
    }

    /// Panics where the count of a stream's hearers is not that of sessions here, a roster has presences that nobody
    /// may see or under other sessions than their own, or there is a roster of an own stream. `hearers` are the streams
    /// that sessions hear or are about to, once for each session.
    pub(crate) fn assert_rosters<'s>(
        &self,
        hearers: impl Iterator<Item = &'s StreamKey>,
        is_own: impl Fn(&StreamKey) -> bool,
    ) {
        let mut counts: Map<&StreamKey, u32> = Map::default();
        hearers.for_each(|stream| *counts.entry(stream).or_default() += 1);
        for (stream, Hearers { count, roster, incoming }) in &self.rosters.0 {
            assert_eq!(counts.remove(stream), Some(*count), "sessions here that hear {stream:?}");
            assert!(roster.is_none() || !is_own(stream), "a roster of {stream:?}, whose owner is here");
            for (id, Known { presence, .. }) in roster.iter().flatten() {
                let is_right = *id == presence.session_id && !presence.hidden;
                assert!(is_right, "the roster of {stream:?} has a wrong presence: {presence:?}");
            }
            let mut ids: Vec<SessionId> = incoming.iter().map(|presence| presence.session_id).collect();
            ids.sort_unstable();
            assert!(ids.is_sorted_by(|one, next| one < next), "a roster of {stream:?} comes with a session twice");
        }
        assert!(counts.is_empty(), "sessions hear streams and are not counted: {counts:?}");
    }

    /// Tells those who hear a stream how its roster differs from the one that they know, leaves first. A session may be
    /// told of a presence that it was shown before.
    pub(crate) fn tell_difference(&mut self, stream: &StreamKey, before: &Roster, out: &mut Effects) {
        let Some(now) = self.rosters.0.get(stream).and_then(|hearers| hearers.roster.as_ref()) else { return };
        let is_in = |roster: &Roster, presence: &Presence, told: bool| {
            let known = roster.get(&presence.session_id).filter(|known| known.is_told || !told);
            known.is_some_and(|known| known.shows(presence))
        };
        let presences = |roster: &'_ Roster, keep: &dyn Fn(&Presence) -> bool| -> Vec<Presence> {
            roster.values().map(|known| &known.presence).filter(|presence| keep(presence)).cloned().collect()
        };
        let leaves = presences(before, &|presence| !is_in(now, presence, false));
        let joins = presences(now, &|presence| !is_in(before, presence, true));
        if leaves.len() <= self.event_max && joins.len() <= self.event_max {
            return self.tell_event(stream, &joins, &leaves, out);
        }
        leaves.chunks(self.event_max).for_each(|leaves| self.tell_event(stream, &[], leaves, out));
        joins.chunks(self.event_max).for_each(|joins| self.tell_event(stream, joins, &[], out));
    }

    fn tell_event(&mut self, stream: &StreamKey, joins: &[Presence], leaves: &[Presence], out: &mut Effects) {
        if joins.is_empty() && leaves.is_empty() {
            return;
        }
        let event = PresenceEvent { stream, joins, leaves };
        let mut frames = Frames::default();
        for encoding in self.heard_in(stream) {
            let Some(frame) = self.encode.presence_event(&event, encoding) else { return };
            frames.set(encoding, frame);
        }
        self.fan_out(stream, frames, LocalAudience::All, Delivery::Reliable, out);
    }

    /// The encodings in which sessions of this place hear a stream.
    pub(crate) fn heard_in(&self, stream: &StreamKey) -> Vec<Encoding> {
        let Some(listeners) = self.listeners.get(stream) else { return Vec::new() };
        let is_needed = |encoding: &Encoding| listeners.sessions.values().any(|(its, _)| its == encoding);
        Encoding::ALL.into_iter().filter(is_needed).collect()
    }
}
