//! The JavaScript engine: the library QuickJS-ng, bound by rquickjs.
//!
//! A [`vm::Vm`] is one machine: a runtime of its own, with a context in which a [`program::Bundle`] has run. Its code
//! runs on a native stack of its own, which is put aside while a call waits and when its slice of time is over. Calls
//! take turns on that stack. Each match has a machine to itself.

mod binary;
mod call;
mod compile;
mod context;
mod deterministic;
mod errors;
mod format;
#[cfg(test)]
mod fuzz;
mod globals;
mod host;
pub(crate) mod language;
mod logger;
pub mod matches;
mod memory;
mod modules;
mod places;
pub mod program;
mod promises;
mod register;
mod rejections;
mod slips;
mod sources;
mod surface;
mod values;
pub mod vm;

pub(crate) use surface::{AnswerForm, FORMS, JavaScriptFunction, camel_case};
