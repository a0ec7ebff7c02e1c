//! What game code writes to the server's log.

use super::{Arguments, Effect, HostFunction, Run, text};
use crate::value::Value;

/// Longer lines are cut.
const LINE_BYTES_MAX: usize = 8 * 1024;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "logger_debug",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes a line to the log, for developers.",
        effect: Effect::Log,
        run: Run::Now(|_, arguments| {
            tracing::debug!(message = line(arguments), runtime = "lua");
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "logger_info",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes a line to the log.",
        effect: Effect::Log,
        run: Run::Now(|_, arguments| {
            tracing::info!(message = line(arguments), runtime = "lua");
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "logger_warn",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes a warning to the log.",
        effect: Effect::Log,
        run: Run::Now(|_, arguments| {
            tracing::warn!(message = line(arguments), runtime = "lua");
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "logger_error",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes an error to the log.",
        effect: Effect::Log,
        run: Run::Now(|_, arguments| {
            tracing::error!(message = line(arguments), runtime = "lua");
            Ok(Value::Nil)
        }),
    },
];

fn line(mut arguments: Arguments) -> String {
    let mut bytes = arguments.bytes();
    bytes.truncate(LINE_BYTES_MAX);
    String::from_utf8_lossy(&bytes).into_owned()
}
