//! A folder of modules, loaded as a shard loads it.

use std::cell::Cell;
use std::future::Future;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::join_all;
use muster_api::game::{ExecutionMode, Failure, GameFunctions, Invocation};
use muster_api::keys::{KeyTexts, Keys};
use muster_domain::Timestamp;
use muster_domain::guessing::{GuessingConfig, SharedGuessing};
use muster_domain::ids::{UserId, UserIdForm, Uuid};
use muster_domain::ports::accounts::{Identifier, NewAccount};
use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::passwords::{PasswordCheck, PasswordFuture, Passwords};
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;
use muster_domain::sessions::SessionRules;
use muster_script::functions::ServerFacts;
use muster_script::host::{Current, Handlers, NoHttp, NoMatches, NoPlayers, Players, Signing};
use muster_script::process::Process;
use muster_script::value::Value;
use muster_script::{Bundle, Host, Limits, LoadError, LuaFunctions, Program, ScriptMetrics};
use muster_store::{SqliteOptions, SqliteStore, StoreMetrics};
use muster_wire::code::Code;

pub const NOW_SEC: i64 = 1_700_000_000;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(NOW_SEC)
    }
}

/// Randomness that counts up.
#[derive(Default)]
struct Counting(Cell<u8>);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.set(self.0.get() + 1);
        bytes.fill(self.0.get());
    }
}

/// A new database. Its file is in a temporary folder of the process.
pub fn store() -> Rc<dyn Store> {
    let folder = tempfile::tempdir().unwrap();
    store_at(&folder.path().join("muster.db"))
}

/// The database in a file.
pub fn store_at(path: &Path) -> Rc<dyn Store> {
    Rc::new(SqliteStore::open(path, &SqliteOptions::default(), Arc::new(StoreMetrics::default())).unwrap())
}

/// Loads modules, given as file and text.
pub fn load(files: &[(&str, &str)], limits: Limits) -> Result<LuaFunctions, LoadError> {
    load_on(store(), files, limits)
}

/// Loads modules over a database.
pub fn load_on(store: Rc<dyn Store>, files: &[(&str, &str)], limits: Limits) -> Result<LuaFunctions, LoadError> {
    block_on(load_with(store, Rc::new(NoPlayers), files, limits))
}

/// Loads modules over a database and a plane.
pub async fn load_with(
    store: Rc<dyn Store>,
    players: Rc<dyn Players>,
    files: &[(&str, &str)],
    limits: Limits,
) -> Result<LuaFunctions, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path(), files);
    load_over(folder.path(), Host { players, ..host_over(store, folder.path()) }, limits).await
}

/// A host over a database and a folder of modules.
pub fn host_over(store: Rc<dyn Store>, folder: &Path) -> Host {
    host_of("muster", store, folder)
}

/// A host of a node with this name.
pub fn host_of(node: &str, store: Rc<dyn Store>, folder: &Path) -> Host {
    let mut process = Process::new(facts(node), Arc::default(), Arc::default());
    process.folder = Some(folder.to_owned());
    process.config = Value::Map(vec![("name".to_owned(), Value::text("muster"))]);
    Host {
        clock: Rc::new(Noon),
        entropy: Rc::new(Counting::default()),
        store,
        players: Rc::new(NoPlayers),
        matches: Rc::new(NoMatches),
        http: Rc::new(NoHttp),
        process: Arc::new(process),
        signing: signing(),
        node: "muster".into(),
        reporter: Rc::default(),
        spawn: |work| drop(tokio::task::spawn_local(work)),
        sends_to_all: Rc::default(),
        current: Current::default(),
        handlers: Handlers::default(),
    }
}

fn facts(node: &str) -> ServerFacts {
    let env = Arc::from([("NAME".to_owned(), "value".to_owned())]);
    ServerFacts { node: node.into(), version: "1.2.3".into(), env }
}

/// Loads the modules of a folder over a host.
pub fn load_in(folder: &Path, host: Host, limits: Limits) -> Result<LuaFunctions, LoadError> {
    block_on(load_over(folder, host, limits))
}

/// A program of these modules, and its host.
pub fn program(files: &[(&str, &str)], limits: &Limits) -> (Arc<Program>, Rc<Host>) {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path(), files);
    let host = Rc::new(host_over(store(), folder.path()));
    (Arc::new(block_on(Program::load(folder.path(), &host, limits)).unwrap()), host)
}

/// The JavaScript program of these files, over a host.
pub fn bundle(files: &[(&str, &str)], host: &Rc<Host>, limits: &Limits) -> Arc<Bundle> {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path(), files);
    Arc::new(block_on(Bundle::load(folder.path(), None, host, limits)).unwrap())
}

pub fn write_all(folder: &Path, files: &[(&str, &str)]) {
    for (file, text) in files {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

async fn load_over(folder: &Path, host: Host, limits: Limits) -> Result<LuaFunctions, LoadError> {
    let host = Rc::new(host);
    let program = Program::load(folder, &host, &limits).await?;
    Ok(LuaFunctions::new(Arc::new(program), host, limits, Arc::new(ScriptMetrics::default())))
}

/// Loads one module whose functions are named like Lua's: `function name(context, payload)`, each registered.
pub fn module(text: &str) -> LuaFunctions {
    load(&[("game.lua", text)], Limits::default()).unwrap()
}

/// Keeps passwords as they are.
struct Plain;

impl Passwords for Plain {
    fn hash<'a>(&'a self, password: &'a str) -> PasswordFuture<'a, Vec<u8>> {
        Box::pin(std::future::ready(Ok(password.as_bytes().to_vec())))
    }

    fn check<'a>(&'a self, password: &'a str, hash: Option<&'a [u8]>) -> PasswordFuture<'a, PasswordCheck> {
        let matches = hash == Some(password.as_bytes());
        Box::pin(std::future::ready(Ok(PasswordCheck { matches, outdated: false })))
    }
}

fn signing() -> Signing {
    let texts = KeyTexts { server_key: "", http_key: "", session: "session key", refresh: "refresh key" };
    Signing {
        passwords: Rc::new(Plain),
        user_ids: UserIdForm::TimeOrdered,
        guessing: Arc::new(SharedGuessing::new(GuessingConfig::default())),
        keys: Arc::new(Keys::new(texts).unwrap()),
        sessions: SessionRules { token_life_sec: 60, refresh_life_sec: 3_600, single_session: false },
        revocations: Arc::new(Revocations::new(Box::new(|_| {}))),
    }
}

/// Makes a player with this number, who has signed in with a device.
pub async fn player(store: &Rc<dyn Store>, number: u128, name: &str) -> UserId {
    let user_id = UserId(Uuid::from_u128(0xd000_0000_0000_4000_8000_0000_0000_0000 + number));
    let account = NewAccount { user_id, username: name.to_owned(), now: Timestamp::from_seconds(NOW_SEC) };
    let device = Identifier::Device(format!("device-of-{name}"));
    store.login(&device, Some(&account)).await.unwrap();
    user_id
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    // The future runs on local tasks as on a shard, so that work which goes on after a call runs too.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

pub async fn call(functions: &impl GameFunctions, id: &str, payload: &str) -> Result<String, (Code, String)> {
    let invocation = Invocation { mode: ExecutionMode::Rpc, payload: payload.to_owned(), ..Invocation::default() };
    let told = |failure: Failure| (failure.code, failure.message);
    functions.call(id, invocation).await.map(Option::unwrap_or_default).map_err(told)
}

/// Makes twenty calls of `crowd` at once, each of which answers how many calls were under way. Answers the highest
/// number.
pub async fn most_inside(functions: &impl GameFunctions) -> usize {
    let payloads: Vec<_> = (0..20).map(|number| number.to_string()).collect();
    let calls = payloads.iter().map(|payload| call(functions, "crowd", payload));
    let answers = join_all(calls).await.into_iter().map(Result::unwrap);
    answers.map(|inside| inside.parse::<usize>().unwrap()).max().unwrap()
}

/// The answer of a function with this body to a payload.
pub fn answer(body: &str, payload: &str) -> Result<String, (Code, String)> {
    let text = format!("local nk = require('nakama')\nnk.register_rpc(function(context, payload)\n{body}\nend, 'f')");
    block_on(call(&module(&text), "f", payload))
}
