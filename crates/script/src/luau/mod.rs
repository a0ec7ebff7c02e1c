//! The Lua engine: Luau, by mlua.
//!
//! A [`vm::Vm`] is one machine with all modules of a [`program::Program`] loaded. It takes one call at a time and runs on a
//! stack of its own, which is put aside while the call waits and when its slice is over.

mod budget;
pub mod call;
mod fiber;
mod instance;
pub mod limits;
pub mod matches;
pub(crate) mod messages;
mod once;
pub mod program;
pub(crate) mod registry;
mod values;
pub mod vm;
