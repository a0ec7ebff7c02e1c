//! The module of a folder, and the thread that runs instances of it: one after the other, when one has ended.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use muster_live::matches::Chain;
use wasmtime::InstancePre;

use super::compile::compile;
use super::frames::{Registrations, hello};
use super::instance::{Bounds, Ended, START_INTERVAL, State, run};
use super::lane::{Event, INIT, Inbox, Lane, Taken};
use super::vm::{attend, be_home};
use crate::host::{Host, Meter};
use crate::machine::limits::Limits;
use crate::machine::registry::Names;
use crate::machine::{Code, LoadError};
use crate::metrics::ScriptMetrics;
use crate::process::Process;
use crate::process::stuck::digest;

const EXTENSION: &str = "wasm";

/// Larger files are refused.
const FILE_BYTES_MAX: u64 = 128 << 20;

/// What a thread needs for the host's part of an instance, beside the instance's own stack.
const STACK_BYTES: usize = 4 << 20;

/// A module that has started and registered something; by default none.
#[derive(Default)]
pub struct GoModule {
    file: Arc<str>,
    names: Names,
    handlers: BTreeSet<String>,
    pub(super) running: Option<Arc<Running>>,
}

/// An instance at work. When nobody has any call for it any more it ends.
pub(super) struct Running {
    pub(super) lane: Arc<Lane>,
    /// The shards that take what the instance asks on behalf of no call.
    homes: Mutex<Vec<ThreadId>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.lane.mailbox.close();
    }
}

impl Running {
    /// The shard of this thread takes what the instance asks on behalf of no call, until it has ended.
    pub(super) fn settle(&self, host: &Rc<Host>, limits: Limits) {
        let mut homes = self.homes.lock().unwrap_or_else(PoisonError::into_inner);
        let here = thread::current().id();
        if !homes.contains(&here) {
            homes.push(here);
            (host.spawn)(Box::pin(be_home(self.lane.clone(), host.clone(), limits)));
        }
    }
}

impl GoModule {
    /// Compiles and starts the module of a folder, if there is one, and waits until it has registered what it has.
    ///
    /// # Errors
    /// For several modules, one that cannot be read or is none, or one that fails when it runs.
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
        let lane = Arc::new(Lane::new(host.spawn));
        let running = Running { lane: lane.clone(), homes: Mutex::default() };
        let inbox = Arc::<Inbox>::default();
        lane.begin_init(limits.load_time, inbox.clone());
        let thread = Thread::new(compiled, &lane, host, limits, file.as_str().into());
        let builder = thread::Builder::new().name("script-go".to_owned()).stack_size(STACK_BYTES);
        builder.spawn(move || thread.run()).map_err(|error| failed(&error))?;
        let init = Taken { id: INIT, inbox, incarnation: 1 };
        let meter = Meter::new(Chain::default(), limits);
        let Registrations { names, handlers } =
            match host.current.during(meter, attend(lane.clone(), init, host.clone())).await {
                Event::Ready(registered) => registered.map_err(|why| failed(&why))?,
                Event::Ended { why, .. } => {
                    return Err(failed(&format!("the module ended before it was loaded: {why}")));
                }
                _ => return Err(failed(&"the module answered before it was asked")),
            };
        names.warn_of_unbuilt();
        lane.ready();
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

    /// How many hooks the module registers.
    pub fn hooks_count(&self) -> usize {
        self.names.hooks().count()
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

impl Code for GoModule {
    fn names(&self) -> &Names {
        &self.names
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
            "there are several modules, {first} and {second}: build one program that runs all of them (muster.Run takes \
             several InitModule)"
        )));
    }
    Ok(found.pop())
}

/// What the thread of a module works with.
struct Thread {
    compiled: InstancePre<State>,
    lane: Arc<Lane>,
    process: Arc<Process>,
    node: Arc<str>,
    bounds: Bounds,
    deferred_max: usize,
    file: Arc<str>,
}

impl Thread {
    fn new(compiled: InstancePre<State>, lane: &Arc<Lane>, host: &Rc<Host>, limits: &Limits, file: Arc<str>) -> Self {
        let bounds = Bounds {
            bytes_max: limits.machine_bytes,
            background: limits.call_time,
            init: limits.load_time,
            log_bytes_max: limits.log_bytes_max,
        };
        let (process, node, deferred_max) = (host.process.clone(), host.node.clone(), limits.deferred_max);
        Self { compiled, lane: lane.clone(), process, node, bounds, deferred_max, file }
    }

    /// Runs instances, until there is nothing to do for any.
    fn run(self) {
        let watched = self.process.clock.lane();
        let metrics: &Arc<ScriptMetrics> = &self.process.metrics;
        loop {
            let started = Instant::now();
            let hello = hello(&self.process.around, &self.node, self.deferred_max);
            let bounds = self.bounds;
            let ended = run(&self.compiled, (&self.lane, hello), bounds, (&watched, &self.file), metrics);
            if self.lane.mailbox.is_closed() {
                return self.lane.end_all(&ended.why);
            }
            self.fail(&ended);
            if !self.lane.mailbox.pause(started + START_INTERVAL) {
                return self.lane.end_all(&ended.why);
            }
        }
    }

    fn fail(&self, ended: &Ended) {
        let calls = self.lane.fail_all(&ended.why, ended.offender);
        self.process.metrics.instances_ended.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (file, why) = (&*self.file, &*ended.why);
        tracing::error!(file, why, calls, "the Go instance has ended, and its calls have failed: a new one starts");
    }
}
