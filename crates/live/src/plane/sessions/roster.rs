//! Who is on streams that another node owns, as their owner told: when a stream's owner is another, its sessions are told
//! what is not as they know it. A place on a node of its own keeps none.

use indexmap::IndexMap;
use muster_domain::ids::SessionId;

use super::Sessions;
use crate::outbox::Delivery;
use crate::place::Place;
use crate::plane::Map;
use crate::plane::effect::Effects;
use crate::plane::message::{Frames, LocalAudience};
use crate::stream::{Encoding, Presence, PresenceEvent, StreamKey};

/// Those who may be seen on a stream, by their public ids: a session may go on at another place.
pub(crate) type Roster = IndexMap<SessionId, Known, foldhash::fast::RandomState>;

/// One of them.
#[derive(Debug)]
pub(crate) struct Known {
    presence: Presence,
    /// To all who hear the stream; otherwise somebody was shown it before that.
    is_told: bool,
}

impl Known {
    fn told(presence: &Presence) -> (SessionId, Self) {
        (presence.session_id, Self { presence: presence.clone(), is_told: true })
    }

    /// Whether others see it as this presence, wherever its session is.
    fn shows(&self, presence: &Presence) -> bool {
        self.presence == Presence { session: self.presence.session, ..presence.clone() }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Rosters(Map<StreamKey, Hearers>);

/// Sessions of this place that hear a stream, or will.
#[derive(Debug, Default)]
struct Hearers {
    count: u32,
    roster: Option<Roster>,
    /// The beginning of the next.
    incoming: Vec<Presence>,
}

impl Rosters {
    /// Who came to a stream and who went.
    pub(crate) fn change(&mut self, stream: &StreamKey, joins: &[Presence], leaves: &[Presence]) {
        if let Some(roster) = self.0.get_mut(stream).and_then(|hearers| hearers.roster.as_mut()) {
            leaves.iter().for_each(|left| drop(roster.swap_remove(&left.session_id)));
            roster.extend(joins.iter().map(Known::told));
        }
    }
}

impl Sessions {
    /// A session is shown who is there, perhaps before that is told, perhaps by an owner that tells no more.
    pub(crate) fn show(&mut self, stream: &StreamKey, presences: &[Presence]) {
        let is_owned_here = self.is_owned_here(stream);
        let hearers = self.rosters.0.get_mut(stream);
        if let Some(hearers) = hearers.filter(|hearers| hearers.roster.is_some() || !is_owned_here) {
            // Whoever is shown them first is all who hear it here.
            let is_told = hearers.roster.is_none();
            let roster = hearers.roster.get_or_insert_default();
            for shown in presences {
                roster.entry(shown.session_id).or_insert_with(|| Known { presence: shown.clone(), is_told });
            }
        }
    }

    /// Whether a place of this node owns a stream, and no other did until now.
    fn is_owned_here(&self, stream: &StreamKey) -> bool {
        let is_here = |owner: Place| owner.node() == self.me.node();
        let former = self.routes.former(stream.partition());
        is_here(self.routes.owner(stream.partition())) && former.is_none_or(|former| is_here(former.owner))
    }

    pub(crate) fn count_hearer(&mut self, stream: &StreamKey) {
        if self.questions.is_some() {
            self.rosters.0.entry(stream.clone()).or_default().count += 1;
        }
    }

    /// When nobody hears a stream any more its owner knows, or will: it sends the roster again to who comes.
    pub(crate) fn discount_hearer(&mut self, stream: &StreamKey) {
        if let Some(hearers) = self.rosters.0.get_mut(stream) {
            hearers.count -= 1;
            if hearers.count == 0 {
                self.rosters.0.remove(stream);
            }
        }
    }

    /// Takes a part of a roster. With the last of it answers the former roster, if there was one.
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

    /// A roster of a stream is needed no more: a place of this node owns it.
    pub(crate) fn drop_roster(&mut self, stream: &StreamKey) {
        if let Some(hearers) = self.rosters.0.get_mut(stream) {
            hearers.roster = None;
        }
    }

    /// Tells those who hear a stream how its roster differs from what they know: who went first. Some may be told of
    /// somebody whom they were shown before.
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
