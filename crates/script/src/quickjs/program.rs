//! What is to be run: one script in the folder of modules, as the original has it.

use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use muster_live::matches::Chain;

use super::init::Answers;
use super::vm::Vm;
use crate::host::{Host, Meter};
use crate::machine::limits::Limits;
use crate::machine::registry::Names;
use crate::machine::{Code, LoadError};

/// The script that is run if none is named and it is there.
const ENTRYPOINT_DEFAULT: &str = "index.js";
/// Larger files are refused.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A script.
#[derive(Clone, Default)]
pub(super) struct Source {
    /// How errors call it.
    pub(super) file: Arc<str>,
    pub(super) text: Arc<[u8]>,
}

/// A script that ran once without an error, and what it registers. Without a script it registers nothing.
#[derive(Default)]
pub struct Bundle {
    pub(super) source: Source,
    pub(super) answers: Answers,
    names: Names,
    handlers: BTreeSet<String>,
}

impl Bundle {
    /// Reads and runs the script of a folder, if one is named or there is one.
    ///
    /// # Errors
    /// For a file that cannot be read, does not compile, or fails when it runs.
    pub async fn load(
        folder: &Path,
        entrypoint: Option<&Path>,
        host: &Rc<Host>,
        limits: &Limits,
    ) -> Result<Self, LoadError> {
        let path = folder.join(entrypoint.unwrap_or(Path::new(ENTRYPOINT_DEFAULT)));
        if entrypoint.is_none() && !path.is_file() {
            return Ok(Self::default());
        }
        let source = read(folder, &path)?;
        if host.process.stuck.holds(&source.file, &source.text) {
            let file = &*source.file;
            tracing::error!(file, "a script is not loaded since it stopped the server: change its file");
            return Ok(Self::default());
        }
        let meter = Meter::new(Chain::default(), limits);
        let (vm, answers) = host.current.during(meter, Vm::load(&source, None, host, limits)).await?;
        let registered = vm.engine.registered.borrow();
        let names = registered.functions.names();
        let handlers = registered.matches.keys().cloned().collect();
        names.warn_of_unbuilt();
        drop(registered);
        Ok(Self { source, answers, names, handlers })
    }

    /// The ids of functions that the script registers, in lower case.
    pub fn functions(&self) -> &BTreeSet<String> {
        &self.names.functions
    }

    /// How many hooks the script registers.
    pub fn hooks_count(&self) -> usize {
        self.names.hooks().count()
    }

    /// Whether there is no script.
    pub fn is_empty(&self) -> bool {
        self.source.text.is_empty()
    }

    /// The script.
    pub fn file(&self) -> &str {
        &self.source.file
    }

    /// The names of the matches that the script registers.
    pub fn handlers(&self) -> &BTreeSet<String> {
        &self.handlers
    }
}

impl Code for Bundle {
    fn names(&self) -> &Names {
        &self.names
    }

    fn has_handler(&self, name: &str) -> bool {
        self.handlers.contains(name)
    }
}

fn read(folder: &Path, path: &Path) -> Result<Source, LoadError> {
    let failed = |error: &dyn std::fmt::Display| LoadError(format!("cannot read {}: {error}", path.display()));
    let length = std::fs::metadata(path).map_err(|error| failed(&error))?.len();
    if length > FILE_BYTES_MAX {
        return Err(failed(&format!("it has more than {FILE_BYTES_MAX} bytes")));
    }
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    let file = path.strip_prefix(folder).unwrap_or(path).display().to_string();
    Ok(Source { file: file.into(), text: text.into() })
}
