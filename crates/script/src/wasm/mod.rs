//! Game code in Go, compiled to WebAssembly: one instance for the whole server, on a thread of its own, which takes calls of
//! all shards. How it waits stands in `docs/adr/0012-game-code.md`.

mod codec;
mod compile;
mod frames;
mod instance;
pub mod lane;
pub(crate) mod language;
mod lines;
mod mailbox;
pub(crate) mod matches;
pub mod module;
mod sql;
pub(crate) mod vm;
mod wasi;
