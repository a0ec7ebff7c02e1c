//! JSON as PostgreSQL's type `jsonb` holds, writes and looks into it: the keys of an object in order of their length
//! and bytes, each once, and numbers as exact decimals.

use std::cmp::Ordering;

use super::super::{Result, refuse};
use super::decimal;

/// Deeper documents are refused.
const DEPTH_MAX: usize = 500;

/// Larger exponents are refused, because PostgreSQL writes the digits out.
const EXPONENT_MAX: i64 = 1_000;

/// Most comparisons of one value with another in one `@>`; long lists could take very many.
const COMPARISONS_MAX: usize = 5_000_000;

#[derive(Clone, Debug, PartialEq)]
pub(in crate::sqlite::dialect) enum Json {
    Null,
    Flag(bool),
    /// The text of a decimal.
    Number(String),
    Text(String),
    List(Vec<Json>),
    /// In the order of the keys.
    Object(Vec<(String, Json)>),
}

fn order_of_keys(left: &str, right: &str) -> Ordering {
    left.len().cmp(&right.len()).then_with(|| left.as_bytes().cmp(right.as_bytes()))
}

impl Json {
    pub(in crate::sqlite::dialect) fn read(text: &str) -> Result<Self> {
        let mut reader = Reader { bytes: text.as_bytes(), text, at: 0, depth: 0 };
        match reader.whole() {
            Some(json) => Ok(json),
            None => refuse(format!("invalid input syntax for type json: \"{}\"", super::start_of(text))),
        }
    }

    pub(in crate::sqlite::dialect) fn object(mut pairs: Vec<(String, Self)>) -> Self {
        // The sort is stable: the last of equal keys is behind the others, and is the one that stays.
        pairs.sort_by(|left, right| order_of_keys(&left.0, &right.0));
        let mut kept: Vec<(String, Self)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            match kept.last_mut() {
                Some(last) if last.0 == pair.0 => *last = pair,
                _ => kept.push(pair),
            }
        }
        Self::Object(kept)
    }

    pub(in crate::sqlite::dialect) fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Flag(flag) => out.push_str(if *flag { "true" } else { "false" }),
            Self::Number(number) => out.push_str(number),
            Self::Text(text) => write_text(text, out),
            Self::List(all) => {
                out.push('[');
                for (index, one) in all.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    one.write_to(out);
                }
                out.push(']');
            }
            Self::Object(pairs) => {
                out.push('{');
                for (index, (key, value)) in pairs.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    write_text(key, out);
                    out.push_str(": ");
                    value.write_to(out);
                }
                out.push('}');
            }
        }
    }

    /// The value as `->>` answers it; `None` for null.
    pub(in crate::sqlite::dialect) fn as_text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Text(text) => Some(text.clone()),
            other => Some(other.write()),
        }
    }

    pub(in crate::sqlite::dialect) fn key(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(pairs) => {
                let found = pairs.binary_search_by(|(name, _)| order_of_keys(name, key));
                found.ok().map(|index| &pairs[index].1)
            }
            _ => None,
        }
    }

    pub(in crate::sqlite::dialect) fn index(&self, index: i64) -> Option<&Self> {
        match self {
            Self::List(all) => all.get(place(index, all.len())?),
            _ => None,
        }
    }

    /// The value at the end of a path of keys and indexes.
    pub(in crate::sqlite::dialect) fn at(&self, path: &[String]) -> Option<&Self> {
        path.iter().try_fold(self, |inner, step| match inner {
            Self::List(_) => inner.index(step.parse().ok()?),
            _ => inner.key(step),
        })
    }

    /// Whether this contains another, as `@>` means it.
    pub(in crate::sqlite::dialect) fn contains(&self, other: &Self) -> Result<bool> {
        let mut left = COMPARISONS_MAX;
        self.contains_within(other, &mut left)
    }

    /// The same, with as many comparisons as are left.
    fn contains_within(&self, other: &Self, left: &mut usize) -> Result<bool> {
        *left = match left.checked_sub(1) {
            Some(left) => left,
            None => return refuse("The two sides of @> take too long to compare: use fewer elements."),
        };
        match (self, other) {
            (Self::Object(_), Self::Object(pairs)) => {
                for (key, value) in pairs {
                    match self.key(key) {
                        Some(own) if own.contains_within(value, left)? => {}
                        _ => return Ok(false),
                    }
                }
                Ok(true)
            }
            (Self::List(own), Self::List(all)) => {
                'all: for one in all {
                    for mine in own {
                        if mine.contains_within(one, left)? {
                            continue 'all;
                        }
                    }
                    return Ok(false);
                }
                Ok(true)
            }
            (Self::List(_) | Self::Object(_), _) | (_, Self::List(_) | Self::Object(_)) => Ok(false),
            _ => Ok(self.equals(other)),
        }
    }

    /// Whether both are equal. Numbers are compared by value.
    pub(in crate::sqlite::dialect) fn equals(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) => {
                left == right || decimal::compare_texts(left, right) == Ordering::Equal
            }
            (Self::List(left), Self::List(right)) => {
                left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.equals(right))
            }
            (Self::Object(left), Self::Object(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.0 == right.0 && left.1.equals(&right.1))
            }
            _ => self == other,
        }
    }

    /// Sets the value at a path. Answers whether something was set, as `jsonb_set` does it.
    pub(in crate::sqlite::dialect) fn set(&mut self, path: &[String], value: Self, creates: bool) -> Result<()> {
        let Some((step, rest)) = path.split_first() else { return Ok(()) };
        match self {
            Self::Object(pairs) => {
                let found = pairs.iter().position(|(key, _)| key == step);
                match (found, rest.is_empty()) {
                    (Some(index), true) => pairs[index].1 = value,
                    (Some(index), false) => pairs[index].1.set(rest, value, creates)?,
                    (None, true) if creates => {
                        let mut all = std::mem::take(pairs);
                        all.push((step.clone(), value));
                        *self = Self::object(all);
                    }
                    (None, _) => {}
                }
            }
            Self::List(all) => {
                let Ok(index) = step.parse::<i64>() else {
                    return refuse(format!("path element \"{step}\" of a list is not an integer"));
                };
                match place(index, all.len()) {
                    Some(index) if rest.is_empty() => all[index] = value,
                    Some(index) => all[index].set(rest, value, creates)?,
                    None if rest.is_empty() && creates && index >= 0 => all.push(value),
                    None if rest.is_empty() && creates => all.insert(0, value),
                    None => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Both joined, as `||` joins them.
    pub(in crate::sqlite::dialect) fn joined(self, other: Self) -> Self {
        match (self, other) {
            (Self::Object(mut pairs), Self::Object(others)) => {
                pairs.extend(others);
                Self::object(pairs)
            }
            (Self::List(mut all), Self::List(others)) => {
                all.extend(others);
                Self::List(all)
            }
            (Self::List(mut all), other) => {
                all.push(other);
                Self::List(all)
            }
            (one, Self::List(mut others)) => {
                others.insert(0, one);
                Self::List(others)
            }
            (one, other) => Self::List(vec![one, other]),
        }
    }
}

fn place(index: i64, length: usize) -> Option<usize> {
    let length = length as i64;
    let index = if index < 0 { index.checked_add(length)? } else { index };
    (0..length).contains(&index).then_some(index as usize)
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for next in text.chars() {
        match next {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            next if next < ' ' => out.push_str(&format!("\\u{:04x}", next as u32)),
            next => out.push(next),
        }
    }
    out.push('"');
}

/// The steps of a path in PostgreSQL's notation of lists, `{a,0,b}`.
pub(in crate::sqlite::dialect) fn path(text: &str) -> Result<Vec<String>> {
    let inner = text.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let Some(inner) = inner.filter(|inner| !inner.contains(['{', '}', '\\'])) else {
        return refuse(format!("On SQLite a path is a list of keys and indexes: write '{{a,0,b}}', not '{text}'."));
    };
    if inner.trim().is_empty() {
        return Ok(Vec::new());
    }
    let step = |step: &str| {
        let step = step.trim();
        match step.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(quoted) if !quoted.contains('"') => Ok(quoted.to_owned()),
            None if !step.is_empty() && !step.contains('"') && !step.eq_ignore_ascii_case("null") => {
                Ok(step.to_owned())
            }
            _ => refuse(format!("malformed path: {text}")),
        }
    };
    inner.split(',').map(step).collect()
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
}

impl Reader<'_> {
    fn whole(&mut self) -> Option<Json> {
        let json = self.value()?;
        self.skip();
        (self.at == self.bytes.len()).then_some(json)
    }

    fn skip(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        self.skip();
        let takes = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(takes);
        takes
    }

    fn value(&mut self) -> Option<Json> {
        self.skip();
        match self.bytes.get(self.at)? {
            b'{' | b'[' => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return None;
                }
                let inner = if self.bytes[self.at] == b'{' { self.object() } else { self.list() };
                self.depth -= 1;
                inner
            }
            b'"' => self.string().map(Json::Text),
            b'-' | b'0'..=b'9' => self.number().map(Json::Number),
            _ => {
                let words = [("null", Json::Null), ("true", Json::Flag(true)), ("false", Json::Flag(false))];
                let rest = self.text.get(self.at..)?;
                let (word, json) = words.into_iter().find(|(word, _)| rest.starts_with(word))?;
                self.at += word.len();
                Some(json)
            }
        }
    }

    fn object(&mut self) -> Option<Json> {
        self.at += 1;
        let mut pairs = Vec::new();
        if self.takes(b'}') {
            return Some(Json::Object(pairs));
        }
        loop {
            self.skip();
            if self.bytes.get(self.at) != Some(&b'"') {
                return None;
            }
            let key = self.string()?;
            if !self.takes(b':') {
                return None;
            }
            pairs.push((key, self.value()?));
            if self.takes(b'}') {
                return Some(Json::object(pairs));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn list(&mut self) -> Option<Json> {
        self.at += 1;
        let mut all = Vec::new();
        if self.takes(b']') {
            return Some(Json::List(all));
        }
        loop {
            all.push(self.value()?);
            if self.takes(b']') {
                return Some(Json::List(all));
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    /// A string. An escape of the null character and half a surrogate pair are errors, as in PostgreSQL.
    fn string(&mut self) -> Option<String> {
        let begin = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let text: String = serde_json::from_str(self.text.get(begin..self.at)?).ok()?;
        (!text.contains('\0')).then_some(text)
    }

    /// A number, with its digits written out.
    fn number(&mut self) -> Option<String> {
        let begin = self.at;
        let is_part = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
        while self.bytes.get(self.at).is_some_and(is_part) {
            self.at += 1;
        }
        let number = &self.text[begin..self.at];
        // The grammar of JSON allows no number such as 01 or 1.
        serde_json::from_str::<serde::de::IgnoredAny>(number).ok()?;
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let exponent: i64 = exponent.parse().ok().filter(|exponent: &i64| exponent.abs() <= EXPONENT_MAX)?;
        let (sign, digits) = mantissa.strip_prefix('-').map_or(("", mantissa), |digits| ("-", digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        let point = whole.len() as i64 + exponent;
        let scale = (fraction.len() as i64 - exponent).max(0) as usize;
        let mut written = match point {
            ..=0 => format!("{}{all}", "0".repeat(point.unsigned_abs() as usize + 1)),
            _ => format!("{all}{}", "0".repeat((point - all.len() as i64).max(0) as usize)),
        };
        let split = written.len() - scale;
        let fraction = written.split_off(split);
        let whole = written.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let is_zero = whole == "0" && fraction.bytes().all(|byte| byte == b'0');
        let sign = if is_zero { "" } else { sign };
        Some(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_written_as_postgresql_writes_them() {
        let check = |text: &str, expect: &str| assert_eq!(Json::read(text).unwrap().write(), expect);
        check(r#"{"bb":1,"a":[1,2.50,{}],"a":2}"#, r#"{"a": 2, "bb": 1}"#);
        check("[1e2, 1.5e-3, -0, -0.0, 0.10, 12e1, 1.25e1]", "[100, 0.0015, 0, 0.0, 0.10, 120, 12.5]");
        check(r#"" \u00e9\n\u0001\/""#, r#"" é\n\u0001/""#);
        check(" [ ] ", "[]");
        for wrong in ["", "{", "[1,]", "{a: 1}", "01", "1.", "\"\\u0000\"", "nul", "1 2", "1e99999", "\"a", "\"\\"] {
            assert!(Json::read(wrong).is_err(), "{wrong}");
        }
        assert!(Json::read(&"[".repeat(100_000)).is_err());
    }

    #[test]
    fn documents_contain_others_within_bounds() {
        let json = |text: &str| Json::read(text).unwrap();
        let check = |own: &str, other: &str, expect: bool| {
            assert_eq!(json(own).contains(&json(other)), Ok(expect), "{own} @> {other}");
        };
        check(r#"{"a": [1, {"b": 2, "c": 3}], "bb": null}"#, r#"{"a": [{"c": 3.0}]}"#, true);
        check(r#"{"a": [1, {"b": 2, "c": 3}]}"#, r#"{"a": [{"c": 4}]}"#, false);
        check("[1, 2]", "[2, 2, 1]", true);
        check("[1, 2]", "[3]", false);
        let numbers = |from: u32| Json::List((from..from + 4_000).map(|n| Json::Number(n.to_string())).collect());
        assert!(numbers(0).contains(&numbers(0)).is_err(), "eight million comparisons");
        let keys = Json::object((0..100_000).map(|n| (n.to_string(), Json::Null)).collect());
        assert_eq!(keys.contains(&keys), Ok(true));
    }

    #[test]
    fn paths_lead_inside() {
        let json = Json::read(r#"{"a": [{"b": 1}, 2]}"#).unwrap();
        assert_eq!(json.at(&path("{a,0,b}").unwrap()), Some(&Json::Number("1".to_owned())));
        assert_eq!(json.at(&path("{a,-1}").unwrap()), Some(&Json::Number("2".to_owned())));
        assert_eq!(json.at(&path("{a,9}").unwrap()), None);
        assert!(path("a,b").is_err());
    }
}
