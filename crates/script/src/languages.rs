//! Game code of one shard in all its languages. What several of them have is Lua's, as in the original: they do not chain.

use std::rc::Rc;

use muster_api::game::{Failure, FarewellFuture, FunctionFuture, GameFunctions, Invocation, MatchedPlayer};
use muster_api::hooks::{HookFuture, Hooks, Payload, Subject};
use muster_live::matches::Callback;
use muster_live::plane::HandlerOrder;
use muster_wire::code::Code;

use crate::functions::{Functions, JsFunctions, LuaFunctions};
use crate::machine::Machine;
use crate::machine::call::Sole;
use crate::machine::registry::{Names, Point, When};
use crate::matches::{JsMatches, LuaMatches};

/// Functions and hooks.
pub struct Languages {
    lua: Option<LuaFunctions>,
    javascript: Option<Rc<JsFunctions>>,
    /// Kept for the plane, which must not keep what keeps it.
    _matches: Rc<LanguageMatches>,
}

/// What a language has to answer for.
trait Language: GameFunctions + Hooks {}

impl<M: Machine> Language for Functions<M> {}

impl Languages {
    /// Of a shard whose matches are these.
    pub fn new(lua: Option<LuaFunctions>, javascript: Option<Rc<JsFunctions>>, matches: Rc<LanguageMatches>) -> Self {
        Self { lua, javascript, _matches: matches }
    }

    /// The first language that has something.
    fn find(&self, is_there: impl Fn(&Names) -> bool) -> Option<&dyn Language> {
        let lua = self.lua.as_ref().filter(|lua| is_there(lua.names())).map(|lua| lua as &dyn Language);
        lua.or_else(|| {
            let javascript = self.javascript.as_deref().filter(|javascript| is_there(javascript.names()));
            javascript.map(|javascript| javascript as &dyn Language)
        })
    }

    fn find_hook(&self, when: When, subject: Subject) -> Option<&dyn Language> {
        self.find(|names| names.has_hook(Point { when, subject }))
    }
}

impl GameFunctions for Languages {
    fn has(&self, id: &str) -> bool {
        self.find(|names| names.functions.contains(id)).is_some()
    }

    fn call<'a>(&'a self, id: &'a str, invocation: Invocation) -> FunctionFuture<'a> {
        match self.find(|names| names.functions.contains(id)) {
            Some(language) => language.call(id, invocation),
            None => gone(Failure::new(Code::NotFound, "The game has no function of this id.")),
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

fn gone<'a, T: 'a>(failure: Failure) -> std::pin::Pin<Box<dyn Future<Output = Result<T, Failure>> + 'a>> {
    Box::pin(std::future::ready(Err(failure)))
}

/// Matches.
pub struct LanguageMatches {
    lua: Option<Rc<LuaMatches>>,
    javascript: Option<Rc<JsMatches>>,
}

impl LanguageMatches {
    /// Of these languages.
    pub fn new(lua: Option<Rc<LuaMatches>>, javascript: Option<Rc<JsMatches>>) -> Self {
        Self { lua, javascript }
    }

    /// Does what the plane says, on the runtime's local tasks. A match stays with the language in which it began.
    pub fn order(&self, order: HandlerOrder) {
        match (&self.lua, &self.javascript) {
            (Some(lua), Some(javascript)) => {
                let is_in_javascript = match &order {
                    HandlerOrder::Call(call) if matches!(call.callback, Callback::Init { .. }) => {
                        !lua.has_handler(&call.handler) && javascript.has_handler(&call.handler)
                    }
                    HandlerOrder::Call(call) => javascript.holds(call.id),
                    HandlerOrder::Drop(id) => javascript.holds(*id),
                };
                if is_in_javascript { javascript.order(order) } else { lua.order(order) }
            }
            (Some(lua), None) => lua.order(order),
            (None, Some(javascript)) => javascript.order(order),
            // Without game code the plane makes no matches of it.
            (None, None) => {}
        }
    }
}
