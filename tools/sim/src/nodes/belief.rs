//! The partitions that nodes believe that they own, and the state that must be reached after a long time without
//! failures.

use muster_cluster::NodeNumber;
use muster_cluster::membership::{fair_shares, pull, slack};
use muster_live::place::{PARTITIONS, Partition, Place};

use super::process::Process;
use super::world::World;
use super::{Check, Checked};
use crate::violation::ensure;

/// Names of some jobs.
const JOBS: [&str; 3] = ["cleaning", "leaderboards", "tournaments"];

/// The partitions that a process believes that it owns, in order.
fn owned(process: &Process, now: u64) -> Vec<Partition> {
    let local = process.clock.local(now);
    if process.is_asleep(now) || !process.membership.is_online(local) {
        return Vec::new();
    }
    Partition::all().filter(|partition| process.membership.owns(local, *partition).is_some()).collect()
}

impl World {
    /// Checks that no other process believes that it owns a partition which this one has gained since its last check.
    /// Only gains are checked, because a belief cannot begin between checks.
    pub(super) fn check_belief(&mut self, id: usize) -> Checked {
        let Some(process) = self.processes.get_mut(&id) else { return Ok(()) };
        let mine = owned(process, self.now);
        let before = std::mem::replace(&mut process.believes, mine.clone());
        let gained: Vec<Partition> =
            mine.into_iter().filter(|partition| before.binary_search(partition).is_err()).collect();
        for (other_id, other) in self.processes.iter().filter(|(other, _)| **other != id) {
            let local = other.clock.local(self.now);
            if other.is_asleep(self.now) || !other.membership.is_online(local) {
                continue;
            }
            let both = gained.iter().find(|partition| other.membership.owns(local, **partition).is_some());
            ensure(Check::Belief, both.is_none(), || format!("processes {id} and {other_id} both own {both:?}"))?;
        }
        Ok(())
    }

    /// Checks that no other process runs a job of this process in the same epoch.
    pub(super) fn check_jobs(&mut self, id: usize) -> Checked {
        let Some(process) = self.processes.get(&id).filter(|process| !process.is_asleep(self.now)) else {
            return Ok(());
        };
        let local = process.clock.local(self.now);
        for job in JOBS {
            let Some(epoch) = process.membership.runs(local, job) else { continue };
            self.history.runs(id, job, epoch)?;
        }
        Ok(())
    }

    /// Checks the state after a long time without failures.
    pub(super) fn check_rest(&self) -> Checked {
        let Some(first) = self.processes.values().next() else { return Ok(()) };
        let view = first.membership.view();
        let rest = |holds: bool, detail: &dyn Fn() -> String| ensure(Check::Rest, holds, detail);
        for (id, process) in &self.processes {
            let local = process.clock.local(self.now);
            let is_same = process.membership.view().revision == view.revision;
            let is_in = view.incarnation(process.incarnation).is_some();
            rest(!process.is_draining, &|| format!("process {id} does not get rid of everything"))?;
            rest(is_same && is_in && process.membership.is_online(local), &|| {
                format!(
                    "process {id}: the same view {is_same}, in it {is_in}, online {}",
                    process.membership.is_online(local)
                )
            })?;
        }
        rest(view.nodes().len() == self.processes.len(), &|| format!("{:?} are in the view", view.nodes()))?;
        rest(view.moving() == 0, &|| format!("{} partitions move", view.moving()))?;
        let takes = |number: NodeNumber| view.node(number).is_some_and(|node| node.roles.live && !node.is_draining);
        let has_any = view.nodes().iter().any(|node| takes(node.number));
        for (partition, holding) in view.holdings() {
            let is_fine = holding.owner.is_some_and(|owner| takes(owner.node()));
            rest(is_fine || !has_any, &|| format!("{partition:?} has {holding:?}"))?;
        }
        for job in JOBS {
            let runs = |process: &&Process| process.membership.runs(process.clock.local(self.now), job).is_some();
            let runners = self.processes.values().filter(runs).count();
            let has_any = view.nodes().iter().any(|node| node.roles.jobs);
            rest(runners == usize::from(has_any), &|| format!("{job} is run by {runners}"))?;
        }
        self.check_balance()
    }

    fn check_balance(&self) -> Checked {
        let Some(first) = self.processes.values().next() else { return Ok(()) };
        let view = first.membership.view();
        let takers: Vec<&Process> =
            self.processes.values().filter(|process| process.roles.live && !process.is_draining).collect();
        let pulls: Vec<usize> = takers.iter().map(|process| pull(process.weight, process.is_busy)).collect();
        for (process, fair) in takers.iter().zip(fair_shares(&pulls)) {
            let number = process.membership.number();
            let owners = view.holdings().filter_map(|(_, holding)| holding.owner);
            let places: Vec<Place> = owners.filter(|owner| Some(owner.node()) == number).collect();
            let off = places.len().abs_diff(fair);
            // The rounding of shares depends on the order of nodes, which is unknown here, so a share may be off by one
            // more.
            ensure(Check::Balance, off <= slack(fair + 1) + 1 && fair <= usize::from(PARTITIONS), || {
                format!("{number:?} has {} partitions instead of {fair}", places.len())
            })?;
            for shard in 0..process.shards {
                let on_shard = places.iter().filter(|place| place.shard() == shard).count();
                let even = places.len() / usize::from(process.shards);
                ensure(Check::Balance, on_shard.abs_diff(even) <= slack(even) + 2, || {
                    format!("{number:?}: shard {shard} has {on_shard} of {} partitions", places.len())
                })?;
            }
        }
        Ok(())
    }
}
