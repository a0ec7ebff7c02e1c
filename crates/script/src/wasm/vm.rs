//! Calls of functions and hooks in Go by one shard, and the host calls that the instance makes on their behalf.

use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use muster_api::game::Failure;
use muster_domain::{Error, ErrorKind, Result};
use muster_live::matches::Chain;
use muster_wire::code::Code;
use muster_wire::json::WriteOptions;

use super::call_table::{CallEvent, CallTable, HostCall, TakenCall};
use super::codec::Reader;
use super::frames;
use super::module::{GoModule, RunningModule};
use super::sql;
use crate::host::{Host, HostAnswer, HostFunction, Meter, functions};
use crate::machine::call::{CallInput, CallOutcome, Callee, ResultType};
use crate::machine::limits::Limits;
use crate::machine::{LoadError, Machine};
use crate::value::Value;

/// The form of messages that Go's library reads: names in camel case, without fields at their defaults.
const FORM: WriteOptions = WriteOptions { emit_defaults: false, camel_case: true };

/// The functions of the host table by name, and those that exist for Go alone.
static FUNCTIONS: LazyLock<HashMap<&'static str, &'static HostFunction>> =
    LazyLock::new(|| functions().chain(sql::FUNCTIONS).map(|function| (function.name, function)).collect());

/// A handle of the one instance. A shard has at most as many handles as it may have machines, so they limit its calls
/// under way.
pub struct Vm {
    running: Arc<RunningModule>,
    host: Rc<Host>,
}

impl Vm {
    /// A handle of the instance of a program.
    ///
    /// # Errors
    /// When there is no module.
    pub(super) fn of(program: &GoModule, host: &Rc<Host>) -> std::result::Result<Self, LoadError> {
        let running = program.running.clone().ok_or_else(|| LoadError("there is no module in Go".to_owned()))?;
        Ok(Self { running, host: host.clone() })
    }

    pub(super) fn calls(&self) -> &Arc<CallTable> {
        &self.running.calls
    }

    pub(super) fn host(&self) -> &Rc<Host> {
        &self.host
    }
}

impl Machine for Vm {
    type Program = GoModule;
    const LANGUAGE: &'static str = "Go";
    const FORM: WriteOptions = FORM;
    const IS_COUNTED: bool = false;

    async fn start(program: &GoModule, host: &Rc<Host>, _: &Limits) -> std::result::Result<Self, LoadError> {
        Self::of(program, host)
    }

    fn settle(program: &GoModule, host: &Rc<Host>, limits: &Limits) {
        if let Some(running) = &program.running {
            running.settle(host, *limits);
        }
    }

    async fn call(
        &self,
        callee: Callee<'_>,
        CallInput { invocation, argument }: CallInput,
        result_type: ResultType,
        limits: &Limits,
    ) -> CallOutcome {
        let frame = |id| Ok(frames::call(id, callee, &invocation, argument));
        let taken = self.calls().begin(Arc::from(callee.name()), limits.call_time, false, frame);
        let taken = match taken {
            Ok(taken) => taken,
            Err(failure) => return CallOutcome { result: Err(failure), breach: None },
        };
        match serve_call(self.calls().clone(), taken, self.host.clone()).await {
            CallEvent::Returned(Ok(Some(answered))) if result_type == ResultType::Value => {
                CallOutcome { result: encoded(&answered), breach: None }
            }
            CallEvent::Returned(result) => CallOutcome { result, breach: None },
            CallEvent::Ended { breach, .. } => {
                let told = "The game's Go instance ended while it was at work for this. Try again.";
                CallOutcome { result: Err(Failure::new(Code::Unavailable, told)), breach }
            }
            _ => CallOutcome {
                result: Err(Failure::new(Code::Internal, "The game's code answered another question.")),
                breach: None,
            },
        }
    }
}

/// Re-encodes a value that a function returned in the form of all languages.
fn encoded(answered: &[u8]) -> std::result::Result<Option<Vec<u8>>, Failure> {
    let values = Reader::new(answered).values().map_err(|why| Failure::new(Code::Internal, why))?;
    Ok(values.into_iter().next().map(Value::encode))
}

/// A host call whose result is awaited.
type Awaited = Pin<Box<dyn Future<Output = (HostCall, Result<Value>)>>>;

/// Waits for a call's end, and runs the host calls that the instance makes for it. Dropping the future gives the call
/// up.
pub(super) async fn serve_call(calls: Arc<CallTable>, taken: TakenCall, host: Rc<Host>) -> CallEvent {
    let mut service = CallService { calls, taken, host, awaited: FuturesUnordered::new(), unanswered: Vec::new() };
    std::future::poll_fn(|context| service.poll(context)).await
}

/// A call under way, as its shard serves it.
struct CallService {
    calls: Arc<CallTable>,
    taken: TakenCall,
    host: Rc<Host>,
    awaited: FuturesUnordered<Awaited>,
    /// Host calls that `awaited` will answer.
    unanswered: Vec<HostCall>,
}

impl CallService {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<CallEvent> {
        loop {
            while let Poll::Ready(Some((host_call, result))) = self.awaited.poll_next_unpin(context) {
                self.unanswered.retain(|known| *known != host_call);
                self.calls.answer(host_call, result);
            }
            match self.taken.inbox.poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(CallEvent::HostCalled { host_call, name, arguments }) => {
                    match start(&self.host, &name, arguments) {
                        Ok(HostAnswer::Ready(value)) => self.calls.answer(host_call, Ok(value)),
                        Err(error) => self.calls.answer(host_call, Err(error)),
                        Ok(HostAnswer::Pending(awaited)) => {
                            self.unanswered.push(host_call);
                            self.awaited.push(Box::pin(async move { (host_call, awaited.await) }));
                        }
                    }
                }
                Poll::Ready(event) => {
                    self.finish();
                    return Poll::Ready(event);
                }
            }
        }
    }

    /// Ends the call. Host calls of goroutines that the call left behind are still answered.
    fn finish(&mut self) {
        self.calls.end(self.taken.id);
        self.unanswered.clear();
        if self.awaited.is_empty() {
            return;
        }
        let (mut awaited, calls) = (std::mem::take(&mut self.awaited), self.calls.clone());
        (self.host.spawn)(Box::pin(async move {
            while let Some((host_call, result)) = awaited.next().await {
                calls.answer(host_call, result);
            }
        }));
    }
}

impl Drop for CallService {
    fn drop(&mut self) {
        for host_call in &self.unanswered {
            self.calls.give_up(*host_call);
        }
        self.calls.cancel(self.taken.id, self.taken.incarnation);
    }
}

fn start(host: &Rc<Host>, name: &str, arguments: Vec<Value>) -> Result<HostAnswer> {
    let function = FUNCTIONS.get(name);
    let unknown = || Error::new(ErrorKind::Unimplemented, format!("{name} is not available on this server yet."));
    function.ok_or_else(unknown)?.start(host, arguments)
}

/// Runs background host calls, those that belong to no call, until the module's thread has ended.
pub(super) async fn serve_background(calls: Arc<CallTable>, host: Rc<Host>, limits: Limits) {
    let inbox = calls.add_background_inbox();
    loop {
        match std::future::poll_fn(|context| inbox.poll_next(context)).await {
            CallEvent::HostCalled { host_call, name, arguments } => {
                let (calls, its) = (calls.clone(), host.clone());
                (host.spawn)(Box::pin(async move {
                    let answered = async {
                        match start(&its, &name, arguments)? {
                            HostAnswer::Ready(value) => Ok(value),
                            HostAnswer::Pending(awaited) => awaited.await,
                        }
                    };
                    let meter = Meter::new(Chain::default(), &limits);
                    let result = its.current.during(meter, answered).await;
                    calls.answer(host_call, result);
                }));
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::FUNCTIONS;

    #[test]
    fn the_library_asks_for_functions_that_there_are() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sdk/go");
        let mut count = 0;
        for file in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if file.extension().is_none_or(|extension| extension != "go") || file.ends_with("pending_generated.go") {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            for before in
                ["(ctx, \"", "(nil, \"", "(initCall, \"", "(request.Context(), \"", "(m.call, \"", "m.seconds(\""]
            {
                for rest in text.split(before).skip(1) {
                    let name = rest.split('"').next().unwrap();
                    assert!(FUNCTIONS.contains_key(name), "{}: {name}", file.display());
                    count += 1;
                }
            }
        }
        assert!(count > 60, "{count}");
    }
}
