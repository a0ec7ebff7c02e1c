//! The Lua engine: Luau, by mlua.
//!
//! A [`vm::Vm`] is one machine with all modules of a [`program::Program`] loaded. It takes one call at a time; a call
//! is a coroutine, which gives its thread back when its slice is over.

mod budget;
pub mod call;
pub mod limits;
pub mod program;
mod values;
pub mod vm;
