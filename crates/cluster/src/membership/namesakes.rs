//! A name belongs to one living node. A node that joins asks the bus whether its namesakes in the view still listen. It
//! takes the places of those that are gone at once, without waiting for their leases to end: so a node that is started
//! again after a crash owns something within a second. It does not join beside one that answers.

use muster_live::Millis;

use super::action::Action;
use super::compatibility::Incompatible;
use super::timing::PROBE_AGAIN_MS;
use super::view::{Node, View};
use super::{Membership, NODE_NAME_BYTES_MAX};
use crate::NodeNumber;

impl Membership {
    /// This node's name, as it stands in the view.
    pub(super) fn name(&self) -> &str {
        let name = &self.config.name;
        &name[..name.floor_char_boundary(NODE_NAME_BYTES_MAX)]
    }

    fn namesakes<'v>(&self, view: &'v View) -> Vec<&'v Node> {
        let is_namesake = |node: &&Node| *node.name == *self.name() && node.incarnation != self.incarnation;
        view.nodes().iter().filter(is_namesake).collect()
    }

    /// Whether this node joins and has namesakes in the view.
    pub(super) fn has_namesakes(&self) -> bool {
        !self.namesakes(&self.view).is_empty()
    }

    /// Probes the namesakes of this node, which joins.
    pub(super) fn probe_namesakes(&mut self, now: Millis, out: &mut Vec<Action>) {
        let view = self.view.clone();
        let namesakes = self.namesakes(&view);
        if !namesakes.is_empty() {
            self.others.probe_each(now, &namesakes, &mut self.requests, out);
        }
    }

    /// The namesakes whose places this node takes when it joins; `None` while one of them may live.
    pub(super) fn gone_namesakes(&self) -> Result<Option<Vec<NodeNumber>>, Incompatible> {
        let namesakes = self.namesakes(&self.view);
        // A namesake that drains is about to leave, so it is waited for.
        if namesakes.iter().any(|node| self.others.is_answering(node) && !node.is_draining) {
            return Err(Incompatible::Name(self.name().into()));
        }
        let are_gone = namesakes.iter().all(|node| self.others.is_gone(node, PROBE_AGAIN_MS));
        Ok(are_gone.then(|| namesakes.iter().map(|node| node.number).collect()))
    }
}
