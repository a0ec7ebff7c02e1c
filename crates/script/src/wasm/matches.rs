//! Matches in Go. The instance holds the states of all matches in its one memory, so matches are neither frozen nor
//! moved to newer code.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_api::game::Failure;
use muster_live::matches::{Act, Call, Callback, MatchId, Outcome, Return};

use super::call_table::CallEvent;
use super::frames;
use super::module::GoModule;
use super::vm::{Vm, serve_call};
use crate::host::Host;
use crate::machine::limits::Limits;
use crate::machine::matches::{Pace, failed};
use crate::machine::migrate::Migrating;
use crate::machine::{Frozen, LoadError, MatchMachine};
use crate::value::Value;

/// The matches in Go of one shard.
pub struct MatchVm {
    vm: Vm,
    paces: RefCell<HashMap<MatchId, Rc<Pace>>>,
    limits: Limits,
}

/// The reason why a callback was not called or did not return.
struct Refused(Arc<str>);

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Self(failure.message.into())
    }
}

/// The error of freezing or thawing a match.
const NOT_RECORDED: &str = "matches in Go are not durable";

impl MatchMachine for MatchVm {
    type Program = GoModule;
    const FREEZES: bool = false;
    const TAKES_CALLS_WHILE_WAITING: bool = true;

    fn new(program: &GoModule, host: &Rc<Host>, limits: Limits, _: bool) -> Result<Self, LoadError> {
        let vm = Vm::of(program, host)?;
        Ok(Self { vm, paces: RefCell::default(), limits })
    }

    async fn call(&self, call: &Call) -> (Return, bool) {
        let pace = self.paces.borrow_mut().entry(call.id).or_default().clone();
        match self.ask(call).await {
            Err(Refused(why)) => (failed(why), false),
            Ok(Answered { outcome, acts, spent }) => {
                let mut returned = frames::bounded(call, outcome, acts, self.limits.deferred_max);
                let Callback::Loop(_) = call.callback else { return (returned, false) };
                let (is_late, in_time) = pace.looped(spent, &self.limits);
                if let Err(why) = in_time {
                    returned.outcome = Outcome::Failed(why);
                }
                (returned, is_late)
            }
        }
    }

    /// Always fails: only the match's own code knows the type of its state, so no match in Go is durable.
    fn freeze(&self, _: MatchId) -> Result<Vec<u8>, Arc<str>> {
        Err(NOT_RECORDED.into())
    }

    async fn thaw(&self, _: Frozen<'_>) -> Result<(), Arc<str>> {
        Err(NOT_RECORDED.into())
    }

    fn drop_match(&self, id: MatchId) {
        self.paces.borrow_mut().remove(&id);
        self.vm.calls().mailbox.post(None, frames::drop_match(id));
    }
}

impl Migrating for MatchVm {
    /// Always nil: a match in Go stays with its instance, and no other machine can adopt it.
    fn state(&self, _: MatchId) -> Result<Value, Arc<str>> {
        Ok(Value::Nil)
    }
}

/// The answer of the instance to a call of a callback.
struct Answered {
    outcome: Outcome,
    acts: Vec<Act>,
    /// Processor time that the callback took.
    spent: Duration,
}

impl MatchVm {
    async fn ask(&self, call: &Call) -> Result<Answered, Refused> {
        let limit = match call.callback {
            Callback::Loop(_) => self.limits.tick_time_max,
            _ => self.limits.call_time,
        };
        let host = self.vm.host();
        let name = format!("{} of {}", frames::callback_name(&call.callback), call.handler);
        let public_id = format!("{}.{}", call.id, host.node);
        let frame = |id| frames::match_call(id, call, &public_id, &host.node).map_err(|why| Refused(why.into()));
        let taken = self.vm.calls().begin(name.into(), limit, true, frame)?;
        match serve_call(self.vm.calls().clone(), taken, host.clone()).await {
            CallEvent::MatchReturned { outcome, acts, spent } => Ok(Answered { outcome, acts, spent }),
            CallEvent::Returned(Err(failure)) => Err(failure.into()),
            CallEvent::Ended { why, .. } => {
                Err(Refused(format!("the Go instance that held the match has ended: {why}").into()))
            }
            _ => Err(Refused("the game's code answered another question".into())),
        }
    }
}
