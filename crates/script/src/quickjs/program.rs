//! The program of a folder of modules: one script, as in the original, or a module with its imports.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use muster_live::matches::Chain;
use rquickjs::atom::PredefinedAtom;
use rquickjs::{Ctx, Function};

use super::register::SavedFunction;
use super::sources::{ENTRYPOINTS, Sources, scripts_in};
use super::vm::Vm;
use crate::engines::loaded::shown;
use crate::host::{Host, Meter};
use crate::machine::limits::Limits;
use crate::machine::once::Answers;
use crate::machine::registered::Names;
use crate::machine::{LoadError, LoadedProgram};

/// A script that ran once without an error, and the names of what it registers. By default there is no script.
#[derive(Default)]
pub struct Bundle {
    pub(super) sources: Arc<Sources>,
    pub(super) answers: Answers,
    names: Names,
    handlers: BTreeSet<String>,
    /// Files in a folder without an entry file.
    left_out: Vec<String>,
}

impl Bundle {
    /// Reads and runs the script or module of a folder: the configured entry file, or the first of the usual ones that
    /// exists.
    ///
    /// # Errors
    /// For a file that cannot be read, does not compile, or fails when it runs.
    pub async fn load(
        folder: &Path,
        entrypoint: Option<&Path>,
        host: &Rc<Host>,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let sources = Sources::collect(folder, entrypoint)?;
        if sources.is_empty() {
            return Ok(Self { left_out: scripts_in(folder), ..Self::default() });
        }
        let file = sources.entry.clone();
        if !host.process.may_load(&file, sources.digest.clone()) {
            let file = &*file;
            tracing::error!(file, "a script is not loaded since it stopped the server: change its file");
            return Ok(Self::default());
        }
        let sources = Arc::new(sources);
        let meter = Meter::new(Chain::default(), limits);
        let (vm, answers) = host.current.during(meter, Vm::load(&sources, None, host, limits)).await?;
        let registered = vm.engine.registered.borrow();
        let names =
            vm.engine.briefly(limits.load_time, |ctx| registered.functions.names(|function| is_async(&ctx, function)));
        let handlers = registered.matches.keys().cloned().collect();
        names.warn();
        drop(registered);
        Ok(Self { sources, answers, names, handlers, left_out: Vec::new() })
    }

    /// The ids of functions that the script registers, in lower case.
    pub fn functions(&self) -> &BTreeSet<String> {
        &self.names.functions
    }

    /// Whether there is no script.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Names of the files that are run: the entry file, and the others behind it.
    pub(super) fn files(&self) -> Vec<String> {
        self.sources.names()
    }

    /// A sentence on files of the folder of which none is run, if there are any.
    pub(super) fn left_out(&self) -> Option<String> {
        if self.left_out.is_empty() {
            return None;
        }
        let (files, usual) = (shown(&self.left_out), ENTRYPOINTS.join(", "));
        Some(format!(
            "no script is run: the first one is named by runtime.js_entrypoint, or is one of {usual}; there are {files}"
        ))
    }

    /// The names of the matches that the script registers.
    pub fn handlers(&self) -> &BTreeSet<String> {
        &self.handlers
    }
}

/// Whether a function is `async`, so that its calls may wait beside others.
fn is_async(ctx: &Ctx<'_>, function: &SavedFunction) -> bool {
    let tag = |function: Function<'_>| function.get::<_, String>(PredefinedAtom::SymbolToStringTag);
    function.clone().restore(ctx).and_then(tag).is_ok_and(|tag| tag == "AsyncFunction")
}

impl LoadedProgram for Bundle {
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
