//! Game code: what a studio writes in Lua, and what it may call. Why it is built so stands in `docs/adr/0012-game-code.md`.
//!
//! Every function that game code may call stands once in the [host table](host); engines bind it. This crate never
//! touches a socket or the database.

pub mod functions;
pub mod host;
mod luau;
mod machine;
pub mod matches;
pub mod metrics;
pub mod process;
pub mod value;

pub use functions::LuaFunctions;
pub use host::Host;
pub use luau::program::Program;
pub use machine::LoadError;
pub use machine::limits::Limits;
pub use matches::LuaMatches;
pub use metrics::ScriptMetrics;
