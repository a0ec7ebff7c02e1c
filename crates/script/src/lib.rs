//! Game code: the code that a studio writes in Lua, JavaScript and Go, and the functions of the server that this code
//! may call. `docs/adr/0012-game-code.md` gives the reasons for the design.
//!
//! Every function that game code may call is one row of the [host table](host), and each engine binds all rows. This
//! crate never opens a socket or a database: it reaches both through ports.

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

pub use engines::{EngineFunctions, EngineMatches, EngineSettings, LoadedCode, Programs};
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
