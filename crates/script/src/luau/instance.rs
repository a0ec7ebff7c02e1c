//! An instance of a program in a machine: an environment of its own, and modules that were required in it. Code is shared
//! with the machine's other instances, variables are not.

use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Result, Table};

use super::program::Module;
use super::vm::HOST_MODULE;

/// What instances fall back to: the libraries.
const BASE: &str = "base";

/// The modules of a machine, loaded and not run.
pub(super) struct Chunks(Vec<(String, Function)>);

impl Chunks {
    /// Loads modules. What they name when they are loaded is taken from the libraries for good.
    pub(super) fn load(lua: &Lua, modules: &[Module]) -> Result<Rc<Self>> {
        lua.set_named_registry_value(BASE, lua.globals())?;
        let environment = environment(lua)?;
        let load = |module: &Module| {
            let chunk = lua.load(module.code.as_slice()).set_mode(ChunkMode::Binary);
            let chunk = chunk.set_name(format!("@{}", module.file)).set_environment(environment.clone());
            Ok((module.name.clone(), chunk.into_function()?))
        };
        let mut chunks: Vec<_> = modules.iter().map(load).collect::<Result<_>>()?;
        chunks.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(Rc::new(Self(chunks)))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    fn get(&self, name: &str) -> Option<&Function> {
        let index = self.0.binary_search_by(|(known, _)| known.as_str().cmp(name)).ok()?;
        self.0.get(index).map(|(_, chunk)| chunk)
    }
}

/// An instance in which nothing has run: its `require`, which answers what a module returns, and runs it if it has not.
/// `make` is the prelude's maker of such functions.
pub(super) fn instance(lua: &Lua, chunks: &Rc<Chunks>, make: &Function) -> Result<Function> {
    let environment = environment(lua)?;
    environment.raw_set("_G", &environment)?;
    let require = require(lua, chunks.clone(), environment.clone(), make)?;
    environment.raw_set("require", &require)?;
    // Without it every use of a builtin looks the builtin up.
    environment.set_safeenv(true);
    Ok(require)
}

fn environment(lua: &Lua) -> Result<Table> {
    let environment = lua.create_table()?;
    let base: Table = lua.named_registry_value(BASE)?;
    let fallback = lua.create_table_from([("__index", base)])?;
    fallback.set_readonly(true);
    environment.set_metatable(Some(fallback))?;
    Ok(environment)
}

/// `require` of one environment: the prelude runs a module once, and answers what it returned from then on. This makes the
/// functions that modules are.
fn require(lua: &Lua, chunks: Rc<Chunks>, environment: Table, make: &Function) -> Result<Function> {
    let loaded = lua.create_table()?;
    loaded.raw_set(HOST_MODULE, lua.named_registry_value::<Table>(HOST_MODULE)?)?;
    let chunk = lua.create_function(move |_, name: String| {
        let Some(chunk) = chunks.get(&name) else { return Ok(None) };
        let chunk = chunk.deep_clone()?;
        chunk.set_environment(environment.clone())?;
        Ok(Some(chunk))
    })?;
    make.call((loaded, chunk))
}
