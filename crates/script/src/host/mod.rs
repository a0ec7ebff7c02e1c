//! The host table: every function that game code may call, once for all languages, one file per feature. The type of
//! its rows is in `row`.

mod accounts;
mod arguments;
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
mod friends;
mod groups;
mod http;
mod leaderboards;
mod link;
mod localcache;
mod logger;
mod matches;
mod notifications;
mod parties;
mod players;
mod purchases;
mod records;
mod refusals;
mod registers;
mod row;
mod satori;
mod secrets;
mod sessions;
mod shape;
mod signatures;
mod sql;
mod storage;
mod streams;
mod time;
mod tournaments;
mod types;
mod wallets;

use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::ports::store::Store;
use muster_live::Partition;
use muster_live::matches::{Chain, LogError};

pub use arguments::Arguments;
use arguments::text_of;
pub(crate) use current::LINE_OVERHEAD_BYTES;
pub use current::{Current, Meter};
pub(crate) use events::EventListener;
pub use events::EventReporter;
pub use http::{HttpClient, HttpFuture, NoHttp, OutgoingRequest, OutgoingResponse};
pub(crate) use logger::{LINE_BYTES_MAX, cut, line_of, print};
pub use matches::{Matches, NoMatches};
pub use notifications::SENDS_TO_ALL_MAX;
pub use players::{NoPlayers, Players, Soon};
pub use row::{
    DefaultValue, DocumentedError, EffectClass, GoShape, HostAnswer, HostFunction, HostFuture, JavaScriptAnswer,
    JavaScriptShape, Parameter, ROW, Run,
};
use row::{flag, not_yet, number};
pub(crate) use row::{optional, required};
pub use sessions::{Signing, USERS_BANNED_MAX};
pub use shape::{AnswerShape, ArgumentRules, LuaShape};
pub(crate) use shape::{Unfit, UnfitMember};
pub use streams::{
    STATUS_FOLLOW_MAX, STREAM_DATA_BYTES_MAX, STREAM_LABEL_BYTES_MAX, STREAM_LIST_MAX, STREAM_STATUS_BYTES_MAX,
};
use types::{AMOUNTS, TEXTS, field, maybe, only};
pub use types::{Field, RecordType, Type};

use crate::durable::latest_write::NotedWrites;
use crate::durable::open_log::OpenLog;
use crate::functions::ServerFacts;
use crate::languages::LanguageMatches;
use crate::process::Process;

/// The parts of the server that host functions work with.
pub struct Host {
    /// Wall clock. In a call of a recorded match it shows the moment of the call.
    pub clock: Rc<dyn Clock>,
    /// Randomness. In a call of a recorded match it follows from the match's seed.
    pub entropy: Rc<dyn Entropy>,
    /// The database.
    pub store: Rc<dyn Store>,
    /// The connected players.
    pub players: Rc<dyn Players>,
    /// Matches of all nodes.
    pub matches: Rc<dyn Matches>,
    /// The way to other servers.
    pub http: Rc<dyn HttpClient>,
    /// The state that all machines of the process share.
    pub process: Arc<Process>,
    /// The means to sign players in and out.
    pub signing: Signing,
    /// The ending of public ids behind the dot, which is the same on all nodes of a cluster.
    pub node: Arc<str>,
    /// Takes events that game code reports.
    pub reporter: Rc<EventReporter>,
    /// Runs work that goes on after a call has answered.
    pub spawn: fn(Pin<Box<dyn Future<Output = ()>>>),
    /// Count of the notifications to everybody that are being written, at most [`SENDS_TO_ALL_MAX`].
    pub sends_to_all: Rc<Cell<usize>>,
    /// The call that runs now.
    pub current: Current,
    /// The match handlers that the modules have.
    pub handlers: Handlers,
}

impl Host {
    /// The facts about the server that the context of a call tells. The calls of a recorded match are told the node and
    /// version of the server that created the match.
    pub(crate) fn facts(&self) -> ServerFacts {
        let facts = self.process.facts.clone();
        match self.current.recorded_call() {
            Some(call) => {
                let (node, version) = (call.origin.node.clone(), call.origin.version.clone());
                ServerFacts { node, version, ..facts }
            }
            None => facts,
        }
    }

    /// The stamp of a write: its moment, and in a durable match the key under which the write happens once.
    fn stamp(&self) -> WriteStamp {
        self.current.recorded_call().map_or_else(|| WriteStamp::at(self.clock.now()), |call| call.stamp())
    }

    /// The store for the keyed writes of the current call. In a durable match the log learns of them.
    fn keyed_writes(&self) -> NotedWrites {
        NotedWrites::new(self.store.clone(), self.current.recorded_call())
    }
}

/// Error of a durable match on a server that keeps no log of matches.
pub(crate) const NO_LOG: &str = "this server keeps no log of matches";

/// The match handlers of a shard's game code. They are set after the code was loaded.
#[derive(Clone, Default)]
pub struct Handlers(Rc<OnceCell<Weak<LanguageMatches>>>);

impl Handlers {
    /// Sets the matches of all languages. Further calls have no effect.
    pub fn set(&self, matches: &Rc<LanguageMatches>) {
        self.0.get_or_init(|| Rc::downgrade(matches));
    }

    /// Opens the log of a partition before a durable match is created there. `chain` holds the matches whose callbacks
    /// wait for the new match.
    pub(crate) async fn open(&self, partition: Partition, chain: &Chain) -> std::result::Result<Rc<OpenLog>, LogError> {
        let matches = self.0.get().and_then(Weak::upgrade);
        match matches {
            Some(matches) => matches.open(partition, chain).await,
            None => Err(LogError::Failed(NO_LOG.to_owned())),
        }
    }

    /// Whether matches of this handler are durable.
    fn is_durable(&self, handler: &str) -> bool {
        self.0.get().and_then(Weak::upgrade).is_some_and(|matches| matches.is_durable(handler))
    }
}

/// The rows of all features.
fn rows() -> impl Iterator<Item = &'static HostFunction> {
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
        friends::FUNCTIONS,
        groups::FUNCTIONS,
        http::FUNCTIONS,
        leaderboards::FUNCTIONS,
        link::FUNCTIONS,
        localcache::FUNCTIONS,
        logger::FUNCTIONS,
        matches::FUNCTIONS,
        notifications::FUNCTIONS,
        parties::FUNCTIONS,
        purchases::FUNCTIONS,
        registers::FUNCTIONS,
        satori::FUNCTIONS,
        secrets::FUNCTIONS,
        sessions::FUNCTIONS,
        signatures::FUNCTIONS,
        sql::FUNCTIONS,
        storage::FUNCTIONS,
        streams::FUNCTIONS,
        time::FUNCTIONS,
        tournaments::FUNCTIONS,
        wallets::FUNCTIONS,
    ];
    features.into_iter().flatten()
}

/// All functions that are built, feature by feature.
pub fn functions() -> impl Iterator<Item = &'static HostFunction> {
    rows().filter(|function| function.is_built())
}

/// Functions of the original that are not built yet. Calling one is an error with code 12, so that none is missing
/// silently.
pub fn pending() -> impl Iterator<Item = &'static HostFunction> {
    rows().filter(|function| !function.is_built())
}
