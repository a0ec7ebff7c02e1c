//! Processes, their clocks and their connections.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_cluster::NodeNumber;
use muster_cluster::bus::Address;
use muster_cluster::membership::{Compatibility, Membership, NodeConfig, Roles};
use muster_live::place::{Epoch, Partition};
use muster_live::{Millis, ShardIndex};

use super::faults::Fault;
use super::world::{Happening, World};

/// A clock that starts at any time and runs a little too fast or too slow.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    offset: Millis,
    per_mille: u64,
}

impl Clock {
    /// The time that the clock shows at a real time.
    pub fn local(self, now: Millis) -> Millis {
        self.offset + now * self.per_mille / 1_000
    }

    /// The real time at which the clock shows this time, or a little later.
    pub(super) fn real(self, local: Millis) -> Millis {
        (local.saturating_sub(self.offset).min(1 << 40) * 1_000).div_ceil(self.per_mille)
    }
}

/// A process with its membership and connection.
pub struct Process {
    pub(super) name: Arc<str>,
    pub(super) membership: Membership,
    pub(super) incarnation: u128,
    pub(super) clock: Clock,
    pub(super) shards: ShardIndex,
    pub(super) weight: u32,
    pub(super) roles: Roles,
    pub(super) is_draining: bool,
    pub(super) is_busy: bool,
    /// The time until which the process does nothing.
    pub(super) sleeps_until: Millis,
    /// The time until which no message reaches the process or leaves it. Nobody is told of that.
    pub(super) silent_until: Millis,
    pub(super) is_connected: bool,
    /// A number that grows when the connection is lost or made again. Messages of an earlier connection are lost.
    pub(super) connection: u64,
    pub(super) losses: u64,
    pub(super) listens: Option<Address>,
    pub(super) is_watching: bool,
    pub(super) is_deaf: bool,
    /// The time at which the last event of the watch arrives.
    pub(super) told_until: Millis,
    pub(super) lateness_ms: Millis,
    pub(super) keeps_partitions: bool,
    pub(super) handing_over: BTreeSet<(Partition, Epoch)>,
    /// The last number that the node was given.
    pub(super) last_number: Option<NodeNumber>,
    /// The partitions that the process believed to own at the last check.
    pub(super) believes: Vec<Partition>,
}

impl Process {
    /// Whether the process does nothing now, or has not yet handled the events that came while it slept.
    pub(super) fn is_asleep(&self, now: Millis) -> bool {
        now <= self.sleeps_until
    }
}

impl World {
    /// Starts a process with random roles.
    pub(super) fn start(&mut self) {
        let roles = self.any_roles();
        self.start_as(roles);
    }

    /// Starts a process with random roles, under the name of one that crashed.
    pub(super) fn start_again(&mut self, name: Arc<str>) {
        let roles = self.any_roles();
        self.start_called(Some(name), roles);
    }

    fn any_roles(&mut self) -> Roles {
        Roles { gateway: true, live: self.rng.u32(0..5) > 0, jobs: self.rng.u32(0..3) > 0 }
    }

    /// Starts a process as a node with these roles.
    pub(super) fn start_as(&mut self, roles: Roles) {
        self.start_called(None, roles);
    }

    fn start_called(&mut self, name: Option<Arc<str>>, roles: Roles) {
        let id = self.next_process;
        self.next_process += 1;
        let shards = *self.rng.choice(&[1, 2, 8]).unwrap_or(&1);
        let weight = self.rng.u32(1..=4);
        let slow = if self.faults.has(Fault::SlowClock) && id == 1 { 600 } else { 0 };
        let clock = Clock { offset: self.rng.u64(0..1_000_000), per_mille: self.rng.u64(990..=1_010) - slow };
        let name = name.unwrap_or_else(|| format!("node-{id}").into());
        let config = NodeConfig {
            name: name.clone(),
            shards,
            weight,
            roles,
            compatibility: Compatibility::default(),
            epoch_floor: self.now,
        };
        let incarnation = self.rng.u128(..);
        let process = Process {
            name,
            membership: Membership::new(config, incarnation, clock.local(self.now)),
            incarnation,
            clock,
            shards,
            weight,
            roles,
            is_draining: false,
            is_busy: false,
            sleeps_until: 0,
            silent_until: 0,
            is_connected: false,
            connection: 0,
            losses: 0,
            listens: None,
            is_watching: false,
            is_deaf: false,
            told_until: 0,
            lateness_ms: self.rng.u64(0..20),
            keeps_partitions: self.faults.has(Fault::KeepPartitions) && id == 0,
            handing_over: BTreeSet::new(),
            last_number: None,
            believes: Vec::new(),
        };
        self.trace.line(|| format!("{}: process {id} starts, {shards} shards, {roles:?}", self.now));
        self.processes.insert(id, process);
        let after_ms = self.rng.u64(0..200);
        self.later(after_ms, Happening::Connect(id));
    }
}
