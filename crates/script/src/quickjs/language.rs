//! JavaScript, as the registry of engines knows it.

use std::path::Path;
use std::rc::Rc;

use super::matches::MatchVm;
use super::program::Bundle;
use super::vm::Vm;
use crate::engines::{EngineSettings, Language, LoadedCode};
use crate::functions::Functions;
use crate::host::Host;
use crate::machine::limits::Limits;
use crate::machine::{LoadError, LoadedProgram as _, Machine as _};
use crate::matches::GameMatches;

/// The functions and hooks of one shard's JavaScript code.
pub type JsFunctions = Functions<Vm>;

/// The matches of one shard's JavaScript code.
pub type JsMatches = GameMatches<MatchVm>;

/// See the module.
pub(crate) struct JavaScript;

impl Language for JavaScript {
    type Program = Bundle;
    type Machine = Vm;
    type MatchMachine = MatchVm;
    const EXTENSIONS: &'static [&'static str] = &["js", "mjs", "ts", "mts", "json"];

    fn limits(settings: &EngineSettings) -> Limits {
        Limits {
            machines_max: settings.js_machines_max.div_ceil(settings.shards),
            machines_min: settings.js_machines_min.min(settings.js_machines_max).div_ceil(settings.shards),
            js_read_only_globals: settings.js_read_only_globals,
            ..settings.limits
        }
    }

    async fn load(folder: &Path, host: &Rc<Host>, settings: &EngineSettings) -> Result<Bundle, LoadError> {
        Bundle::load(folder, settings.js_entrypoint.as_deref(), host, &Self::limits(settings)).await
    }

    fn code(program: &Bundle) -> LoadedCode {
        let code = LoadedCode::new(Vm::LANGUAGE, program.files(), program.names(), program.handlers().len());
        LoadedCode { left_out: program.left_out(), ..code }
    }
}
