//! The Lua engine: Luau, by mlua.
//!
//! A [`vm::Vm`] is one machine with all modules of a [`program::Program`] loaded. It takes one call at a time and runs on a
//! stack of its own, which is put aside while the call waits and when its slice is over.

mod call;
mod instance;
mod interrupt;
pub mod matches;
mod messages;
mod once;
pub mod program;
mod register;
mod seat;
mod values;
pub mod vm;
