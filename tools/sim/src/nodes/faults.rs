//! Planted bugs, between memberships and what is around them.

use bytes::Bytes;
use fastrand::Rng;
use muster_cluster::NodeNumber;
use muster_cluster::membership::VIEW_KEY;
use muster_cluster::registry::Event;
use muster_live::Millis;
use muster_wire::membership::View;

use super::registry::Write;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The registry does a write whatever it expects.
    IgnoreExpected,
    /// A view has another owner of a partition in the same epoch.
    StealPartition,
    /// A view's epochs are those of long ago.
    LowerEpochs,
    /// A number is given out again.
    ReuseNumber,
    /// A view moves all partitions at once.
    MoveAll,
    /// A view gives away what was not handed over.
    SkipHandOver,
    /// Leases end before their time.
    ExpireEarly,
    /// The bus says that nobody listens where somebody does.
    FalseNobody,
    /// Nodes do not hear that their connection was lost.
    HideLoss,
    /// A node's clock is much too slow.
    SlowClock,
    /// A watch tells nothing any more.
    DeafWatch,
    /// A node's plane never hands over anything.
    KeepPartitions,
    /// A view says that a node has fewer shards than it has.
    HideShards,
    /// A watch tells a node that it alone is for jobs.
    HideJobs,
}

impl Fault {
    /// All of them.
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

/// A fault that strikes once, at one of its first occasions, or always where that says so.
pub struct Faults {
    fault: Option<Fault>,
    occasions: u32,
}

impl Faults {
    /// With this fault, or none.
    pub fn new(fault: Option<Fault>, seed: u64) -> Self {
        Self { fault, occasions: Rng::with_seed(seed).u32(1..=6) }
    }

    /// Whether this is what goes wrong, each time.
    pub fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Whether this is what goes wrong, now.
    pub fn strikes(&mut self, fault: Fault) -> bool {
        if self.fault != Some(fault) || self.occasions == 0 {
            return false;
        }
        self.occasions -= 1;
        self.occasions == 0
    }

    /// How long a lease lasts.
    pub fn time_to_live(&self, ms: Millis) -> Millis {
        if self.has(Fault::ExpireEarly) { ms / 3 } else { ms }
    }

    /// Changes a write of a view.
    pub fn write(&mut self, write: &mut Write) {
        if write.key != VIEW_KEY || self.fault.is_none() {
            return;
        }
        let Some(mut view) = write.value.as_deref().and_then(|value| View::from_bytes(value).ok()) else { return };
        if let Some(changed) = self.view(&mut view) {
            write.value = Some(changed);
        }
    }

    /// Changes what the watch of a node with this number tells.
    pub fn tell(&mut self, number: Option<NodeNumber>, event: &mut Event) {
        let (Some(me), Event::Set(entry)) = (number, event) else { return };
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
