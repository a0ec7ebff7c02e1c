//! The type of the rows of the host table. Bindings, declarations, the reference page and Go's methods are made from
//! the rows.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use muster_domain::{Error, ErrorKind, Result};

use super::Host;
use super::arguments::Arguments;
use super::shape::{AnswerShape, ArgumentRules, LuaShape};
use super::types::{Field, Type};
use crate::value::Value;

/// Beginning of messages that say what a function expects.
const EXPECTS: &str = "expects ";

/// A function that game code may call: one row of the host table.
pub struct HostFunction {
    /// Name of the function in Lua. JavaScript has the same name in camel case, and Go a method with the same letters.
    pub name: &'static str,
    /// Purpose of the function, in a sentence or two.
    pub doc: &'static str,
    /// Parameters in Lua's order.
    pub parameters: &'static [Parameter],
    /// Results in order. Lua gets several results as several values, JavaScript as one object with the results' names.
    pub results: &'static [Field],
    /// Results in words, to stand behind "answers"; empty when there are none.
    pub answers: &'static str,
    /// The errors that game code may meet, besides those for arguments that do not fit.
    pub errors: &'static [DocumentedError],
    /// Class of the function's effect on the world.
    pub effect: EffectClass,
    /// Differences of Lua's function from the form by rule.
    pub lua: LuaShape,
    /// Differences of JavaScript's function from the form by rule.
    pub javascript: JavaScriptShape,
    /// Differences of Go's method from the form by rule.
    pub go: GoShape,
    /// Code of the function.
    pub run: Run,
}

/// An error in the documentation of a function: the kind of the error, and the case in which it comes.
pub type DocumentedError = (ErrorKind, &'static str);

/// The defaults of a row. Rows take from it the fields that they do not name: `HostFunction { name: "time", ..ROW }`.
pub const ROW: HostFunction = HostFunction {
    name: "",
    doc: "",
    parameters: &[],
    results: &[],
    answers: "",
    errors: &[],
    effect: EffectClass::Pure,
    lua: LuaShape::BY_RULE,
    javascript: JavaScriptShape::BY_RULE,
    go: GoShape::BY_RULE,
    run: Run::NotYet,
};

/// The row of a function that is not built yet. Calling the function is an error with code 12.
pub(super) const fn not_yet(name: &'static str) -> HostFunction {
    HostFunction { name, ..ROW }
}

/// The answer of a host function that is to come.
pub type HostFuture = Pin<Box<dyn Future<Output = Result<Value>>>>;

/// The code of a host function, by whether the caller waits for the answer.
#[derive(Clone, Copy)]
pub enum Run {
    /// The function answers at once.
    Now(fn(&Host, Arguments) -> Result<Value>),
    /// The function answers later, and the caller waits.
    Later(fn(Rc<Host>, Arguments) -> HostFuture),
    /// The function is not built yet.
    NotYet,
}

impl Run {
    /// Runs the function and waits until it has answered.
    ///
    /// # Errors
    /// When the function refuses.
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
pub enum HostAnswer {
    /// The answer.
    Ready(Value),
    /// An answer that is to come, for which the caller waits.
    Pending(HostFuture),
}

impl HostFunction {
    /// Calls the function for game code, with arguments that are not checked yet.
    ///
    /// # Errors
    /// When the call has called host functions too often, the arguments do not fit, or the function refuses.
    pub fn start(&self, host: &Rc<Host>, values: Vec<Value>) -> Result<HostAnswer> {
        host.current.count(&host.process.metrics)?;
        let arguments = Arguments::check(self, values)?;
        match host.current.once() {
            Some(run) => run.start(host, self, arguments),
            None => self.begin(host, arguments),
        }
    }

    /// Calls the function for a call that may be one of a recorded match.
    ///
    /// # Errors
    /// When the function refuses.
    pub(crate) fn begin(&self, host: &Rc<Host>, arguments: Arguments) -> Result<HostAnswer> {
        match host.current.recorded_call() {
            Some(call) => call.start(host, self, arguments),
            None => self.run(host, arguments),
        }
    }

    /// An error of the function as game code is told it. A message that says what the function expects begins with the
    /// function's name, as the language spells the name.
    pub(crate) fn named(name: &str, error: Error) -> Error {
        if error.message.starts_with(EXPECTS) {
            let message = format!("{name} {}", error.message).into();
            return Error { message, ..error };
        }
        error
    }

    /// Whether the caller may have to wait.
    pub(crate) fn may_wait(&self) -> bool {
        matches!(self.run, Run::Later(_))
    }

    /// Whether the function is built.
    pub fn is_built(&self) -> bool {
        !matches!(self.run, Run::NotYet)
    }

    /// Calls the function with arguments that were checked.
    ///
    /// # Errors
    /// When the function refuses.
    pub(crate) fn run(&self, host: &Rc<Host>, arguments: Arguments) -> Result<HostAnswer> {
        match self.run {
            Run::Now(run) => run(host, arguments).map(HostAnswer::Ready),
            Run::Later(run) => Ok(HostAnswer::Pending(run(host.clone(), arguments))),
            Run::NotYet => Err(not_built()),
        }
    }
}

/// A parameter of a host function.
#[derive(Clone, Copy)]
pub struct Parameter {
    pub name: &'static str,
    pub of: Type,
    /// Whether the argument may be left out.
    pub is_optional: bool,
    /// Value of the argument when it is left out.
    pub default: DefaultValue,
}

/// Value of an argument that is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// No value. The `doc` of the function says what the function does without the argument.
    Nothing,
    /// A truth value.
    Flag(bool),
    /// A number.
    Number(f64),
    /// An empty list.
    EmptyList,
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
            Self::EmptyList => Value::List(Vec::new()),
        }
    }
}

/// The class of a host function's effect on the world. A durable match decides by it what to do with the function in a
/// replayed call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EffectClass {
    /// No effect: the same arguments always have the same result.
    Pure,
    /// A draw from the clock or from randomness.
    Chance,
    /// A write to the server's log or metrics.
    Log,
    /// A report to functions that are registered for events.
    Reports,
    /// A read of data that others may change.
    Reads,
    /// A request to another server, which may change something there.
    AsksServer,
    /// A change of data that others may read.
    Writes,
    /// A change of data that others may read, by a keyed write: in a durable match the change happens once.
    WritesKeyed,
    /// A change of values that this process keeps in memory for its game code.
    Local,
    /// An effect on connected players: on their streams, on their sessions, or on the messages that they get.
    Players,
}

impl EffectClass {
    /// Whether a function of this class changes something, on this server or on another.
    pub(crate) fn is_change(self) -> bool {
        self == Self::AsksServer || self.is_write()
    }

    /// Whether a function of this class changes data of this server or reaches its players.
    pub(crate) fn is_write(self) -> bool {
        matches!(self, Self::Writes | Self::WritesKeyed | Self::Local | Self::Players)
    }
}

/// Differences of JavaScript's function from the form by rule.
///
/// By rule the name is in camel case, arguments stand in Lua's order, bytes are answered as an `ArrayBuffer`, a missing
/// result is `null`, and several results are an object with their names in camel case.
#[derive(Clone, Copy, Debug)]
pub struct JavaScriptShape {
    /// The names of the function; empty for the name by rule.
    pub names: &'static [&'static str],
    /// The parameters in JavaScript's order; empty for Lua's order.
    pub order: &'static [&'static str],
    /// Whether the first argument is a text in base 64. The function gets the bytes that the text encodes.
    pub takes_base64: bool,
    /// Form of the answer.
    pub answer: JavaScriptAnswer,
    /// Differences in the arguments.
    pub arguments: ArgumentRules,
    /// Differences in the tables of the answer.
    pub tables: AnswerShape,
    /// An argument that stands in the answer, too, which is an object; empty for none.
    pub repeats: &'static str,
}

/// Form of a function's results in JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JavaScriptAnswer {
    /// The form by rule.
    ByRule,
    /// The bytes of the only result, as a text.
    Text,
    /// The bytes of the only result, as a text in base 64.
    Base64,
    /// Status, headers and body of an HTTP response. The values of each header are a list.
    Response,
}

impl JavaScriptShape {
    /// The shape by rule.
    pub const BY_RULE: Self = Self {
        names: &[],
        order: &[],
        takes_base64: false,
        answer: JavaScriptAnswer::ByRule,
        arguments: ArgumentRules::BY_RULE,
        tables: AnswerShape::BY_RULE,
        repeats: "",
    };

    /// The shape by rule, with other names.
    pub(super) const fn named(names: &'static [&'static str]) -> Self {
        Self { names, ..Self::BY_RULE }
    }

    /// The shape by rule, with arguments in another order.
    pub(super) const fn ordered(order: &'static [&'static str]) -> Self {
        Self { order, ..Self::BY_RULE }
    }

    /// The shape by rule, with other rules for arguments.
    pub(super) const fn taking(arguments: ArgumentRules) -> Self {
        Self { arguments, ..Self::BY_RULE }
    }

    /// The shape by rule, with other tables in the answer.
    pub(super) const fn with_tables(tables: AnswerShape) -> Self {
        Self { tables, ..Self::BY_RULE }
    }

    /// The shape by rule, with another form of the answer.
    pub(super) const fn answering(answer: JavaScriptAnswer) -> Self {
        Self { answer, ..Self::BY_RULE }
    }
}

/// Differences of Go's method, which is one of `NakamaModule` in nakama-common, from the form by rule.
///
/// By rule the name has the letters of the function's name, and each argument goes to the parameter with the letters of
/// the argument's name. `sdk/go/internal/generate` knows the rules for types. A function whose letters no method of
/// `NakamaModule` has is not in Go, unless its method is written by hand.
#[derive(Clone, Copy, Debug)]
pub struct GoShape {
    /// Name of the method, if it is written by hand in `sdk/go`.
    pub by_hand: Option<&'static str>,
    /// Arguments whose names differ: the name of the function's parameter, and Go's name.
    pub arguments: &'static [(&'static str, &'static str)],
    /// Name of the function of `sdk/go` that turns a refusal into an error of nakama-common; empty for none.
    pub error: &'static str,
}

impl GoShape {
    /// The shape by rule.
    pub const BY_RULE: Self = Self { by_hand: None, arguments: &[], error: "" };

    /// The shape by rule, with other names of arguments.
    pub(super) const fn arguments(arguments: &'static [(&'static str, &'static str)]) -> Self {
        Self { arguments, ..Self::BY_RULE }
    }

    /// The shape of a method that is written by hand.
    pub(super) const fn by_hand(method: &'static str) -> Self {
        Self { by_hand: Some(method), ..Self::BY_RULE }
    }
}
