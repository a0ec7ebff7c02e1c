//! The history of views. Each new view is checked against those before it.

use std::collections::{BTreeMap, BTreeSet};

use muster_cluster::NodeNumber;
use muster_cluster::membership::{Holding, MOVES_AT_ONCE_MAX, Node, View};
use muster_live::place::{Epoch, Partition, Place};

use super::{Check, Checked};
use crate::violation::ensure;

/// The last view, and the owners, numbers and runners of all epochs so far.
#[derive(Default)]
pub struct History {
    last: Option<View>,
    /// Epoch of the last view before the registry lost everything.
    epoch_lost: Option<Epoch>,
    owners: BTreeMap<(Partition, Epoch), Option<Place>>,
    numbers: BTreeMap<NodeNumber, u128>,
    handed_over: BTreeSet<(Partition, Epoch)>,
    /// The process that ran each job in each epoch.
    runners: BTreeMap<(&'static str, Epoch), usize>,
    /// Number of views.
    pub views: u64,
}

/// Whether a node may be given partitions.
fn takes(node: &Node) -> bool {
    node.roles.live && !node.is_draining
}

impl History {
    /// Notes that a node's plane handed over a partition.
    pub fn handed_over(&mut self, partition: Partition, epoch: Epoch) {
        self.handed_over.insert((partition, epoch));
    }

    /// Notes that a process runs a job, and checks that no other does in the same epoch.
    pub fn runs(&mut self, process: usize, job: &'static str, epoch: Epoch) -> Checked {
        let first = *self.runners.entry((job, epoch)).or_insert(process);
        ensure(Check::Jobs, first == process, || format!("processes {first} and {process} run {job} in {epoch:?}"))
    }

    /// Notes that the registry lost everything. The members store the view again that they know; it may lack the last
    /// changes, so nothing is compared with those. Epochs go on.
    pub fn forgotten(&mut self) {
        self.numbers.clear();
        self.owners.clear();
        self.epoch_lost = self.last.take().map(|view| view.epoch);
    }

    /// Checks a new view.
    pub fn view(&mut self, view: View) -> Checked {
        self.views += 1;
        for node in view.nodes() {
            let first = *self.numbers.entry(node.number).or_insert(node.incarnation);
            ensure(Check::Numbers, first == node.incarnation && node.number < view.next_number, || {
                format!("number {} is given twice, or will be", node.number)
            })?;
        }
        let moving = view.moving();
        ensure(Check::Moves, moving <= MOVES_AT_ONCE_MAX, || format!("{moving} partitions move at once"))?;
        if let Some(last) = self.last.take() {
            ensure(Check::Epochs, view.epoch > last.epoch, || format!("{:?} after {:?}", view.epoch, last.epoch))?;
            for ((partition, before), (_, after)) in last.holdings().zip(view.holdings()) {
                if before != after {
                    self.holding(partition, before, after)?;
                    let begun = after.moving.filter(|_| after.moving != before.moving);
                    let to = begun.map(|moving| view.node(moving.to.node()));
                    ensure(Check::Moves, to.is_none_or(|to| to.is_some_and(takes)), || {
                        format!("{partition:?} moves to {to:?}")
                    })?;
                }
            }
        } else {
            let lost = self.epoch_lost.unwrap_or_default();
            ensure(Check::Epochs, view.epoch > lost, || format!("{:?} after {lost:?}", view.epoch))?;
            let owners = view.holdings().map(|(partition, holding)| ((partition, holding.epoch), holding.owner));
            self.owners.extend(owners);
        }
        self.last = Some(view);
        Ok(())
    }

    fn holding(&mut self, partition: Partition, before: &Holding, after: &Holding) -> Checked {
        ensure(Check::Epochs, after.epoch >= before.epoch, || {
            format!("{partition:?} goes from {:?} to {:?}", before.epoch, after.epoch)
        })?;
        let owner = *self.owners.entry((partition, after.epoch)).or_insert(after.owner);
        ensure(Check::Owner, owner == after.owner, || {
            format!("{partition:?} has {owner:?} and {:?} in {:?}", after.owner, after.epoch)
        })?;
        let Some(moving) = before.moving.filter(|moving| moving.epoch == after.epoch) else { return Ok(()) };
        let is_handed_over = self.handed_over.contains(&(partition, moving.epoch)) && after.owner == Some(moving.to);
        ensure(Check::HandOver, is_handed_over, || format!("{partition:?} goes to {:?} unasked", after.owner))
    }
}
