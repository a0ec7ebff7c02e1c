//! Game code: what a studio writes in Lua, JavaScript and Go, and what it may call. Why it is built so stands in
//! `docs/adr/0012-game-code.md`.
//!
//! Every function that game code may call stands once in the [host table](host); engines bind it. This crate never
//! touches a socket or the database.

pub mod durable;
pub mod engines;
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

pub use engines::{EngineFunctions, EngineMatches, EngineSettings, Programs};
pub use host::Host;
pub use languages::{LanguageMatches, Languages};
pub use luau::language::{LuaFunctions, LuaMatches};
pub use luau::program::Program;
pub use machine::LoadError;
pub use machine::limits::Limits;
pub use matches::{ShardParts, returns_to};
pub use metrics::ScriptMetrics;
pub use quickjs::language::{JsFunctions, JsMatches};
pub use quickjs::program::Bundle;
pub use wasm::language::{GoFunctions, GoMatches};
pub use wasm::module::GoModule;
