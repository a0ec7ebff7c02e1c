//! What game code counts and measures, for operators.

use muster_domain::{Error, Result};

use super::records::named_texts;
use super::{Arguments, Effect, HostFunction, Kind, Parameter, Run, optional, text};
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
        let (name, tags) = (arguments.text()?, named_texts(arguments.any(), "tags")?);
        let Value::Number(value) = arguments.any() else { return Err(Error::invalid("expects a number")) };
        self.record(kind, &name, tags, value / units)?;
        Ok(Value::Nil)
    }
}
