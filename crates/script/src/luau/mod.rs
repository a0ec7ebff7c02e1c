//! The Lua engine: the library Luau, bound by mlua.
//!
//! A [`vm::Vm`] is one machine with all modules of a [`program::Program`] loaded. A [`seat`](seat) is the place of one
//! call in a machine: a native stack, a coroutine and a budget. The seat is put aside while its call waits and when its
//! slice of time is over. This engine only binds the functions of the host; their work is done in
//! [`host`](crate::host).

mod builtins;
mod call;
mod catching;
mod context;
mod deterministic;
mod dialect;
mod format;
mod functions;
#[cfg(test)]
mod fuzz;
mod go_format;
mod instance;
mod interrupt;
mod json;
pub(crate) mod language;
pub mod matches;
mod memory;
mod messages;
pub mod program;
mod raw;
mod register;
mod run_once;
mod seat;
mod slips;
mod surrogates;
mod text_methods;
mod uses;
mod values;
pub mod vm;
