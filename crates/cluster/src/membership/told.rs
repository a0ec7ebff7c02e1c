//! The part of membership that takes in the reports of the registry's watch: leases, and the view.

use std::sync::Arc;

use muster_live::Millis;
use muster_live::place::Epoch;
use muster_wire::membership as wire;

use super::action::Action;
use super::view::View;
use super::{Membership, MembershipPhase, VIEW_KEY, lease};
use crate::registry::{Entry, Revision};

impl Membership {
    pub(super) fn state(&mut self, now: Millis, entries: &[Entry], out: &mut Vec<Action>) {
        self.knows_state = true;
        self.grace(now);
        self.others.forget_leases();
        self.lease.forget_revisions();
        let is_listed = entries.iter().any(|entry| entry.key == self.lease.key());
        if !is_listed {
            self.lease.is_missing(now);
        }
        // The state is never older than earlier events of the watch. If its view is older all the same, the registry
        // lost data. Its revisions may even have begun anew and reached the same number, hence the second check.
        let view = entries.iter().find(|entry| entry.key == VIEW_KEY);
        let revision = view.map_or(Revision(0), |view| view.revision);
        let told = view.and_then(|view| View::from_bytes(&view.value, view.revision).ok());
        let is_another = told.is_some_and(|told| told.revision == self.view.revision && told != *self.view);
        if revision < self.view.revision || is_another {
            self.lost_view(now, out);
        }
        let leases = entries.iter().filter(|entry| entry.key != VIEW_KEY);
        leases.chain(view).for_each(|entry| self.set(now, entry, out));
    }

    pub(super) fn set(&mut self, now: Millis, entry: &Entry, out: &mut Vec<Action>) {
        let Entry { key, value, revision } = entry;
        if key == VIEW_KEY {
            if *revision <= self.view.revision {
                return;
            }
            match View::from_bytes(value, *revision) {
                // The view is older than this node's: the registry lost what came later. The same view under another
                // revision stands where somebody wrote a forgery over it.
                Ok(view) if view.epoch <= self.epoch_seen && self.is_member() && !self.is_same(&view) => {
                    self.keep_view(now, view.revision);
                }
                Ok(view) => self.view_changed(now, view, out),
                // Only nodes write this key. A view that this release cannot read belongs to a cluster that it cannot
                // take part in.
                Err(_) => self.give_up(out),
            }
        } else if key == self.lease.key() {
            if let Some(renewal) = self.lease.set(value, *revision) {
                self.confidence.renewed(renewal);
            }
        } else if let Some(incarnation) = lease::incarnation_of(key) {
            let epoch = wire::Lease::from_bytes(value).map_or(Epoch::default(), |lease| Epoch(lease.epoch));
            self.others.renewed(incarnation, epoch);
        }
    }

    pub(super) fn removed(&mut self, now: Millis, key: &str, revision: Revision, out: &mut Vec<Action>) {
        if key == VIEW_KEY && revision > self.view.revision {
            self.lost_view(now, out);
        } else if key == self.lease.key() {
            self.lease.removed(now, revision);
        } else if let Some(incarnation) = lease::incarnation_of(key) {
            self.others.expired(incarnation);
        }
    }

    fn view_changed(&mut self, now: Millis, view: View, out: &mut Vec<Action>) {
        let new = Arc::new(view);
        let old = std::mem::replace(&mut self.view, new.clone());
        self.others.view_changed(now, &new);
        self.proposals.view_changed();
        self.lost_at = None;
        self.epoch_seen = self.epoch_seen.max(new.epoch);
        self.number_floor = self.number_floor.max(new.next_number);
        let me = new.incarnation(self.incarnation).map(|node| (node.number, node.address()));
        self.handed_over.retain(|partition, epoch| {
            let holding = new.holding(*partition);
            holding.moving.is_some_and(|moving| moving.epoch == *epoch)
        });
        let revision = new.revision;
        out.push(Action::ViewChanged { old, new });
        match (self.phase, me) {
            (MembershipPhase::Joining, Some((number, address))) => {
                self.phase = MembershipPhase::Member(number);
                self.confidence.is_unheard();
                out.push(Action::Joined(address));
            }
            (MembershipPhase::Member(_), Some(_)) => self.confidence.confirmed(revision),
            (MembershipPhase::Member(_), None) => self.voted_out(out),
            (MembershipPhase::Leaving(_), None) => self.left(out),
            _ => {}
        }
    }

    fn is_same(&self, view: &View) -> bool {
        view.epoch == self.view.epoch && view.to_bytes() == self.view.to_bytes()
    }

    fn is_member(&self) -> bool {
        matches!(self.phase, MembershipPhase::Member(_))
    }

    /// The registry has lost the view, or has an older one. Members keep theirs, and one of them stores it again.
    fn lost_view(&mut self, now: Millis, out: &mut Vec<Action>) {
        if self.is_member() {
            self.keep_view(now, Revision(0));
        } else {
            self.give_up(out);
        }
    }

    /// Keeps this node's view on top of what the registry has under `revision`. Until a later view is stored, no owner
    /// can be sure of its partitions: others may have set up another cluster.
    fn keep_view(&mut self, now: Millis, revision: Revision) {
        Arc::make_mut(&mut self.view).revision = revision;
        self.lost_at.get_or_insert(now);
        self.proposals.view_changed();
        self.confidence.disconnected(now, now);
        self.lease.hurry(now);
    }

    /// The registry has no view that this node can go on with.
    fn give_up(&mut self, out: &mut Vec<Action>) {
        let new = Arc::new(View::empty(self.epoch_seen));
        let old = std::mem::replace(&mut self.view, new.clone());
        self.handed_over.clear();
        out.push(Action::ViewChanged { old, new });
        match self.phase {
            MembershipPhase::Member(_) => self.voted_out(out),
            MembershipPhase::Leaving(_) => self.left(out),
            MembershipPhase::Joining | MembershipPhase::Out => {}
        }
    }
}
