//! An instance of a program in a machine: an environment of its own, and modules that were required in it. Code is shared
//! with the machine's other instances, variables are not.

use std::rc::Rc;
use std::sync::Arc;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Result, Table};

use super::program::Module;
use super::vm::{HOST_MODULE, Vm};

/// What instances fall back to: the libraries.
const BASE: &str = "base";

/// The modules of a machine, loaded and not run.
pub(super) struct Chunks {
    list: Rc<[Chunk]>,
    make_require: Function,
    /// What makes the functions that modules are, and what is told when they have run.
    make: (Function, Function),
}

struct Chunk {
    name: String,
    file: Arc<str>,
    function: Function,
}

impl Chunks {
    /// Loads modules. What they name when they are loaded is taken from the libraries for good.
    pub(super) fn load(vm: &Vm, modules: &[Module]) -> Result<Rc<Self>> {
        let lua = &vm.lua;
        lua.set_named_registry_value(BASE, lua.globals())?;
        let environment = environment(lua)?;
        let load = |module: &Module| {
            let chunk = lua.load(module.code.as_slice()).set_mode(ChunkMode::Binary);
            let chunk = chunk.set_name(source_of(&module.file)).set_environment(environment.clone());
            Ok(Chunk { name: module.name.clone(), file: module.file.as_str().into(), function: chunk.into_function()? })
        };
        let mut list: Vec<_> = modules.iter().map(load).collect::<Result<_>>()?;
        list.sort_by(|a, b| a.name.cmp(&b.name));
        let list: Rc<[Chunk]> = list.into();
        let make = (make_chunk(vm, list.clone())?, leave_chunk(vm)?);
        Ok(Rc::new(Self { list, make_require: vm.prelude.make_require.clone(), make }))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|chunk| chunk.name.as_str())
    }

    /// An instance in which nothing has run: its `require`, which answers what a module returns, and runs it if it has not.
    pub(super) fn instance(&self, lua: &Lua) -> Result<Function> {
        let environment = environment(lua)?;
        environment.raw_set("_G", &environment)?;
        let loaded = lua.create_table()?;
        loaded.raw_set(HOST_MODULE, lua.named_registry_value::<Table>(HOST_MODULE)?)?;
        // Only Lua holds the environment: what we held of it would be held for good.
        let (chunk, leave) = &self.make;
        let require: Function = self.make_require.call((chunk, leave, loaded, &environment))?;
        environment.raw_set("require", &require)?;
        // Without it every use of a builtin looks the builtin up.
        environment.set_safeenv(true);
        Ok(require)
    }
}

/// Makes the function that a module is in an environment; the call is at it then. Answers also where the call was.
fn make_chunk(vm: &Vm, list: Rc<[Chunk]>) -> Result<Function> {
    let seats = vm.seats.clone();
    vm.lua.create_function(move |_, (name, environment): (String, Table)| {
        let index = list.binary_search_by(|known| known.name.as_str().cmp(&name));
        let Some(chunk) = index.ok().and_then(|index| list.get(index)) else { return Ok((None, None)) };
        let function = chunk.function.deep_clone()?;
        function.set_environment(environment)?;
        let before = seats.current().map(|seat| seat.budget.at(chunk.file.clone()));
        Ok((Some(function), before.map(|file| file.to_string())))
    })
}

/// The call is where it was before a module ran.
fn leave_chunk(vm: &Vm) -> Result<Function> {
    let seats = vm.seats.clone();
    vm.lua.create_function(move |_, before: Option<String>| {
        if let (Some(seat), Some(before)) = (seats.current(), before) {
            seat.budget.at(before.into());
        }
        Ok(())
    })
}

/// What functions of a file say that they are from.
pub(super) fn source_of(file: &str) -> String {
    format!("@{file}")
}

fn environment(lua: &Lua) -> Result<Table> {
    let environment = lua.create_table()?;
    let base: Table = lua.named_registry_value(BASE)?;
    let fallback = lua.create_table_from([("__index", base)])?;
    fallback.set_readonly(true);
    environment.set_metatable(Some(fallback))?;
    Ok(environment)
}
