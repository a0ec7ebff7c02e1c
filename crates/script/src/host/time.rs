//! The function that reads the clock.

use super::{EffectClass, HostFunction, ROW, Run, Type, only};
use crate::value::Value;

const MILLIS_PER_SEC: i64 = 1_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

pub(super) static FUNCTIONS: &[HostFunction] = &[HostFunction {
    name: "time",
    doc: "Reads the present time.",
    results: &[only(Type::Number)],
    answers: "milliseconds since 1970",
    effect: EffectClass::Chance,
    run: Run::Now(|host, _| {
        let now = host.clock.now();
        let millis = now.seconds() * MILLIS_PER_SEC + i64::from(now.nanos()) / NANOS_PER_MILLI;
        Ok(Value::Number(millis as f64))
    }),
    ..ROW
}];
