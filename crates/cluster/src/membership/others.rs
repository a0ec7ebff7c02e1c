//! A node's knowledge of the other nodes: which incarnations have leases, and which nodes do not listen any more.
//!
//! Each node probes the next one in the view. A node whose probe finds nobody probes all others, to distinguish a dead
//! node from a troubled bus. The renewal of a lease clears its node of all suspicion, and cancels probes under way.

use std::collections::{BTreeMap, BTreeSet};

use muster_live::Millis;
use muster_live::place::Epoch;

use super::action::{Action, RequestRef, Requests};
use super::timing::{PROBE_AGAIN_MS, PROBE_EVERY_MS, SETTLE_MS, SEVERAL_SILENT_MS};
use super::view::{Node, View};
use crate::NodeNumber;
use crate::bus::Probe;

/// First and last probe that found nobody.
#[derive(Clone, Copy, Debug)]
struct Silence {
    first: Millis,
    last: Millis,
}

#[derive(Debug, Default)]
pub(super) struct Others {
    /// Incarnations that have a lease, each with the highest epoch of a view that it knows as a member.
    leases: BTreeMap<u128, Epoch>,
    /// Incarnations that answered the last probe of them.
    answering: BTreeSet<u128>,
    silent: BTreeMap<u128, Silence>,
    probes: BTreeMap<RequestRef, u128>,
    /// When each incarnation appeared in the view, by this node's clock.
    since: BTreeMap<u128, Millis>,
    probe_at: Millis,
}

impl Others {
    /// Drops all leases: the watch is about to report the whole state.
    pub(super) fn forget_leases(&mut self) {
        self.leases.clear();
    }

    pub(super) fn renewed(&mut self, incarnation: u128, epoch: Epoch) {
        self.leases.insert(incarnation, epoch);
        self.clear(incarnation);
    }

    pub(super) fn expired(&mut self, incarnation: u128) {
        self.leases.remove(&incarnation);
    }

    fn clear(&mut self, incarnation: u128) {
        self.silent.remove(&incarnation);
        self.probes.retain(|_, probed| *probed != incarnation);
    }

    /// Drops the results of probes: this node had trouble of its own.
    pub(super) fn forget_silences(&mut self) {
        self.silent.clear();
        self.probes.clear();
        self.answering.clear();
    }

    pub(super) fn view_changed(&mut self, now: Millis, view: &View) {
        let is_in = |incarnation: &u128| view.incarnation(*incarnation).is_some();
        self.silent.retain(|incarnation, _| is_in(incarnation));
        self.probes.retain(|_, incarnation| is_in(incarnation));
        self.answering.retain(is_in);
        self.since.retain(|incarnation, _| is_in(incarnation));
        for node in view.nodes() {
            self.since.entry(node.incarnation).or_insert(now);
        }
    }

    /// When [`Self::tick`] has something to do.
    pub(super) fn due(&self) -> Millis {
        self.probe_at
    }

    /// Sends the probes that are due.
    pub(super) fn tick(
        &mut self,
        now: Millis,
        me: NodeNumber,
        view: &View,
        requests: &mut Requests,
        out: &mut Vec<Action>,
    ) {
        if now < self.probe_at {
            return;
        }
        if self.silent.is_empty() {
            self.probe_at = now + PROBE_EVERY_MS;
            self.probes.clear();
            if let Some(next) = next_after(me, view) {
                self.probe(now, next, requests, out);
            }
        } else {
            self.probe_all(now, me, view, requests, out);
        }
    }

    /// Probes all other nodes of the view.
    pub(super) fn probe_all(
        &mut self,
        now: Millis,
        me: NodeNumber,
        view: &View,
        requests: &mut Requests,
        out: &mut Vec<Action>,
    ) {
        self.probe_at = now + PROBE_AGAIN_MS;
        self.probes.clear();
        for node in view.nodes().iter().filter(|node| node.number != me) {
            self.probe(now, node, requests, out);
        }
    }

    /// Probes these nodes, for a node that is not in the view, if probes are due.
    pub(super) fn probe_each(&mut self, now: Millis, nodes: &[&Node], requests: &mut Requests, out: &mut Vec<Action>) {
        if now < self.probe_at {
            return;
        }
        self.probe_at = now + PROBE_AGAIN_MS;
        self.probes.clear();
        nodes.iter().for_each(|node| self.ask(node, requests, out));
    }

    fn probe(&mut self, now: Millis, node: &Node, requests: &mut Requests, out: &mut Vec<Action>) {
        let is_settled = self.since.get(&node.incarnation).is_some_and(|since| now >= since + SETTLE_MS);
        if is_settled {
            self.ask(node, requests, out);
        }
    }

    fn ask(&mut self, node: &Node, requests: &mut Requests, out: &mut Vec<Action>) {
        let request = requests.next();
        self.probes.insert(request, node.incarnation);
        out.push(Action::Probe { request, node: node.address() });
    }

    /// Takes in the answer to a probe. Answers whether it is the first that found nobody, so that all others have to be
    /// probed now.
    pub(super) fn probed(&mut self, now: Millis, request: RequestRef, probe: Probe) -> bool {
        let Some(incarnation) = self.probes.remove(&request) else { return false };
        match probe {
            Probe::Listening => {
                self.clear(incarnation);
                self.answering.insert(incarnation);
            }
            Probe::Unknown => {}
            Probe::Nobody => {
                self.answering.remove(&incarnation);
                let is_first = self.silent.is_empty();
                self.silent.entry(incarnation).or_insert(Silence { first: now, last: now }).last = now;
                return is_first;
            }
        }
        false
    }

    /// Whether a node has a lease, according to the watch.
    pub(super) fn has_lease(&self, node: &Node) -> bool {
        self.leases.contains_key(&node.incarnation)
    }

    /// Whether a node answered the last probe of it.
    pub(super) fn is_answering(&self, node: &Node) -> bool {
        self.answering.contains(&node.incarnation)
    }

    /// Whether any incarnation with a lease is a member, or was one until the registry lost its view.
    pub(super) fn have_member(&self) -> bool {
        self.leases.values().any(|epoch| *epoch > Epoch::default())
    }

    /// Whether any incarnation with a lease knows a later view than that of this epoch.
    pub(super) fn know_later(&self, epoch: Epoch) -> bool {
        self.leases.values().any(|known| *known > epoch)
    }

    /// Whether all other members of the view have told by their leases which views they know.
    pub(super) fn have_all_told(&self, me: NodeNumber, view: &View) -> bool {
        let has_told = |node: &Node| self.leases.get(&node.incarnation).is_some_and(|epoch| *epoch > Epoch::default());
        view.nodes().iter().filter(|node| node.number != me).all(has_told)
    }

    /// Whether a node is gone: its lease ended, or probes of at least this time found nobody.
    pub(super) fn is_gone(&self, node: &Node, patience: Millis) -> bool {
        let silence = self.silent.get(&node.incarnation);
        !self.has_lease(node) || silence.is_some_and(|silence| silence.last - silence.first >= patience)
    }

    /// The nodes of the view that are gone: their leases ended, or probes found nobody.
    pub(super) fn gone(&self, me: NodeNumber, view: &View) -> Vec<NodeNumber> {
        let patience = if self.silent.len() > 1 { SEVERAL_SILENT_MS } else { PROBE_AGAIN_MS };
        let others = view.nodes().iter().filter(|node| node.number != me);
        others.filter(|node| self.is_gone(node, patience)).map(|node| node.number).collect()
    }
}

/// The next node in the ring of numbers.
fn next_after(me: NodeNumber, view: &View) -> Option<&Node> {
    let behind = view.nodes().iter().find(|node| node.number > me);
    behind.or_else(|| view.nodes().first()).filter(|node| node.number != me)
}
