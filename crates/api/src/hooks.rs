//! Hooks of game code before and after an operation or a message of a socket. Declared here, implemented by the script
//! ring.

use std::future::Future;
use std::pin::Pin;

use muster_wire::Code;
use muster_wire::json::{self, JsonMessage, Mode, WriteOptions};
use muster_wire::operations::{OPERATION_COUNT, OPERATIONS, Operation};
use muster_wire::realtime_variants::{VARIANTS, Variant};

use crate::game::{Failure, Invocation};

/// An operation or message that hooks may run before and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSubject {
    /// An operation over HTTP.
    Operation(Operation),
    /// A message of a socket.
    Message(&'static Variant),
}

/// Number of subjects.
pub const SUBJECT_COUNT: usize = OPERATION_COUNT + VARIANTS.len();

impl HookSubject {
    /// All operations that take hooks.
    pub fn operations() -> impl Iterator<Item = Self> {
        OPERATIONS.iter().map(|row| row.operation).filter(|operation| operation.hookable()).map(Self::Operation)
    }

    /// All messages that take hooks.
    pub fn messages() -> impl Iterator<Item = Self> {
        VARIANTS.iter().filter(|variant| variant.hookable).map(Self::Message)
    }

    /// The name by which game code knows the subject.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operation(operation) => operation.name(),
            Self::Message(variant) => variant.title,
        }
    }

    /// The position of the subject among all subjects.
    pub fn index(self) -> usize {
        match self {
            Self::Operation(operation) => operation as usize,
            Self::Message(variant) => OPERATION_COUNT + variant.index(),
        }
    }

    /// Whether the subject is built, so that its hooks would be called.
    pub fn is_built(self) -> bool {
        match self {
            Self::Operation(operation) => operation.row().is_built(),
            Self::Message(_) => true,
        }
    }
}

/// A message for hooks. Each language has the message written as JSON in a form of its own.
pub trait Payload {
    /// The message as JSON.
    fn json(&self, form: WriteOptions) -> Vec<u8>;
}

impl<M: JsonMessage> Payload for M {
    fn json(&self, form: WriteOptions) -> Vec<u8> {
        json::to_json_with(self, form)
    }
}

/// The result of a hook, when the hook has run.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + 'a>>;

/// Hooks of game code. Nothing is prepared for a subject that has no hook.
pub trait Hooks {
    /// Whether a hook runs before the subject.
    fn has_before(&self, subject: HookSubject) -> bool;

    /// Whether a hook runs after the subject.
    fn has_after(&self, subject: HookSubject) -> bool;

    /// Runs the hook before a subject, and answers the JSON of the message to go on with. `None` switches the subject
    /// off. A subject without a message goes on whatever the hook answers.
    fn before<'a>(
        &'a self,
        subject: HookSubject,
        invocation: Invocation,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>>;

    /// Runs the hook after a subject that succeeded. The answer of the hook changes nothing any more.
    fn after<'a>(
        &'a self,
        subject: HookSubject,
        invocation: Invocation,
        output: Option<&'a dyn Payload>,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()>;
}

/// Reads the answer of a hook. Unknown names and wrong types are refused, so that a mistake in writing is found at
/// once.
///
/// # Errors
/// Code 13 without the reason, which is for the log.
pub(crate) fn read<M: JsonMessage>(subject: HookSubject, answer: &[u8]) -> Result<M, Failure> {
    json::from_json(answer, Mode::GameCode).map_err(|error| {
        let hook = subject.name();
        let (member, problem) = (error.path(), error.problem());
        tracing::error!(hook, member, %problem, "the answer of a before hook does not fit the message");
        unfit()
    })
}

/// The failure that the client is told.
pub(crate) fn unfit() -> Failure {
    Failure::new(Code::Internal, "The game's hook answered with something that is no such message.")
}

/// Logs the failure of a hook before a subject, unless its author gave the failure a code for the client. Failures with
/// a trace were logged where the hook ran.
pub(crate) fn note_refusal(subject: HookSubject, failure: &Failure) {
    if !failure.is_on_purpose() && failure.trace.is_none() {
        tracing::warn!(hook = subject.name(), told = failure.message, "a before hook failed");
    }
}

/// Logs the failure of a hook after a subject. The client hears nothing of the failure. Failures with a trace were
/// logged where the hook ran.
pub(crate) fn note_failure(subject: HookSubject, failure: &Failure) {
    if failure.trace.is_some() {
        return;
    }
    let (hook, code) = (subject.name(), failure.number());
    tracing::warn!(hook, code, told = failure.message, "an after hook failed");
}

/// The hooks of a server without game code: there are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn has_before(&self, _subject: HookSubject) -> bool {
        false
    }

    fn has_after(&self, _subject: HookSubject) -> bool {
        false
    }

    fn before<'a>(
        &'a self,
        subject: HookSubject,
        _invocation: Invocation,
        _input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        Box::pin(std::future::ready(Err(none(subject))))
    }

    fn after<'a>(
        &'a self,
        subject: HookSubject,
        _invocation: Invocation,
        _output: Option<&'a dyn Payload>,
        _input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()> {
        Box::pin(std::future::ready(Err(none(subject))))
    }
}

fn none(subject: HookSubject) -> Failure {
    Failure::new(Code::Internal, format!("There is no hook at {}.", subject.name()))
}
