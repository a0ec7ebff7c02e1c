//! The Lua engine: Luau, by mlua.
//!
//! A [`vm::Vm`] is one machine with all modules of a [`program::Program`] loaded. Each call has a
//! [seat](seat): a stack and a coroutine of its own, put aside while it waits and when its slice is over.

mod builtins;
mod call;
mod catching;
mod context;
mod fated;
mod functions;
mod instance;
mod interrupt;
mod json;
pub(crate) mod language;
pub mod matches;
mod memory;
mod messages;
mod once;
pub mod program;
mod raw;
mod register;
mod seat;
mod values;
pub mod vm;
