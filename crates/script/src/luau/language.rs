//! Lua, as the registry of engines knows it.

use std::path::Path;
use std::rc::Rc;

use super::matches::MatchVm;
use super::program::Program;
use super::vm::Vm;
use crate::engines::{EngineSettings, Language, LoadedCode};
use crate::functions::Functions;
use crate::host::Host;
use crate::machine::limits::Limits;
use crate::machine::{LoadError, LoadedProgram as _, Machine as _};
use crate::matches::GameMatches;

/// The functions and hooks of one shard's Lua code.
pub type LuaFunctions = Functions<Vm>;

/// The matches of one shard's Lua code.
pub type LuaMatches = GameMatches<MatchVm>;

/// See the module.
pub(crate) struct Lua;

impl Language for Lua {
    type Program = Program;
    type Machine = Vm;
    type MatchMachine = MatchVm;
    const EXTENSIONS: &'static [&'static str] = &["lua"];

    fn limits(settings: &EngineSettings) -> Limits {
        Limits { machines_max: settings.lua_machines_max.div_ceil(settings.shards), ..settings.limits }
    }

    async fn load(folder: &Path, host: &Rc<Host>, settings: &EngineSettings) -> Result<Program, LoadError> {
        Program::load(folder, host, &Self::limits(settings)).await
    }

    fn code(program: &Program) -> LoadedCode {
        let names = program.names();
        let mut code = LoadedCode::new(Vm::LANGUAGE, program.files(), names, names.handlers.len());
        code.mistakes.extend(program.uses.slips.told());
        code
    }
}
