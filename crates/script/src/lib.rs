//! Game code: what a studio writes in Lua, JavaScript and Go, and what it may call. Why it is built so stands in `docs/adr/0012-game-code.md`.
//!
//! Every function that game code may call stands once in the [host table](host); engines bind it. This crate never
//! touches a socket or the database.

pub mod durable;
mod events;
pub mod functions;
pub mod host;
pub mod languages;
mod luau;
mod machine;
pub mod matches;
pub mod metrics;
mod pool;
pub mod process;
mod quickjs;
pub mod routes;
mod schedules;
pub mod typings;
pub mod value;
mod wasm;
pub mod watch;

pub use functions::{GoFunctions, JsFunctions, LuaFunctions};
pub use host::Host;
pub use languages::{LanguageMatches, Languages, Programs};
pub use luau::program::Program;
pub use machine::LoadError;
pub use machine::limits::Limits;
pub use matches::{GoMatches, JsMatches, LuaMatches};
pub use metrics::ScriptMetrics;
pub use quickjs::program::Bundle;
pub use wasm::call_table::{CALLS_MAX, HOST_CALLS_MAX};
pub use wasm::module::GoModule;
