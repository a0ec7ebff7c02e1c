//! The Go engine: game code compiled to WebAssembly, run by wasmtime. One instance serves the whole server, on a thread
//! of its own that takes calls from all shards. `docs/adr/0012-game-code.md` explains how it waits.

pub mod call_table;
mod codec;
mod compile;
mod frames;
#[cfg(test)]
mod fuzz;
mod instance;
mod instance_log;
pub(crate) mod language;
mod mailbox;
pub(crate) mod matches;
pub mod module;
mod sql;
pub(crate) mod vm;
mod wasi;
