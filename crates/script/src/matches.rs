//! Matches of game code of one shard: in which machine each is, and calling its callbacks when the plane says so.

mod migrate;
mod recorded;
pub mod replay;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::{FutureExt as _, poll};
use muster_domain::Timestamp;
use muster_live::matches::{Call, CallRef, Callback, Chain, MatchId, Outcome, Return};
use muster_live::plane::HandlerOrder;

use self::migrate::Moves;
use crate::durable::life::Life;
use crate::durable::logs::Logs;
use crate::host::{Host, Meter, line_of};
use crate::luau::matches::MatchVm as LuaMatchVm;
use crate::machine::limits::{Limits, SLICE};
use crate::machine::matches::{failed, is_want_of_memory};
use crate::machine::{Code as _, MatchMachine};
use crate::metrics::ScriptMetrics;
use crate::quickjs::matches::MatchVm as JsMatchVm;
use crate::wasm::matches::MatchVm as GoMatchVm;

/// Takes what comes of calls.
type Returns = Box<dyn Fn(CallRef, Return)>;

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
    homes: RefCell<HashMap<MatchId, Home<M>>>,
    logs: Option<Rc<Logs>>,
    moves: Moves,
}

/// Where a match is.
struct Home<M> {
    machine: Rc<Housed<M>>,
    /// Of one that is recorded.
    life: Option<Rc<Life>>,
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
    /// For matches that are recorded, and no others.
    is_recorded: bool,
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
        returns: impl Fn(CallRef, Return) + 'static,
    ) -> Self {
        let (machines, homes) = Default::default();
        let current = RefCell::new(Current { program, generation: 1 });
        let (logs, moves) = (None, Moves::default());
        Self { current, host, limits, metrics, returns: Box::new(returns), machines, homes, logs, moves }
    }

    /// The same with logs for durable matches, which cannot be made without.
    #[must_use]
    pub fn with_logs(mut self, logs: Rc<Logs>) -> Self {
        self.logs = Some(logs);
        self
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
            HandlerOrder::Call(call) if matches!(call.callback, Callback::Init { .. }) => {
                match self.house(call.id, call.is_durable()) {
                    Ok(machine) => Some(machine),
                    Err(why) => return self.fail(call.reference(), why),
                }
            }
            HandlerOrder::Call(call) => {
                let machine = self.machine_of(call.id);
                match machine {
                    Some(machine) if self.waits_for(&machine, call) => {
                        let why = "A match of the same machine waits for this signal's answer: it would wait for ever.";
                        let outcome = Outcome::Refused(why.into());
                        return (self.returns)(call.reference(), Return { outcome, acts: Vec::new() });
                    }
                    Some(machine) => Some(machine),
                    None => return self.fail(call.reference(), "this shard does not run the match".into()),
                }
            }
            HandlerOrder::Drop(id) => {
                self.moves.forget(*id);
                let home = self.leave(*id);
                if let Some(Home { life: Some(life), .. }) = &home {
                    self.end(life, "it is over");
                }
                home.map(|home| home.machine)
            }
            // Of all languages, see `LanguageMatches`.
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

    /// Whether matches of this name outlive the process.
    pub(crate) fn is_durable(&self, handler: &str) -> bool {
        self.current.borrow().program.is_durable(handler)
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Timestamp {
        self.host.clock.now()
    }

    /// Whether a match is here.
    pub(crate) fn holds(&self, id: MatchId) -> bool {
        self.homes.borrow().contains_key(&id)
    }

    fn machine_of(&self, id: MatchId) -> Option<Rc<Housed<M>>> {
        self.homes.borrow().get(&id).map(|home| home.machine.clone())
    }

    /// A match is here no more.
    fn leave(&self, id: MatchId) -> Option<Home<M>> {
        let home = self.homes.borrow_mut().remove(&id)?;
        home.machine.matches.set(home.machine.matches.get() - 1);
        self.metrics.matches.fetch_sub(1, Ordering::Relaxed);
        self.metrics.matches_durable.fetch_sub(home.life.is_some().into(), Ordering::Relaxed);
        Some(home)
    }

    /// The machine of a new match.
    fn house(&self, id: MatchId, is_recorded: bool) -> Result<Rc<Housed<M>>, Arc<str>> {
        let machine = self.machine_with_room(is_recorded)?;
        machine.matches.set(machine.matches.get() + 1);
        self.metrics.matches.fetch_add(1, Ordering::Relaxed);
        self.homes.borrow_mut().insert(id, Home { machine: machine.clone(), life: None });
        Ok(machine)
    }

    /// A machine of the code that there is now.
    fn machine_with_room(&self, is_recorded: bool) -> Result<Rc<Housed<M>>, Arc<str>> {
        let mut machines = self.machines.borrow_mut();
        // Machines are filled, and emptied ones go.
        let current = self.current.borrow();
        let matches_max = self.limits.matches_per_machine.min(M::MATCHES_MAX);
        let has_room = |machine: &&Rc<Housed<M>>| {
            // One that waits may wait for this very match.
            let is_free = (M::PARKS || machine.parked.get() == 0) && !machine.vm.is_spent();
            let is_fit = machine.generation == current.generation && machine.is_recorded == is_recorded;
            is_free && is_fit && machine.matches.get() < matches_max
        };
        let machine = match machines.iter().filter(has_room).max_by_key(|machine| machine.matches.get()) {
            Some(machine) => machine.clone(),
            None => {
                let vm = M::new(&current.program, &self.host, self.limits, is_recorded);
                let vm = vm.map_err(|error| Arc::from(error.to_string()))?;
                let (orders, is_at_work, matches, parked) = Default::default();
                let generation = current.generation;
                machines.push(Rc::new(Housed { vm, generation, is_recorded, orders, is_at_work, matches, parked }));
                self.metrics.match_machines.fetch_add(1, Ordering::Relaxed);
                machines[machines.len() - 1].clone()
            }
        };
        Ok(machine)
    }

    /// Whether a machine that takes one call at a time cannot take this one, since it waits for what comes of it.
    fn waits_for(&self, machine: &Rc<Housed<M>>, call: &Call) -> bool {
        let homes = self.homes.borrow();
        let is_its = |id: &MatchId| homes.get(id).is_some_and(|home| Rc::ptr_eq(&home.machine, machine));
        !M::PARKS && machine.parked.get() > 0 && call.chain.iter().any(is_its)
    }

    fn fail(&self, call: CallRef, why: Arc<str>) {
        (self.returns)(call, failed(why));
    }

    /// A machine without matches goes, if there are others with room or no new match would come to it.
    fn retire(&self, machine: &Rc<Housed<M>>) {
        let mut machines = self.machines.borrow_mut();
        let is_spare = |other: &&Rc<Housed<M>>| {
            !Rc::ptr_eq(other, machine)
                && other.generation == machine.generation
                && other.is_recorded == machine.is_recorded
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
    let called = async {
        match matches.life_for(&call).await {
            Ok(Some(life)) => matches.recorded(&machine, &life, &call).await,
            Ok(None) => {
                let meter = Meter::new(chain_of(&call), &matches.limits);
                matches.host.current.during(meter, machine.vm.call(&call)).await
            }
            Err(why) => (failed(why), false),
        }
    };
    // A fault of ours ends this match. The machine's others wait for what comes of it.
    let called = AssertUnwindSafe(called).catch_unwind().await;
    let (returned, is_late) = called.unwrap_or_else(|_| (failed("An internal error occurred.".into()), false));
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
        let why = line_of(why);
        tracing::warn!(handler, id = %call.id, generation, why, "a match ends because its code failed");
    }
    (matches.returns)(call.reference(), returned);
}

/// The matches whose callbacks wait for what a call asks.
fn chain_of(call: &Call) -> Chain {
    call.chain.iter().copied().chain([call.id]).collect()
}

impl<M: MatchMachine> Drop for GameMatches<M> {
    fn drop(&mut self) {
        let gone = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.match_machines.fetch_sub(gone(self.machines.borrow().len()), Ordering::Relaxed);
        self.metrics.matches.fetch_sub(gone(self.homes.borrow().len()), Ordering::Relaxed);
    }
}
