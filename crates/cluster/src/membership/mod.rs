//! Membership: one node's part in deciding which nodes belong to the cluster and who owns each partition
//! ([why](../../../../docs/adr/0011-several-nodes.md)).
//!
//! A step takes an event and the time, and leaves a list of actions. A step never waits. No decision rests on a read:
//! views come about by compare-and-swap alone, and a node believes a view when the watch reports it.
//!
//! Safety rests on the watch, which reports leases and views in one order. A node that votes another out does so on top
//! of the view that the watch reported last. A node in doubt (its lease could have run out, or its connection was lost)
//! therefore renews its lease, and is sure of itself again with the first view after that renewal which still contains
//! it: from then on, every node that could vote it out knows of the renewal.

mod action;
mod assign;
mod awake;
mod compatibility;
mod confidence;
mod lease;
mod namesakes;
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
pub use action::{Action, MembershipEvent, RequestRef};
pub use assign::{MOVES_AT_ONCE_MAX, SLACK_DIVISOR, assign, fair_shares, pull, slack};
use awake::Awake;
pub use compatibility::{Compatibility, Incompatible};
use confidence::Confidence;
pub(crate) use lease::is_lease;
use lease::{Lease, LeaseAnswer};
use muster_live::place::{Epoch, Partition, Place};
use muster_live::{Millis, ShardIndex};
use others::Others;
use proposal::Proposals;
pub use stats::MembershipStats;
use timing::{GATHER_AFTER_LOSS_MS, GRACE_MS};
pub use view::{Holding, Move, Node, Roles, View};

use crate::NodeNumber;
use crate::bus::Probe;
use crate::registry::{RegistryError, RegistryEvent, Written};

/// Length of the longest name of a node, in bytes. A longer name is cut.
pub const NODE_NAME_BYTES_MAX: usize = 64;

/// The registry key under which the view is stored.
pub const VIEW_KEY: &str = "view";

/// The properties with which a node joins the cluster.
#[derive(Clone, Debug)]
pub struct NodeConfig {
    /// Name of the node, for people; cut to [`NODE_NAME_BYTES_MAX`].
    pub name: Arc<str>,
    /// Number of shards, at least one.
    pub shards: ShardIndex,
    /// Weight of the node, at least one: partitions are shared out in proportion to it.
    pub weight: u32,
    /// The kinds of work that the node takes.
    pub roles: Roles,
    /// Properties that the node must share with the other members.
    pub compatibility: Compatibility,
    /// Lower bound of epochs in a cluster that is set up anew: its first epoch is above this plus the milliseconds
    /// since the node started. The time of day in milliseconds is a good value, since it exceeds all epochs of a
    /// registry that was lost.
    pub epoch_floor: u64,
}

/// Relation of this node to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MembershipPhase {
    /// The node wants to be in the view.
    Joining,
    /// The node is in the view.
    Member(NodeNumber),
    /// The node is in the view and wants to be removed.
    Leaving(NodeNumber),
    /// The node is not in the view, and does not want to be.
    Out,
}

/// The membership of one node, as a state machine.
#[derive(Debug)]
pub struct Membership {
    config: NodeConfig,
    started_at: Millis,
    incarnation: u128,
    phase: MembershipPhase,
    view: Arc<View>,
    /// Whether the watch has reported the whole state.
    knows_state: bool,
    awake: Awake,
    lease: Lease,
    confidence: Confidence,
    others: Others,
    proposals: Proposals,
    requests: Requests,
    /// Number of losses of the connection that the node was told of.
    losses: u64,
    is_connected: bool,
    /// Time until which the node judges no other node to be gone.
    grace_until: Millis,
    /// Whether the last renewal of the lease failed.
    is_troubled: bool,
    wants_drain: bool,
    is_busy: bool,
    is_drained: bool,
    /// Partitions that this node handed over, with the next owner's epoch, until a view says so.
    handed_over: BTreeMap<Partition, Epoch>,
    /// When the registry lost the view, until it has one again.
    lost_at: Option<Millis>,
    /// The highest epoch of a view so far.
    epoch_seen: Epoch,
    /// Lower bound for new node numbers: the highest `next_number` of a view so far. A view that was set up anew may
    /// begin its numbers at the start.
    number_floor: NodeNumber,
    stats: MembershipStats,
}

impl Membership {
    /// The membership of a process that just started and drew this incarnation. Its first actions come with
    /// [`MembershipEvent::Tick`].
    pub fn new(config: NodeConfig, incarnation: u128, now: Millis) -> Self {
        Self {
            started_at: now,
            awake: Awake::new(now),
            lease: Lease::new(incarnation, now),
            config,
            incarnation,
            phase: MembershipPhase::Joining,
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
            lost_at: None,
            epoch_seen: Epoch::default(),
            number_floor: 0,
            stats: MembershipStats::default(),
        }
    }

    /// Takes a step. `now` is this process's monotonic clock, which must go on while the machine sleeps.
    pub fn handle(&mut self, now: Millis, event: MembershipEvent, out: &mut Vec<Action>) {
        self.awake.step(now);
        // A node that slept past its lease must not find itself online while it takes in the event.
        self.review(now, out);
        match event {
            MembershipEvent::Tick => {}
            MembershipEvent::Registry(RegistryEvent::State(entries)) => self.state(now, &entries, out),
            MembershipEvent::Registry(RegistryEvent::Set(entry)) => self.set(now, &entry, out),
            MembershipEvent::Registry(RegistryEvent::Removed { key, revision }) => {
                self.removed(now, &key, revision, out)
            }
            MembershipEvent::Written { request, outcome } => self.written(now, request, &outcome),
            MembershipEvent::Probed { request, probe } => self.probed(now, request, probe, out),
            MembershipEvent::Listening => self.listening(now),
            MembershipEvent::Connection { is_up, losses } => self.connection(now, is_up, losses),
            MembershipEvent::HandedOver { partition, epoch } => self.handed_over(now, partition, epoch),
            MembershipEvent::Drain => self.wants_drain = true,
            MembershipEvent::Busy(is_busy) => self.is_busy = is_busy,
            MembershipEvent::Leave => self.leave(out),
            MembershipEvent::Rejoin { incarnation } => self.rejoin(now, incarnation),
        }
        self.review(now, out);
        self.act(now, out);
    }

    /// When the next [`MembershipEvent::Tick`] is due.
    pub fn next_due(&self) -> Millis {
        if self.phase == MembershipPhase::Out {
            return Millis::MAX;
        }
        let mut due = self.proposals.due().min(self.lease.due());
        if let Some(ends) = self.confidence.due(self.lease.good_since()) {
            due = due.min(ends).min(self.awake.due());
            if !self.confidence.is_in_doubt() {
                due = due.min(self.others.due().max(self.grace_until));
            }
        }
        if self.phase == MembershipPhase::Joining && self.knows_state && self.has_namesakes() {
            due = due.min(self.others.due());
        }
        let gathered = self.lost_at.map(|lost_at| lost_at + GATHER_AFTER_LOSS_MS);
        gathered.filter(|at| *at > self.awake.stepped_at()).map_or(due, |at| due.min(at))
    }

    /// The view that the watch reported last.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Counters since the process started.
    pub fn stats(&self) -> MembershipStats {
        self.stats
    }

    /// This node's number, while it is in the view.
    pub fn number(&self) -> Option<NodeNumber> {
        match self.phase {
            MembershipPhase::Member(number) | MembershipPhase::Leaving(number) => Some(number),
            MembershipPhase::Joining | MembershipPhase::Out => None,
        }
    }

    /// Whether this node may act for the partitions that it owns, by its own clock. An island may not.
    pub fn is_online(&self, now: Millis) -> bool {
        matches!(self.phase, MembershipPhase::Member(_)) && self.confidence.holds(now, self.lease.good_since())
    }

    /// Time, by this node's clock, until which the node may act for the partitions that it owns if nothing more
    /// happens.
    pub fn online_until(&self) -> Option<Millis> {
        let until = self.confidence.due(self.lease.good_since());
        until.filter(|_| matches!(self.phase, MembershipPhase::Member(_)))
    }

    /// The place at which this node may act as the owner of a partition now, if it may.
    pub fn owns(&self, now: Millis, partition: Partition) -> Option<Place> {
        let holding = self.view.holding(partition);
        let place = holding.owner.filter(|owner| Some(owner.node()) == self.number())?;
        (self.is_online(now) && !self.handed_over.contains_key(&partition)).then_some(place)
    }

    /// The epoch under which this node may run a job now, if it may. Every write of the job carries it. Two nodes may
    /// believe for a moment that they run the same job, if not all nodes take jobs; the later one has the higher epoch.
    pub fn runs(&self, now: Millis, job: &str) -> Option<Epoch> {
        let is_mine = self.number().is_some() && self.view.job_runner(job) == self.number();
        let is_handed_over = self.handed_over.contains_key(&Partition::of_name(job));
        (is_mine && !is_handed_over && self.is_online(now)).then_some(self.view.epoch)
    }

    /// Reports when this node becomes an island, or stops being one.
    fn review(&mut self, now: Millis, out: &mut Vec<Action>) {
        let is_member = matches!(self.phase, MembershipPhase::Member(_));
        self.confidence.review(now, is_member, self.lease.good_since(), out);
    }

    /// Changes the relation to the cluster. Pending proposals belonged to the old one and are dropped.
    fn enter(&mut self, phase: MembershipPhase) {
        self.phase = phase;
        self.proposals = Proposals::default();
    }

    fn voted_out(&mut self, out: &mut Vec<Action>) {
        self.enter(MembershipPhase::Out);
        self.confidence.become_island(out);
        out.push(Action::VotedOut);
        self.lease.delete(&mut self.requests, out);
    }

    fn left(&mut self, out: &mut Vec<Action>) {
        self.enter(MembershipPhase::Out);
        self.lease.delete(&mut self.requests, out);
        out.push(Action::Left);
    }

    /// Gives up joining, since this node is incompatible with a member.
    fn refused(&mut self, reason: Incompatible, out: &mut Vec<Action>) {
        self.enter(MembershipPhase::Out);
        self.lease.delete(&mut self.requests, out);
        out.push(Action::Refused(reason));
    }

    fn leave(&mut self, out: &mut Vec<Action>) {
        match self.phase {
            // The registry has no view that the node could leave. Others may store a later one than this node knows.
            MembershipPhase::Member(_) if self.lost_at.is_some() => {
                self.confidence.become_island(out);
                self.left(out);
            }
            MembershipPhase::Member(number) => {
                self.enter(MembershipPhase::Leaving(number));
                self.confidence.become_island(out);
            }
            MembershipPhase::Joining => self.left(out),
            MembershipPhase::Leaving(_) | MembershipPhase::Out => {}
        }
    }

    fn rejoin(&mut self, now: Millis, incarnation: u128) {
        if self.phase == MembershipPhase::Out {
            self.enter(MembershipPhase::Joining);
            self.incarnation = incarnation;
            self.lease = Lease::new(incarnation, now);
            self.confidence = Confidence::default();
            self.handed_over.clear();
            self.is_drained = false;
        }
    }

    fn written(&mut self, now: Millis, request: RequestRef, outcome: &Written) {
        match self.lease.written(now, request, outcome) {
            LeaseAnswer::Renewed(renewal) => {
                self.confidence.renewed(renewal);
                // The others may have had the same trouble and not be back yet.
                if std::mem::replace(&mut self.is_troubled, false) {
                    self.grace(now);
                }
            }
            LeaseAnswer::Failed => self.trouble(now),
            LeaseAnswer::NotOurs => {
                let is_lost = self.proposals.written(now, request, outcome) && *outcome == Err(RegistryError::Conflict);
                self.stats.races_lost += u64::from(is_lost);
            }
        }
    }

    /// Notes that a renewal failed.
    fn trouble(&mut self, now: Millis) {
        self.stats.renewals_failed += 1;
        self.is_troubled = true;
        self.grace(now);
    }

    /// Gives the other nodes time: they may have had the same trouble as this one.
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
        let is_first_silence = self.others.probed(now, request, probe);
        if let Some(me) = self.number().filter(|_| is_first_silence) {
            self.others.probe_all(now, me, &self.view, &mut self.requests, out);
        }
    }

    /// Carries out the node's own regular work: renewing, probing, proposing.
    fn act(&mut self, now: Millis, out: &mut Vec<Action>) {
        if self.phase == MembershipPhase::Out {
            return;
        }
        let epoch = self.number().map_or(Epoch::default(), |_| self.epoch_seen);
        if self.lease.tick(now, epoch, &mut self.requests, out) {
            self.trouble(now);
        }
        if self.phase == MembershipPhase::Joining && self.knows_state {
            self.probe_namesakes(now, out);
        }
        let judges = self.judges(now);
        if let Some(me) = self.number().filter(|_| judges) {
            self.others.tick(now, me, &self.view, &mut self.requests, out);
        }
        self.propose(now, out);
        self.tell_drained(out);
    }

    /// Whether this node may judge others to be gone.
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
