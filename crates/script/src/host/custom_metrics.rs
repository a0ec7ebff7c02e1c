//! What game code counts and measures, for operators.

use muster_domain::{Error, Result};

use super::{Arguments, Effect, HostFunction, Kind, Parameter, Run, optional, text, text_of};
use crate::process::MetricKind;
use crate::value::Value;

const NANOS_PER_SEC: f64 = 1e9;

const TAGS: Parameter = optional("tags", Kind::Table);

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "metrics_counter_add",
        parameters: &[text("name"), TAGS, Parameter { name: "delta", kind: Kind::Number, is_optional: false }],
        result: "nothing",
        doc: "Adds to a total on the page of metrics.",
        effect: Effect::Log,
        run: Run::Now(|host, arguments| host.process.custom.take(MetricKind::Counter, arguments, 1.0)),
    },
    HostFunction {
        name: "metrics_gauge_set",
        parameters: &[text("name"), TAGS, Parameter { name: "value", kind: Kind::Number, is_optional: false }],
        result: "nothing",
        doc: "Sets a value on the page of metrics.",
        effect: Effect::Log,
        run: Run::Now(|host, arguments| host.process.custom.take(MetricKind::Gauge, arguments, 1.0)),
    },
    HostFunction {
        name: "metrics_timer_record",
        parameters: &[text("name"), TAGS, Parameter { name: "value", kind: Kind::Number, is_optional: false }],
        result: "nothing",
        doc: "Notes a duration, in nanoseconds, in a distribution on the page of metrics, which is in seconds.",
        effect: Effect::Log,
        run: Run::Now(|host, arguments| host.process.custom.take(MetricKind::Timer, arguments, NANOS_PER_SEC)),
    },
];

impl crate::process::CustomMetrics {
    fn take(&self, kind: MetricKind, mut arguments: Arguments, units: f64) -> Result<Value> {
        let (name, tags) = (arguments.text()?, tags(arguments.any())?);
        let Value::Number(value) = arguments.any() else { return Err(Error::invalid("expects a number")) };
        self.record(kind, &name, tags, value / units)?;
        Ok(Value::Nil)
    }
}

fn tags(value: Value) -> Result<Vec<(String, String)>> {
    let tag = |(name, value): (String, Value)| match value {
        Value::Bytes(bytes) => Ok((name, text_of(bytes)?)),
        Value::Number(number) => Ok((name, number.to_string())),
        Value::Flag(flag) => Ok((name, flag.to_string())),
        other => Err(Error::invalid(format!("expects tags to be strings, got a {}", other.kind()))),
    };
    match value {
        Value::Map(tags) => tags.into_iter().map(tag).collect(),
        Value::Nil => Ok(Vec::new()),
        other => Err(Error::invalid(format!("expects tags to be a table with names, got a {}", other.kind()))),
    }
}
