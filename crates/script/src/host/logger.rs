//! Lines that game code writes to the server's log.

use super::{Arguments, EffectClass, Host, HostFunction, ROW, Run, Type, required};
use crate::value::Value;

/// Limit of the bytes of a line; longer lines are cut.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 1024;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "logger_debug",
        doc: "Writes a line to the log, for developers.",
        parameters: &[required("message", Type::Text)],
        effect: EffectClass::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::debug!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
        ..ROW
    },
    HostFunction {
        name: "logger_info",
        doc: "Writes a line to the log.",
        parameters: &[required("message", Type::Text)],
        effect: EffectClass::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::info!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
        ..ROW
    },
    HostFunction {
        name: "logger_warn",
        doc: "Writes a warning to the log.",
        parameters: &[required("message", Type::Text)],
        effect: EffectClass::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::warn!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
        ..ROW
    },
    HostFunction {
        name: "logger_error",
        doc: "Writes an error to the log.",
        parameters: &[required("message", Type::Text)],
        effect: EffectClass::Log,
        run: Run::Now(|host, arguments| {
            if let Some(message) = line(host, arguments) {
                tracing::error!(message, runtime = "lua");
            }
            Ok(Value::Nil)
        }),
        ..ROW
    },
];

/// Cuts a text to at most `bytes_max` bytes, and frees the memory behind them.
pub(crate) fn cut(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text.shrink_to_fit();
    text
}

/// The part of a text of game code that fits into a line of the log.
pub(crate) fn line_of(told: &str) -> &str {
    &told[..told.floor_char_boundary(LINE_BYTES_MAX)]
}

/// Writes what game code prints to the log, with the place of the code that does.
pub(crate) fn print(host: &Host, text: Vec<u8>, file: &str, line: usize) {
    if let Some(message) = line_within_limits(host, text) {
        tracing::info!(message, file, line, runtime = "lua");
    }
}

/// Reads the line to log; `None` if the call has logged too much.
fn line(host: &Host, mut arguments: Arguments) -> Option<String> {
    line_within_limits(host, arguments.bytes())
}

fn line_within_limits(host: &Host, mut bytes: Vec<u8>) -> Option<String> {
    bytes.truncate(LINE_BYTES_MAX);
    let may_log = host.current.may_log(bytes.len(), &host.process.metrics);
    may_log.then(|| String::from_utf8_lossy(&bytes).into_owned())
}
