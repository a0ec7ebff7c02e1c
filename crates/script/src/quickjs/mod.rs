//! The JavaScript engine: QuickJS-ng, by rquickjs.
//!
//! A [`vm::Vm`] is one machine: a runtime of its own, with a context in which a [`program::Bundle`] has run. It takes one
//! call at a time and runs on a stack of its own, which is put aside while the call waits and when its slice is over. A match
//! has a machine for itself.

mod binary;
mod call;
mod compile;
mod context;
mod errors;
mod fated;
mod format;
mod globals;
mod host;
mod init;
pub(crate) mod language;
mod logger;
pub mod matches;
mod modules;
mod places;
pub mod program;
mod promises;
mod register;
mod sources;
mod surface;
mod values;
pub mod vm;

pub(crate) use surface::{Answer as Answered, camel_case};

/// The names under which JavaScript finds a function of the host table.
pub(crate) fn names_in_javascript(name: &str) -> Vec<String> {
    surface::names(name)
}

/// For each of its parameters which argument it is in JavaScript; the same one where this is empty.
pub(crate) fn argument_order(name: &str) -> &'static [usize] {
    surface::form(name).order
}

/// What its results become in JavaScript.
pub(crate) fn answered(name: &str) -> Answered {
    surface::form(name).answer
}
