//! Behaviour that studios rely on in game code, tested with folders of modules as studios write them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod beside;
mod budgets;
mod builtins;
mod chat;
mod dialect;
mod errors;
mod events;
mod friends;
#[path = "../../../wire/tests/wire/generated.rs"]
mod generated;
mod generations;
mod go;
mod hooks;
mod host;
mod javascript;
mod logs;
mod matched;
mod matches;
mod messages;
mod mistakes;
mod modules;
mod notifications;
mod once;
mod plane;
mod process;
#[path = "../../../wire/tests/wire/random.rs"]
#[allow(dead_code, reason = "the tests of the wire use more of it")]
mod random;
mod scene;
mod schedules;
mod sessions;
mod signals;
mod streams;
mod stuck;
mod utilities;
mod waits;
mod world;
