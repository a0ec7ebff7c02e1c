//! Membership: one node's part in deciding which nodes there are and who owns what
//! ([why](../../../../docs/adr/0011-several-nodes.md)).
//!
//! A step takes what happened and the time, and leaves what is to be done. It never waits. Nothing is decided by
//! reading: views come about by compare-and-swap alone, and a node takes a view for true when the watch tells it.
//!
//! What makes it safe: the watch tells leases and views in one order. Whoever votes a node out on the ground of what the
//! watch told before a view does so on top of that view. So a node that was in doubt (its lease could have run out, or
//! its connection was lost) renews its lease, and is sure of itself again with the first view behind that renewal which
//! still has it: nobody can vote it out any more who does not know of the renewal.

mod action;
mod assign;
mod awake;
mod compatibility;
mod confidence;
mod lease;
mod others;
mod proposal;
mod stats;
#[cfg(test)]
mod tests;
pub mod timing;
mod told;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use action::Requests;
pub use action::{Action, Event, RequestRef};
pub use assign::{MOVES_AT_ONCE_MAX, SLACK_DIVISOR, assign, fair_shares, pull, slack};
use awake::Awake;
pub use compatibility::{Compatibility, Incompatible};
use confidence::Confidence;
use lease::Lease;
use muster_live::place::{Epoch, Partition, Place};
use muster_live::{Millis, ShardIndex};
use others::Others;
use proposal::Proposals;
pub use stats::MembershipStats;
use timing::GRACE_MS;
pub use view::{Holding, Move, Node, Roles, View};

use crate::NodeNumber;
use crate::bus::Probe;
use crate::registry::{self, RegistryError, Written};

/// Bytes of a node's name. A longer one is cut.
pub const NODE_NAME_BYTES_MAX: usize = 64;

/// The key of the view.
pub const VIEW_KEY: &str = "view";

/// What a node is to be in the cluster.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// For people; at most [`NODE_NAME_BYTES_MAX`] of it.
    pub name: Arc<str>,
    /// How many it has, at least one.
    pub shards: ShardIndex,
    /// Partitions are shared out over nodes in proportion to this, at least one.
    pub weight: u32,
    /// What it is for.
    pub roles: Roles,
    /// What it must have in common with the others.
    pub compatibility: Compatibility,
    /// Epochs of a cluster that is set up anew begin above this and the milliseconds since. The time of day in
    /// milliseconds is right: it is above all epochs of a registry that was lost.
    pub epoch_floor: u64,
}

/// How a node stands to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// It wants to be in the view.
    Joining,
    /// It is in the view.
    Member(NodeNumber),
    /// It wants to be in the view no more.
    Leaving(NodeNumber),
    /// It is not in the view, and does not want to be.
    Out,
}

/// See the module.
#[derive(Debug)]
pub struct Membership {
    config: NodeConfig,
    started_at: Millis,
    incarnation: u128,
    standing: Standing,
    view: Arc<View>,
    /// Whether the watch told what there is.
    knows_state: bool,
    awake: Awake,
    lease: Lease,
    confidence: Confidence,
    others: Others,
    proposals: Proposals,
    requests: Requests,
    /// Losses of the connection that were told.
    losses: u64,
    is_connected: bool,
    /// Until then this node takes nobody for gone.
    grace_until: Millis,
    /// The last renewal did not succeed.
    is_troubled: bool,
    wants_drain: bool,
    is_busy: bool,
    is_drained: bool,
    /// Partitions that this node handed over, with the next owner's epoch, until the view says so.
    handed_over: BTreeMap<Partition, Epoch>,
    /// The highest epoch of a view so far.
    epoch_seen: Epoch,
    /// No view so far had numbers from this one on: it may be told of one whose numbers begin anew.
    number_floor: NodeNumber,
    stats: MembershipStats,
}

impl Membership {
    /// Of a process that just started and drew this incarnation. Its first steps come with [`Event::Tick`].
    pub fn new(config: NodeConfig, incarnation: u128, now: Millis) -> Self {
        Self {
            started_at: now,
            awake: Awake::new(now),
            lease: Lease::new(incarnation, now),
            config,
            incarnation,
            standing: Standing::Joining,
            view: Arc::new(View::empty(Epoch::default())),
            knows_state: false,
            confidence: Confidence::default(),
            others: Others::default(),
            proposals: Proposals::default(),
            requests: Requests::default(),
            losses: 0,
            is_connected: true,
            grace_until: 0,
            is_troubled: false,
            wants_drain: false,
            is_busy: false,
            is_drained: false,
            handed_over: BTreeMap::new(),
            epoch_seen: Epoch::default(),
            number_floor: 0,
            stats: MembershipStats::default(),
        }
    }

    /// A step. `now` is this process's monotonic clock, which has to go on while the machine sleeps.
    pub fn handle(&mut self, now: Millis, event: Event, out: &mut Vec<Action>) {
        self.awake.step(now);
        // What is said while it slept must not find it online.
        self.review(now, out);
        match event {
            Event::Tick => {}
            Event::Registry(registry::Event::State(entries)) => self.state(now, &entries, out),
            Event::Registry(registry::Event::Set(entry)) => self.set(now, &entry, out),
            Event::Registry(registry::Event::Removed { key, revision }) => self.removed(now, &key, revision, out),
            Event::Written { request, outcome } => self.written(now, request, &outcome),
            Event::Probed { request, probe } => self.probed(now, request, probe, out),
            Event::Listening => self.listening(now),
            Event::Connection { is_up, losses } => self.connection(now, is_up, losses),
            Event::HandedOver { partition, epoch } => self.handed_over(now, partition, epoch),
            Event::Drain => self.wants_drain = true,
            Event::Busy(is_busy) => self.is_busy = is_busy,
            Event::Leave => self.leave(out),
            Event::Rejoin { incarnation } => self.rejoin(now, incarnation),
        }
        self.review(now, out);
        self.act(now, out);
    }

    /// When the next [`Event::Tick`] is due.
    pub fn next_due(&self) -> Millis {
        if self.standing == Standing::Out {
            return Millis::MAX;
        }
        let mut due = self.proposals.due().min(self.lease.due());
        if let Some(ends) = self.confidence.due(self.lease.good_since()) {
            due = due.min(ends).min(self.awake.due());
            if !self.confidence.is_in_doubt() {
                due = due.min(self.others.due().max(self.grace_until));
            }
        }
        due
    }

    /// The view as it was told last.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// What was counted since the process started.
    pub fn stats(&self) -> MembershipStats {
        self.stats
    }

    /// This node's number, as long as it is in the view.
    pub fn number(&self) -> Option<NodeNumber> {
        match self.standing {
            Standing::Member(number) | Standing::Leaving(number) => Some(number),
            Standing::Joining | Standing::Out => None,
        }
    }

    /// Whether this node may act for what it owns, by its own clock: false on an island.
    pub fn is_online(&self, now: Millis) -> bool {
        matches!(self.standing, Standing::Member(_)) && self.confidence.holds(now, self.lease.good_since())
    }

    /// Until when this node may act for what it owns if nothing more happens, by its own clock.
    pub fn online_until(&self) -> Option<Millis> {
        let until = self.confidence.due(self.lease.good_since());
        until.filter(|_| matches!(self.standing, Standing::Member(_)))
    }

    /// Where this node may act as the owner of a partition now.
    pub fn owns(&self, now: Millis, partition: Partition) -> Option<Place> {
        let holding = self.view.holding(partition);
        let place = holding.owner.filter(|owner| Some(owner.node()) == self.number())?;
        (self.is_online(now) && !self.handed_over.contains_key(&partition)).then_some(place)
    }

    /// The epoch under which this node may run a job now. What the job writes carries it: of two nodes that believe to run
    /// it, as may be for a moment if not all nodes are for jobs, the later has the higher one.
    pub fn runs(&self, now: Millis, job: &str) -> Option<Epoch> {
        let is_mine = self.number().is_some() && self.view.job_runner(job) == self.number();
        let is_handed_over = self.handed_over.contains_key(&Partition::of_name(job));
        (is_mine && !is_handed_over && self.is_online(now)).then_some(self.view.epoch)
    }

    /// Tells when this node became an island, or ceased to be one.
    fn review(&mut self, now: Millis, out: &mut Vec<Action>) {
        let is_member = matches!(self.standing, Standing::Member(_));
        self.confidence.review(now, is_member, self.lease.good_since(), out);
    }

    /// What this node wanted of the view as what it was, it wants no more.
    fn stand(&mut self, standing: Standing) {
        self.standing = standing;
        self.proposals = Proposals::default();
    }

    fn voted_out(&mut self, out: &mut Vec<Action>) {
        self.stand(Standing::Out);
        self.confidence.become_island(out);
        out.push(Action::VotedOut);
        self.lease.delete(&mut self.requests, out);
    }

    fn left(&mut self, out: &mut Vec<Action>) {
        self.stand(Standing::Out);
        self.lease.delete(&mut self.requests, out);
        out.push(Action::Left);
    }

    /// This node cannot be in the view with one that is.
    fn refused(&mut self, reason: Incompatible, out: &mut Vec<Action>) {
        self.stand(Standing::Out);
        self.lease.delete(&mut self.requests, out);
        out.push(Action::Refused(reason));
    }

    fn leave(&mut self, out: &mut Vec<Action>) {
        match self.standing {
            Standing::Member(number) => {
                self.stand(Standing::Leaving(number));
                self.confidence.become_island(out);
            }
            Standing::Joining => self.left(out),
            Standing::Leaving(_) | Standing::Out => {}
        }
    }

    fn rejoin(&mut self, now: Millis, incarnation: u128) {
        if self.standing == Standing::Out {
            self.stand(Standing::Joining);
            self.incarnation = incarnation;
            self.lease = Lease::new(incarnation, now);
            self.confidence = Confidence::default();
            self.handed_over.clear();
            self.is_drained = false;
        }
    }

    fn written(&mut self, now: Millis, request: RequestRef, outcome: &Written) {
        match self.lease.written(now, request, outcome) {
            Some(Some(renewal)) => {
                self.confidence.renewed(renewal);
                // The others may have had to wait as long, and are not back yet.
                if std::mem::replace(&mut self.is_troubled, false) {
                    self.grace(now);
                }
            }
            Some(None) => self.trouble(now),
            None => {
                let is_lost = self.proposals.written(now, request, outcome) && *outcome == Err(RegistryError::Conflict);
                self.stats.races_lost += u64::from(is_lost);
            }
        }
    }

    /// A renewal did not succeed.
    fn trouble(&mut self, now: Millis) {
        self.stats.renewals_failed += 1;
        self.is_troubled = true;
        self.grace(now);
    }

    /// This node had trouble: others may have had the same, and need time.
    fn grace(&mut self, now: Millis) {
        self.grace_until = self.grace_until.max(now + GRACE_MS);
        self.others.forget_silences();
    }

    fn listening(&mut self, now: Millis) {
        if self.number().is_some() {
            self.confidence.is_heard(now);
            self.lease.hurry(now);
        }
    }

    fn connection(&mut self, now: Millis, is_up: bool, losses: u64) {
        let was_lost = losses > self.losses || (self.is_connected && !is_up);
        (self.is_connected, self.losses) = (is_up, losses);
        if was_lost {
            self.confidence.disconnected(now, self.awake.lost_since());
            self.lease.disconnected(now);
            self.proposals.disconnected();
        }
        self.grace(now);
        if is_up {
            self.lease.hurry(now);
        }
    }

    fn handed_over(&mut self, now: Millis, partition: Partition, epoch: Epoch) {
        let holding = self.view.holding(partition);
        let is_mine = holding.owner.is_some_and(|owner| Some(owner.node()) == self.number());
        if is_mine && holding.moving.is_some_and(|moving| moving.epoch == epoch) {
            self.handed_over.insert(partition, epoch);
            self.proposals.has_handed_over(now);
        }
    }

    fn probed(&mut self, now: Millis, request: RequestRef, probe: Probe, out: &mut Vec<Action>) {
        if let Some(me) = self.number() {
            self.others.probed(now, (request, probe), me, &self.view, &mut self.requests, out);
        }
    }

    /// What this node does by itself.
    fn act(&mut self, now: Millis, out: &mut Vec<Action>) {
        if self.standing == Standing::Out {
            return;
        }
        if self.lease.tick(now, &mut self.requests, out) {
            self.trouble(now);
        }
        let judges = self.judges(now);
        if let Some(me) = self.number().filter(|_| judges) {
            self.others.tick(now, me, &self.view, &mut self.requests, out);
        }
        self.propose(now, out);
        self.tell_drained(out);
    }

    /// Whether this node may take others for gone.
    fn judges(&self, now: Millis) -> bool {
        self.knows_state && now >= self.grace_until && self.is_online(now) && !self.confidence.is_in_doubt()
    }

    fn tell_drained(&mut self, out: &mut Vec<Action>) {
        let Some(me) = self.number() else { return };
        let is_draining = self.view.node(me).is_some_and(|node| node.is_draining);
        let has_heir = self.view.nodes().iter().any(Node::takes_partitions);
        let owns_any = || self.view.holdings().any(|(_, held)| held.owner.is_some_and(|owner| owner.node() == me));
        if is_draining && !self.is_drained && (!has_heir || !owns_any()) {
            self.is_drained = true;
            out.push(Action::Drained);
        }
    }
}
