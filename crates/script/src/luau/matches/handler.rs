//! The callbacks of a match's module, and the meaning of their returns.

use std::sync::Arc;

use mlua::{Function, Result, Value as LuaValue};
use muster_live::matches::{Callback, Outcome};

/// The seven callbacks that a module must have, and the two optional ones.
pub(super) struct Handler {
    pub(super) init: Function,
    pub(super) join_attempt: Function,
    pub(super) join: Function,
    pub(super) leave: Function,
    pub(super) run_loop: Function,
    pub(super) terminate: Function,
    pub(super) signal: Function,
    pub(super) timer: Option<Function>,
    pub(super) migrate: Option<Function>,
}

/// The values that `match_init` returned.
pub(super) struct InitReturn {
    pub(super) state: LuaValue,
    /// Ticks per second.
    pub(super) tick_rate: u32,
    pub(super) label: Arc<str>,
}

impl Handler {
    /// The callbacks in the table that a module returned. `name` is the module's, for errors.
    pub(super) fn of(module: LuaValue, name: &str) -> Result<Self> {
        let LuaValue::Table(module) = module else {
            return Err(mlua::Error::runtime(format!(
                "module '{name}' is no match handler: it must return a table of functions"
            )));
        };
        let callback = |called: &str| match module.raw_get(called)? {
            LuaValue::Function(function) => Ok(function),
            _ => Err(mlua::Error::runtime(format!("module '{name}' is no match handler: it has no function {called}"))),
        };
        let optional = |called: &str| match module.raw_get(called)? {
            LuaValue::Function(function) => Ok::<_, mlua::Error>(Some(function)),
            _ => Ok(None),
        };
        Ok(Self {
            init: callback("match_init")?,
            join_attempt: callback("match_join_attempt")?,
            join: callback("match_join")?,
            leave: callback("match_leave")?,
            run_loop: callback("match_loop")?,
            terminate: callback("match_terminate")?,
            signal: callback("match_signal")?,
            timer: optional("match_timer")?,
            migrate: optional("match_migrate")?,
        })
    }
}

impl Handler {
    /// The name of the module's file.
    pub(super) fn file(&self) -> Arc<str> {
        self.run_loop.info().short_src.unwrap_or_default().into()
    }
}

/// Reads the values that `match_init` returned.
///
/// # Errors
/// A sentence that says so, when the values are of other types.
pub(super) fn begun(values: Vec<LuaValue>) -> std::result::Result<InitReturn, Arc<str>> {
    let mut values = values.into_iter();
    let state = values.next().unwrap_or(LuaValue::Nil);
    if state.is_nil() {
        return Err("match_init returned no state".into());
    }
    let tick_rate = match values.next() {
        Some(LuaValue::Number(number)) if number.fract() == 0.0 && number > 0.0 => number as u32,
        Some(LuaValue::Integer(number)) => u32::try_from(number).unwrap_or_default(),
        _ => return Err("match_init must return a whole number of ticks a second behind the state".into()),
    };
    let label = match values.next() {
        Some(LuaValue::String(label)) => text(&label),
        Some(LuaValue::Nil) | None => Arc::default(),
        Some(other) => {
            return Err(format!("match_init returned a {} as label, which must be a string", other.type_name()).into());
        }
    };
    Ok(InitReturn { state, tick_rate, label })
}

/// The outcome that the values behind the state stand for, in the return of a callback.
///
/// # Errors
/// A sentence that says so, when a value is of a wrong type.
pub(super) fn answer(
    callback: &Callback,
    mut values: impl Iterator<Item = LuaValue>,
) -> std::result::Result<Outcome, Arc<str>> {
    let name = callback.name();
    let value = |found: Option<LuaValue>| found.unwrap_or(LuaValue::Nil);
    match callback {
        Callback::JoinAttempt { .. } => {
            let (may_come, why) = (value(values.next()), value(values.next()));
            match (may_come, why) {
                (LuaValue::Boolean(true), _) => Ok(Outcome::Decided(Ok(()))),
                (LuaValue::Boolean(false), LuaValue::String(why)) => Ok(Outcome::Decided(Err(text(&why)))),
                (LuaValue::Boolean(false), _) => Ok(Outcome::Decided(Err(Arc::default()))),
                (other, _) => {
                    let got = other.type_name();
                    Err(format!("{name} must return the state and true or false, but answered with a {got}").into())
                }
            }
        }
        Callback::Signal(_) => match value(values.next()) {
            LuaValue::String(data) => Ok(Outcome::Signalled(text(&data))),
            LuaValue::Nil => Ok(Outcome::Signalled(Arc::default())),
            other => Err(format!("{name} answered with a {}, which must be a string", other.type_name()).into()),
        },
        _ => Ok(Outcome::GoesOn),
    }
}

fn text(text: &mlua::LuaString) -> Arc<str> {
    text.to_string_lossy().into()
}
