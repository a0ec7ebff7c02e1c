//! Planted bugs between memberships and their surroundings.

use bytes::Bytes;
use fastrand::Rng;
use muster_cluster::NodeNumber;
use muster_cluster::membership::VIEW_KEY;
use muster_cluster::registry::RegistryEvent;
use muster_live::Millis;
use muster_wire::membership::View;

use super::registry::Write;

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The registry carries out writes even if the key's revision is not the expected one.
    IgnoreExpected,
    /// A view names another owner of a partition in the same epoch.
    StealPartition,
    /// A view's epochs are older than those before.
    LowerEpochs,
    /// A view gives a number out a second time.
    ReuseNumber,
    /// A view moves all partitions at once.
    MoveAll,
    /// A view gives a partition to its next owner before it was handed over.
    SkipHandOver,
    /// Leases end too early.
    ExpireEarly,
    /// The bus says that nobody listens at an address where a node listens.
    FalseNobody,
    /// Nodes do not hear that their connection was lost.
    HideLoss,
    /// A node's clock is much too slow.
    SlowClock,
    /// A watch of the registry falls silent.
    DeafWatch,
    /// A node's plane never hands over a partition.
    KeepPartitions,
    /// A view says that a node has fewer shards than it has.
    HideShards,
    /// A watch tells a node that no other node runs jobs.
    HideJobs,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 14] = [
        Self::IgnoreExpected,
        Self::StealPartition,
        Self::LowerEpochs,
        Self::ReuseNumber,
        Self::MoveAll,
        Self::SkipHandOver,
        Self::ExpireEarly,
        Self::FalseNobody,
        Self::HideLoss,
        Self::SlowClock,
        Self::DeafWatch,
        Self::KeepPartitions,
        Self::HideShards,
        Self::HideJobs,
    ];
}

/// The state of the planted fault. A fault strikes once, at one of its first occasions, or at every occasion if
/// [`Self::has`] is asked about it.
pub struct Faults {
    fault: Option<Fault>,
    occasions: u32,
}

impl Faults {
    /// Plants this fault, or none. The seed decides the occasion at which the fault strikes.
    pub fn new(fault: Option<Fault>, seed: u64) -> Self {
        Self { fault, occasions: Rng::with_seed(seed).u32(1..=6) }
    }

    /// Whether this fault is planted; for faults that strike at every occasion.
    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Counts an occasion of this fault. Returns whether the fault is planted and strikes at this occasion.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        if self.fault != Some(fault) || self.occasions == 0 {
            return false;
        }
        self.occasions -= 1;
        self.occasions == 0
    }

    /// The duration of a lease, which the fault may shorten.
    pub fn time_to_live(&self, ms: Millis) -> Millis {
        if self.has(Fault::ExpireEarly) { ms / 3 } else { ms }
    }

    /// Lets the fault change a write of a view.
    pub fn write(&mut self, write: &mut Write) {
        if write.key != VIEW_KEY || self.fault.is_none() {
            return;
        }
        let Some(mut view) = write.value.as_deref().and_then(|value| View::from_bytes(value).ok()) else { return };
        if let Some(changed) = self.view(&mut view) {
            write.value = Some(changed);
        }
    }

    /// Lets the fault change an event for the watch of the node with this number.
    pub fn tell(&mut self, number: Option<NodeNumber>, event: &mut RegistryEvent) {
        let (Some(me), RegistryEvent::Set(entry)) = (number, event) else { return };
        if !self.has(Fault::HideJobs) || entry.key != VIEW_KEY {
            return;
        }
        let Ok(mut view) = View::from_bytes(&entry.value) else { return };
        if view.nodes.len() > 1 && self.strikes(Fault::HideJobs) {
            view.nodes.iter_mut().for_each(|node| node.jobs = node.number == me);
            entry.value = view.to_bytes();
        }
    }

    fn view(&mut self, view: &mut View) -> Option<Bytes> {
        match self.fault? {
            Fault::StealPartition => {
                let thief = view.nodes.last()?.number << 10 | 1;
                let victim = view.owners.iter().position(|owner| *owner != 0 && *owner != thief)?;
                if view.ages[victim] == 0 || !self.strikes(Fault::StealPartition) {
                    return None;
                }
                view.owners[victim] = thief;
            }
            Fault::LowerEpochs if view.epoch > 20 && self.strikes(Fault::LowerEpochs) => {
                view.ages.iter_mut().for_each(|age| *age += 10);
            }
            Fault::ReuseNumber if view.nodes.len() > 1 && self.strikes(Fault::ReuseNumber) => {
                view.next_number = view.nodes.last()?.number;
            }
            Fault::MoveAll if view.nodes.len() > 1 && self.strikes(Fault::MoveAll) => {
                let to = view.nodes.last()?.number << 10 | 1;
                view.moves =
                    (0..1_024).map(|partition| muster_wire::membership::Move { partition, to, age: 0 }).collect();
            }
            Fault::SkipHandOver if !view.moves.is_empty() && self.strikes(Fault::SkipHandOver) => {
                let moving = view.moves.pop()?;
                view.owners[moving.partition as usize] = moving.to;
                view.ages[moving.partition as usize] = moving.age;
            }
            Fault::HideShards => {
                view.nodes.iter_mut().filter(|node| node.shards == 8).for_each(|node| node.shards = 1);
            }
            _ => return None,
        }
        Some(view.to_bytes())
    }
}
