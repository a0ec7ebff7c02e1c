//! Calls of a Go instance by a shard, and what the instance asks of the host for them.

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

use super::codec::Reader;
use super::frames;
use super::lane::{Asked, Breached, Event, Lane, Taken};
use super::module::{GoModule, Running};
use super::sql;
use crate::host::{Host, HostFunction, Meter, Started, functions};
use crate::machine::call::{Breach, CallInput, Callee, End, Wanted};
use crate::machine::limits::Limits;
use crate::machine::{LoadError, Machine};
use crate::value::Value;

/// Go's form of a message, which its library reads.
const FORM: WriteOptions = WriteOptions { emit_defaults: false, camel_case: true };

/// The host's functions by their names, and those that are there for Go alone.
static FUNCTIONS: LazyLock<HashMap<&'static str, &'static HostFunction>> =
    LazyLock::new(|| functions().chain(sql::FUNCTIONS).map(|function| (function.name, function)).collect());

/// A call of the instance: there may be as many of one shard as it may have machines.
pub struct Vm {
    running: Arc<Running>,
    host: Rc<Host>,
}

impl Vm {
    /// # Errors
    /// When there is no module.
    pub(super) fn of(program: &GoModule, host: &Rc<Host>) -> std::result::Result<Self, LoadError> {
        let running = program.running.clone().ok_or_else(|| LoadError("there is no module in Go".to_owned()))?;
        Ok(Self { running, host: host.clone() })
    }

    pub(super) fn lane(&self) -> &Arc<Lane> {
        &self.running.lane
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
        CallInput { invocation, given }: CallInput,
        wanted: Wanted,
        limits: &Limits,
    ) -> End {
        let about = (Arc::from(callee.name()), limits.call_time, false);
        let taken = self.lane().begin(about, |id| Ok(frames::call(id, callee, &invocation, given)));
        let taken = match taken {
            Ok(taken) => taken,
            Err(failure) => return End { result: Err(failure), breach: None },
        };
        match attend(self.lane().clone(), taken, self.host.clone()).await {
            Event::Returned(Ok(Some(answered))) if wanted == Wanted::Value => {
                End { result: encoded(&answered), breach: None }
            }
            Event::Returned(result) => End { result, breach: None },
            Event::Ended { breach, .. } => {
                let told = "The game's Go instance ended while it was at work for this. Try again.";
                let breach = breach.map(|breach| match breach {
                    Breached::Time => Breach::Time,
                    Breached::Memory => Breach::Memory,
                });
                End { result: Err(Failure::new(Code::Unavailable, told)), breach }
            }
            _ => End {
                result: Err(Failure::new(Code::Internal, "The game's code answered another question.")),
                breach: None,
            },
        }
    }
}

/// A value that a function answered, as others encode it.
fn encoded(answered: &[u8]) -> std::result::Result<Option<Vec<u8>>, Failure> {
    let values = Reader::new(answered).values().map_err(|why| Failure::new(Code::Internal, why))?;
    Ok(values.into_iter().next().map(Value::encode))
}

/// A function of the host that has not answered yet.
type Awaited = Pin<Box<dyn Future<Output = (Asked, Result<Value>)>>>;

/// Answers what the instance asks of the host for a call, until the call has ended. Whoever drops this gives the call up.
pub(super) async fn attend(lane: Arc<Lane>, taken: Taken, host: Rc<Host>) -> Event {
    let mut attendance = Attendance { lane, taken, host, awaited: FuturesUnordered::new(), open: Vec::new() };
    std::future::poll_fn(|context| attendance.poll(context)).await
}

struct Attendance {
    lane: Arc<Lane>,
    taken: Taken,
    host: Rc<Host>,
    awaited: FuturesUnordered<Awaited>,
    open: Vec<Asked>,
}

impl Attendance {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        loop {
            while let Poll::Ready(Some((asked, result))) = self.awaited.poll_next_unpin(context) {
                self.open.retain(|open| *open != asked);
                self.lane.answer(asked, result);
            }
            match self.taken.inbox.poll_next(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Event::Asked { asked, name, arguments }) => match start(&self.host, &name, arguments) {
                    Ok(Started::Now(value)) => self.lane.answer(asked, Ok(value)),
                    Err(error) => self.lane.answer(asked, Err(error)),
                    Ok(Started::Later(awaited)) => {
                        self.open.push(asked);
                        self.awaited.push(Box::pin(async move { (asked, awaited.await) }));
                    }
                },
                Poll::Ready(event) => {
                    self.finish();
                    return Poll::Ready(event);
                }
            }
        }
    }

    /// The call has ended. What goroutines that it left behind wait for still comes.
    fn finish(&mut self) {
        self.lane.end(self.taken.id);
        self.open.clear();
        if self.awaited.is_empty() {
            return;
        }
        let (mut awaited, lane) = (std::mem::take(&mut self.awaited), self.lane.clone());
        (self.host.spawn)(Box::pin(async move {
            while let Some((asked, result)) = awaited.next().await {
                lane.answer(asked, result);
            }
        }));
    }
}

impl Drop for Attendance {
    fn drop(&mut self) {
        for asked in &self.open {
            self.lane.give_up(*asked);
        }
        self.lane.cancel(self.taken.id, self.taken.incarnation);
    }
}

fn start(host: &Rc<Host>, name: &str, arguments: Vec<Value>) -> Result<Started> {
    let function = FUNCTIONS.get(name);
    let unknown = || Error::new(ErrorKind::Unimplemented, format!("{name} is not available on this server yet."));
    function.ok_or_else(unknown)?.start(host, arguments)
}

/// Answers what the instance asks of the host on behalf of no call, until it has ended.
pub(super) async fn be_home(lane: Arc<Lane>, host: Rc<Host>, limits: Limits) {
    let home = lane.add_home();
    loop {
        match std::future::poll_fn(|context| home.poll_next(context)).await {
            Event::Asked { asked, name, arguments } => {
                let (lane, its) = (lane.clone(), host.clone());
                (host.spawn)(Box::pin(async move {
                    let answered = async {
                        match start(&its, &name, arguments)? {
                            Started::Now(value) => Ok(value),
                            Started::Later(awaited) => awaited.await,
                        }
                    };
                    let meter = Meter::new(Chain::default(), &limits);
                    let result = its.current.during(meter, answered).await;
                    lane.answer(asked, result);
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
