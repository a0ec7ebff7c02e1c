//! Values that game code keeps in the memory of the process.

use muster_domain::{Error, ErrorKind};

use super::{
    ArgumentRules, EffectClass, HostFunction, JavaScriptShape, ROW, Run, Type, number, only, optional, required,
};
use crate::value::Value;

/// Limit of the time to live. A value with this time or a longer one is kept without an end.
const FOREVER_SEC: f64 = 1e10;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "localcache_get",
        doc: "Reads the value that this process keeps under a key for all game code.",
        parameters: &[required("key", Type::Text), optional("default", Type::Any)],
        results: &[only(Type::Any)],
        answers: "a copy of the value; the default if no value is kept under the key",
        effect: EffectClass::Reads,
        run: Run::Now(|host, mut arguments| {
            let (key, default) = (arguments.bytes(), arguments.any());
            let found = host.process.cache.get(&key, host.clock.now());
            Ok(found.map_or(default, |value| Value::clone(&value)))
        }),
        ..ROW
    },
    HostFunction {
        name: "localcache_put",
        doc: "Keeps a copy of a value under a key for all game code of this process. The copy is deleted after \
              ttl seconds; a copy with a ttl of 0 is kept as long as the process runs.",
        parameters: &[required("key", Type::Text), optional("value", Type::Any), number("ttl", 0.0)],
        errors: &[(ErrorKind::ResourceExhausted, "the cache is full")],
        effect: EffectClass::Local,
        javascript: JavaScriptShape::taking(ArgumentRules { required: &["value"], ..ArgumentRules::BY_RULE }),
        run: Run::Now(|host, mut arguments| {
            let (key, value) = (arguments.bytes(), arguments.any());
            let seconds = match arguments.any() {
                Value::Number(seconds) if seconds >= 0.0 => seconds,
                _ => return Err(Error::invalid("expects ttl to be 0 or more")),
            };
            let now = host.clock.now();
            let ends = (seconds > 0.0 && seconds < FOREVER_SEC).then(|| now.plus_seconds(seconds.ceil() as i64));
            host.process.cache.put(key, value, ends, now)?;
            Ok(Value::Nil)
        }),
        ..ROW
    },
    HostFunction {
        name: "localcache_delete",
        doc: "Deletes the value that this process keeps under a key.",
        parameters: &[required("key", Type::Text)],
        effect: EffectClass::Local,
        run: Run::Now(|host, mut arguments| {
            host.process.cache.delete(&arguments.bytes());
            Ok(Value::Nil)
        }),
        ..ROW
    },
    HostFunction {
        name: "localcache_clear",
        doc: "Deletes all values that this process keeps under keys.",
        effect: EffectClass::Local,
        run: Run::Now(|host, _| {
            host.process.cache.clear();
            Ok(Value::Nil)
        }),
        ..ROW
    },
];
