//! The host table: every function that game code may call, once for all languages. Bindings, the reference page and the
//! tests that call everything read these entries.

mod accounts;
mod authenticate;
mod chat;
mod ciphers;
mod cron;
mod crypto;
mod current;
mod custom_metrics;
mod encoding;
mod events;
mod files;
mod http;
mod link;
mod localcache;
mod logger;
mod matches;
mod notifications;
mod parties;
mod pending;
mod players;
mod records;
mod secrets;
mod sessions;
mod signatures;
mod sql;
mod storage;
mod streams;
mod time;
mod wallets;

use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::effects::WriteStamp;
use muster_domain::ports::store::Store;
use muster_domain::{Error, Result};
use muster_live::Partition;
use muster_live::matches::{Chain, LogError};

pub(crate) use current::LINE_OVERHEAD_BYTES;
pub use current::{Current, Meter};
pub use events::Reporter;
pub(crate) use events::Reports;
pub use http::{HttpClient, HttpFuture, HttpRequest, HttpResponse, NoHttp};
pub(crate) use logger::{LINE_BYTES_MAX, cut, line_of};
pub use matches::{Matches, NoMatches};
pub use notifications::WALKS_MAX;
pub use pending::PENDING;
pub use players::{NoPlayers, Players, Soon};
pub use sessions::{Signing, USERS_BANNED_MAX};
pub use streams::{
    STATUS_FOLLOW_MAX, STREAM_DATA_BYTES_MAX, STREAM_LABEL_BYTES_MAX, STREAM_LIST_MAX, STREAM_STATUS_BYTES_MAX,
};

use crate::durable::open_log::OpenLog;
use crate::functions::Surroundings;
use crate::languages::LanguageMatches;
use crate::process::Process;
use crate::value::Value;

/// What host functions work with.
pub struct Host {
    /// Wall clock.
    pub clock: Rc<dyn Clock>,
    /// Randomness.
    pub entropy: Rc<dyn Entropy>,
    /// The database.
    pub store: Rc<dyn Store>,
    /// Who is connected.
    pub players: Rc<dyn Players>,
    /// Matches of all nodes.
    pub matches: Rc<dyn Matches>,
    /// The way to other servers.
    pub http: Rc<dyn HttpClient>,
    /// What all machines of the process share.
    pub process: Arc<Process>,
    /// What signing players in and out needs.
    pub signing: Signing,
    /// The part of public ids behind the dot.
    pub node: Arc<str>,
    /// Takes events that game code reports.
    pub reporter: Rc<Reporter>,
    /// Runs what goes on after a call has answered.
    pub spawn: fn(Pin<Box<dyn Future<Output = ()>>>),
    /// Notifications to everybody that are being written, see [`WALKS_MAX`].
    pub walks: Rc<Cell<usize>>,
    /// The call that runs now.
    pub current: Current,
    /// Which matches the modules have.
    pub handlers: Handlers,
}

impl Host {
    /// What the context of a match says of where it is: of a recorded one, where it was made.
    pub(crate) fn surroundings(&self) -> Surroundings {
        let around = self.process.around.clone();
        match self.current.recorded_call() {
            Some(call) => {
                let (node, version) = (call.origin.node.clone(), call.origin.version.clone());
                Surroundings { node, version, ..around }
            }
            None => around,
        }
    }

    /// When what a call writes is written.
    fn stamp(&self) -> WriteStamp {
        self.current.recorded_call().map_or_else(|| WriteStamp::at(self.clock.now()), |call| call.stamp())
    }
}

/// What a durable match is told that cannot be written down.
pub(crate) const NO_LOG: &str = "this server keeps no log of matches";

/// The matches of a shard's game code, once there are any.
#[derive(Clone, Default)]
pub struct Handlers(Rc<OnceCell<Weak<LanguageMatches>>>);

impl Handlers {
    /// From now on these are asked.
    pub fn set(&self, matches: &Rc<LanguageMatches>) {
        self.0.get_or_init(|| Rc::downgrade(matches));
    }

    /// Has the log of a partition opened, before a durable match is made on behalf of these.
    pub(crate) async fn open(&self, partition: Partition, chain: &Chain) -> std::result::Result<Rc<OpenLog>, LogError> {
        let matches = self.0.get().and_then(Weak::upgrade);
        match matches {
            Some(matches) => matches.open(partition, chain).await,
            None => Err(LogError::Failed(NO_LOG.to_owned())),
        }
    }

    /// Whether matches of this name outlive the process.
    fn is_durable(&self, handler: &str) -> bool {
        self.0.get().and_then(Weak::upgrade).is_some_and(|matches| matches.is_durable(handler))
    }
}

/// A function that game code may call.
pub struct HostFunction {
    /// Its name as Lua writes it; other languages' names follow by rule.
    pub name: &'static str,
    /// What it takes, in order.
    pub parameters: &'static [Parameter],
    /// What it answers, in words.
    pub result: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// What it does to the world.
    pub effect: Effect,
    /// The function.
    pub run: Run,
}

/// A host function's answer that is to come.
pub type HostFuture = Pin<Box<dyn Future<Output = Result<Value>>>>;

/// A host function that was called.
pub enum Started {
    /// It has answered.
    Now(Value),
    /// Its caller waits.
    Later(HostFuture),
}

impl HostFunction {
    /// Calls it for game code, with arguments as they came.
    ///
    /// # Errors
    /// When it was called too often, the arguments are none, or it refuses.
    pub fn start(&self, host: &Rc<Host>, values: Vec<Value>) -> Result<Started> {
        host.current.count(&host.process.metrics)?;
        let arguments = Arguments::check(self, values)?;
        match host.current.recorded_call() {
            Some(call) => call.start(host, self, arguments),
            None => self.run(host, arguments),
        }
    }

    /// Whether it may have to wait.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.run, Run::Later(_))
    }

    /// Calls it with arguments that it takes.
    ///
    /// # Errors
    /// When it refuses.
    pub(crate) fn run(&self, host: &Rc<Host>, arguments: Arguments) -> Result<Started> {
        match self.run {
            Run::Now(run) => run(host, arguments).map(Started::Now),
            Run::Later(run) => Ok(Started::Later(run(host.clone(), arguments))),
        }
    }
}

/// How a host function runs.
#[derive(Clone, Copy)]
pub enum Run {
    /// It answers at once.
    Now(fn(&Host, Arguments) -> Result<Value>),
    /// Its caller waits.
    Later(fn(Rc<Host>, Arguments) -> HostFuture),
}

/// A parameter of a host function.
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it must be.
    pub kind: Kind,
    /// Whether it may be left out.
    pub is_optional: bool,
}

/// What an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text of any bytes; numbers are taken as their text.
    Text,
    /// A truth value.
    Flag,
    /// A number.
    Number,
    /// A list or values by name.
    Table,
    /// Anything.
    Any,
}

/// What a host function does to the world, which decides what a durable match does with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: the same arguments have the same result.
    Pure,
    /// It draws from clock or randomness.
    Chance,
    /// It writes to the log.
    Log,
    /// It tells functions that want to hear of it.
    Tells,
    /// It reads what others may change.
    Reads,
    /// It asks another server, where that may change something.
    Asks,
    /// It changes what others may read.
    Writes,
}

/// The arguments of a call, of the kinds that the parameters say.
pub struct Arguments(std::vec::IntoIter<Value>);

impl Arguments {
    /// Checks arguments against a function's parameters; what is missing at the end is nil.
    ///
    /// # Errors
    /// `InvalidArgument` in the words of Lua's own functions.
    pub fn check(function: &HostFunction, mut values: Vec<Value>) -> Result<Self> {
        values.resize(function.parameters.len(), Value::Nil);
        for (index, (parameter, value)) in function.parameters.iter().zip(&mut values).enumerate() {
            let expected = match (parameter.kind, &*value) {
                (_, Value::Nil) if parameter.is_optional => continue,
                (Kind::Any, _)
                | (Kind::Text, Value::Bytes(_))
                | (Kind::Flag, Value::Flag(_))
                | (Kind::Number, Value::Number(_))
                | (Kind::Table, Value::List(_) | Value::Map(_)) => continue,
                (Kind::Text, Value::Number(number)) => {
                    *value = Value::text(number.to_string());
                    continue;
                }
                (Kind::Text, _) => "string",
                (Kind::Flag, _) => "boolean",
                (Kind::Number, _) => "number",
                (Kind::Table, _) => "table",
            };
            let (number, name, got) = (index + 1, function.name, value.kind());
            return Err(Error::invalid(format!("bad argument #{number} to {name} ({expected} expected, got {got})")));
        }
        Ok(Self(values.into_iter()))
    }

    /// The next one.
    pub fn any(&mut self) -> Value {
        self.0.next().unwrap_or(Value::Nil)
    }

    /// The next one, a text.
    pub fn bytes(&mut self) -> Vec<u8> {
        match self.any() {
            Value::Bytes(bytes) => bytes,
            _ => Vec::new(),
        }
    }

    /// The next one, a text that may be missing.
    ///
    /// # Errors
    /// `InvalidArgument` for bytes that are no UTF-8.
    pub fn text_or_none(&mut self) -> Result<Option<String>> {
        match self.any() {
            Value::Bytes(bytes) => text_of(bytes).map(Some),
            _ => Ok(None),
        }
    }

    /// The next one, a text.
    ///
    /// # Errors
    /// As [`Arguments::text_or_none`].
    pub fn text(&mut self) -> Result<String> {
        Ok(self.text_or_none()?.unwrap_or_default())
    }

    /// The next one, a whole number that may be missing. What is behind its point is left out.
    pub fn integer(&mut self) -> Option<i32> {
        match self.any() {
            Value::Number(number) => Some(number as i32),
            _ => None,
        }
    }

    /// The next one, a moment in seconds since 1970 that may be missing.
    pub fn seconds(&mut self) -> Option<i64> {
        match self.any() {
            Value::Number(number) => Some(number as i64),
            _ => None,
        }
    }

    /// The next one, a truth value that may be missing.
    pub fn flag_or_none(&mut self) -> Option<bool> {
        match self.any() {
            Value::Flag(flag) => Some(flag),
            _ => None,
        }
    }

    /// The next one, a truth value that may be missing.
    pub fn flag_or(&mut self, default: bool) -> bool {
        self.flag_or_none().unwrap_or(default)
    }
}

fn text_of(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| Error::invalid("A text is expected, not other bytes."))
}

const fn table(name: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Table, is_optional: false }
}

const fn text(name: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Text, is_optional: false }
}

const fn optional(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, kind, is_optional: true }
}

/// All functions that are there, feature by feature. Those still missing are [`PENDING`].
pub fn functions() -> impl Iterator<Item = &'static HostFunction> {
    let features = [
        accounts::FUNCTIONS,
        authenticate::FUNCTIONS,
        chat::FUNCTIONS,
        ciphers::FUNCTIONS,
        cron::FUNCTIONS,
        crypto::FUNCTIONS,
        custom_metrics::FUNCTIONS,
        encoding::FUNCTIONS,
        events::FUNCTIONS,
        files::FUNCTIONS,
        http::FUNCTIONS,
        link::FUNCTIONS,
        localcache::FUNCTIONS,
        logger::FUNCTIONS,
        matches::FUNCTIONS,
        notifications::FUNCTIONS,
        parties::FUNCTIONS,
        secrets::FUNCTIONS,
        sessions::FUNCTIONS,
        signatures::FUNCTIONS,
        sql::FUNCTIONS,
        storage::FUNCTIONS,
        streams::FUNCTIONS,
        time::FUNCTIONS,
        wallets::FUNCTIONS,
    ];
    features.into_iter().flatten()
}
