//! Writes JSON into a byte buffer.
//!
//! The last byte of the buffer tells whether a comma is needed: after `{` and `[` it is not, after any other byte it
//! is.

use super::plain::plain_len;
use super::{Field, JsonMessage};

/// The style of the output. The default is the style of the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WriteOptions {
    /// Writes members with default values too: zero, `""`, `[]`, `{}`, and `null` for messages that are not set.
    pub emit_defaults: bool,
    /// Writes lowerCamelCase member names.
    pub camel_case: bool,
}

/// Appends JSON to a buffer.
pub struct Writer<'a> {
    out: &'a mut Vec<u8>,
    options: WriteOptions,
}

impl<'a> Writer<'a> {
    /// A writer that appends to `out`.
    pub fn new(out: &'a mut Vec<u8>, options: WriteOptions) -> Self {
        Self { out, options }
    }

    /// Writes a message as an object.
    pub fn object<M: JsonMessage>(&mut self, message: &M) {
        self.out.push(b'{');
        message.write_fields(self);
        self.out.push(b'}');
    }

    /// Writes a member unless its value is the default. `key` is the quoted name with its colon.
    #[inline]
    pub fn field<F: Field>(&mut self, key: &'static str, value: &F) {
        if self.options.emit_defaults || !value.is_default() {
            self.present(key, value);
        }
    }

    /// Writes a member, even if its value is the default.
    #[inline]
    pub fn present<F: Field>(&mut self, key: &'static str, value: &F) {
        self.key(key);
        value.write(self);
    }

    /// Writes a string member, even if the string is empty.
    pub fn present_text(&mut self, key: &'static str, value: &str) {
        self.key(key);
        self.string(value);
    }

    /// Writes an integer member without quotes, as tokens need it.
    pub fn present_number(&mut self, key: &'static str, value: i64) {
        self.key(key);
        self.display(value);
    }

    #[inline]
    fn key(&mut self, key: &'static str) {
        self.separate();
        if self.options.camel_case {
            self.camel_case_key(key);
        } else {
            self.out.extend_from_slice(key.as_bytes());
        }
    }

    /// Writes an array.
    pub fn array<F: Field>(&mut self, values: &[F]) {
        self.out.push(b'[');
        for value in values {
            self.separate();
            value.write(self);
        }
        self.out.push(b']');
    }

    /// Writes an object whose names come from data.
    pub fn map<'v, F: Field + 'v>(&mut self, entries: impl Iterator<Item = (&'v String, &'v F)>) {
        self.out.push(b'{');
        for (name, value) in entries {
            self.separate();
            self.string(name);
            self.out.push(b':');
            value.write(self);
        }
        self.out.push(b'}');
    }

    /// Writes a string with its quotes.
    pub fn string(&mut self, text: &str) {
        self.out.push(b'"');
        let mut rest = text.as_bytes();
        loop {
            let (plain, special) = rest.split_at(plain_len(rest));
            self.out.extend_from_slice(plain);
            let Some((&byte, after)) = special.split_first() else { break };
            self.escape(byte);
            rest = after;
        }
        self.out.push(b'"');
    }

    /// Appends JSON text unchanged.
    #[inline]
    pub fn raw(&mut self, json: &[u8]) {
        self.out.extend_from_slice(json);
    }

    /// The buffer that the writer appends to.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.out
    }

    fn escape(&mut self, byte: u8) {
        const HEX: &[u8; 16] = b"0123456789abcdef";
        let short = match byte {
            b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            _ => {
                let low = HEX[usize::from(byte & 0x0f)];
                self.out.extend_from_slice(&[b'\\', b'u', b'0', b'0', HEX[usize::from(byte >> 4)], low]);
                return;
            }
        };
        self.out.extend_from_slice(&[b'\\', short]);
    }

    #[inline]
    fn separate(&mut self) {
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }

    fn camel_case_key(&mut self, key: &str) {
        let mut upper = false;
        for byte in key.bytes() {
            match byte {
                b'_' => upper = true,
                _ if upper => {
                    self.out.push(byte.to_ascii_uppercase());
                    upper = false;
                }
                _ => self.out.push(byte),
            }
        }
    }
}
