//! JSON texts as the original writes them: some characters are escaped that need not be, and numbers below 1e21 are
//! written without an exponent. The versions of storage objects are digests of such texts.

use std::io::{self, Write};

use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::Value;

/// Numbers of at least this size are written with an exponent.
const EXPONENT_FROM: f64 = 1e21;

/// Numbers below this size, but 0, are written with an exponent.
const EXPONENT_BELOW: f64 = 1e-6;

impl Value {
    /// The JSON of the value, as the original writes it.
    pub fn to_json_text(&self) -> String {
        let mut out = Vec::new();
        // Writing into memory does not fail, and no value of ours is refused.
        let _ = serde::Serialize::serialize(self, &mut Serializer::with_formatter(&mut out, Original));
        String::from_utf8(out).unwrap_or_default()
    }
}

/// Writes texts and numbers as the original does.
struct Original;

impl Formatter for Original {
    fn write_f64<W: ?Sized + Write>(&mut self, to: &mut W, number: f64) -> io::Result<()> {
        write_number(to, number)
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        write_escaped(to, text)
    }
}

/// Writes a number that is finite.
pub(crate) fn write_number(to: &mut (impl Write + ?Sized), number: f64) -> io::Result<()> {
    if number != 0.0 && !(EXPONENT_BELOW..EXPONENT_FROM).contains(&number.abs()) {
        return serde_json::to_writer(to, &number).map_err(io::Error::from);
    }
    write!(to, "{number}")
}

/// Writes a part of a text that needs no escapes by the rules of JSON.
pub(crate) fn write_escaped(to: &mut (impl Write + ?Sized), text: &str) -> io::Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        let (before, behind) = rest.split_at(at);
        let mut letters = behind.chars();
        to.write_all(before.as_bytes())?;
        if let Some(letter) = letters.next() {
            write!(to, "\\u{:04x}", u32::from(letter))?;
        }
        rest = letters.as_str();
    }
    to.write_all(rest.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_are_written_as_the_original_writes_them() {
        let texts = Value::text("<a>&\u{2028}\"\u{fc}");
        assert_eq!(texts.to_json_text(), "\"\\u003ca\\u003e\\u0026\\u2028\\\"\u{fc}\"");
        let numbers = [1e20, 1e21, 1e-6, 1e-7, 0.5, -0.25, 0.0, 7.0].map(Value::Number);
        let written = Value::List(numbers.into()).to_json_text();
        assert_eq!(written, "[100000000000000000000,1e+21,0.000001,1e-7,0.5,-0.25,0,7]");
    }
}
