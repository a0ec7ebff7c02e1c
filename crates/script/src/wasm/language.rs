//! Go, as the registry of engines knows it.

use std::path::Path;
use std::rc::Rc;

use super::call_table::CALLS_MAX;
use super::matches::MatchVm;
use super::module::GoModule;
use super::vm::Vm;
use crate::engines::{EngineSettings, Language, LoadedCode};
use crate::functions::Functions;
use crate::host::Host;
use crate::machine::limits::Limits;
use crate::machine::{LoadError, LoadedProgram as _, Machine as _};
use crate::matches::GameMatches;

/// The functions and hooks of one shard's Go code.
pub type GoFunctions = Functions<Vm>;

/// The matches of one shard's Go code.
pub type GoMatches = GameMatches<MatchVm>;

/// See the module.
pub(crate) struct Go;

impl Language for Go {
    type Program = GoModule;
    type Machine = Vm;
    type MatchMachine = MatchVm;
    const EXTENSIONS: &'static [&'static str] = &["wasm"];

    fn limits(settings: &EngineSettings) -> Limits {
        Limits {
            // Each machine is a handle of the one instance of the server, which takes this many calls at a time over
            // all shards.
            machines_max: CALLS_MAX.div_ceil(settings.shards),
            machines_min: 1,
            machine_bytes: settings.go_bytes,
            matches_per_machine: usize::MAX,
            ..settings.limits
        }
    }

    async fn load(folder: &Path, host: &Rc<Host>, settings: &EngineSettings) -> Result<GoModule, LoadError> {
        GoModule::load(folder, host, &Self::limits(settings)).await
    }

    fn code(program: &GoModule) -> LoadedCode {
        let file = (!program.is_empty()).then(|| program.file().to_owned());
        LoadedCode::new(Vm::LANGUAGE, file.into_iter().collect(), program.names(), program.handlers().len())
    }
}
