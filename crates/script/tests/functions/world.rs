//! A folder of modules, loaded as a shard has it.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use muster_api::game::{Failure, GameFunctions as _, Invocation, Mode};
use muster_domain::Timestamp;
use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::store::Store;
use muster_script::functions::Surroundings;
use muster_script::host::NoPlayers;
use muster_script::{Host, Limits, LoadError, LuaFunctions, Program, ScriptMetrics};
use muster_store::{SqliteOptions, SqliteStore, StoreMetrics};
use muster_wire::code::Code;

pub const NOW_SEC: i64 = 1_700_000_000;

struct Noon;

impl Clock for Noon {
    fn now(&self) -> Timestamp {
        Timestamp::from_seconds(NOW_SEC)
    }
}

/// Counts instead of drawing.
#[derive(Default)]
struct Counting(Cell<u8>);

impl Entropy for Counting {
    fn fill(&self, bytes: &mut [u8]) {
        self.0.set(self.0.get() + 1);
        bytes.fill(self.0.get());
    }
}

/// A database of its own, whose file is removed with the process's folder for such.
pub fn store() -> Rc<dyn Store> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("muster.db");
    Rc::new(SqliteStore::open(&path, &SqliteOptions::default(), Arc::new(StoreMetrics::default())).unwrap())
}

/// Loads modules, given as file and text.
pub fn load(files: &[(&str, &str)], limits: Limits) -> Result<LuaFunctions, LoadError> {
    load_on(store(), files, limits)
}

/// Loads modules over a database.
pub fn load_on(store: Rc<dyn Store>, files: &[(&str, &str)], limits: Limits) -> Result<LuaFunctions, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let (clock, entropy) = (Rc::new(Noon), Rc::new(Counting::default()));
    let host = Rc::new(Host { clock, entropy, store, players: Rc::new(NoPlayers) });
    let env = Arc::from([("NAME".to_owned(), "value".to_owned())]);
    let around = Surroundings { node: "muster".into(), version: "1.2.3".into(), env };
    let program = block_on(Program::load(folder.path(), &host, &around, &limits))?;
    Ok(LuaFunctions::new(Arc::new(program), host, around, limits, Arc::new(ScriptMetrics::default())))
}

/// Loads one module whose functions are named like Lua's: `function name(context, payload)`, each registered.
pub fn module(text: &str) -> LuaFunctions {
    load(&[("game.lua", text)], Limits::default()).unwrap()
}

pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

pub async fn call(functions: &LuaFunctions, id: &str, payload: &str) -> Result<String, (Code, String)> {
    let invocation = Invocation { mode: Mode::Rpc, payload: payload.to_owned(), ..Invocation::default() };
    let told = |failure: Failure| (failure.code, failure.message);
    functions.call(id, invocation).await.map(Option::unwrap_or_default).map_err(told)
}

/// What the body of a function answers to a payload.
pub fn answer(body: &str, payload: &str) -> Result<String, (Code, String)> {
    let text = format!("local nk = require('nakama')\nnk.register_rpc(function(context, payload)\n{body}\nend, 'f')");
    block_on(call(&module(&text), "f", payload))
}
