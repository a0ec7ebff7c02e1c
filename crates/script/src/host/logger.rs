//! What game code writes to the server's log.

use super::{Arguments, Effect, Host, HostFunction, Run, text};
use crate::value::Value;

/// Longer lines are cut.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 1024;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "logger_debug",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes a line to the log, for developers.",
        effect: Effect::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::debug!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "logger_info",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes a line to the log.",
        effect: Effect::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::info!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "logger_warn",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes a warning to the log.",
        effect: Effect::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::warn!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
    },
    HostFunction {
        name: "logger_error",
        parameters: &[text("message")],
        result: "nothing",
        doc: "Writes an error to the log.",
        effect: Effect::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::error!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
    },
];

/// The beginning of a text, with no room for more.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text.shrink_to_fit();
    text
}

/// As much of what game code said as stands in a line of the log.
pub(crate) fn line_of(told: &str) -> &str {
    &told[..told.floor_char_boundary(LINE_BYTES_MAX)]
}

/// What is logged, if it may be.
fn line(host: &Host, mut arguments: Arguments) -> Option<String> {
    let mut bytes = arguments.bytes();
    bytes.truncate(LINE_BYTES_MAX);
    let may_log = host.current.may_log(bytes.len(), &host.process.metrics);
    may_log.then(|| String::from_utf8_lossy(&bytes).into_owned())
}
