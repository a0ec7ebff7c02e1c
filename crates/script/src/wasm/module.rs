//! The Go module of a folder, and the thread that runs its instances one after the other. A new instance starts when
//! one has ended.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use muster_live::matches::Chain;
use wasmtime::InstancePre;

use super::call_table::{CallEvent, CallTable, INIT, Inbox, TakenCall};
use super::compile::{CODE_STACK_BYTES, compile};
use super::frames::{Registrations, hello};
use super::instance::{Bounds, InstanceEnd, InstanceState, START_INTERVAL, run};
use super::vm::{serve_background, serve_call};
use crate::host::{Host, Meter};
use crate::machine::limits::Limits;
use crate::machine::registered::Names;
use crate::machine::{LoadError, LoadedProgram};
use crate::metrics::ScriptMetrics;
use crate::process::Process;
use crate::process::stuck::digest;

const EXTENSION: &str = "wasm";

/// Limit on the bytes of a module; larger modules are refused.
const FILE_BYTES_MAX: u64 = 128 << 20;

/// Bytes of the thread's stack: the calls of compiled code, and the host's functions that they end in.
const STACK_BYTES: usize = CODE_STACK_BYTES + (4 << 20);

/// A module that has started and registered its functions. By default there is no module.
#[derive(Default)]
pub struct GoModule {
    file: Arc<str>,
    names: Names,
    handlers: BTreeSet<String>,
    pub(super) running: Option<Arc<RunningModule>>,
}

/// The thread of a module at work. Dropping the last reference ends it.
pub(super) struct RunningModule {
    pub(super) calls: Arc<CallTable>,
    /// Threads of the shards that have an inbox for background host calls, those on behalf of no call.
    background_shards: Mutex<Vec<ThreadId>>,
}

impl Drop for RunningModule {
    fn drop(&mut self) {
        self.calls.mailbox.close();
    }
}

impl RunningModule {
    /// Makes the shard of this thread take background host calls until the module's thread ends.
    pub(super) fn settle(&self, host: &Rc<Host>, limits: Limits) {
        let mut shards = self.background_shards.lock().unwrap_or_else(PoisonError::into_inner);
        let here = thread::current().id();
        if !shards.contains(&here) {
            shards.push(here);
            (host.spawn)(Box::pin(serve_background(self.calls.clone(), host.clone(), limits)));
        }
    }
}

impl GoModule {
    /// Compiles and starts the module of a folder, if there is one, and waits until its `InitModule` has run.
    ///
    /// # Errors
    /// For several modules, for one that cannot be read or compiled, and for one that fails when it starts.
    pub async fn load(folder: &Path, host: &Rc<Host>, limits: &Limits) -> Result<Self, LoadError> {
        let Some(path) = find(folder)? else { return Ok(Self::default()) };
        let file = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
        let failed = |why: &dyn std::fmt::Display| LoadError(format!("{file}: {why}"));
        let length = std::fs::metadata(&path).map_err(|error| failed(&error))?.len();
        if length > FILE_BYTES_MAX {
            return Err(failed(&format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        let bytes = std::fs::read(&path).map_err(|error| failed(&error))?;
        if !host.process.may_load(&file, digest(&bytes)) {
            tracing::error!(file, "a module is not loaded since it stopped the server: change its file");
            return Ok(Self::default());
        }
        let kept = host.process.compiled.clone();
        let compiled = tokio::task::spawn_blocking(move || compile(&bytes, kept.as_deref())).await;
        let compiled = compiled.map_err(|error| failed(&error))?.map_err(|why| failed(&why))?;
        let calls = Arc::new(CallTable::new(host.spawn));
        let running = RunningModule { calls: calls.clone(), background_shards: Mutex::default() };
        let inbox = Arc::<Inbox>::default();
        calls.begin_init(limits.load_time, inbox.clone());
        let thread = ModuleThread::new(compiled, &calls, host, limits, file.as_str().into());
        let builder = thread::Builder::new().name("script-go".to_owned()).stack_size(STACK_BYTES);
        builder.spawn(move || thread.run()).map_err(|error| failed(&error))?;
        let init = TakenCall { id: INIT, inbox, incarnation: 1 };
        let meter = Meter::new(Chain::default(), limits);
        let Registrations { names, handlers } =
            match host.current.during(meter, serve_call(calls.clone(), init, host.clone())).await {
                CallEvent::Ready(registered) => *registered.map_err(|why| failed(&why))?,
                CallEvent::Ended { why, .. } => {
                    return Err(failed(&format!("the module ended before it was loaded: {why}")));
                }
                _ => return Err(failed(&"the module answered before it was asked")),
            };
        names.warn();
        calls.ready();
        Ok(Self {
            file: file.into(),
            names,
            handlers: handlers.into_iter().collect(),
            running: Some(Arc::new(running)),
        })
    }

    /// The ids of functions that the module registers, in lower case.
    pub fn functions(&self) -> &BTreeSet<String> {
        &self.names.functions
    }

    /// Whether there is no module.
    pub fn is_empty(&self) -> bool {
        self.running.is_none()
    }

    /// The module's file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The names of the matches that the module registers.
    pub fn handlers(&self) -> &BTreeSet<String> {
        &self.handlers
    }
}

impl LoadedProgram for GoModule {
    fn names(&self) -> &Names {
        &self.names
    }

    fn handlers(&self) -> BTreeSet<String> {
        self.handlers.clone()
    }

    fn has_handler(&self, name: &str) -> bool {
        self.handlers.contains(name)
    }
}

/// The one module of a folder.
fn find(folder: &Path) -> Result<Option<PathBuf>, LoadError> {
    let failed = |error| LoadError(format!("cannot read {}: {error}", folder.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() && path.extension().is_some_and(|extension| extension == EXTENSION) {
            found.push(path);
        }
    }
    found.sort();
    if let [first, second, ..] = &found[..] {
        let (first, second) = (first.display(), second.display());
        return Err(LoadError(format!(
            "there are several modules, {first} and {second}: build one program that runs all of them \
             (muster.Run takes several InitModule)"
        )));
    }
    Ok(found.pop())
}

/// The data of a module's thread.
struct ModuleThread {
    compiled: InstancePre<InstanceState>,
    calls: Arc<CallTable>,
    process: Arc<Process>,
    node: Arc<str>,
    bounds: Bounds,
    deferred_max: usize,
    file: Arc<str>,
}

impl ModuleThread {
    fn new(
        compiled: InstancePre<InstanceState>,
        calls: &Arc<CallTable>,
        host: &Rc<Host>,
        limits: &Limits,
        file: Arc<str>,
    ) -> Self {
        let bounds = Bounds {
            bytes_max: limits.machine_bytes,
            background: limits.call_time,
            init: limits.load_time,
            log_bytes_max: limits.log_bytes_max,
        };
        let (process, node, deferred_max) = (host.process.clone(), host.node.clone(), limits.deferred_max);
        Self { compiled, calls: calls.clone(), process, node, bounds, deferred_max, file }
    }

    /// Runs instances until the mailbox is closed.
    fn run(self) {
        let watched = self.process.clock.watch_this_thread();
        let metrics: &Arc<ScriptMetrics> = &self.process.metrics;
        loop {
            let started = Instant::now();
            let hello = hello(&self.process.facts, &self.node, self.deferred_max);
            let ended = run(&self.compiled, &self.calls, hello, self.bounds, &watched, &self.file, metrics);
            if self.calls.mailbox.is_closed() {
                return self.calls.end_all(&ended.why);
            }
            self.fail(&ended);
            if !self.calls.mailbox.pause(started + START_INTERVAL) {
                return self.calls.end_all(&ended.why);
            }
        }
    }

    fn fail(&self, ended: &InstanceEnd) {
        let calls = self.calls.fail_all(&ended.why, ended.offender);
        self.process.metrics.instances_ended.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (file, why) = (&*self.file, &*ended.why);
        tracing::error!(file, why, calls, "the Go instance has ended, and its calls have failed: a new one starts");
    }
}
