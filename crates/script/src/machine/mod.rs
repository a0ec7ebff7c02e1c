//! The parts of machines that all languages share: stacks that can be put aside, budgets, the functions that
//! modules register, and the traits by which pools and matches use a machine.

pub(crate) mod budget;
pub(crate) mod call;
pub(crate) mod fiber;
pub mod limits;
pub(crate) mod matches;
pub mod migrate;
pub(crate) mod near;
pub(crate) mod once;
pub(crate) mod registered;
pub mod routes;
mod stacks;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use muster_live::matches::{Call, MatchId, Return};
use muster_wire::json::WriteOptions;

use self::call::{CallInput, CallOutcome, Callee, ResultType};
use self::limits::Limits;
use self::registered::Names;
use crate::host::Host;
use crate::process::Process;

/// The reason why game code was not loaded: a sentence with file and line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LoadError(pub(crate) String);

impl LoadError {
    /// The error with the line of source at its place, if developers use the server.
    pub(crate) fn with_line(self, process: &Process) -> Self {
        match process.source_line(&self.0) {
            Some(line) => Self(format!("{}, in the line `{line}`", self.0)),
            None => self,
        }
    }
}

/// A program: modules that were checked, and ran once without an error. The default has no modules.
pub trait LoadedProgram: Default + Send + Sync + 'static {
    /// The names that the modules have registered.
    fn names(&self) -> &Names;

    /// Whether the modules have a match handler of this name.
    fn has_handler(&self, name: &str) -> bool;

    /// Names of the match handlers of the modules.
    fn handlers(&self) -> BTreeSet<String>;

    /// Whether matches of this handler are durable.
    fn is_durable(&self, handler: &str) -> bool {
        self.names().durable.contains(handler)
    }
}

/// A machine that has run all modules of a program, and takes calls of the functions that these have registered.
#[expect(async_fn_in_trait, reason = "machines stay on the thread of their shard")]
pub trait Machine: Sized + 'static {
    /// The program of the machine.
    type Program: LoadedProgram;
    /// The name of the language in logs.
    const LANGUAGE: &'static str;
    /// The form of messages in JSON for this language.
    const FORM: WriteOptions;

    /// Whether each value of this type is a machine of its own. Otherwise all values are handles of one machine, which
    /// counts itself in the metrics.
    const IS_COUNTED: bool = true;
    /// Whether the server starts machines before calls need them, [`Limits::machines_min`] of them.
    const STARTS_EARLY: bool = true;

    /// Starts a machine.
    ///
    /// # Errors
    /// The error of a module, with file and line.
    async fn start(program: &Self::Program, host: &Rc<Host>, limits: &Limits) -> Result<Self, LoadError>;

    /// Prepares the calling shard for a program, before the first machine.
    fn settle(_: &Self::Program, _: &Rc<Host>, _: &Limits) {}

    /// Whether the machine has room for further calls after one that found no memory.
    fn has_room(&self) -> bool {
        true
    }

    /// Calls a function.
    async fn call(&self, callee: Callee<'_>, input: CallInput, result_type: ResultType, limits: &Limits)
    -> CallOutcome;

    /// Whether the machine must not be called any more.
    fn is_spent(&self) -> bool {
        false
    }
}

/// A match whose state was put into bytes.
#[derive(Clone, Copy)]
pub struct Frozen<'a> {
    pub(crate) id: MatchId,
    pub(crate) handler: &'a Arc<str>,
    pub(crate) tick_rate: u32,
    pub(crate) state: &'a [u8],
}

/// A machine for matches, each of which has variables of its own.
#[expect(async_fn_in_trait, reason = "machines stay on the thread of their shard")]
pub trait MatchMachine: migrate::Migrating + Sized + 'static {
    /// The program of the machine.
    type Program: LoadedProgram;
    /// Whether states of matches can be put into bytes. Otherwise no match is durable.
    const FREEZES: bool = true;
    /// Whether the machine takes further calls while one waits. Otherwise it takes one call at a time, from start to
    /// end.
    const TAKES_CALLS_WHILE_WAITING: bool = false;
    /// Limit on the matches of one machine.
    const MATCHES_MAX: usize = usize::MAX;

    /// Makes a machine without matches. If it is for recorded matches, the clock and randomness of the language are
    /// those of the match.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn new(program: &Self::Program, host: &Rc<Host>, limits: Limits, is_recorded: bool) -> Result<Self, LoadError>;

    /// Runs a callback. Answers its return, and whether it was a tick that took more time than it should.
    async fn call(&self, call: &Call) -> (Return, bool);

    /// Puts the state of a match into bytes. The match itself goes on with a state read from these bytes, so that it
    /// stays the same as a match that is thawed from them.
    ///
    /// # Errors
    /// A sentence that names the part of the state that is no plain data.
    fn freeze(&self, id: MatchId) -> Result<Vec<u8>, Arc<str>>;

    /// Takes in a match with its state. Its modules run first, as they did before its first callback.
    ///
    /// # Errors
    /// A sentence that says why the modules failed or the state cannot be read.
    async fn thaw(&self, frozen: Frozen<'_>) -> Result<(), Arc<str>>;

    /// Drops a match.
    fn drop_match(&self, id: MatchId);

    /// Whether no further match may be put into the machine.
    fn is_spent(&self) -> bool {
        false
    }
}
