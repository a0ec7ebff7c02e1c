//! Reads the members of a JSON object in place: no tree, no copies; unwanted values are skipped.
//!
//! The reader is for messages that arrive by the hundred thousand. It skips unwanted values without checking them;
//! wanted values are checked by the caller.

use std::borrow::Cow;

use memchr::memchr2;

use super::Fault;

const FAULT: Fault = Fault::Malformed("not a JSON object");

/// The value of a member, as written in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Text(Text<'a>),
    Object(&'a [u8]),
    /// Arrays, numbers, true, false, null.
    Other(&'a [u8]),
}

/// A string between its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Text<'a> {
    pub raw: &'a [u8],
    pub is_escaped: bool,
}

impl<'a> Text<'a> {
    /// The string itself.
    pub fn unescape(self) -> Result<Cow<'a, [u8]>, Fault> {
        if !self.is_escaped {
            return Ok(Cow::Borrowed(self.raw));
        }
        let quoted = [b"\"", self.raw, b"\""].concat();
        let text: String = serde_json::from_slice(&quoted).map_err(|_| Fault::Malformed("string"))?;
        Ok(Cow::Owned(text.into_bytes()))
    }
}

impl<'a> Value<'a> {
    pub fn text(self) -> Result<Text<'a>, Fault> {
        match self {
            Self::Text(text) => Ok(text),
            _ => Err(Fault::Malformed("not a string where one belongs")),
        }
    }

    /// A number, written as one or in a string, as the protocol writes 64-bit numbers.
    pub fn integer(self) -> Result<i64, Fault> {
        let digits = match self {
            Self::Text(text) => text.raw,
            Self::Object(raw) | Self::Other(raw) => raw,
        };
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        number.ok_or(Fault::Malformed("not a number where one belongs"))
    }
}

/// The members of `object`, which begins with its brace.
pub fn members(object: &[u8]) -> Result<Members<'_>, Fault> {
    let mut members = Members { rest: object, is_first: true, is_nested: false };
    members.skip_space();
    members.expect(b'{')?;
    Ok(members)
}

/// The unread rest of an object.
pub struct Members<'a> {
    rest: &'a [u8],
    is_first: bool,
    /// Whether more may follow after the object's end.
    is_nested: bool,
}

impl<'a> Members<'a> {
    /// The next member's raw name, whose value must be taken next; `None` at the object's end.
    pub fn take_name(&mut self) -> Result<Option<&'a [u8]>, Fault> {
        self.skip_space();
        if self.rest.first() == Some(&b'}') {
            self.rest = &self.rest[1..];
            self.skip_space();
            return if self.is_nested || self.rest.is_empty() { Ok(None) } else { Err(FAULT) };
        }
        if !std::mem::take(&mut self.is_first) {
            self.expect(b',')?;
            self.skip_space();
        }
        self.expect(b'"')?;
        let name = self.take_text()?.raw;
        self.skip_space();
        self.expect(b':')?;
        self.skip_space();
        Ok(Some(name))
    }

    /// Reads the object that is the value, together with the object around it. `read` must read it to its end.
    pub fn take_object<Read>(
        &mut self,
        read: impl FnOnce(&mut Members<'a>) -> Result<Read, Fault>,
    ) -> Result<Read, Fault> {
        self.expect(b'{')?;
        let mut nested = Members { rest: self.rest, is_first: true, is_nested: true };
        let read = read(&mut nested)?;
        self.rest = nested.rest;
        Ok(read)
    }

    /// Takes the value. Callers drop an unwanted one.
    pub fn take_value(&mut self) -> Result<Value<'a>, Fault> {
        match self.rest.first() {
            Some(b'"') => {
                self.expect(b'"')?;
                self.take_text().map(Value::Text)
            }
            Some(b'{') => self.take_nested().map(Value::Object),
            Some(b'[') => self.take_nested().map(Value::Other),
            _ => {
                let ends = |byte: &u8| matches!(byte, b',' | b'}' | b' ' | b'\n' | b'\r' | b'\t');
                let len = self.rest.iter().position(ends).ok_or(FAULT)?;
                self.split(len).map(Value::Other)
            }
        }
    }

    /// The string whose opening quote has been taken.
    fn take_text(&mut self) -> Result<Text<'a>, Fault> {
        let mut len = 0;
        let mut is_escaped = false;
        loop {
            let rest = self.rest.get(len..).ok_or(FAULT)?;
            len += memchr2(b'"', b'\\', rest).ok_or(FAULT)?;
            if self.rest[len] == b'"' {
                let raw = self.split(len)?;
                self.expect(b'"')?;
                return Ok(Text { raw, is_escaped });
            }
            is_escaped = true;
            len += 2;
        }
    }

    /// Takes an object or array, up to its own end.
    fn take_nested(&mut self) -> Result<&'a [u8], Fault> {
        let all = self.rest;
        let mut depth = 0_usize;
        loop {
            let special = |byte: &u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']');
            let at = self.rest.iter().position(special).ok_or(FAULT)?;
            let byte = self.rest[at];
            self.rest = &self.rest[at + 1..];
            match byte {
                b'"' => drop(self.take_text()?),
                b'{' | b'[' => depth += 1,
                _ => depth -= 1,
            }
            if depth == 0 {
                return Ok(&all[..all.len() - self.rest.len()]);
            }
        }
    }

    fn split(&mut self, len: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(FAULT)?;
        self.rest = rest;
        Ok(taken)
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        self.rest = self.rest.strip_prefix(&[byte]).ok_or(FAULT)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(object: &str) -> Result<Vec<String>, Fault> {
        let mut members = members(object.as_bytes())?;
        let mut read = Vec::new();
        while let Some(name) = members.take_name()? {
            let value = members.take_value()?;
            let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let value = match value {
                Value::Text(text) => format!("text {}", show(&text.unescape()?)),
                Value::Object(raw) => format!("object {}", show(raw)),
                Value::Other(raw) => show(raw),
            };
            read.push(format!("{}={value}", show(name)));
        }
        Ok(read)
    }

    #[test]
    fn members_are_read_in_any_spelling() {
        let plain = read(r#"{"a":"x","b":{"c":["}",{}]},"d":[1,"]"],"e":-1.5,"f":true}"#).unwrap();
        let expected = ["a=text x", r#"b=object {"c":["}",{}]}"#, r#"d=[1,"]"]"#, "e=-1.5", "f=true"];
        assert_eq!(plain, expected);
        assert_eq!(read(" { \"a\" : 1 , \"b\":\"\\\"\\u0041\\\\\" } ").unwrap(), ["a=1", "b=text \"A\\"]);
        assert!(read("{}").unwrap().is_empty());
    }

    #[test]
    fn objects_are_read_where_they_lie() {
        let mut outer = members(br#" {"a" : { "x":1 , "y":{} } ,"b":2}"#).unwrap();
        assert_eq!(outer.take_name().unwrap(), Some(&b"a"[..]));
        let sum = outer.take_object(|inner| {
            let mut sum = Vec::new();
            while let Some(name) = inner.take_name()? {
                inner.take_value()?;
                sum.extend_from_slice(name);
            }
            Ok(sum)
        });
        assert_eq!(sum.unwrap(), b"xy");
        assert_eq!(outer.take_name().unwrap(), Some(&b"b"[..]));
        assert_eq!(outer.take_value().unwrap().integer().unwrap(), 2);
        assert_eq!(outer.take_name().unwrap(), None);
    }

    #[test]
    fn damage_is_a_fault_and_never_a_panic() {
        let whole = r#"{"a":"x\"","b":{"c":["}",{}]},"e":-1.5}"#;
        for cut in 0..whole.len() {
            assert!(read(&whole[..cut]).is_err(), "{}", &whole[..cut]);
        }
        for damaged in ["", "[]", r#"{"a"}"#, r#"{"a":1,}"#, r#"{"a":1}x"#, r#"{"a":}1"#, r#"{,"a":1}"#, r#"{"a":]}"#] {
            drop(read(damaged));
        }
    }
}
