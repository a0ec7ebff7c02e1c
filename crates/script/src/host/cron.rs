//! The functions that find moments by cron expressions.

use muster_domain::cron::Cron;
use muster_domain::{Error, Result};

use super::{
    ArgumentRules, Arguments, EffectClass, HostFunction, JavaScriptShape, LuaShape, Parameter, ROW, Run, Type, only,
    required,
};
use crate::value::Value;

const TIMESTAMP: Parameter = required("timestamp", Type::Number);

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "cron_next",
        doc: "Finds the first moment after the timestamp that a cron expression names, in UTC.",
        parameters: &[required("expression", Type::Text), TIMESTAMP],
        results: &[only(Type::Number)],
        answers: "the moment, in seconds since 1970",
        effect: EffectClass::Pure,
        lua: LuaShape::taking(ArgumentRules { not_empty: &["timestamp"], ..ArgumentRules::BY_RULE }),
        javascript: JavaScriptShape::taking(ArgumentRules { whole: &["timestamp"], ..ArgumentRules::BY_RULE }),
        run: Run::Now(|_, arguments| find(arguments, Cron::next)),
        ..ROW
    },
    HostFunction {
        name: "cron_prev",
        doc: "Finds the last moment before the timestamp that a cron expression names, in UTC.",
        parameters: &[required("expression", Type::Text), TIMESTAMP],
        results: &[only(Type::Number)],
        answers: "the moment, in seconds since 1970",
        effect: EffectClass::Pure,
        lua: LuaShape::taking(ArgumentRules { not_empty: &["timestamp"], ..ArgumentRules::BY_RULE }),
        javascript: JavaScriptShape::taking(ArgumentRules { whole: &["timestamp"], ..ArgumentRules::BY_RULE }),
        run: Run::Now(|_, arguments| find(arguments, Cron::previous)),
        ..ROW
    },
];

fn find(mut arguments: Arguments, direction: fn(&Cron, i64) -> Option<i64>) -> Result<Value> {
    let cron = Cron::parse(&arguments.text()?)?;
    let Value::Number(timestamp) = arguments.any() else { return Err(Error::invalid("expects a timestamp")) };
    let found = direction(&cron, timestamp as i64);
    let found = found.ok_or_else(|| Error::invalid("The cron expression names no such moment from 1970 to 2099."))?;
    Ok(Value::Number(found as f64))
}
