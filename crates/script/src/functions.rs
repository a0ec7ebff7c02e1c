//! The functions and hooks of one language on one shard. New calls run the latest generation of game code.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::{
    ExecutionMode, Failure, FarewellFuture, FunctionFuture, GameFunctions, Invocation, MatchedPlayer, Occasion,
};
use muster_api::hooks::{HookFuture, HookSubject, Hooks, Payload};
use muster_api::routes::{FoundRoute, RouteFuture, RouteRequest, Routed};
use muster_wire::api::Event;

use crate::events::{Events, QueuedEvent};
use crate::host::{EventListener, Host};
use crate::machine::Machine;
use crate::machine::call::{self, CallArgument, CallInput, Callee, ResultType, SinglePurpose};
use crate::machine::limits::Limits;
use crate::machine::registered::{Point, When};
use crate::metrics::ScriptMetrics;
use crate::pool::Pool;
use crate::schedules::Schedules;

/// Facts about the server that the context of every call holds.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// The node's name.
    pub node: Arc<str>,
    /// The server's version.
    pub version: Arc<str>,
    /// Values that the operator gave to game code.
    pub env: Arc<[(String, String)]>,
}

/// The functions and hooks of one shard's code in a language.
pub struct Functions<M: Machine> {
    pub(crate) inner: Rc<Inner<M>>,
}

/// The part of [`Functions`] that calls, queued events and scheduled functions share.
pub(crate) struct Inner<M: Machine> {
    pool: RefCell<Rc<Pool<M>>>,
    pub(crate) host: Rc<Host>,
    pub(crate) limits: Limits,
    pub(crate) metrics: Arc<ScriptMetrics>,
    pub(crate) events: Events,
    pub(crate) schedules: Schedules,
}

impl<M: Machine> Functions<M> {
    /// Functions of a program. Machines are started when calls need them.
    pub fn new(program: Arc<M::Program>, host: Rc<Host>, limits: Limits, metrics: Arc<ScriptMetrics>) -> Self {
        let pool = Pool::new(program, 1, host.clone(), limits, metrics.clone());
        let schedules = Schedules::new(host.clock.now());
        let pool = RefCell::new(Rc::new(pool));
        let inner = Rc::new(Inner { pool, host, limits, metrics, events: Events::default(), schedules });
        let listener: Rc<dyn EventListener> = inner.clone();
        inner.host.reporter.add(Rc::downgrade(&listener));
        Self { inner }
    }

    /// Sets the program of calls that begin from now on. Calls under way end in their own program. `generation` is the
    /// serial number of the program in this process.
    pub async fn renew(&self, program: Arc<M::Program>, generation: u64) {
        let Inner { host, limits, metrics, .. } = &*self.inner;
        let pool = Rc::new(Pool::new(program, generation, host.clone(), *limits, metrics.clone()));
        pool.warm_up().await;
        self.inner.pool.replace(pool);
    }

    /// Starts machines until there are at least `machines_min`, so that the first calls find them ready.
    pub async fn warm_up(&self) {
        self.inner.pool().warm_up().await;
    }

    /// Runs the scheduled functions that are due, if `is_mine` says that this shard runs them; see [`Schedules`].
    /// Answers the moment at which the next function is due, in seconds since 1970.
    pub fn turn_schedules(&self, is_mine: bool) -> Option<i64> {
        self.inner.turn_schedules(is_mine)
    }

    async fn run(
        &self,
        callee: Callee<'_>,
        input: CallInput,
        result_type: ResultType,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let pool = self.inner.pool();
        pool.run(callee, input, result_type).await
    }
}

impl<M: Machine> Inner<M> {
    /// The machines of the latest generation.
    pub(crate) fn pool(&self) -> Rc<Pool<M>> {
        self.pool.borrow().clone()
    }
}

impl<M: Machine> EventListener for Inner<M> {
    fn hears_of(&self, occasion: Occasion) -> bool {
        self.pool().names().listeners(occasion) > 0
    }

    fn tell(self: Rc<Self>, occasion: Occasion, invocation: Invocation, event: Event) {
        if self.hears_of(occasion) {
            self.queue(QueuedEvent { occasion, invocation, event });
        }
    }
}

impl<M: Machine> GameFunctions for Functions<M> {
    fn has(&self, id: &str) -> bool {
        self.inner.pool().names().functions.contains(id)
    }

    fn call<'a>(&'a self, id: &'a str, mut invocation: Invocation) -> FunctionFuture<'a> {
        let argument = CallArgument::Text(std::mem::take(&mut invocation.payload));
        Box::pin(async move {
            let text = self.run(Callee::Function(id), CallInput { invocation, argument }, ResultType::Text).await?;
            Ok(text.map(lossy))
        })
    }

    fn find_route(&self, method: &str, path: &str) -> Routed {
        self.inner.pool().names().route(method, path)
    }

    fn serve(&self, found: FoundRoute, request: RouteRequest, invocation: Invocation) -> RouteFuture<'_> {
        Box::pin(self.inner.serve(self.inner.pool(), found, request, invocation))
    }

    fn has_matched_function(&self) -> bool {
        self.inner.pool().names().has(SinglePurpose::Matched)
    }

    fn matched(&self, players: Vec<MatchedPlayer>) -> FunctionFuture<'_> {
        let argument = CallArgument::Value(call::matched_players(players, &self.inner.host.node));
        let invocation = Invocation { mode: ExecutionMode::Matchmaker, ..Invocation::default() };
        Box::pin(async move {
            let id = self
                .run(
                    Callee::SinglePurpose(SinglePurpose::Matched),
                    CallInput { invocation, argument },
                    ResultType::Text,
                )
                .await?;
            Ok(id.map(lossy))
        })
    }

    fn hears_of(&self, occasion: Occasion) -> bool {
        EventListener::hears_of(&*self.inner, occasion)
    }

    fn tell(&self, occasion: Occasion, invocation: Invocation, event: Event) {
        EventListener::tell(self.inner.clone(), occasion, invocation, event);
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            self.inner.events.settled().await;
            self.inner.schedules.settled().await;
        })
    }

    fn farewell(&self, grace_sec: u64) -> FarewellFuture<'_> {
        if !self.inner.pool().names().has(SinglePurpose::Farewell) {
            return Box::pin(std::future::ready(Ok(())));
        }
        let invocation = Invocation { mode: ExecutionMode::Shutdown, ..Invocation::default() };
        let input = CallInput { invocation, argument: CallArgument::Number(grace_sec as f64) };
        Box::pin(async move {
            self.run(Callee::SinglePurpose(SinglePurpose::Farewell), input, ResultType::Nothing).await.map(drop)
        })
    }
}

impl<M: Machine> Hooks for Functions<M> {
    fn has_before(&self, subject: HookSubject) -> bool {
        self.inner.pool().names().has_hook(Point { when: When::Before, subject })
    }

    fn has_after(&self, subject: HookSubject) -> bool {
        self.inner.pool().names().has_hook(Point { when: When::After, subject })
    }

    fn before<'a>(
        &'a self,
        subject: HookSubject,
        invocation: Invocation,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        let hook = Callee::Hook(Point { when: When::Before, subject });
        let Some(input) = input else {
            // Without a message the hook's answer has nothing to replace, so the answer is not read.
            let argument = CallArgument::Messages(Vec::new());
            return Box::pin(self.run(hook, CallInput { invocation, argument }, ResultType::Nothing));
        };
        let argument = CallArgument::Messages(vec![Some(input.json(M::FORM))]);
        Box::pin(self.run(hook, CallInput { invocation, argument }, ResultType::Message))
    }

    fn after<'a>(
        &'a self,
        subject: HookSubject,
        invocation: Invocation,
        output: Option<&'a dyn Payload>,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()> {
        let argument =
            CallArgument::Messages([output, input].map(|message| message.map(|message| message.json(M::FORM))).into());
        let hook = Callee::Hook(Point { when: When::After, subject });
        Box::pin(async move { self.run(hook, CallInput { invocation, argument }, ResultType::Nothing).await.map(drop) })
    }
}

/// Converts a text of game code to UTF-8. Bytes that are no UTF-8 become the replacement character.
fn lossy(text: Vec<u8>) -> String {
    String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}
