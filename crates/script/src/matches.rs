//! Matches of game code of one shard: in which machine each is, and calling its callbacks when the plane says so.

mod migrate;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::poll;
use muster_live::matches::{Call, Callback, MatchId, Outcome, Return};
use muster_live::plane::HandlerOrder;

use self::migrate::Moves;
use crate::host::{Host, Meter};
use crate::luau::matches::MatchVm as LuaMatchVm;
use crate::machine::limits::{Limits, SLICE};
use crate::machine::matches::{failed, is_want_of_memory};
use crate::machine::{Code as _, MatchMachine};
use crate::metrics::ScriptMetrics;
use crate::quickjs::matches::MatchVm as JsMatchVm;
use crate::wasm::matches::MatchVm as GoMatchVm;

/// Takes what comes of calls.
type Returns = Box<dyn Fn(MatchId, Return)>;

/// The matches of one shard's Lua code.
pub type LuaMatches = GameMatches<LuaMatchVm>;

/// The matches of one shard's JavaScript code.
pub type JsMatches = GameMatches<JsMatchVm>;

/// The matches of one shard's Go code.
pub type GoMatches = GameMatches<GoMatchVm>;

/// The matches of one shard's code in a language.
pub struct GameMatches<M: MatchMachine> {
    current: RefCell<Current<M>>,
    host: Rc<Host>,
    limits: Limits,
    metrics: Arc<ScriptMetrics>,
    returns: Returns,
    machines: RefCell<Vec<Rc<Housed<M>>>>,
    homes: RefCell<HashMap<MatchId, Rc<Housed<M>>>>,
    moves: Moves,
}

/// What new matches are of.
struct Current<M: MatchMachine> {
    program: Arc<M::Program>,
    /// The number of the program among those that the process had.
    generation: u64,
}

/// A machine, and what its matches wait for.
struct Housed<M> {
    vm: M,
    generation: u64,
    orders: RefCell<VecDeque<HandlerOrder>>,
    is_at_work: Cell<bool>,
    matches: Cell<usize>,
    /// Callbacks that wait while others may run.
    parked: Cell<usize>,
}

impl<M: MatchMachine> GameMatches<M> {
    /// Machines are started when matches need them. `returns` is told what comes of each call, for the plane.
    pub fn new(
        program: Arc<M::Program>,
        host: Rc<Host>,
        limits: Limits,
        metrics: Arc<ScriptMetrics>,
        returns: impl Fn(MatchId, Return) + 'static,
    ) -> Self {
        let (machines, homes) = Default::default();
        let current = RefCell::new(Current { program, generation: 1 });
        let moves = Moves::default();
        Self { current, host, limits, metrics, returns: Box::new(returns), machines, homes, moves }
    }

    /// From now on matches are made of this program, the so manieth that the process has had. Those that there are go on as
    /// they began.
    pub fn renew(&self, program: Arc<M::Program>, generation: u64) {
        self.current.replace(Current { program, generation });
        let mut machines = self.machines.borrow_mut();
        let before = machines.len();
        machines.retain(|machine| machine.matches.get() > 0 || machine.parked.get() > 0);
        let gone = i64::try_from(before - machines.len()).unwrap_or(i64::MAX);
        self.metrics.match_machines.fetch_sub(gone, Ordering::Relaxed);
    }

    /// Does what the plane says, on the runtime's local tasks.
    pub fn order(self: &Rc<Self>, order: HandlerOrder) {
        let Some(order) = self.migrate_first(order) else { return };
        self.carry_out(order);
    }

    fn carry_out(self: &Rc<Self>, order: HandlerOrder) {
        let machine = match &order {
            HandlerOrder::Call(call) if matches!(call.callback, Callback::Init { .. }) => match self.house(call) {
                Ok(machine) => Some(machine),
                Err(why) => return self.fail(call.id, why),
            },
            HandlerOrder::Call(call) => {
                let machine = self.homes.borrow().get(&call.id).cloned();
                match machine {
                    Some(machine) if self.waits_for(&machine, call) => {
                        let why = "A match of the same machine waits for this signal's answer: it would wait for ever.";
                        let outcome = Outcome::Refused(why.into());
                        return (self.returns)(call.id, Return { outcome, acts: Vec::new() });
                    }
                    Some(machine) => Some(machine),
                    None => return self.fail(call.id, "this shard does not run the match".into()),
                }
            }
            HandlerOrder::Drop(id) => {
                self.moves.forget(*id);
                let machine = self.homes.borrow_mut().remove(id);
                if let Some(machine) = &machine {
                    machine.matches.set(machine.matches.get() - 1);
                    self.metrics.matches.fetch_sub(1, Ordering::Relaxed);
                }
                machine
            }
            HandlerOrder::TakeOver(_) | HandlerOrder::Release(_) | HandlerOrder::Forget(_) => None,
        };
        let Some(machine) = machine else { return };
        machine.orders.borrow_mut().push_back(order);
        if !machine.is_at_work.replace(true) {
            tokio::task::spawn_local(work(self.clone(), machine));
        }
    }

    /// Whether the modules have a match of this name.
    pub(crate) fn has_handler(&self, name: &str) -> bool {
        self.current.borrow().program.has_handler(name)
    }

    /// Whether a match is here.
    pub(crate) fn holds(&self, id: MatchId) -> bool {
        self.homes.borrow().contains_key(&id)
    }

    /// The machine of a new match.
    fn house(&self, call: &Call) -> Result<Rc<Housed<M>>, Arc<str>> {
        let machine = self.machine_with_room()?;
        machine.matches.set(machine.matches.get() + 1);
        self.metrics.matches.fetch_add(1, Ordering::Relaxed);
        self.homes.borrow_mut().insert(call.id, machine.clone());
        Ok(machine)
    }

    /// A machine of the code that there is now.
    fn machine_with_room(&self) -> Result<Rc<Housed<M>>, Arc<str>> {
        let mut machines = self.machines.borrow_mut();
        // Machines are filled, and emptied ones go.
        let current = self.current.borrow();
        let matches_max = self.limits.matches_per_machine.min(M::MATCHES_MAX);
        let has_room = |machine: &&Rc<Housed<M>>| {
            // One that waits may wait for this very match.
            let is_free = (M::PARKS || machine.parked.get() == 0) && !machine.vm.is_spent();
            let is_current = machine.generation == current.generation;
            is_free && is_current && machine.matches.get() < matches_max
        };
        let machine = match machines.iter().filter(has_room).max_by_key(|machine| machine.matches.get()) {
            Some(machine) => machine.clone(),
            None => {
                let vm = M::new(&current.program, &self.host, self.limits);
                let vm = vm.map_err(|error| Arc::from(error.to_string()))?;
                let (orders, is_at_work, matches, parked) = Default::default();
                let generation = current.generation;
                machines.push(Rc::new(Housed { vm, generation, orders, is_at_work, matches, parked }));
                self.metrics.match_machines.fetch_add(1, Ordering::Relaxed);
                machines[machines.len() - 1].clone()
            }
        };
        Ok(machine)
    }

    /// Whether a machine that takes one call at a time cannot take this one, since it waits for what comes of it.
    fn waits_for(&self, machine: &Rc<Housed<M>>, call: &Call) -> bool {
        let homes = self.homes.borrow();
        let is_its = |id: &MatchId| homes.get(id).is_some_and(|home| Rc::ptr_eq(home, machine));
        !M::PARKS && machine.parked.get() > 0 && call.chain.iter().any(is_its)
    }

    fn fail(&self, id: MatchId, why: Arc<str>) {
        (self.returns)(id, failed(why));
    }

    /// A machine without matches goes, if there are others with room or no new match would come to it.
    fn retire(&self, machine: &Rc<Housed<M>>) {
        let mut machines = self.machines.borrow_mut();
        let is_spare = |other: &&Rc<Housed<M>>| {
            !Rc::ptr_eq(other, machine)
                && other.generation == machine.generation
                && other.matches.get() < self.limits.matches_per_machine
        };
        let is_unused = machine.matches.get() == 0 && machine.parked.get() == 0;
        let is_old = machine.generation != self.current.borrow().generation || machine.vm.is_spent();
        let before = machines.len();
        if is_unused && (is_old || machines.iter().any(|other| is_spare(&other))) {
            machines.retain(|other| !Rc::ptr_eq(other, machine));
            let gone = i64::try_from(before - machines.len()).unwrap_or(i64::MAX);
            self.metrics.match_machines.fetch_sub(gone, Ordering::Relaxed);
        }
    }
}

/// Carries out a machine's orders, one after the other but for those that wait, where machines take others meanwhile. Others
/// on the thread have their turn between slices.
async fn work<M: MatchMachine>(matches: Rc<GameMatches<M>>, machine: Rc<Housed<M>>) {
    let mut since = Instant::now();
    loop {
        let next = machine.orders.borrow_mut().pop_front();
        let Some(order) = next else { break };
        match order {
            HandlerOrder::Drop(id) => machine.vm.drop_match(id),
            HandlerOrder::TakeOver(_) | HandlerOrder::Release(_) | HandlerOrder::Forget(_) => {}
            HandlerOrder::Call(call) => {
                let mut called = Box::pin(run(matches.clone(), machine.clone(), call));
                if poll!(&mut called).is_pending() {
                    let parked = Parked::new(matches.clone(), machine.clone(), called);
                    if M::PARKS {
                        tokio::task::spawn_local(parked.end());
                    } else {
                        parked.end().await;
                    }
                }
            }
        }
        if since.elapsed() > SLICE {
            tokio::task::yield_now().await;
            since = Instant::now();
        }
    }
    machine.is_at_work.set(false);
    matches.retire(&machine);
}

/// A callback that waits, or whose slice is over.
struct Parked<M: MatchMachine> {
    matches: Rc<GameMatches<M>>,
    machine: Rc<Housed<M>>,
    called: Pin<Box<dyn Future<Output = ()>>>,
}

impl<M: MatchMachine> Parked<M> {
    fn new(matches: Rc<GameMatches<M>>, machine: Rc<Housed<M>>, called: Pin<Box<dyn Future<Output = ()>>>) -> Self {
        machine.parked.set(machine.parked.get() + 1);
        matches.metrics.match_calls_parked.fetch_add(1, Ordering::Relaxed);
        Self { matches, machine, called }
    }

    async fn end(mut self) {
        self.called.as_mut().await;
    }
}

impl<M: MatchMachine> Drop for Parked<M> {
    fn drop(&mut self) {
        self.machine.parked.set(self.machine.parked.get() - 1);
        self.matches.metrics.match_calls_parked.fetch_sub(1, Ordering::Relaxed);
        self.matches.retire(&self.machine);
    }
}

/// Runs one callback, and tells what came of it.
async fn run<M: MatchMachine>(matches: Rc<GameMatches<M>>, machine: Rc<Housed<M>>, call: Box<Call>) {
    matches.metrics.match_calls.fetch_add(1, Ordering::Relaxed);
    let chain = call.chain.iter().copied().chain([call.id]).collect();
    let (returned, is_late) =
        matches.host.current.during(Meter::new(chain, &matches.limits), machine.vm.call(&call)).await;
    let generation = machine.generation;
    if is_late {
        matches.metrics.ticks_over_time.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(handler = &*call.handler, id = %call.id, generation, "a tick took more time than it may");
    }
    if let Outcome::Failed(why) = &returned.outcome {
        if is_want_of_memory(why) {
            matches.metrics.matches_over_memory.fetch_add(1, Ordering::Relaxed);
        }
        matches.metrics.failed.fetch_add(1, Ordering::Relaxed);
        let handler = &*call.handler;
        tracing::warn!(handler, id = %call.id, generation, %why, "a match ends because its code failed");
    }
    (matches.returns)(call.id, returned);
}

impl<M: MatchMachine> Drop for GameMatches<M> {
    fn drop(&mut self) {
        let gone = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.match_machines.fetch_sub(gone(self.machines.borrow().len()), Ordering::Relaxed);
        self.metrics.matches.fetch_sub(gone(self.homes.borrow().len()), Ordering::Relaxed);
    }
}
