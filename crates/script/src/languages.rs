//! Game code of one shard in all its languages. If several languages register one name, only the function of the first
//! of them in the order of the [registry](crate::engines) is called, as in the original.

mod durable;
mod index;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use muster_api::game::{Failure, FarewellFuture, FunctionFuture, GameFunctions, Invocation, MatchedPlayer, Occasion};
use muster_api::hooks::{HookFuture, HookSubject, Hooks, Payload};
use muster_api::live::MatchEngines;
use muster_api::routes::{FoundRoute, RouteFuture, RouteRequest, Routed};
use muster_domain::ports::clock::Clock;
use muster_domain::ports::store::Store;
use muster_live::matches::{Call, Callback, Outline};
use muster_live::plane::HandlerOrder;
use muster_live::{Epoch, Partition};
use muster_wire::api::Event;
use muster_wire::code::Code;

use self::index::Index;
use crate::durable::logs::Logs;
use crate::engines::{EngineFunctions, EngineMatches, Programs};
use crate::host::Host;
use crate::machine::call::SinglePurpose;
use crate::machine::registered::{Point, When};
use crate::matches::NOT_HERE;
use crate::metrics::ScriptMetrics;

/// Number of match handlers that an error lists at most.
const HANDLERS_SHOWN: usize = 10;

/// The functions and hooks of one shard.
pub struct Languages {
    /// The engines in their order of precedence.
    engines: Vec<Box<dyn EngineFunctions>>,
    index: RefCell<Index>,
    matches: Rc<LanguageMatches>,
}

impl Languages {
    /// Functions of these engines, in the order of their precedence, beside the matches of the same shard.
    pub fn new(engines: Vec<Box<dyn EngineFunctions>>, matches: Rc<LanguageMatches>) -> Self {
        let index = RefCell::new(Index::of(&engines));
        Self { engines, index, matches }
    }

    /// Sets the programs of calls that begin from now on. Calls under way end in their own program. `generation` is the
    /// serial number of the programs in this process.
    pub async fn renew(&self, programs: &Programs, generation: u64) {
        for (engine, program) in self.engines.iter().zip(programs.all()) {
            engine.renew(program, generation).await;
            self.index.replace(Index::of(&self.engines));
        }
    }

    /// Starts machines before calls need them, in each language whose machines take long to start.
    pub async fn warm_up(&self) {
        for engine in &self.engines {
            engine.warm_up().await;
        }
    }

    /// Runs the scheduled functions that are due, if `is_mine` says that this shard runs them. Answers the moment at
    /// which the next function is due, in seconds since 1970.
    pub fn turn_schedules(&self, is_mine: bool) -> Option<i64> {
        self.engines.iter().filter_map(|engine| engine.turn_schedules(is_mine)).min()
    }

    /// The engine whose number `find` reads from the index.
    fn found(&self, find: impl FnOnce(&Index) -> Option<usize>) -> Option<&dyn EngineFunctions> {
        let number = find(&self.index.borrow())?;
        self.engines.get(number).map(|engine| &**engine)
    }

    fn with_function(&self, id: &str) -> Option<&dyn EngineFunctions> {
        self.found(|index| index.function(id))
    }

    fn with_hook(&self, when: When, subject: HookSubject) -> Option<&dyn EngineFunctions> {
        self.found(|index| index.hook(Point { when, subject }))
    }

    fn with_single_purpose(&self, purpose: SinglePurpose) -> Option<&dyn EngineFunctions> {
        self.found(|index| index.of_purpose(purpose))
    }
}

impl GameFunctions for Languages {
    fn match_engines(&self) -> Option<Weak<dyn MatchEngines>> {
        let engines: Weak<LanguageMatches> = Rc::downgrade(&self.matches);
        Some(engines)
    }

    fn has(&self, id: &str) -> bool {
        self.with_function(id).is_some()
    }

    fn call<'a>(&'a self, id: &'a str, invocation: Invocation) -> FunctionFuture<'a> {
        match self.with_function(id) {
            Some(engine) => engine.call(id, invocation),
            None => refused(Failure::new(Code::NotFound, "The game has no function of this id.")),
        }
    }

    fn find_route(&self, method: &str, path: &str) -> Routed {
        let mut found = Routed::Nowhere;
        for (number, engine) in self.engines.iter().enumerate() {
            match engine.find_route(method, path) {
                Routed::Nowhere => {}
                Routed::WrongMethod => found = Routed::WrongMethod,
                Routed::To(route) => return Routed::To(FoundRoute { language: number, ..route }),
            }
        }
        found
    }

    fn serve(&self, found: FoundRoute, request: RouteRequest, invocation: Invocation) -> RouteFuture<'_> {
        match self.engines.get(found.language) {
            Some(engine) => engine.serve(found, request, invocation),
            None => refused(Failure::new(Code::NotFound, "The game has no such route.")),
        }
    }

    fn has_matched_function(&self) -> bool {
        self.with_single_purpose(SinglePurpose::Matched).is_some()
    }

    fn matched(&self, players: Vec<MatchedPlayer>) -> FunctionFuture<'_> {
        match self.with_single_purpose(SinglePurpose::Matched) {
            Some(engine) => engine.matched(players),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }

    fn hears_of(&self, occasion: Occasion) -> bool {
        self.engines.iter().any(|engine| engine.hears_of(occasion))
    }

    fn tell(&self, occasion: Occasion, invocation: Invocation, event: Event) {
        for engine in &self.engines {
            engine.tell(occasion, invocation.clone(), event.clone());
        }
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            for engine in &self.engines {
                engine.settled().await;
            }
        })
    }

    fn farewell(&self, grace_sec: u64) -> FarewellFuture<'_> {
        match self.with_single_purpose(SinglePurpose::Farewell) {
            Some(engine) => engine.farewell(grace_sec),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl Hooks for Languages {
    fn has_before(&self, subject: HookSubject) -> bool {
        self.with_hook(When::Before, subject).is_some()
    }

    fn has_after(&self, subject: HookSubject) -> bool {
        self.with_hook(When::After, subject).is_some()
    }

    fn before<'a>(
        &'a self,
        subject: HookSubject,
        invocation: Invocation,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        match self.with_hook(When::Before, subject) {
            Some(engine) => engine.before(subject, invocation, input),
            None => refused(no_hook(subject)),
        }
    }

    fn after<'a>(
        &'a self,
        subject: HookSubject,
        invocation: Invocation,
        output: Option<&'a dyn Payload>,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()> {
        match self.with_hook(When::After, subject) {
            Some(engine) => engine.after(subject, invocation, output, input),
            None => refused(no_hook(subject)),
        }
    }
}

fn no_hook(subject: HookSubject) -> Failure {
    Failure::new(Code::Internal, format!("There is no hook at {}.", subject.name()))
}

fn refused<'a, T: 'a>(failure: Failure) -> Pin<Box<dyn Future<Output = Result<T, Failure>> + 'a>> {
    Box::pin(std::future::ready(Err(failure)))
}

/// The matches of one shard.
pub struct LanguageMatches {
    /// The engines in their order of precedence.
    engines: Vec<Rc<dyn EngineMatches>>,
    durable: Option<Durable>,
}

/// The parts that durable matches need.
struct Durable {
    clock: Rc<dyn Clock>,
    store: Rc<dyn Store>,
    metrics: Arc<ScriptMetrics>,
    logs: Rc<Logs>,
    owner: Box<dyn DurableOwner>,
    /// Partitions of this place in whose logs nothing was written, and the epoch in which each came here. The log of
    /// such a partition is taken over when the first durable match is created there.
    unwritten: RefCell<HashMap<Partition, Epoch>>,
    /// Partitions that came here and are yet to be looked through for matches that no log has. One look at the database
    /// is for all of them, since partitions may come by the hundred.
    unsearched: RefCell<BTreeSet<Partition>>,
    /// Whether such a look is under way.
    is_searching: Cell<bool>,
}

/// The plane as the owner of durable matches.
pub trait DurableOwner {
    /// Tells the plane which matches in the log of a partition go on here: none if the log is empty or cannot be read.
    fn taken_over(&self, partition: Partition, epoch: Epoch, matches: Vec<Outline>);

    /// Tells the plane that this place writes no more to the log of a partition, so that the next owner may take it
    /// over.
    fn released(&self, partition: Partition);
}

impl LanguageMatches {
    /// Matches of these engines, in the order of their precedence.
    pub fn new(engines: Vec<Rc<dyn EngineMatches>>) -> Self {
        Self { engines, durable: None }
    }

    /// Adds durable matches. `logs` must be the logs to which the engines write.
    #[must_use]
    pub fn with_durable(
        mut self,
        host: &Host,
        metrics: Arc<ScriptMetrics>,
        logs: Rc<Logs>,
        owner: Box<dyn DurableOwner>,
    ) -> Self {
        let (clock, store) = (host.clock.clone(), host.store.clone());
        self.durable = Some(Durable {
            clock,
            store,
            metrics,
            logs,
            owner,
            unwritten: RefCell::default(),
            unsearched: RefCell::default(),
            is_searching: Cell::default(),
        });
        self
    }

    /// Sets the programs of matches that begin from now on. Running matches keep their own program until they migrate.
    /// `generation` is the serial number of the programs in this process.
    pub fn renew(&self, programs: &Programs, generation: u64) {
        for (engine, program) in self.engines.iter().zip(programs.all()) {
            engine.renew(program, generation);
        }
    }

    /// Whether matches of this handler are durable.
    pub fn is_durable(&self, handler: &str) -> bool {
        self.with_handler(handler).is_some_and(|engine| engine.is_durable(handler))
    }

    /// The first engine whose modules have a handler.
    fn with_handler(&self, handler: &str) -> Option<&Rc<dyn EngineMatches>> {
        self.engines.iter().find(|engine| engine.has_handler(handler))
    }

    /// Begins a match.
    fn begin(&self, call: Box<Call>) {
        match self.with_handler(&call.handler) {
            Some(engine) => drop(engine.clone().order(HandlerOrder::Call(call))),
            None => self.fail(&call, &self.no_handler(&call.handler)),
        }
    }

    /// A sentence that says that there is no such handler, and lists those that there are.
    fn no_handler(&self, handler: &str) -> String {
        let there: BTreeSet<String> = self.engines.iter().flat_map(|engine| engine.handlers()).collect();
        let there = if there.is_empty() {
            "the game has no match handlers".to_owned()
        } else {
            let shown: Vec<String> = there.iter().take(HANDLERS_SHOWN).map(|name| format!("'{name}'")).collect();
            let more = if there.len() > HANDLERS_SHOWN { " and others" } else { "" };
            format!("the game has the match handlers {}{more}", shown.join(", "))
        };
        format!("module '{handler}' not found: {there}")
    }

    /// Gives an order to the engine that runs the match.
    fn pass_on(&self, mut order: HandlerOrder) {
        for engine in &self.engines {
            match engine.clone().order(order) {
                Some(given_back) => order = given_back,
                None => return,
            }
        }
        if let HandlerOrder::Call(call) = order {
            self.fail(&call, NOT_HERE);
        }
    }

    fn fail(&self, call: &Call, why: &str) {
        if let Some(engine) = self.engines.first() {
            engine.fail(call.reference(), why.into());
        }
    }
}

impl MatchEngines for LanguageMatches {
    /// Carries out an order of the plane, on the runtime's local tasks. A match stays with the engine in which it
    /// began.
    fn order(self: Rc<Self>, order: HandlerOrder) {
        match order {
            HandlerOrder::Call(call) if matches!(call.callback, Callback::Init { .. }) => self.begin(call),
            HandlerOrder::Call(_) | HandlerOrder::Drop(_) => self.pass_on(order),
            HandlerOrder::TakeOver(partitions) => {
                tokio::task::spawn_local(async move { self.take_over(partitions).await });
            }
            HandlerOrder::Release(partition) => {
                tokio::task::spawn_local(async move { self.release(partition).await });
            }
            HandlerOrder::Forget(partition) => self.forget(partition),
        }
    }
}
