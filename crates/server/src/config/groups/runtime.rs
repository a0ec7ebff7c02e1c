//! Game code: its folder, its environment, and the pools of its machines.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::super::{
    key::{Key, Kind, Origin, at_least, honoured, number},
    secret::Secret,
};

honoured! {
    /// Game code.
    pub struct Runtime in "runtime." {
        /// Folder of the modules: Lua files, one script and one Go module are loaded from it. The default is `modules`
        /// in `data_dir`, if that folder exists.
        path: Option<PathBuf> = "", Kind::Path;
        /// Values that game code can read, as `NAME=value`. Files, environment and flags add to each other.
        env: BTreeMap<String, Secret> = "", Kind::Pairs { secret: true };
        /// Largest number of Lua machines of the server, shared out among its shards. Further calls wait.
        lua_max_count: usize = "48", at_least(1);
        /// The script to run, relative to `runtime.path`. The default is the first existing file of `index.js`,
        /// `index.mjs`, `index.ts` and `index.mts`.
        js_entrypoint: Option<PathBuf> = "", Kind::Path;
        /// Largest number of JavaScript machines of the server for functions and hooks, shared out among its shards.
        /// Further calls wait.
        js_max_count: usize = "32", at_least(1);
        /// Number of JavaScript machines that are made when the server starts, shared out among its shards; further
        /// ones are made when calls need them.
        js_min_count: usize = "16", at_least(0);
        /// Whether the values of what a script of JavaScript declares by `var` and `function`, and the prototypes of
        /// all objects and functions, are frozen once the script has run.
        js_read_only_globals: bool = "true", Kind::Flag;
        /// Largest number of events that wait for game code, shared out among the shards. Further events are dropped.
        event_queue_size: usize = "65536", at_least(1);
        /// Number of events that game code handles at a time, shared out among the shards.
        event_queue_workers: usize = "8", number(1, 1024);
        /// Key with which other servers of the studio call functions of the game code over HTTP. Generated at first
        /// start.
        http_key: Secret = "", Kind::Secret, Origin::Differs { original: "defaulthttpkey", why: "a published key lets anyone call" };
    }
}

const OLD_NAME: &str = "it is an old name, in place of which the new one is to be set";

/// Rows of this group that are not honoured.
pub const OTHERS: &[Key] = &[
    Key::no_meaning(
        "runtime.lua_min_count",
        at_least(0),
        "16",
        "Lua machines are made when calls need them, in milliseconds",
        "Number of Lua machines that are made when the server starts.",
    ),
    Key::no_meaning(
        "runtime.lua_call_stack_size",
        at_least(1),
        "128",
        "the depth of calls is limited by the engine and by the memory of a machine",
        "Largest number of nested calls in a Lua machine.",
    ),
    Key::no_meaning(
        "runtime.lua_read_only_globals",
        Kind::Flag,
        "true",
        "each match and each machine has global tables of its own",
        "Lua's global tables cannot be changed.",
    ),
    Key::no_meaning(
        "runtime.lua_api_stacktrace",
        Kind::Flag,
        "false",
        "clients are never shown stack traces; the log has the file and line of errors",
        "Errors that clients see hold Lua's stack trace.",
    ),
    Key::no_meaning(
        "runtime.lua_registry_size",
        at_least(128),
        "512",
        "memory of a Lua machine is limited in bytes",
        "Size of a Lua machine's registry.",
    ),
    Key::no_meaning("runtime.min_count", at_least(0), "0", OLD_NAME, "Old name of `runtime.lua_min_count`."),
    Key::no_meaning("runtime.max_count", at_least(0), "0", OLD_NAME, "Old name of `runtime.lua_max_count`."),
    Key::no_meaning(
        "runtime.call_stack_size",
        at_least(0),
        "0",
        OLD_NAME,
        "Old name of `runtime.lua_call_stack_size`.",
    ),
    Key::no_meaning("runtime.registry_size", at_least(0), "0", OLD_NAME, "Old name of `runtime.lua_registry_size`."),
    Key::no_meaning(
        "runtime.read_only_globals",
        Kind::Flag,
        "true",
        OLD_NAME,
        "Old name of `runtime.lua_read_only_globals`.",
    ),
];
