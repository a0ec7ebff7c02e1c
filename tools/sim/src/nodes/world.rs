//! The world of a cluster: processes with their memberships, the registry, the bus, and time.

use std::collections::BTreeMap;
use std::sync::Arc;

use fastrand::Rng;
use muster_cluster::bus::Address;
use muster_cluster::membership::{Action, MembershipEvent, RequestRef};
use muster_cluster::registry::RegistryEvent;
use muster_live::Millis;
use muster_live::place::{Epoch, Partition};

use super::faults::{Fault, Faults};
use super::history::History;
use super::process::Process;
use super::registry::{Registry, Write};
use super::{Check, Checked, Outcome};
use crate::trace::Trace;
use crate::violation::ensure;

/// Time during which failures happen.
const BUSY_MS: Millis = 40_000;
/// Time without failures after which no trace of them may be left.
pub(super) const REST_MS: Millis = 60_000;

/// An event at a point in time.
pub(super) enum Happening {
    /// A membership gets an event.
    Tell(usize, MembershipEvent),
    /// A membership gets an event, unless its connection has changed since.
    TellOn(usize, u64, MembershipEvent),
    /// A write of a process reaches the registry on one of its connections.
    Write(usize, u64, RequestRef, Write),
    /// A probe of a process reaches the bus.
    Probe(usize, RequestRef, Address),
    /// A process gets a connection again.
    Connect(usize),
    /// A process begins to watch the registry on one of its connections.
    Watch(usize, u64),
    /// The plane of a process is ready to hand over a partition.
    HandOver(usize, Partition, Epoch),
    /// A process that was voted out joins again.
    Rejoin(usize),
    /// A new process starts.
    Start,
    /// A process starts under the name of one that crashed.
    StartAgain(Arc<str>),
}

/// The processes of a cluster with their registry, bus and clock.
pub struct World {
    pub(super) rng: Rng,
    pub(super) now: Millis,
    pub(super) processes: BTreeMap<usize, Process>,
    pub(super) next_process: usize,
    pub(super) registry: Registry,
    /// The time until which the bus is down and nobody can connect.
    pub(super) down_until: Millis,
    /// The time until which the registry answers nobody, though the bus is up.
    pub(super) stuck_until: Millis,
    pub(super) happenings: BTreeMap<(Millis, u64), Happening>,
    order: u64,
    pub(super) history: History,
    pub(super) faults: Faults,
    pub(super) trace: Trace,
    pub(super) only_restarts: bool,
    pub(super) has_forgotten: bool,
    steps: u64,
    /// The present millisecond, and the number of steps within it.
    busy: (Millis, u64),
    pub(super) voted_out: u64,
    /// Whether answers and writes get through, as they do at the end of a run.
    pub(super) is_well: bool,
}

/// Runs a seed, with a planted bug or without. `prints` says whether the trace is printed.
pub fn run(seed: u64, fault: Option<Fault>, prints: bool) -> Outcome {
    let mut world = World::new(seed, fault, prints);
    let violation = world.live().err();
    let now = world.now;
    if let Some(violation) = &violation {
        world.trace.line(|| format!("{now}: {violation}"));
    }
    let numbers = [now, world.steps, world.history.views, world.voted_out];
    world.trace.step(|| format!("{now}: the end"), &numbers);
    Outcome {
        violation,
        steps: world.steps,
        views: world.history.views,
        voted_out: world.voted_out,
        hash: world.trace.hash(),
    }
}

impl World {
    pub(super) fn new(seed: u64, fault: Option<Fault>, prints: bool) -> Self {
        let rng = Rng::with_seed(seed);
        let mut world = Self {
            rng,
            now: 0,
            processes: BTreeMap::new(),
            next_process: 0,
            registry: Registry::default(),
            down_until: 0,
            stuck_until: 0,
            happenings: BTreeMap::new(),
            order: 0,
            history: History::default(),
            faults: Faults::new(fault, seed),
            trace: Trace::new(prints),
            only_restarts: seed.is_multiple_of(4),
            has_forgotten: false,
            steps: 0,
            busy: (0, 0),
            voted_out: 0,
            is_well: false,
        };
        (0..world.rng.usize(1..=4)).for_each(|_| world.start());
        world
    }

    fn live(&mut self) -> Checked {
        if self.only_restarts {
            // No failure may happen before all nodes have joined.
            self.is_well = true;
            self.advance(20_000)?;
            self.is_well = false;
        }
        let end = self.now + BUSY_MS;
        while self.now < end {
            let next = self.now + self.rng.u64(0..2_000);
            self.advance(next)?;
            self.act()?;
        }
        // From here on no new failures happen, and those that last end by themselves.
        self.is_well = true;
        self.advance(self.now + REST_MS)?;
        self.check_rest()
    }

    pub(super) fn later(&mut self, after_ms: Millis, happening: Happening) {
        self.order += 1;
        self.happenings.insert((self.now + after_ms, self.order), happening);
    }

    /// Moves the clock to a time, with everything that happens until then.
    pub(super) fn advance(&mut self, until: Millis) -> Checked {
        loop {
            let happening = self.happenings.keys().next().map(|(at, _)| *at);
            let end = self.registry.next_end().map(|at| at.max(self.down_until).max(self.stuck_until).max(self.now));
            let tick = self.next_tick();
            let times = [happening, end, tick.map(|(at, _)| at)];
            let Some(next) = times.into_iter().flatten().min().filter(|next| *next <= until) else { break };
            self.now = self.now.max(next);
            if end == Some(next) {
                let event = self.registry.expire(self.now);
                event.into_iter().for_each(|event| self.publish(&event));
            } else if happening == Some(next) {
                let Some((key, happening)) = self.happenings.pop_first() else { continue };
                self.happen(key, happening)?;
            } else if let Some((_, id)) = tick {
                self.step(id, MembershipEvent::Tick)?;
            }
        }
        self.now = until;
        Ok(())
    }

    fn next_tick(&self) -> Option<(Millis, usize)> {
        let tick = |(id, process): (&usize, &Process)| {
            let due = process.clock.real(process.membership.next_due());
            ((due + process.lateness_ms).max(process.sleeps_until).max(self.now), *id)
        };
        self.processes.iter().map(tick).min()
    }

    fn happen(&mut self, key: (Millis, u64), happening: Happening) -> Checked {
        match happening {
            Happening::Tell(id, event) => return self.tell(key, id, event, None),
            Happening::TellOn(id, connection, event) => return self.tell(key, id, event, Some(connection)),
            Happening::Write(id, connection, request, write) => return self.write(id, connection, request, write),
            Happening::Probe(id, request, address) => self.probe(id, request, address),
            Happening::Connect(id) => self.connect(id),
            Happening::Watch(id, connection) => self.watch(id, connection),
            Happening::HandOver(id, partition, epoch) => return self.hand_over(id, partition, epoch),
            Happening::Rejoin(id) => {
                let incarnation = self.rng.u128(..);
                if let Some(process) = self.processes.get_mut(&id) {
                    process.incarnation = incarnation;
                    return self.step(id, MembershipEvent::Rejoin { incarnation });
                }
            }
            Happening::Start => self.start(),
            Happening::StartAgain(name) => self.start_again(name),
        }
        Ok(())
    }

    /// Hands an event to a process, as soon as it is awake and not cut off.
    fn tell(&mut self, key: (Millis, u64), id: usize, event: MembershipEvent, connection: Option<u64>) -> Checked {
        let Some(process) = self.processes.get(&id) else { return Ok(()) };
        if connection.is_some_and(|connection| connection != process.connection) {
            return Ok(());
        }
        let silent_until = if connection.is_some() { process.silent_until } else { 0 };
        let until = process.sleeps_until.max(silent_until);
        if until > self.now {
            let happening = match connection {
                Some(connection) => Happening::TellOn(id, connection, event),
                None => Happening::Tell(id, event),
            };
            // Delayed events keep their order.
            self.happenings.insert((until, key.1), happening);
            return Ok(());
        }
        self.step(id, event)
    }

    /// Runs one step of a process's membership and carries out its actions.
    pub(super) fn step(&mut self, id: usize, event: MembershipEvent) -> Checked {
        let Some(process) = self.processes.get_mut(&id) else { return Ok(()) };
        self.steps += 1;
        self.busy = if self.busy.0 == self.now { (self.now, self.busy.1 + 1) } else { (self.now, 0) };
        ensure(Check::Rest, self.busy.1 < 10_000, || format!("process {id} does not come to rest"))?;
        let mut actions = Vec::new();
        self.trace.line(|| match &event {
            MembershipEvent::Tick => String::new(),
            MembershipEvent::Registry(RegistryEvent::State(entries)) => {
                format!("{}: {id} <- state of {}", self.now, entries.len())
            }
            MembershipEvent::Registry(RegistryEvent::Set(entry)) => {
                format!("{}: {id} <- {} {:?}", self.now, entry.key, entry.revision)
            }
            event => format!("{}: {id} <- {event:?}", self.now),
        });
        process.membership.handle(process.clock.local(self.now), event, &mut actions);
        let may_own_other = actions
            .iter()
            .any(|action| matches!(action, Action::ViewChanged { .. } | Action::BackOnline | Action::BecameIsland));
        for action in actions {
            self.carry_out(id, action)?;
        }
        if may_own_other {
            self.check_jobs(id)?;
            self.check_belief(id)?;
        }
        Ok(())
    }
}
