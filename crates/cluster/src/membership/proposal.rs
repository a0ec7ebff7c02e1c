//! Proposals: builds the next view that a node wants, and decides when the node may propose it.
//!
//! One proposal is under way at most. Each is made on top of the view that the watch reported last, so only one of all
//! proposals on top of a view can succeed. The watch reports the one that did.

use muster_live::Millis;
use muster_live::place::Epoch;

use super::action::{Action, RequestRef};
use super::assign::assign;
use super::compatibility::Incompatible;
use super::timing::{
    ANSWER_WITHIN_MS, CONFIRM_DELAY_MS, EPOCHS_AFTER_LOSS, GATHER_AFTER_LOSS_MS, GATHER_MS, RANK_DELAY_MS, RETRY_MS,
};
use super::view::{Holding, Node, View};
use super::{Membership, MembershipPhase, VIEW_KEY};
use crate::NodeNumber;
use crate::registry::{RegistryError, Revision, Written};

/// A proposal without an answer yet.
#[derive(Clone, Copy, Debug)]
struct PendingProposal {
    request: RequestRef,
    /// Revision of the view that the proposal was made on.
    base: Revision,
    sent_at: Millis,
}

/// A pause after an answered proposal.
#[derive(Clone, Copy, Debug)]
struct Pause {
    /// Revision of the view on which nothing is proposed.
    base: Revision,
    until: Millis,
}

/// State of this node's proposals.
#[derive(Debug, Default)]
pub(super) struct Proposals {
    under_way: Option<PendingProposal>,
    pause: Option<Pause>,
    /// When this node may make the changes that any node may make, if they are still needed then.
    turn_at: Option<Millis>,
    /// When this node proposes its own confirmation, if no other change confirmed it before.
    confirm_at: Option<Millis>,
    /// When this node proposes a view with the partitions that it handed over.
    handed_over_at: Option<Millis>,
    /// Revision of a view in which nothing is left to share out.
    settled: Option<Revision>,
}

impl Proposals {
    /// When [`Membership::propose`] should be called next.
    pub(super) fn due(&self) -> Millis {
        if let Some(pending) = self.under_way {
            return pending.sent_at + ANSWER_WITHIN_MS;
        }
        let turns = [self.turn_at, self.confirm_at, self.handed_over_at];
        match self.pause {
            Some(pause) => pause.until,
            None => turns.into_iter().flatten().min().unwrap_or(Millis::MAX),
        }
    }

    /// Forgets the proposal under way: whether it succeeded cannot be known.
    pub(super) fn disconnected(&mut self) {
        self.under_way = None;
    }

    /// Notes that this node handed over a partition. The next view records it a little later, since more partitions may
    /// follow.
    pub(super) fn has_handed_over(&mut self, now: Millis) {
        self.handed_over_at.get_or_insert(now + GATHER_MS);
    }

    /// Resets the state for a new view, which also shows what became of earlier proposals.
    pub(super) fn view_changed(&mut self) {
        self.under_way = None;
        self.pause = None;
        self.turn_at = None;
    }

    /// Takes in the answer to a write. The watch reports whether the view changed; until then the node proposes nothing
    /// more on top of the old view. Answers whether the write was the proposal under way.
    pub(super) fn written(&mut self, now: Millis, request: RequestRef, outcome: &Written) -> bool {
        let Some(pending) = self.under_way.take_if(|pending| pending.request == request) else { return false };
        let pause_ms = match outcome {
            Ok(_) | Err(RegistryError::Conflict | RegistryError::Refused(_)) => ANSWER_WITHIN_MS,
            Err(RegistryError::Unavailable(_) | RegistryError::Unknown(_)) => RETRY_MS,
        };
        self.pause = Some(Pause { base: pending.base, until: now + pause_ms });
        true
    }

    /// Whether a proposal on top of this view may be made now.
    fn may_propose(&mut self, now: Millis, base: Revision) -> bool {
        self.under_way.take_if(|pending| now >= pending.sent_at + ANSWER_WITHIN_MS);
        self.pause.take_if(|pause| pause.base != base || now >= pause.until);
        self.under_way.is_none() && self.pause.is_none()
    }
}

impl Membership {
    /// Proposes the next view, if this node wants a change now.
    pub(super) fn propose(&mut self, now: Millis, out: &mut Vec<Action>) {
        if !self.knows_state || !self.proposals.may_propose(now, self.view.revision) {
            return;
        }
        let next = match self.phase {
            MembershipPhase::Joining => match self.fits().and_then(|()| self.gone_namesakes()) {
                Ok(gone) => gone.and_then(|gone| self.with_me(now, &gone)),
                Err(reason) => return self.refused(reason, out),
            },
            MembershipPhase::Leaving(me) => self.without_me(me),
            MembershipPhase::Member(me) if self.is_online(now) && !self.confidence.is_in_doubt() => {
                self.improved(now, me)
            }
            MembershipPhase::Member(me) => self.confirming(now, me),
            MembershipPhase::Out => None,
        };
        let Some(next) = next else { return };
        let (request, key, value) = (self.requests.next(), VIEW_KEY.to_owned(), next.to_bytes());
        self.proposals.under_way = Some(PendingProposal { request, base: self.view.revision, sent_at: now });
        self.stats.proposals += 1;
        out.push(match self.view.revision {
            Revision(0) => Action::Create { request, key, value, time_to_live_ms: None },
            expected => Action::Update { request, key, value, expected, time_to_live_ms: None },
        });
    }

    fn successor(&self) -> View {
        self.view.successor(self.epoch_seen)
    }

    /// Whether this node is compatible with the members. Members without a lease do not count, since they are about to
    /// be voted out, nor do namesakes, whose places this node takes.
    fn fits(&self) -> Result<(), Incompatible> {
        let counts = |node: &&Node| self.others.has_lease(node) && *node.name != *self.name();
        let mut there = self.view.nodes().iter().filter(counts);
        there.try_for_each(|node| self.config.compatibility.check(&node.name, node.compatibility))
    }

    /// The view with this node added and its namesakes removed, once its lease is in the registry.
    fn with_me(&self, now: Millis, gone: &[NodeNumber]) -> Option<View> {
        self.confidence.awaits_view_after()?;
        let mut next = self.successor();
        gone.iter().for_each(|number| next.remove(*number));
        if self.view.revision == Revision(0) {
            if self.others.have_member() {
                // The registry lost the view, and the members are about to store it again.
                return None;
            }
            // The registry has no view as far as this node knows, so this is the first.
            let floor = self.config.epoch_floor + now.saturating_sub(self.started_at);
            next = View::empty(Epoch(self.epoch_seen.0.max(floor) + 1));
        }
        // Old numbers that this node remembers, its own or others', must not be given to other nodes.
        next.next_number = next.next_number.max(self.number_floor);
        let node = Node {
            number: 0,
            name: self.name().into(),
            incarnation: self.incarnation,
            shards: self.config.shards,
            weight: self.config.weight,
            roles: self.config.roles,
            // The node may have been voted out while it was draining.
            is_draining: self.wants_drain,
            is_busy: self.is_busy,
            compatibility: self.config.compatibility,
        };
        next.add(node).then(|| shared_out(next))
    }

    fn without_me(&self, me: NodeNumber) -> Option<View> {
        let mut next = self.successor();
        next.remove(me);
        Some(shared_out(next))
    }

    /// The same view, to be stored under a new revision. A node that votes this one out after that knows of its renewed
    /// lease.
    fn confirming(&mut self, now: Millis, me: NodeNumber) -> Option<View> {
        self.proposals.turn_at = None;
        self.proposals.handed_over_at = None;
        if self.confidence.awaits_view_after().is_none() {
            self.proposals.confirm_at = None;
            return None;
        }
        if !self.may_store_again(now, me) {
            return None;
        }
        let rank = rank(me, &self.view, &[]);
        let at = *self.proposals.confirm_at.get_or_insert(now + CONFIRM_DELAY_MS * rank);
        (now >= at).then(|| {
            let mut next = self.successor();
            if self.lost_at.is_some() {
                next.epoch.0 += EPOCHS_AFTER_LOSS;
                next.cancel_moves();
            }
            next
        })
    }

    /// Whether the registry has the view, or this node may store it again because no other member knows a later one.
    fn may_store_again(&self, now: Millis, me: NodeNumber) -> bool {
        let Some(lost_at) = self.lost_at else { return true };
        let has_waited = now >= lost_at + GATHER_AFTER_LOSS_MS || self.others.have_all_told(me, &self.view);
        has_waited && !self.others.know_later(self.epoch_seen)
    }

    /// The view with improvements: this node's own changes at once, changes that any node may make when its turn comes.
    fn improved(&mut self, now: Millis, me: NodeNumber) -> Option<View> {
        self.proposals.confirm_at = None;
        let gone = if self.judges(now) { self.others.gone(me, &self.view) } else { Vec::new() };
        let has_own = self.is_to_tell_handed_over(now, me) || self.is_to_tell_of_itself(me);
        if !has_own && gone.is_empty() && self.proposals.settled == Some(self.view.revision) {
            self.proposals.turn_at = None;
            return None;
        }
        let rank = rank(me, &self.view, &gone);
        let at = self.proposals.turn_at.unwrap_or(now + RANK_DELAY_MS * rank);
        if !has_own && now < at {
            self.proposals.turn_at = Some(at);
            return None;
        }
        let mut next = self.successor();
        self.settle_own(me, &mut next);
        gone.iter().for_each(|number| next.remove(*number));
        self.stats.removals_proposed += gone.len() as u64;
        let is_shared_out = !assign(&mut next);
        if is_shared_out && !has_own && gone.is_empty() {
            (self.proposals.settled, self.proposals.turn_at) = (Some(self.view.revision), None);
            return None;
        }
        Some(next)
    }

    /// Whether the next view should record now the partitions that were handed over: no more are to come, or the wait
    /// for more is over.
    fn is_to_tell_handed_over(&mut self, now: Millis, me: NodeNumber) -> bool {
        if self.handed_over.is_empty() {
            self.proposals.handed_over_at = None;
            return false;
        }
        let is_mine = |holding: &Holding| holding.owner.is_some_and(|owner| owner.node() == me);
        let moving = self.view.holdings().filter(|(_, holding)| holding.moving.is_some() && is_mine(holding));
        let is_last = moving.count() == self.handed_over.len();
        is_last || now >= *self.proposals.handed_over_at.get_or_insert(now + GATHER_MS)
    }

    fn is_to_tell_of_itself(&self, me: NodeNumber) -> bool {
        let is_new = |node: &Node| (self.wants_drain && !node.is_draining) || self.is_busy != node.is_busy;
        self.view.node(me).is_some_and(is_new)
    }

    /// Writes into `next` this node's own flags, and gives partitions that it handed over to their next owners.
    fn settle_own(&self, me: NodeNumber, next: &mut View) {
        if let Some(node) = next.node_mut(me) {
            node.is_draining |= self.wants_drain;
            node.is_busy = self.is_busy;
        }
        for partition in self.handed_over.keys() {
            let holding = next.holding_mut(*partition);
            if let Some(moving) = holding.moving {
                *holding = Holding { owner: Some(moving.to), epoch: moving.epoch, moving: None };
            }
        }
    }
}

/// The view after one round of sharing out.
fn shared_out(mut view: View) -> View {
    assign(&mut view);
    view
}

/// Number of nodes before this one in the view that are not gone.
fn rank(me: NodeNumber, view: &View, gone: &[NodeNumber]) -> Millis {
    let before = view.nodes().iter().filter(|node| node.number < me && !gone.contains(&node.number));
    before.count() as Millis
}
