//! Metrics of game code, which operators find beside the server's own.

use muster_domain::{Error, Result};

use super::records::named_texts;
use super::{
    ArgumentRules, Arguments, EffectClass, HostFunction, JavaScriptShape, Parameter, ROW, Run, Type, optional, required,
};
use crate::process::MetricKind;
use crate::value::Value;

const NANOS_PER_SEC: f64 = 1e9;

const TAGS: Parameter = optional("tags", Type::Map(&Type::Text));

const NEEDS_TAGS: JavaScriptShape =
    JavaScriptShape::taking(ArgumentRules { required: &["tags"], ..ArgumentRules::BY_RULE });

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "metrics_counter_add",
        doc: "Adds the delta to a counter on the page of metrics.",
        parameters: &[required("name", Type::Text), TAGS, required("delta", Type::Number)],
        effect: EffectClass::Log,
        javascript: NEEDS_TAGS,
        run: Run::Now(|host, arguments| host.process.custom.take(MetricKind::Counter, arguments, 1.0)),
        ..ROW
    },
    HostFunction {
        name: "metrics_gauge_set",
        doc: "Sets a gauge on the page of metrics to the value.",
        parameters: &[required("name", Type::Text), TAGS, required("value", Type::Number)],
        effect: EffectClass::Log,
        javascript: NEEDS_TAGS,
        run: Run::Now(|host, arguments| host.process.custom.take(MetricKind::Gauge, arguments, 1.0)),
        ..ROW
    },
    HostFunction {
        name: "metrics_timer_record",
        doc: "Adds a duration, given in nanoseconds, to a timer on the page of metrics, which shows seconds.",
        parameters: &[required("name", Type::Text), TAGS, required("value", Type::Number)],
        effect: EffectClass::Log,
        javascript: NEEDS_TAGS,
        run: Run::Now(|host, arguments| host.process.custom.take(MetricKind::Timer, arguments, NANOS_PER_SEC)),
        ..ROW
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
