//! What game code keeps in the memory of the process.

use muster_domain::Error;

use super::{Effect, HostFunction, Kind, Parameter, Run, optional, text};
use crate::value::Value;

/// A longer time to live is none.
const FOREVER_SEC: f64 = 1e10;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "localcache_get",
        parameters: &[text("key"), Parameter { name: "default", kind: Kind::Any, is_optional: true }],
        result: "a copy of the value; without one the default",
        doc: "Reads what all game code of this process keeps under a key.",
        effect: Effect::Reads,
        run: Run::Now(|host, mut arguments| {
            let (key, default) = (arguments.bytes(), arguments.any());
            let found = host.process.cache.get(&key, host.clock.now());
            Ok(found.map_or(default, |value| Value::clone(&value)))
        }),
    },
    HostFunction {
        name: "localcache_put",
        parameters: &[
            text("key"),
            Parameter { name: "value", kind: Kind::Any, is_optional: true },
            optional("ttl", Kind::Number),
        ],
        result: "nothing",
        doc: "Keeps a copy of a value for all game code of this process, for so many seconds, or without an end if they are 0.",
        effect: Effect::Writes,
        run: Run::Now(|host, mut arguments| {
            let (key, value) = (arguments.bytes(), arguments.any());
            let seconds = match arguments.any() {
                Value::Number(seconds) if seconds >= 0.0 => seconds,
                Value::Number(_) => return Err(Error::invalid("expects ttl to be 0 or more")),
                _ => 0.0,
            };
            let now = host.clock.now();
            let ends = (seconds > 0.0 && seconds < FOREVER_SEC).then(|| now.plus_seconds(seconds.ceil() as i64));
            host.process.cache.put(key, value, ends, now)?;
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "localcache_delete",
        parameters: &[text("key")],
        result: "nothing",
        doc: "Forgets what is kept under a key.",
        effect: Effect::Writes,
        run: Run::Now(|host, mut arguments| {
            host.process.cache.delete(&arguments.bytes());
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "localcache_clear",
        parameters: &[],
        result: "nothing",
        doc: "Forgets everything that is kept in this process.",
        effect: Effect::Writes,
        run: Run::Now(|host, _| {
            host.process.cache.clear();
            Ok(Value::Nil)
        }),
    },
];
