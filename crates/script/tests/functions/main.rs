//! What studios rely on of functions in Lua, by folders of modules as they would write them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod budgets;
mod chat;
mod errors;
mod host;
mod modules;
mod notifications;
mod plane;
mod process;
mod scene;
mod sessions;
mod streams;
mod utilities;
mod waits;
mod world;
