//! Instances of a program in a machine. Each has an environment of its own and the modules that were required in it.
//! Code is shared by the machine's instances, variables are not.

use std::rc::Rc;
use std::sync::Arc;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, Result, Table};

use super::program::Module;
use super::vm::{HOST_MODULE, Vm};

/// RegisteredFunctions name of the table in which instances look up what their environment lacks: the libraries.
const BASE: &str = "base";

/// The modules of a machine, loaded but not run.
pub(super) struct Chunks {
    list: Rc<[Chunk]>,
    make_require: Function,
    /// Makes a module's function in an environment, see [`make_chunk`].
    make_chunk: Function,
    /// Makes the former file current when a module has run, see [`leave_chunk`].
    leave_chunk: Function,
}

struct Chunk {
    name: String,
    file: Arc<str>,
    function: Function,
}

impl Chunks {
    /// Loads modules. Globals that their code names directly are bound to the libraries for good.
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
        let (make_chunk, leave_chunk) = (make_chunk(vm, list.clone())?, leave_chunk(vm)?);
        Ok(Rc::new(Self { list, make_require: vm.prelude.make_require.clone(), make_chunk, leave_chunk }))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|chunk| chunk.name.as_str())
    }

    /// Makes an instance in which no module has run yet, and returns its `require`. That function runs a module once,
    /// and answers its value.
    pub(super) fn instance(&self, lua: &Lua) -> Result<Function> {
        let environment = environment(lua)?;
        environment.raw_set("_G", &environment)?;
        let loaded = lua.create_table()?;
        loaded.raw_set(HOST_MODULE, lua.named_registry_value::<Table>(HOST_MODULE)?)?;
        // Only Lua holds the environment: a handle of ours would keep it alive for good.
        let require: Function = self.make_require.call((&self.make_chunk, &self.leave_chunk, loaded, &environment))?;
        environment.raw_set("require", &require)?;
        // Without a safe environment every use of a builtin looks the builtin up.
        environment.set_safeenv(true);
        Ok(require)
    }
}

/// The function of Lua that makes a module's function in an environment, and makes the module's file the call's current
/// one. It also answers the former file.
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

/// The function of Lua that makes a call's former file current again when a module has run.
fn leave_chunk(vm: &Vm) -> Result<Function> {
    let seats = vm.seats.clone();
    vm.lua.create_function(move |_, before: Option<String>| {
        if let (Some(seat), Some(before)) = (seats.current(), before) {
            seat.budget.at(before.into());
        }
        Ok(())
    })
}

/// The source name that Luau reports for functions of a file.
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
