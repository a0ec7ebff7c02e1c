//! A pull reader over one complete JSON text.
//!
//! The text is checked for UTF-8 once, so that strings without escapes are borrowed from it. The reader never recurses
//! deeper than [`NESTING_DEPTH_MAX`], and allocates only for strings with escapes.

use std::borrow::Cow;

use super::error::{JsonError, JsonProblem, shorten};
use super::plain::plain_len;

/// Most levels of nested objects and arrays, in values that are read and in values that are skipped.
pub const NESTING_DEPTH_MAX: u32 = 100;

/// The treatment of members that a message does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Unknown members are refused. Sockets use this mode.
    Strict,
    /// Unknown members are ignored. HTTP uses this mode.
    Tolerant,
    /// Unknown members are refused, and an empty object counts as an empty list. Game code uses this mode, because Lua
    /// has one empty table for both.
    GameCode,
}

/// Reads values one after the other.
pub struct Reader<'a> {
    text: &'a str,
    position: usize,
    depth: u32,
    mode: Mode,
}

impl<'a> Reader<'a> {
    /// A reader at the beginning of a text.
    ///
    /// # Errors
    /// When the text is not UTF-8.
    pub fn new(text: &'a [u8], mode: Mode) -> Result<Self, JsonError> {
        match std::str::from_utf8(text) {
            Ok(text) => Ok(Self { text, position: 0, depth: 0, mode }),
            Err(error) => Err(JsonError::new(JsonProblem::InvalidText, error.valid_up_to())),
        }
    }

    /// The treatment of unknown members.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// An error at the current position.
    #[must_use]
    pub fn error(&self, problem: JsonProblem) -> JsonError {
        JsonError::new(problem, self.position)
    }

    /// An error at the current position, where `what` was expected.
    #[must_use]
    pub fn expected(&self, what: &'static str) -> JsonError {
        self.error(JsonProblem::Expected(what))
    }

    /// Checks that nothing but white space follows.
    ///
    /// # Errors
    /// When other text follows.
    pub fn end(&mut self) -> Result<(), JsonError> {
        if self.peek().is_some() { Err(self.error(JsonProblem::TrailingText)) } else { Ok(()) }
    }

    /// Skips white space. Answers the next byte without taking it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.position) {
            if !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.position += 1;
        }
        None
    }

    /// Takes `null` if it is next.
    ///
    /// # Errors
    /// When another word that begins with `n` is next.
    pub fn take_null(&mut self) -> Result<bool, JsonError> {
        if self.peek() != Some(b'n') {
            return Ok(false);
        }
        self.word("null").map(|()| true)
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// When something else is next.
    pub fn boolean(&mut self) -> Result<bool, JsonError> {
        match self.peek() {
            Some(b't') => self.word("true").map(|()| true),
            Some(b'f') => self.word("false").map(|()| false),
            _ => Err(self.expected("true or false")),
        }
    }

    /// Enters an object. Then [`Self::next_name`] answers the members' names.
    ///
    /// # Errors
    /// When no object is next, or at the depth limit.
    pub fn begin_object(&mut self) -> Result<(), JsonError> {
        self.open(b'{', "an object")
    }

    /// The name of the next member, or `None` after the last one. The caller keeps `first`, which starts as `true`.
    ///
    /// # Errors
    /// When the syntax is wrong.
    pub fn next_name(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>, JsonError> {
        if !self.next_item(first, b'}', "a comma or the end of the object")? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.expected("a member name"));
        }
        let name = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.expected("a colon"));
        }
        self.position += 1;
        Ok(Some(name))
    }

    /// Enters an array. Then [`Self::next_element`] tells whether there is another value.
    ///
    /// # Errors
    /// When no array is next, or at the depth limit.
    pub fn begin_array(&mut self) -> Result<(), JsonError> {
        self.open(b'[', "an array")
    }

    /// Whether another element follows. The caller keeps `first`, which starts as `true`.
    ///
    /// # Errors
    /// When the syntax is wrong.
    pub fn next_element(&mut self, first: &mut bool) -> Result<bool, JsonError> {
        self.next_item(first, b']', "a comma or the end of the array")
    }

    /// Reads a string.
    ///
    /// # Errors
    /// When no string is next, and for bad escapes, control characters and lone surrogates.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.expected("a string"));
        }
        let start = self.position + 1;
        let end = self.plain_end(start)?;
        let plain = self.text.get(start..end).unwrap_or_default();
        self.position = end;
        if self.text.as_bytes()[end] == b'"' {
            self.position += 1;
            return Ok(Cow::Borrowed(plain));
        }
        self.escaped_string(plain).map(Cow::Owned)
    }

    /// The characters of a number, whose syntax has been checked.
    ///
    /// # Errors
    /// When no number is next.
    pub fn number(&mut self) -> Result<&'a str, JsonError> {
        self.peek();
        let rest = self.text.get(self.position..).unwrap_or_default();
        let Some(len) = super::number::scan(rest.as_bytes()) else {
            return Err(self.expected("a number"));
        };
        self.position += len;
        Ok(&rest[..len])
    }

    /// Refuses or skips a member that the message does not have. The reader stands before the member's value.
    ///
    /// # Errors
    /// When the mode is not tolerant, and for wrong syntax in the value.
    pub fn unknown(&mut self, name: &str) -> Result<(), JsonError> {
        match self.mode {
            Mode::Strict | Mode::GameCode => Err(self.error(JsonProblem::UnknownField(shorten(name).to_owned()))),
            Mode::Tolerant => self.skip(),
        }
    }

    /// Skips a value of any kind.
    ///
    /// # Errors
    /// When the syntax is wrong, or at the depth limit.
    pub fn skip(&mut self) -> Result<(), JsonError> {
        let mut first = true;
        match self.peek() {
            Some(b'{') => {
                self.begin_object()?;
                while self.next_name(&mut first)?.is_some() {
                    self.skip()?;
                }
                Ok(())
            }
            Some(b'[') => {
                self.begin_array()?;
                while self.next_element(&mut first)? {
                    self.skip()?;
                }
                Ok(())
            }
            Some(b'"') => self.string().map(drop),
            Some(b't' | b'f') => self.boolean().map(drop),
            Some(b'n') => self.word("null"),
            Some(b'-' | b'0'..=b'9') => self.number().map(drop),
            _ => Err(self.expected("a value")),
        }
    }

    fn open(&mut self, bracket: u8, what: &'static str) -> Result<(), JsonError> {
        if self.peek() != Some(bracket) {
            return Err(self.expected(what));
        }
        if self.depth == NESTING_DEPTH_MAX {
            return Err(self.error(JsonProblem::TooDeep));
        }
        self.depth += 1;
        self.position += 1;
        Ok(())
    }

    fn next_item(&mut self, first: &mut bool, close: u8, what: &'static str) -> Result<bool, JsonError> {
        let was_first = std::mem::replace(first, false);
        match self.peek() {
            Some(byte) if byte == close => {
                self.position += 1;
                self.depth -= 1;
                Ok(false)
            }
            Some(b',') if !was_first => {
                self.position += 1;
                Ok(true)
            }
            Some(_) if was_first => Ok(true),
            _ => Err(self.expected(what)),
        }
    }

    fn word(&mut self, word: &'static str) -> Result<(), JsonError> {
        if self.text.as_bytes()[self.position..].starts_with(word.as_bytes()) {
            self.position += word.len();
            return Ok(());
        }
        Err(self.expected(word))
    }

    /// The position of the first quote or backslash at or after `start`.
    fn plain_end(&self, start: usize) -> Result<usize, JsonError> {
        let bytes = self.text.as_bytes();
        let end = start + plain_len(&bytes[start..]);
        match bytes.get(end) {
            Some(b'"' | b'\\') => Ok(end),
            Some(_) => Err(JsonError::new(JsonProblem::Expected("no control character"), end)),
            None => Err(JsonError::new(JsonProblem::Expected("the end of the string"), end)),
        }
    }

    /// Reads the rest of a string whose beginning is `plain`. The reader stands at a backslash.
    fn escaped_string(&mut self, plain: &str) -> Result<String, JsonError> {
        let mut text = String::with_capacity(plain.len() + 16);
        text.push_str(plain);
        loop {
            if self.text.as_bytes()[self.position] == b'"' {
                self.position += 1;
                return Ok(text);
            }
            self.position += 1;
            text.push(self.escape()?);
            let end = self.plain_end(self.position)?;
            text.push_str(self.text.get(self.position..end).unwrap_or_default());
            self.position = end;
        }
    }

    /// Reads the characters after a backslash.
    fn escape(&mut self) -> Result<char, JsonError> {
        let Some(&byte) = self.text.as_bytes().get(self.position) else {
            return Err(self.expected("an escape"));
        };
        let character = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode_escape(),
            _ => return Err(self.expected("an escape")),
        };
        self.position += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self) -> Result<char, JsonError> {
        let high = self.four_digits()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.error(JsonProblem::InvalidText));
        }
        if !self.text.as_bytes()[self.position..].starts_with(b"\\u") {
            return Err(self.error(JsonProblem::InvalidText));
        }
        self.position += 1;
        let low = self.four_digits()?;
        if !(0xdc00..0xe000).contains(&low) {
            return Err(self.error(JsonProblem::InvalidText));
        }
        let scalar = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
        char::from_u32(scalar).ok_or_else(|| self.error(JsonProblem::InvalidText))
    }

    /// Reads the letter `u` and four hexadecimal digits.
    fn four_digits(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.as_bytes().get(self.position + 1..self.position + 5).unwrap_or_default();
        let mut value = 0;
        for &digit in digits {
            let Some(digit) = char::from(digit).to_digit(16) else {
                return Err(self.expected("four hexadecimal digits"));
            };
            value = value << 4 | digit;
        }
        if digits.len() < 4 {
            return Err(self.expected("four hexadecimal digits"));
        }
        self.position += 5;
        Ok(value)
    }
}
