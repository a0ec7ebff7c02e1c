//! A row of the host table: everything that there is to say of one function. Bindings, declarations, the reference page
//! and
//! Go's methods are made from it.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use muster_domain::{Error, ErrorKind, Result};

use super::Host;
use super::arguments::Arguments;
use super::types::{Field, Type};
use crate::value::Value;

/// A function that game code may call.
pub struct HostFunction {
    /// Its name in Lua. In JavaScript it is the same in camel case, in Go the method with the same letters.
    pub name: &'static str,
    /// Its purpose, in a sentence or two.
    pub doc: &'static str,
    /// Its parameters, in Lua's order.
    pub parameters: &'static [Parameter],
    /// Its results, in order. Lua gets several as several, JavaScript as one object with their names.
    pub results: &'static [Field],
    /// Its results in words, to stand behind "answers"; empty when it has none.
    pub answers: &'static str,
    /// The errors that game code may meet beside those of arguments that do not fit.
    pub errors: &'static [DocumentedError],
    /// EffectClass of the function on the world.
    pub effect: EffectClass,
    /// Where JavaScript's function differs from what follows by rule.
    pub javascript: JavaScriptShape,
    /// Where Go's method differs from what follows by rule.
    pub go: GoShape,
    /// Its code.
    pub run: Run,
}

/// An error of a function as its documentation has it: its kind, and the case in which it comes.
pub type DocumentedError = (ErrorKind, &'static str);

/// A row with nothing but defaults, for the end of others: `HostFunction { name: "time", ..ROW }`.
pub const ROW: HostFunction = HostFunction {
    name: "",
    doc: "",
    parameters: &[],
    results: &[],
    answers: "",
    errors: &[],
    effect: EffectClass::Pure,
    javascript: JavaScriptShape::BY_RULE,
    go: GoShape::BY_RULE,
    run: Run::NotYet,
};

/// The row of a function that is not built yet. Calling it is an error with code 12.
pub(super) const fn not_yet(name: &'static str) -> HostFunction {
    HostFunction { name, ..ROW }
}

/// The answer of a host function that is to come.
pub type HostFuture = Pin<Box<dyn Future<Output = Result<Value>>>>;

/// How a host function runs.
#[derive(Clone, Copy)]
pub enum Run {
    /// It answers at once.
    Now(fn(&Host, Arguments) -> Result<Value>),
    /// Its caller waits.
    Later(fn(Rc<Host>, Arguments) -> HostFuture),
    /// The function is not built yet.
    NotYet,
}

impl Run {
    /// Runs the function and waits until it has answered.
    ///
    /// # Errors
    /// When it refuses.
    pub(crate) async fn to_its_end(self, host: Rc<Host>, arguments: Arguments) -> Result<Value> {
        match self {
            Self::Now(run) => run(&host, arguments),
            Self::Later(run) => run(host, arguments).await,
            Self::NotYet => Err(not_built()),
        }
    }
}

fn not_built() -> Error {
    Error::new(ErrorKind::Unimplemented, "This function is not available on this server yet.")
}

/// A host function that was called.
pub enum Started {
    /// It has answered.
    Now(Value),
    /// Its caller waits.
    Later(HostFuture),
}

impl HostFunction {
    /// Calls the function for game code, with arguments as they came.
    ///
    /// # Errors
    /// When the call has used too many functions, the arguments do not fit, or the function refuses.
    pub fn start(&self, host: &Rc<Host>, values: Vec<Value>) -> Result<Started> {
        host.current.count(&host.process.metrics)?;
        let arguments = Arguments::check(self, values)?;
        match host.current.recorded_call() {
            Some(call) => call.start(host, self, arguments),
            None => self.run(host, arguments),
        }
    }

    /// Whether its caller may have to wait.
    pub(crate) fn waits(&self) -> bool {
        matches!(self.run, Run::Later(_))
    }

    /// Whether it is built.
    pub fn is_built(&self) -> bool {
        !matches!(self.run, Run::NotYet)
    }

    /// Calls the function with arguments that were checked.
    ///
    /// # Errors
    /// When it refuses.
    pub(crate) fn run(&self, host: &Rc<Host>, arguments: Arguments) -> Result<Started> {
        match self.run {
            Run::Now(run) => run(host, arguments).map(Started::Now),
            Run::Later(run) => Ok(Started::Later(run(host.clone(), arguments))),
            Run::NotYet => Err(not_built()),
        }
    }
}

/// A parameter of a host function.
#[derive(Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub of: Type,
    /// Whether it may be left out.
    pub is_optional: bool,
    /// Value of the argument when it is left out.
    pub default: DefaultValue,
}

/// Value of an argument that is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// Nothing; the function's sentence says what that means.
    Nothing,
    /// A truth value.
    Flag(bool),
    /// A number.
    Number(f64),
}

/// A parameter that may not be left out.
pub(crate) const fn required(name: &'static str, of: Type) -> Parameter {
    Parameter { name, of, is_optional: false, default: DefaultValue::Nothing }
}

/// A parameter that may be left out.
pub(crate) const fn optional(name: &'static str, of: Type) -> Parameter {
    Parameter { name, of, is_optional: true, default: DefaultValue::Nothing }
}

/// A truth value that may be left out.
pub(super) const fn flag(name: &'static str, default: bool) -> Parameter {
    Parameter { default: DefaultValue::Flag(default), ..optional(name, Type::Flag) }
}

/// A number that may be left out.
pub(super) const fn number(name: &'static str, default: f64) -> Parameter {
    Parameter { default: DefaultValue::Number(default), ..optional(name, Type::Number) }
}

impl DefaultValue {
    pub(super) fn value(self) -> Value {
        match self {
            Self::Nothing => Value::Nil,
            Self::Flag(flag) => Value::Flag(flag),
            Self::Number(number) => Value::Number(number),
        }
    }
}

/// EffectClass of a host function on the world. A durable match treats a replayed call by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectClass {
    /// It does nothing: the same arguments have the same result.
    Pure,
    /// It draws from the clock or from randomness.
    Chance,
    /// It writes to the server's log or metrics.
    Log,
    /// It tells functions that are registered for events.
    Tells,
    /// It reads what others may change.
    Reads,
    /// It asks another server, where that may change something.
    Asks,
    /// It changes what others may read.
    Writes,
    /// It changes what others may read by a keyed write: in a durable match it happens once.
    WritesKeyed,
    /// It changes what this process keeps in memory for its game code.
    Local,
    /// It does something with connected players: their streams, their sessions, what they are sent.
    Players,
}

impl EffectClass {
    /// Whether it changes something, here or on another server.
    pub(crate) fn is_change(self) -> bool {
        self == Self::Asks || self.is_write()
    }

    /// Whether it changes what others may read.
    pub(crate) fn is_write(self) -> bool {
        matches!(self, Self::Writes | Self::WritesKeyed | Self::Local | Self::Players)
    }
}

/// Where JavaScript's function differs from what follows by rule.
///
/// By rule its name is in camel case, its arguments stand in Lua's order, bytes are answered as an `ArrayBuffer`, a
/// result
/// that is missing is `null`, and several results are an object with their names in camel case.
#[derive(Clone, Copy, Debug)]
pub struct JavaScriptShape {
    /// The names under which it is found; none for the one by rule.
    pub names: &'static [&'static str],
    /// The parameters in JavaScript's order; none for Lua's.
    pub order: &'static [&'static str],
    /// Whether the first argument is a text in base 64, of which the function gets the bytes.
    pub takes_base64: bool,
    /// Form of the answer.
    pub answer: JavaScriptAnswer,
}

/// Form of a function's results in JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JavaScriptAnswer {
    /// As the rule says.
    ByRule,
    /// The only result's bytes, as a text.
    Text,
    /// The only result's bytes, as a text in base 64.
    Base64,
    /// Status, headers and body of a response. Each header is a list.
    Response,
}

impl JavaScriptShape {
    /// No difference.
    pub const BY_RULE: Self = Self { names: &[], order: &[], takes_base64: false, answer: JavaScriptAnswer::ByRule };

    /// Other names.
    pub(super) const fn named(names: &'static [&'static str]) -> Self {
        Self { names, ..Self::BY_RULE }
    }

    /// Arguments in another order.
    pub(super) const fn ordered(order: &'static [&'static str]) -> Self {
        Self { order, ..Self::BY_RULE }
    }

    /// Another answer.
    pub(super) const fn answering(answer: JavaScriptAnswer) -> Self {
        Self { answer, ..Self::BY_RULE }
    }
}

/// Where Go's method of nakama-common's `NakamaModule` differs from what follows by rule.
///
/// By rule its name has the letters of the function's, and each argument goes to the parameter with the letters of its
/// name.
/// `sdk/go/internal/generate` knows the rules for types. A function without a method of its letters has none in Go.
#[derive(Clone, Copy, Debug)]
pub struct GoShape {
    /// The method that is written by hand in `sdk/go`, if it is one.
    pub by_hand: Option<&'static str>,
    /// Names of arguments that differ: the function's parameter, and Go's.
    pub arguments: &'static [(&'static str, &'static str)],
    /// The function of `sdk/go` that turns a refusal into an error of nakama-common; empty for none.
    pub error: &'static str,
}

impl GoShape {
    /// No difference.
    pub const BY_RULE: Self = Self { by_hand: None, arguments: &[], error: "" };

    /// Arguments with other names.
    pub(super) const fn arguments(arguments: &'static [(&'static str, &'static str)]) -> Self {
        Self { arguments, ..Self::BY_RULE }
    }

    /// A method that is written by hand.
    pub(super) const fn by_hand(method: &'static str) -> Self {
        Self { by_hand: Some(method), ..Self::BY_RULE }
    }
}
