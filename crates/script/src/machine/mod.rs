//! What the machines of every language share: a stack that can be put aside, budgets, what modules register, and how pools
//! call them.

pub(crate) mod budget;
pub(crate) mod call;
pub(crate) mod fiber;
pub mod limits;
pub(crate) mod matches;
pub mod migrate;
pub(crate) mod registry;
pub mod routes;

use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::Invocation;
use muster_live::matches::{Call, MatchId, Return};
use muster_wire::json::WriteOptions;

use self::call::{Callee, End, Given, Wanted};
use self::limits::Limits;
use self::registry::Names;
use crate::host::Host;

/// Why game code was not loaded: a sentence with file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub(crate) String);

/// What machines of a language are made of: modules that were checked, and ran once without an error.
pub trait Code: 'static {
    /// What the modules register.
    fn names(&self) -> &Names;

    /// Whether the modules have a match of this name.
    fn has_handler(&self, name: &str) -> bool;

    /// Whether matches of this name are durable.
    fn is_durable(&self, handler: &str) -> bool {
        self.names().durable.contains(handler)
    }
}

/// One that has run all modules of a program, and takes one call at a time.
#[expect(async_fn_in_trait, reason = "machines stay on the thread of their shard")]
pub trait Machine: Sized + 'static {
    /// What it is made of.
    type Program: Code;
    /// The language's name in logs.
    const LANGUAGE: &'static str;
    /// How the language is shown messages.
    const FORM: WriteOptions;

    /// Whether each is one more machine. Otherwise all are ways to the same, which counts itself.
    const IS_COUNTED: bool = true;

    /// Starts one.
    ///
    /// # Errors
    /// What a module failed with, with file and line.
    async fn start(program: &Self::Program, host: &Rc<Host>, limits: &Limits) -> Result<Self, LoadError>;

    /// A shard works with a program from now on.
    fn settle(_: &Self::Program, _: &Rc<Host>, _: &Limits) {}

    /// Whether it can go on after a call that found no memory.
    fn has_room(&self) -> bool {
        true
    }

    /// Calls what is registered.
    async fn call(&self, callee: Callee<'_>, given: (Invocation, Given), wanted: Wanted, limits: &Limits) -> End;

    /// Whether it is not to be called any more.
    fn is_spent(&self) -> bool {
        false
    }
}

/// A match that was put into bytes.
#[derive(Clone, Copy)]
pub struct Frozen<'a> {
    pub(crate) id: MatchId,
    pub(crate) handler: &'a Arc<str>,
    pub(crate) tick_rate: u32,
    pub(crate) state: &'a [u8],
}

/// One for matches, each of which has variables of its own.
#[expect(async_fn_in_trait, reason = "machines stay on the thread of their shard")]
pub trait MatchMachine: migrate::Migrating + Sized + 'static {
    /// What it is made of.
    type Program: Code;
    /// The language's name in logs.
    const LANGUAGE: &'static str;
    /// Whether it takes further calls while one waits. Otherwise it takes one at a time, from start to end.
    const PARKS: bool = false;
    /// Most matches of one.
    const MATCHES_MAX: usize = usize::MAX;

    /// One without matches. In one for recorded matches clock and randomness of the language are the match's.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn new(program: &Self::Program, host: &Rc<Host>, limits: Limits, is_recorded: bool) -> Result<Self, LoadError>;

    /// Runs a callback. Answers its return, and whether it took more time than it should.
    async fn call(&self, call: &Call) -> (Return, bool);

    /// A match's state as bytes. From then on the match goes on with what they say, as one does that is thawed.
    ///
    /// # Errors
    /// A sentence that names what of it is no plain data.
    fn freeze(&self, id: MatchId) -> Result<Vec<u8>, Arc<str>>;

    /// A match goes on with a state. Its modules run as they did before its first callback.
    ///
    /// # Errors
    /// A sentence, when the modules or the state are not what they were.
    async fn thaw(&self, frozen: Frozen<'_>) -> Result<(), Arc<str>>;

    /// Puts away what is kept of a match.
    fn drop_match(&self, id: MatchId);

    /// Whether no further match is to be put into it.
    fn is_spent(&self) -> bool {
        false
    }
}
