//! Instances of a program in a machine. Each has an environment of its own and the modules that were required in it.
//! Code is shared by the machine's instances, variables are not.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaString, Result, Table, Value as LuaValue};

use super::program::{Module, compile_source};
use super::uses::Uses;
use super::vm::{HOST_MODULE, Vm};
use super::{raw, slips, text_methods};
use crate::machine::near::{did_you_mean, near};

/// RegisteredFunctions name of the table in which instances look up what their environment lacks: the libraries.
const BASE: &str = "base";

/// Limit on the bytes of source that game code loads at once.
pub(super) const SOURCE_BYTES_MAX: usize = 256 << 10;

/// Limit on the characters of the name that game code gives to such source.
const NAME_MAX: usize = 60;

/// The modules of a machine, loaded but not run.
pub(super) struct Chunks {
    list: Rc<[Chunk]>,
    make_require: Function,
    /// Makes a module's function in an environment, see [`make_chunk`].
    make_chunk: Function,
    /// Makes the former file current when a module has run, see [`leave_chunk`].
    leave_chunk: Function,
    uses: Uses,
    own_functions: Option<OwnFunctions>,
    /// Whether libraries can only be written to while modules load: a durable match that goes on elsewhere would find
    /// later changes gone.
    is_frozen_after_load: bool,
}

/// The means to give an instance the functions that load code.
struct OwnFunctions {
    /// The function of the prelude.
    add: Function,
    /// Makes a function of source in an environment, see [`compile`].
    compile: Function,
    /// Where `package.path` says that modules are.
    path: String,
}

struct Chunk {
    name: String,
    file: Arc<str>,
    function: Function,
}

/// A new instance, as long as its modules are run.
pub(super) struct Instance {
    /// The function that runs a module once, and answers its value.
    pub(super) require: Function,
    /// Libraries of the instance that its modules may write to only now.
    frozen_after_load: Vec<Table>,
}

impl Instance {
    /// The modules that the instance needs have run.
    pub(super) fn modules_have_run(&self) {
        self.frozen_after_load.iter().for_each(|library| library.set_readonly(true));
    }
}

impl Chunks {
    /// Loads modules. Globals that their code names directly are bound to the libraries for good.
    pub(super) fn load(vm: &Vm, modules: &[Module], uses: &Uses) -> Result<Rc<Self>> {
        let lua = &vm.lua;
        slips::know(lua, &uses.slips);
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
        if uses.written.contains("string") {
            text_methods::look_up_in_instances(lua)?;
        }
        let own_functions = if uses.own_functions {
            let folder = vm.host.process.folder.as_deref().unwrap_or(Path::new("."));
            let path = format!("{0}/?.lua;{0}/?/init.lua", folder.display());
            Some(OwnFunctions { add: vm.prelude.add_own_functions.clone(), compile: compile(lua, uses)?, path })
        } else {
            None
        };
        let (make_require, uses) = (vm.prelude.make_require.clone(), uses.clone());
        let is_frozen_after_load = vm.is_recorded;
        Ok(Rc::new(Self { list, make_require, make_chunk, leave_chunk, uses, own_functions, is_frozen_after_load }))
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|chunk| chunk.name.as_str())
    }

    /// Makes an instance in which no module has run yet.
    pub(super) fn instance(&self, lua: &Lua) -> Result<Instance> {
        let environment = environment(lua)?;
        environment.raw_set("_G", &environment)?;
        let loaded = lua.create_table()?;
        loaded.raw_set(HOST_MODULE, lua.named_registry_value::<Table>(HOST_MODULE)?)?;
        let mut frozen_after_load = Vec::new();
        for library in &self.uses.written {
            let is_host = *library == HOST_MODULE;
            let holder = if is_host { &loaded } else { &environment };
            if let LuaValue::Table(shared) = holder.get::<LuaValue>(*library)? {
                let own = raw::copy(lua, &shared)?;
                holder.raw_set(*library, &own)?;
                frozen_after_load.extend(self.is_frozen_after_load.then_some(own));
            }
        }
        let preload: Option<Table> = match &self.own_functions {
            Some(OwnFunctions { add, compile, path }) => {
                Some(add.call((compile, &self.make_chunk, &self.leave_chunk, &loaded, &environment, path.as_str()))?)
            }
            None => None,
        };
        // Only Lua holds the environment: a handle of ours would keep it alive for good.
        let parts = (&self.make_chunk, &self.leave_chunk, &loaded, &environment, preload);
        let require: Function = self.make_require.call(parts)?;
        environment.raw_set("require", &require)?;
        // Without a safe environment every use of a builtin looks the builtin up.
        environment.set_safeenv(true);
        Ok(Instance { require, frozen_after_load })
    }
}

/// The function of Lua that makes a function of source in an environment, or answers nil and why it cannot. The name of
/// the source is put in brackets, so that no error of it looks like one of a file.
fn compile(lua: &Lua, uses: &Uses) -> Result<Function> {
    let uses = uses.clone();
    lua.create_function(move |lua, (source, name, environment): (LuaString, LuaString, Table)| {
        let name: String = name.to_string_lossy().chars().filter(|char| !char.is_control()).take(NAME_MAX).collect();
        let name = format!("[{name}]");
        if source.as_bytes().len() > SOURCE_BYTES_MAX {
            return Ok((None, Some(format!("{name}: the source has more than {SOURCE_BYTES_MAX} bytes"))));
        }
        let code = match compile_source(&source.as_bytes(), &uses) {
            Ok(code) => code,
            Err(why) => return Ok((None, Some(format!("{name}:{why}")))),
        };
        let chunk = lua.load(code).set_mode(ChunkMode::Binary).set_name(format!("={name}"));
        Ok((Some(chunk.set_environment(environment).into_function()?), None))
    })
}

/// The function of Lua that makes a module's function in an environment, and makes the module's file the call's current
/// one. It also answers the former file. If there is no such module, it answers nil and a question that names modules
/// which come near.
fn make_chunk(vm: &Vm, list: Rc<[Chunk]>) -> Result<Function> {
    let seats = vm.seats.clone();
    vm.lua.create_function(move |_, (name, environment): (String, Table)| {
        let index = list.binary_search_by(|known| known.name.as_str().cmp(&name));
        let Some(chunk) = index.ok().and_then(|index| list.get(index)) else {
            let names = list.iter().map(|chunk| chunk.name.as_str()).chain([HOST_MODULE]);
            return Ok((None, did_you_mean(&near(&name, names))));
        };
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
