//! Decides whether a node may be sure that it is still in the view.

use muster_live::Millis;

use super::action::Action;
use super::lease::Renewal;
use super::timing::{DISCONNECTED_ISLAND_AFTER_MS, ISLAND_AFTER_MS};
use crate::registry::Revision;

/// An event after which others may vote the node out.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// Time of the first such event.
    since: Millis,
    /// Time of the last such event: only a renewal sent after it removes the doubt. `Millis::MAX` while the node does
    /// not listen yet.
    last: Millis,
    /// Revision of the first renewal since the last such event.
    renewed: Option<Revision>,
}

#[derive(Debug)]
pub(super) struct Confidence {
    doubt: Option<Doubt>,
    /// Whether the lease ran out and was not renewed since.
    is_lapsed: bool,
    is_online: bool,
}

impl Default for Confidence {
    /// The state of a node that was in no view yet.
    fn default() -> Self {
        Self { doubt: Some(Doubt { since: 0, last: 0, renewed: None }), is_lapsed: true, is_online: false }
    }
}

impl Confidence {
    /// Whether a member whose lease is good since `good_since` may act as an owner now.
    pub(super) fn holds(&self, now: Millis, good_since: Option<Millis>) -> bool {
        self.is_online && self.lasts(now, good_since)
    }

    fn lasts(&self, now: Millis, good_since: Option<Millis>) -> bool {
        is_good(now, good_since) && self.doubt.is_none_or(|doubt| now < doubt.since + DISCONNECTED_ISLAND_AFTER_MS)
    }

    pub(super) fn is_in_doubt(&self) -> bool {
        self.doubt.is_some()
    }

    /// The renewal that a later view must confirm, if one is awaited.
    pub(super) fn awaits_view_after(&self) -> Option<Revision> {
        self.doubt?.renewed
    }

    /// When the confidence ends by itself.
    pub(super) fn due(&self, good_since: Option<Millis>) -> Option<Millis> {
        let lease = good_since.unwrap_or_default() + ISLAND_AFTER_MS;
        let doubt = self.doubt.map_or(Millis::MAX, |doubt| doubt.since + DISCONNECTED_ISLAND_AFTER_MS);
        self.is_online.then_some(lease.min(doubt))
    }

    /// Notes that the node is in the view and does not listen yet.
    pub(super) fn is_unheard(&mut self) {
        self.doubt = Some(Doubt { since: 0, last: Millis::MAX, renewed: None });
    }

    /// Notes that the node listens for the first time.
    pub(super) fn is_heard(&mut self, now: Millis) {
        if let Some(doubt) = self.doubt.as_mut().filter(|doubt| doubt.last == Millis::MAX) {
            // A renewal sent within this millisecond may have gone out before the event.
            doubt.last = now + 1;
        }
    }

    /// Notes that the connection was lost, no earlier than `lost_since`.
    pub(super) fn disconnected(&mut self, now: Millis, lost_since: Millis) {
        if self.doubt.is_some_and(|doubt| doubt.last == Millis::MAX) {
            return;
        }
        let since = self.doubt.map_or(lost_since, |doubt| doubt.since.min(lost_since));
        // A renewal sent within this millisecond may have gone out before the event.
        self.doubt = Some(Doubt { since, last: now + 1, renewed: None });
    }

    /// Notes that the lease was renewed.
    pub(super) fn renewed(&mut self, renewal: Renewal) {
        if let Some(doubt) = &mut self.doubt
            && renewal.sent_at >= doubt.last
        {
            doubt.renewed.get_or_insert(renewal.revision);
        }
    }

    /// Notes that a view of this revision contains the node.
    pub(super) fn confirmed(&mut self, revision: Revision) {
        if self.doubt.is_some_and(|doubt| doubt.renewed.is_some_and(|renewed| revision > renewed)) {
            self.doubt = None;
        }
    }

    /// Reports a change between island and online.
    pub(super) fn review(&mut self, now: Millis, is_member: bool, good_since: Option<Millis>, out: &mut Vec<Action>) {
        let has_lapsed = !is_good(now, good_since);
        if has_lapsed && !self.is_lapsed {
            let (since, last) = self.doubt.map_or((now, now), |doubt| (doubt.since, doubt.last.max(now)));
            self.doubt = Some(Doubt { since, last, renewed: None });
        }
        self.is_lapsed = has_lapsed;
        let lasts = self.lasts(now, good_since);
        if self.is_online && !lasts {
            self.become_island(out);
        } else if !self.is_online && is_member && lasts && self.doubt.is_none() {
            self.is_online = true;
            out.push(Action::BackOnline);
        }
    }

    pub(super) fn become_island(&mut self, out: &mut Vec<Action>) {
        if std::mem::replace(&mut self.is_online, false) {
            out.push(Action::BecameIsland);
        }
    }
}

/// Whether a lease renewed at `good_since` is still good by this node's clock.
fn is_good(now: Millis, good_since: Option<Millis>) -> bool {
    good_since.is_some_and(|since| now < since + ISLAND_AFTER_MS)
}
