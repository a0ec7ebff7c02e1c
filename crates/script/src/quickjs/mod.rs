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

pub(crate) use surface::{Answer, FORMS, Form, camel_case};
