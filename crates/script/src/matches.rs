//! The matches of one language on one shard: the machine of each match, and calls of its callbacks as the plane orders
//! them.

mod migrate;
mod recorded;
pub mod replay;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use futures_util::{FutureExt as _, poll};
use muster_api::game::STACK_LINE;
use muster_api::live::Live;
use muster_live::matches::{Call, CallRef, Callback, Chain, MatchId, Outcome, Return};
use muster_live::plane::HandlerOrder;

use self::migrate::Migrations;
use crate::durable::logs::Logs;
use crate::durable::recorded_match::RecordedMatch;
use crate::engines::{AnyProgram, EngineDurableMatches, EngineMatches, typed};
use crate::host::{Host, Meter, line_of};
use crate::machine::limits::{Limits, SLICE};
use crate::machine::matches::{failed, is_want_of_memory};
use crate::machine::{LoadedProgram as _, MatchMachine};
use crate::metrics::ScriptMetrics;

/// A function that takes the return of each call and gives it to the plane.
type Returns = Rc<dyn Fn(CallRef, Return)>;

/// A function that gives the returns of calls to the plane of `live`. Returns that come after the end of `live` are
/// dropped.
pub fn returns_to(live: &Rc<Live>) -> Returns {
    let live = Rc::downgrade(live);
    Rc::new(move |call, returned| {
        if let Some(live) = live.upgrade() {
            live.match_returned(call, returned);
        }
    })
}

/// Error of a call of a match that this shard does not run.
pub(crate) const NOT_HERE: &str = "this shard does not run the match";

/// Marks of frames of a stack that lie in no file of the game: those of builtins, and of texts that are parsed.
const FRAMES_OF_BUILTINS: [&str; 3] = ["(native)", "(eval_script:", "<input>:"];

/// The parts of a shard that the matches of all languages use.
#[derive(Clone)]
pub struct ShardParts {
    /// The functions of the host.
    pub host: Rc<Host>,
    /// Counters of the process.
    pub metrics: Arc<ScriptMetrics>,
    /// The function that takes the return of each call and gives it to the plane.
    pub returns: Returns,
    /// The logs of durable matches. Without them no match is durable.
    pub logs: Option<Rc<Logs>>,
}

/// The matches of one shard's code in a language.
pub struct GameMatches<M: MatchMachine> {
    current: RefCell<Current<M>>,
    host: Rc<Host>,
    limits: Limits,
    metrics: Arc<ScriptMetrics>,
    returns: Returns,
    machines: RefCell<Vec<Rc<MachineSlot<M>>>>,
    places: RefCell<HashMap<MatchId, MatchPlace<M>>>,
    logs: Option<Rc<Logs>>,
    migrations: Migrations,
    /// Stacks of errors of callbacks that have yet to be logged, by match.
    stacks: RefCell<HashMap<MatchId, String>>,
}

/// The machine of a match, and for a recorded match its progress and records.
struct MatchPlace<M> {
    machine: Rc<MachineSlot<M>>,
    /// Set for a recorded match once its first callback has begun.
    recorded: Option<Rc<RecordedMatch>>,
}

/// The game code of new matches.
struct Current<M: MatchMachine> {
    program: Arc<M::Program>,
    /// Serial number of the program in this process.
    generation: u64,
}

/// A machine with the orders for its matches.
struct MachineSlot<M> {
    vm: M,
    generation: u64,
    /// Whether all matches of the machine are recorded. Otherwise none is.
    is_recorded: bool,
    /// Orders that have yet to be carried out, the next one first.
    orders: RefCell<VecDeque<HandlerOrder>>,
    /// Whether a task carries out the orders.
    is_at_work: Cell<bool>,
    /// Count of matches.
    matches: Cell<usize>,
    /// Count of callbacks that wait, or whose slice is over.
    parked: Cell<usize>,
}

impl<M> MachineSlot<M> {
    fn new(vm: M, generation: u64, is_recorded: bool) -> Self {
        Self {
            vm,
            generation,
            is_recorded,
            orders: RefCell::default(),
            is_at_work: Cell::default(),
            matches: Cell::default(),
            parked: Cell::default(),
        }
    }
}

impl<M: MatchMachine> GameMatches<M> {
    /// Matches of a program, without logs: none of them is durable. Machines are started when matches need them.
    /// `returns` takes the return of each call and gives it to the plane.
    pub fn new(
        program: Arc<M::Program>,
        host: Rc<Host>,
        limits: Limits,
        metrics: Arc<ScriptMetrics>,
        returns: impl Fn(CallRef, Return) + 'static,
    ) -> Self {
        Self::of_shard(program, limits, ShardParts { host, metrics, returns: Rc::new(returns), logs: None })
    }

    /// Matches of a program. Machines are started when matches need them.
    pub(crate) fn of_shard(program: Arc<M::Program>, limits: Limits, parts: ShardParts) -> Self {
        let ShardParts { host, metrics, returns, logs } = parts;
        Self {
            current: RefCell::new(Current { program, generation: 1 }),
            host,
            limits,
            metrics,
            returns,
            machines: RefCell::default(),
            places: RefCell::default(),
            logs,
            migrations: Migrations::default(),
            stacks: RefCell::default(),
        }
    }

    /// Adds the logs of durable matches.
    #[must_use]
    pub fn with_logs(mut self, logs: Rc<Logs>) -> Self {
        self.logs = Some(logs);
        self
    }

    /// Sets the program of matches that begin from now on. Running matches keep their own program until they migrate.
    /// `generation` is the serial number of the program in this process.
    pub fn renew(&self, program: Arc<M::Program>, generation: u64) {
        self.current.replace(Current { program, generation });
        let mut machines = self.machines.borrow_mut();
        let before = machines.len();
        machines.retain(|machine| machine.matches.get() > 0 || machine.parked.get() > 0);
        let gone = i64::try_from(before - machines.len()).unwrap_or(i64::MAX);
        self.metrics.match_machines.fetch_sub(gone, Ordering::Relaxed);
    }

    /// Calls a callback of a match in its machine.
    fn call(self: &Rc<Self>, machine: Rc<MachineSlot<M>>, call: Box<Call>) {
        if self.waits_for(&machine, &call) {
            let why = "A match of the same machine waits for this signal's answer: it would wait for ever.";
            let outcome = Outcome::Refused(why.into());
            return (self.returns)(call.reference(), Return { outcome, acts: Vec::new() });
        }
        self.queue(machine, HandlerOrder::Call(call));
    }

    fn queue(self: &Rc<Self>, machine: Rc<MachineSlot<M>>, order: HandlerOrder) {
        machine.orders.borrow_mut().push_back(order);
        if !machine.is_at_work.replace(true) {
            tokio::task::spawn_local(work(self.clone(), machine));
        }
    }

    /// Takes the stack out of the reason for which a callback failed, and keeps the stack for the log.
    fn keep_stack(&self, call: &Call, returned: &mut Return) {
        if let Outcome::Failed(why) = &mut returned.outcome
            && let Some((told, stack)) = why.split_once(&format!("\n{STACK_LINE}"))
        {
            // Errors of Lua begin with their place already.
            let is_own = |line: &&str| !line.is_empty() && !FRAMES_OF_BUILTINS.iter().any(|frame| line.contains(frame));
            let place = stack.lines().map(str::trim).find(is_own).filter(|line| line.starts_with("at "));
            let place = place.filter(|_| !is_want_of_memory(told)).map(|place| format!(" {place}"));
            let told = format!("{told}{}", place.unwrap_or_default());
            self.stacks.borrow_mut().insert(call.id, format!("{STACK_LINE}{stack}"));
            *why = told.into();
        }
    }

    /// Whether a machine of these matches runs the match.
    pub(crate) fn holds(&self, id: MatchId) -> bool {
        self.places.borrow().contains_key(&id)
    }

    fn machine_of(&self, id: MatchId) -> Option<Rc<MachineSlot<M>>> {
        self.places.borrow().get(&id).map(|place| place.machine.clone())
    }

    /// Removes a match from the tables and counts. The caller has the machine drop the match's state.
    fn remove_place(&self, id: MatchId) -> Option<MatchPlace<M>> {
        let place = self.places.borrow_mut().remove(&id)?;
        place.machine.matches.set(place.machine.matches.get() - 1);
        self.metrics.matches.fetch_sub(1, Ordering::Relaxed);
        self.metrics.matches_durable.fetch_sub(place.recorded.is_some().into(), Ordering::Relaxed);
        Some(place)
    }

    /// Finds a machine for a new match, and counts the match there.
    fn place_match(&self, id: MatchId, is_recorded: bool) -> Result<Rc<MachineSlot<M>>, Arc<str>> {
        let machine = self.machine_with_room(is_recorded)?;
        machine.matches.set(machine.matches.get() + 1);
        self.metrics.matches.fetch_add(1, Ordering::Relaxed);
        self.places.borrow_mut().insert(id, MatchPlace { machine: machine.clone(), recorded: None });
        Ok(machine)
    }

    /// Finds a machine of the current program with room for a match, or starts one.
    fn machine_with_room(&self, is_recorded: bool) -> Result<Rc<MachineSlot<M>>, Arc<str>> {
        let mut machines = self.machines.borrow_mut();
        // The fullest machine with room takes the match, so that others become empty and are dropped.
        let current = self.current.borrow();
        let matches_max = self.limits.matches_per_machine.min(M::MATCHES_MAX);
        let has_room = |machine: &&Rc<MachineSlot<M>>| {
            // A machine that runs one callback at a time takes no new match while a callback waits, because the
            // callback may wait for this very match to begin.
            let is_free = (M::TAKES_CALLS_WHILE_WAITING || machine.parked.get() == 0) && !machine.vm.is_spent();
            let is_fit = machine.generation == current.generation && machine.is_recorded == is_recorded;
            is_free && is_fit && machine.matches.get() < matches_max
        };
        let machine = match machines.iter().filter(has_room).max_by_key(|machine| machine.matches.get()) {
            Some(machine) => machine.clone(),
            None => {
                let vm = M::new(&current.program, &self.host, self.limits, is_recorded);
                let vm = vm.map_err(|error| Arc::from(error.to_string()))?;
                machines.push(Rc::new(MachineSlot::new(vm, current.generation, is_recorded)));
                self.metrics.match_machines.fetch_add(1, Ordering::Relaxed);
                machines[machines.len() - 1].clone()
            }
        };
        Ok(machine)
    }

    /// Whether a machine that takes one call at a time already runs a callback that waits for the result of this call.
    /// Such a machine could never take the call.
    fn waits_for(&self, machine: &Rc<MachineSlot<M>>, call: &Call) -> bool {
        let places = self.places.borrow();
        let is_its = |id: &MatchId| places.get(id).is_some_and(|place| Rc::ptr_eq(&place.machine, machine));
        !M::TAKES_CALLS_WHILE_WAITING && machine.parked.get() > 0 && call.chain.iter().any(is_its)
    }

    /// Drops a machine that has no matches, if another machine has room or no new match may come to this machine.
    fn retire(&self, machine: &Rc<MachineSlot<M>>) {
        let mut machines = self.machines.borrow_mut();
        let is_spare = |other: &&Rc<MachineSlot<M>>| {
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

impl<M: MatchMachine> EngineMatches for GameMatches<M> {
    fn renew(&self, program: &AnyProgram, generation: u64) {
        self.renew(typed(program), generation);
    }

    fn has_handler(&self, name: &str) -> bool {
        self.current.borrow().program.has_handler(name)
    }

    fn handlers(&self) -> BTreeSet<String> {
        self.current.borrow().program.handlers()
    }

    fn is_durable(&self, handler: &str) -> bool {
        M::FREEZES && self.current.borrow().program.is_durable(handler)
    }

    fn order(self: Rc<Self>, order: HandlerOrder) -> Option<HandlerOrder> {
        match order {
            HandlerOrder::Call(call) if matches!(call.callback, Callback::Init { .. }) => {
                match self.place_match(call.id, call.is_durable()) {
                    Ok(machine) => self.queue(machine, HandlerOrder::Call(call)),
                    Err(why) => self.fail(call.reference(), why),
                }
                None
            }
            HandlerOrder::Call(call) => {
                let Some(machine) = self.machine_of(call.id) else { return Some(HandlerOrder::Call(call)) };
                if self.may_migrate(&machine, &call) {
                    self.migrate_first(machine, call);
                } else {
                    self.call(machine, call);
                }
                None
            }
            HandlerOrder::Drop(id) => {
                let Some(place) = self.remove_place(id) else { return Some(order) };
                self.migrations.forget(id);
                if let Some(recorded) = &place.recorded {
                    self.end(recorded, "it is over");
                }
                self.queue(place.machine, order);
                None
            }
            HandlerOrder::TakeOver(_) | HandlerOrder::Release(_) | HandlerOrder::Forget(_) => Some(order),
        }
    }

    fn fail(&self, call: CallRef, why: Arc<str>) {
        (self.returns)(call, failed(why));
    }

    fn durable(&self) -> Option<&dyn EngineDurableMatches> {
        M::FREEZES.then_some(self as &dyn EngineDurableMatches)
    }
}

/// Carries out the orders of a machine, one after the other. If the language lets callbacks wait beside each other, the
/// next order is carried out while a callback waits. Other tasks of the thread have their turn after each slice.
async fn work<M: MatchMachine>(matches: Rc<GameMatches<M>>, machine: Rc<MachineSlot<M>>) {
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
                    let parked = ParkedCall::new(matches.clone(), machine.clone(), called);
                    if M::TAKES_CALLS_WHILE_WAITING {
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
struct ParkedCall<M: MatchMachine> {
    matches: Rc<GameMatches<M>>,
    machine: Rc<MachineSlot<M>>,
    called: Pin<Box<dyn Future<Output = ()>>>,
}

impl<M: MatchMachine> ParkedCall<M> {
    fn new(
        matches: Rc<GameMatches<M>>,
        machine: Rc<MachineSlot<M>>,
        called: Pin<Box<dyn Future<Output = ()>>>,
    ) -> Self {
        machine.parked.set(machine.parked.get() + 1);
        matches.metrics.match_calls_parked.fetch_add(1, Ordering::Relaxed);
        Self { matches, machine, called }
    }

    async fn end(mut self) {
        self.called.as_mut().await;
    }
}

impl<M: MatchMachine> Drop for ParkedCall<M> {
    fn drop(&mut self) {
        self.machine.parked.set(self.machine.parked.get() - 1);
        self.matches.metrics.match_calls_parked.fetch_sub(1, Ordering::Relaxed);
        self.matches.retire(&self.machine);
    }
}

/// Runs one callback, and hands its return to the plane.
async fn run<M: MatchMachine>(matches: Rc<GameMatches<M>>, machine: Rc<MachineSlot<M>>, call: Box<Call>) {
    matches.metrics.match_calls.fetch_add(1, Ordering::Relaxed);
    let called = async {
        match matches.recorded_match_for(&call).await {
            Ok(Some(recorded)) => matches.call_recorded(&machine, &recorded, &call).await,
            Ok(None) => {
                let meter = Meter::new(chain_of(&call), &matches.limits);
                let mut called = matches.host.current.during(meter, machine.vm.call(&call)).await;
                matches.keep_stack(&call, &mut called.0);
                called
            }
            Err(why) => (failed(why), false),
        }
    };
    // A panic ends this match only: other matches of the machine go on.
    let called = AssertUnwindSafe(called).catch_unwind().await;
    let (returned, is_late) = called.unwrap_or_else(|_| (failed("An internal error occurred.".into()), false));
    let generation = machine.generation;
    if is_late {
        matches.metrics.ticks_over_time.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(handler = &*call.handler, id = %call.id, generation, "a tick took more time than it may");
    }
    if returned.outcome == Outcome::Over {
        let (handler, callback) = (&*call.handler, call.callback.name());
        tracing::info!(handler, id = %call.id, generation, callback, "a match ends because a callback returned no state");
    }
    if let Outcome::Failed(why) = &returned.outcome {
        if is_want_of_memory(why) {
            matches.metrics.matches_over_memory.fetch_add(1, Ordering::Relaxed);
        }
        matches.metrics.failed.fetch_add(1, Ordering::Relaxed);
        let trace = matches.stacks.borrow_mut().remove(&call.id).map(|stack| format!("{why}\n{stack}"));
        let source = trace.as_deref().and_then(|trace| matches.host.process.source_line(trace));
        let (handler, why) = (&*call.handler, line_of(trace.as_deref().unwrap_or(why)));
        tracing::warn!(handler, id = %call.id, generation, source, why, "a match ends because its code failed");
    }
    (matches.returns)(call.reference(), returned);
}

/// The matches whose callbacks wait for the result of a call. The match of the call is among them.
fn chain_of(call: &Call) -> Chain {
    call.chain.iter().copied().chain([call.id]).collect()
}

impl<M: MatchMachine> Drop for GameMatches<M> {
    fn drop(&mut self) {
        let gone = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.metrics.match_machines.fetch_sub(gone(self.machines.borrow().len()), Ordering::Relaxed);
        self.metrics.matches.fetch_sub(gone(self.places.borrow().len()), Ordering::Relaxed);
    }
}
