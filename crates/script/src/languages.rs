//! Game code of one shard in all its languages. What several of them have is Go's, then Lua's, as in the original: they do
//! not chain.

mod durable;

use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::{Failure, FarewellFuture, FunctionFuture, GameFunctions, Invocation, MatchedPlayer, Occasion};
use muster_api::hooks::{HookFuture, Hooks, Payload, Subject};
use muster_api::live::Live;
use muster_api::routes::{FoundRoute, RouteFuture, RouteRequest, Routed};
use muster_live::matches::{Callback, Outline};
use muster_live::plane::HandlerOrder;
use muster_live::{Epoch, Partition};
use muster_wire::api::Event;
use muster_wire::code::Code;

use crate::durable::logs::Logs;
use crate::functions::{Functions, GoFunctions, JsFunctions, LuaFunctions};
use crate::luau::program::Program;
use crate::machine::Machine;
use crate::machine::call::Sole;
use crate::machine::registry::{Names, Point, When};
use crate::matches::{GoMatches, JsMatches, LuaMatches};
use crate::quickjs::program::Bundle;
use crate::wasm::module::GoModule;

/// Functions and hooks.
pub struct Languages {
    go: GoFunctions,
    lua: LuaFunctions,
    javascript: JsFunctions,
    matches: Rc<LanguageMatches>,
}

/// The code of all languages, as it was loaded at one time.
#[derive(Clone)]
pub struct Programs {
    /// In Go.
    pub go: Arc<GoModule>,
    /// In Lua.
    pub lua: Arc<Program>,
    /// In JavaScript.
    pub javascript: Arc<Bundle>,
}

/// What a language has to answer for.
trait Language: GameFunctions + Hooks {}

impl<M: Machine> Language for Functions<M> {}

impl Languages {
    /// Of a shard whose matches are these.
    pub fn new(go: GoFunctions, lua: LuaFunctions, javascript: JsFunctions, matches: Rc<LanguageMatches>) -> Self {
        Self { go, lua, javascript, matches }
    }

    /// From now on calls are of these programs, the so manieth that the process has had. Those under way end as they began.
    pub async fn renew(&self, programs: &Programs, generation: u64) {
        self.go.renew(programs.go.clone(), generation).await;
        self.lua.renew(programs.lua.clone(), generation).await;
        self.javascript.renew(programs.javascript.clone(), generation).await;
    }

    /// Starts as many machines of JavaScript as there are to be at least, and goes to where Go runs.
    pub async fn warm_up(&self) {
        self.go.warm_up().await;
        self.javascript.warm_up().await;
    }

    /// Runs scheduled functions that are due, if this place is the one that does. Answers when the next one is, in seconds
    /// since 1970.
    pub fn turn_schedules(&self, is_mine: bool) -> Option<i64> {
        let next = [
            self.go.turn_schedules(is_mine),
            self.lua.turn_schedules(is_mine),
            self.javascript.turn_schedules(is_mine),
        ];
        next.into_iter().flatten().min()
    }

    fn all(&self) -> [&dyn Language; 3] {
        [&self.go, &self.lua, &self.javascript]
    }

    /// The first language that has something.
    fn find(&self, is_there: impl Fn(&Names) -> bool) -> Option<&dyn Language> {
        if self.go.has(&is_there) {
            return Some(&self.go);
        }
        if self.lua.has(&is_there) {
            return Some(&self.lua);
        }
        self.javascript.has(&is_there).then_some(&self.javascript as &dyn Language)
    }

    fn find_hook(&self, when: When, subject: Subject) -> Option<&dyn Language> {
        self.find(|names| names.has_hook(Point { when, subject }))
    }
}

impl GameFunctions for Languages {
    fn run_handler(&self, _live: &Live, order: HandlerOrder) {
        self.matches.order(order);
    }

    fn has(&self, id: &str) -> bool {
        self.find(|names| names.functions.contains(id)).is_some()
    }

    fn call<'a>(&'a self, id: &'a str, invocation: Invocation) -> FunctionFuture<'a> {
        match self.find(|names| names.functions.contains(id)) {
            Some(language) => language.call(id, invocation),
            None => gone(Failure::new(Code::NotFound, "The game has no function of this id.")),
        }
    }

    fn find_route(&self, method: &str, path: &str) -> Routed {
        let mut found = Routed::Nowhere;
        for (number, language) in self.all().into_iter().enumerate() {
            match language.find_route(method, path) {
                Routed::Nowhere => {}
                Routed::WrongMethod => found = Routed::WrongMethod,
                Routed::To(route) => return Routed::To(FoundRoute { language: number, ..route }),
            }
        }
        found
    }

    fn serve(&self, found: FoundRoute, request: RouteRequest, invocation: Invocation) -> RouteFuture<'_> {
        match self.all().get(found.language) {
            Some(language) => language.serve(found, request, invocation),
            None => gone(Failure::new(Code::NotFound, "The game has no such route.")),
        }
    }

    fn is_asked_of_matches(&self) -> bool {
        self.find(|names| names.has(Sole::Matched)).is_some()
    }

    fn matched(&self, players: Vec<MatchedPlayer>) -> FunctionFuture<'_> {
        match self.find(|names| names.has(Sole::Matched)) {
            Some(language) => language.matched(players),
            None => Box::pin(std::future::ready(Ok(None))),
        }
    }

    fn hears_of(&self, occasion: Occasion) -> bool {
        self.all().iter().any(|language| GameFunctions::hears_of(*language, occasion))
    }

    fn tell(&self, occasion: Occasion, invocation: Invocation, event: Event) {
        for language in self.all() {
            language.tell(occasion, invocation.clone(), event.clone());
        }
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(async {
            for language in self.all() {
                language.settled().await;
            }
        })
    }

    fn farewell(&self, grace_sec: u64) -> FarewellFuture<'_> {
        match self.find(|names| names.has(Sole::Farewell)) {
            Some(language) => language.farewell(grace_sec),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl Hooks for Languages {
    fn has_before(&self, subject: Subject) -> bool {
        self.find_hook(When::Before, subject).is_some()
    }

    fn has_after(&self, subject: Subject) -> bool {
        self.find_hook(When::After, subject).is_some()
    }

    fn before<'a>(
        &'a self,
        subject: Subject,
        invocation: Invocation,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        match self.find_hook(When::Before, subject) {
            Some(language) => language.before(subject, invocation, input),
            None => gone(no_hook(subject)),
        }
    }

    fn after<'a>(
        &'a self,
        subject: Subject,
        invocation: Invocation,
        output: Option<&'a dyn Payload>,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()> {
        match self.find_hook(When::After, subject) {
            Some(language) => language.after(subject, invocation, output, input),
            None => gone(no_hook(subject)),
        }
    }
}

fn no_hook(subject: Subject) -> Failure {
    Failure::new(Code::Internal, format!("There is no hook at {}.", subject.name()))
}

fn gone<'a, T: 'a>(failure: Failure) -> Pin<Box<dyn Future<Output = Result<T, Failure>> + 'a>> {
    Box::pin(std::future::ready(Err(failure)))
}

/// Matches.
pub struct LanguageMatches {
    go: Rc<GoMatches>,
    lua: Rc<LuaMatches>,
    javascript: Rc<JsMatches>,
    durable: Option<Durable>,
}

/// What durable matches need.
struct Durable {
    logs: Rc<Logs>,
    owner: Box<dyn DurableOwner>,
    /// Since when this place has partitions whose logs it takes over when there is something to write.
    unwritten: RefCell<HashMap<Partition, Epoch>>,
}

/// Who says where durable matches are.
pub trait DurableOwner {
    /// The log of a partition was taken over: these go on.
    fn taken_over(&self, partition: Partition, epoch: Epoch, matches: Vec<Outline>);

    /// The log of a partition is given up, and all that was to be in it is.
    fn released(&self, partition: Partition);
}

impl LanguageMatches {
    /// Of these languages.
    pub fn new(go: Rc<GoMatches>, lua: Rc<LuaMatches>, javascript: Rc<JsMatches>) -> Self {
        Self { go, lua, javascript, durable: None }
    }

    /// The same with durable matches. The languages have the same logs.
    #[must_use]
    pub fn with_durable(mut self, logs: Rc<Logs>, owner: Box<dyn DurableOwner>) -> Self {
        self.durable = Some(Durable { logs, owner, unwritten: RefCell::default() });
        self
    }

    /// From now on matches are made of these programs, the so manieth that the process has had. Those that there are go on as
    /// they began.
    pub fn renew(&self, programs: &Programs, generation: u64) {
        self.go.renew(programs.go.clone(), generation);
        self.lua.renew(programs.lua.clone(), generation);
        self.javascript.renew(programs.javascript.clone(), generation);
    }

    /// Whether matches of this name outlive the process.
    pub fn is_durable(&self, handler: &str) -> bool {
        if self.go.has_handler(handler) {
            // Nobody can look into the memory of a program in Go.
            false
        } else if self.lua.has_handler(handler) {
            self.lua.is_durable(handler)
        } else {
            self.javascript.is_durable(handler)
        }
    }

    /// Does what the plane says, on the runtime's local tasks. A match stays with the language in which it began.
    pub fn order(self: &Rc<Self>, order: HandlerOrder) {
        let Self { go, lua, javascript, .. } = &**self;
        let (is_in_go, is_in_javascript) = match &order {
            HandlerOrder::Call(call) if matches!(call.callback, Callback::Init { .. }) => {
                let handler = &call.handler;
                (go.has_handler(handler), !lua.has_handler(handler) && javascript.has_handler(handler))
            }
            HandlerOrder::Call(call) => (go.holds(call.id), javascript.holds(call.id)),
            HandlerOrder::Drop(id) => (go.holds(*id), javascript.holds(*id)),
            HandlerOrder::TakeOver(partitions) => {
                let (its, partitions) = (self.clone(), partitions.clone());
                tokio::task::spawn_local(async move { its.take_over(partitions).await });
                return;
            }
            HandlerOrder::Release(partition) => {
                let (its, partition) = (self.clone(), *partition);
                tokio::task::spawn_local(async move { its.release(partition).await });
                return;
            }
            HandlerOrder::Forget(partition) => return self.forget(*partition),
        };
        match (is_in_go, is_in_javascript) {
            (true, _) => go.order(order),
            (false, true) => javascript.order(order),
            (false, false) => lua.order(order),
        }
    }
}
