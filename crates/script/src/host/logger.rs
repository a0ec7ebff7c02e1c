//! Lines that game code writes to the server's log.

use super::{EffectClass, Host, HostFunction, ROW, Run, Type, only, required};
use crate::value::Value;

/// Limit of the bytes of a line; longer lines are cut.
pub(crate) const LINE_BYTES_MAX: usize = 8 * 1024;

const MESSAGE: &str = "the message";

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "logger_debug",
        doc: "Writes a line to the log, for developers.",
        parameters: &[required("message", Type::Text)],
        results: &[only(Type::Text)],
        answers: MESSAGE,
        effect: EffectClass::Log,
        run: Run::Now(|host, mut arguments| {
            let text = arguments.bytes();
            if let Some(message) = line_within_limits(host, &text) {
                tracing::debug!(message, runtime = "lua");
            }
            Ok(Value::Bytes(text))
        }),
        ..ROW
    },
    HostFunction {
        name: "logger_info",
        doc: "Writes a line to the log.",
        parameters: &[required("message", Type::Text)],
        results: &[only(Type::Text)],
        answers: MESSAGE,
        effect: EffectClass::Log,
        run: Run::Now(|host, mut arguments| {
            let text = arguments.bytes();
            if let Some(message) = line_within_limits(host, &text) {
                tracing::info!(message, runtime = "lua");
            }
            Ok(Value::Bytes(text))
        }),
        ..ROW
    },
    HostFunction {
        name: "logger_warn",
        doc: "Writes a warning to the log.",
        parameters: &[required("message", Type::Text)],
        results: &[only(Type::Text)],
        answers: MESSAGE,
        effect: EffectClass::Log,
        run: Run::Now(|host, mut arguments| {
            let text = arguments.bytes();
            if let Some(message) = line_within_limits(host, &text) {
                tracing::warn!(message, runtime = "lua");
            }
            Ok(Value::Bytes(text))
        }),
        ..ROW
    },
    HostFunction {
        name: "logger_error",
        doc: "Writes an error to the log.",
        parameters: &[required("message", Type::Text)],
        results: &[only(Type::Text)],
        answers: MESSAGE,
        effect: EffectClass::Log,
        run: Run::Now(|host, mut arguments| {
            let text = arguments.bytes();
            if let Some(message) = line_within_limits(host, &text) {
                tracing::error!(message, runtime = "lua");
            }
            Ok(Value::Bytes(text))
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
pub(crate) fn print(host: &Host, text: &[u8], file: &str, line: usize) {
    if let Some(message) = line_within_limits(host, text) {
        tracing::info!(message, file, line, runtime = "lua");
    }
}

/// The line to log for a text; `None` if the call has logged too much.
fn line_within_limits(host: &Host, text: &[u8]) -> Option<String> {
    // The first run has logged the line.
    if host.current.repeats_once() {
        return None;
    }
    let line = &text[..text.len().min(LINE_BYTES_MAX)];
    let may_log = host.current.may_log(line.len(), &host.process.metrics);
    may_log.then(|| String::from_utf8_lossy(line).into_owned())
}
