//! Values of PostgreSQL's types in the form in which SQLite holds them: reading them from text, writing them, and
//! converting them. Values that one of the two databases cannot hold are errors.

pub(super) mod decimal;
pub(super) mod jsonb;
pub(super) mod moments;
pub(super) mod pattern;

use rusqlite::types::Value;
use uuid::Uuid;

use self::decimal::Decimal;
use self::jsonb::Json;
use super::types::Type;
use super::{Result, refuse};

/// Longer texts are cut in error messages.
const QUOTED_CHARS_MAX: usize = 60;

/// The beginning of a text, for an error message.
fn start_of(text: &str) -> String {
    text.chars().take(QUOTED_CHARS_MAX).collect()
}

/// White space as PostgreSQL skips it around values.
fn is_blank(next: char) -> bool {
    matches!(next, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn wrong<T>(text: &str, kind: Type) -> Result<T> {
    refuse(format!("invalid input syntax for type {}: \"{}\"", kind.name(), start_of(text)))
}

/// The value of a text, as PostgreSQL reads a literal or a parameter of a type.
pub(super) fn read(text: &str, kind: Type) -> Result<Value> {
    let trimmed = text.trim_matches(is_blank);
    Ok(match kind {
        Type::Text => {
            if text.contains('\0') {
                return refuse("invalid byte sequence: texts have no null characters");
            }
            Value::Text(text.to_owned())
        }
        Type::Flag => Value::Integer(flag(&trimmed.to_ascii_lowercase()).map_or_else(|| wrong(text, kind), Ok)?.into()),
        Type::Int2 | Type::Int4 | Type::Int8 => {
            let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return wrong(text, kind);
            }
            match trimmed.parse() {
                Ok(number) => Value::Integer(in_width(number, kind)?),
                Err(_) => return out_of_range(kind),
            }
        }
        Type::Float8 => {
            let number: f64 = trimmed.parse().or_else(|_| wrong(text, kind))?;
            let is_zero = !trimmed
                .split(['e', 'E'])
                .next()
                .unwrap_or_default()
                .contains(|next: char| ('1'..='9').contains(&next));
            if (number == 0.0 && !is_zero) || !number.is_finite() {
                return refuse(format!("\"{}\" is out of range for type double precision", start_of(text)));
            }
            Value::Real(number)
        }
        Type::Numeric => Value::Text(Decimal::read(text)?.write()),
        Type::Uuid => Value::Blob(uuid(text).map_or_else(|| wrong(text, kind), Ok)?.to_vec()),
        Type::TimestampTz | Type::Timestamp | Type::Date => Value::Integer(moments::read_moment(text, kind)?),
        Type::Interval => match moments::read_span(text)? {
            (0, micros) => Value::Integer(micros),
            _ => return refuse("On SQLite months of an interval stand in the statement: write + interval '1 month'."),
        },
        Type::Jsonb => Value::Text(Json::read(text)?.write()),
        Type::Bytea => Value::Blob(bytes(text).map_or_else(|| wrong(text, kind), Ok)?),
    })
}

fn flag(text: &str) -> Option<bool> {
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(text);
    match text {
        _ if begins("true", 1) || begins("yes", 1) || begins("on", 2) || text == "1" => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0" => Some(false),
        _ => None,
    }
}

/// The 16 bytes of an id: digits with an optional hyphen behind each four, and optional braces around them.
fn uuid(text: &str) -> Option<[u8; 16]> {
    let inner = match text.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => text,
    };
    let (mut digits, mut count) = (0_u128, 0);
    for next in inner.chars() {
        if next == '-' && count % 4 == 0 && count > 0 && count < 32 && !inner.contains("--") {
            continue;
        }
        digits = digits << 4 | u128::from(next.to_digit(16)?);
        count += 1;
        if count > 32 {
            return None;
        }
    }
    (count == 32 && !inner.ends_with('-')).then_some(digits.to_be_bytes())
}

/// Bytes in hexadecimal digits behind `\x`, or as text with `\\` and octal escapes.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit) && digits.len().is_multiple_of(2);
        return if is_hex { digits.chunks(2).map(pair).collect() } else { None };
    }
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, behind)) = rest.split_first() {
        (rest, _) = match (first, behind) {
            (b'\\', [b'\\', behind @ ..]) => (behind, out.push(b'\\')),
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..]) => {
                (behind, out.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0')))
            }
            (b'\\', _) => return None,
            (byte, behind) => (behind, out.push(*byte)),
        };
    }
    Some(out)
}

pub(super) fn out_of_range<T>(kind: Type) -> Result<T> {
    refuse(format!("{} out of range", kind.name()))
}

/// Refuses a whole number that its type does not hold.
pub(super) fn in_width(number: i128, kind: Type) -> Result<i64> {
    let fits = match kind {
        Type::Int2 => i16::try_from(number).map(i64::from),
        Type::Int4 => i32::try_from(number).map(i64::from),
        _ => i64::try_from(number),
    };
    fits.or_else(|_| out_of_range(kind))
}

/// The text of a value, as a cast to text gives it.
pub(super) fn write(value: &Value, kind: Type) -> Result<String> {
    Ok(match (value, kind) {
        (Value::Integer(flag), Type::Flag) => (*flag == 1).to_string(),
        (Value::Integer(micros), kind) if kind.is_moment() => moments::write_moment(*micros, kind),
        (Value::Integer(number), kind) if kind.is_int() => number.to_string(),
        (Value::Real(number), Type::Float8) => float(*number),
        (Value::Text(text), Type::Text | Type::Numeric) => text.clone(),
        // The server itself keeps documents as clients wrote them.
        (Value::Text(text), Type::Jsonb) => Json::read(text)?.write(),
        (Value::Blob(bytes), Type::Uuid) => match Uuid::from_slice(bytes) {
            Ok(id) => id.to_string(),
            Err(_) => return broken(kind),
        },
        (Value::Blob(bytes), Type::Bytea) => {
            bytes.iter().fold("\\x".to_owned(), |text, byte| text + &format!("{byte:02x}"))
        }
        (_, Type::Interval) => return refuse("Spans are not read on SQLite: write extract(epoch from …)."),
        _ => return broken(kind),
    })
}

/// The error for a value that is not of the form that its column's type says.
pub(super) fn broken<T>(kind: Type) -> Result<T> {
    refuse(format!("A value is not held as {}: it was written by other means than game code's SQL.", kind.name()))
}

/// The shortest digits that give the number back, in PostgreSQL's notation.
fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..15).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// A value of one type as a value of another, as a cast does it; the caller knows that PostgreSQL has this cast.
pub(super) fn convert(value: Value, from: Type, to: Type) -> Result<Value> {
    Ok(match (value, from, to) {
        (Value::Null, ..) => Value::Null,
        (value, from, to) if from == to => value,
        (value, from, Type::Text) => Value::Text(write(&value, from)?),
        (Value::Text(text), Type::Text, to) => read(&text, to)?,
        (Value::Integer(number), Type::Flag, Type::Int4) => Value::Integer(number),
        (Value::Integer(number), Type::Int4, Type::Flag) => Value::Integer((number != 0).into()),
        (Value::Integer(number), from, Type::Float8) if from.is_int() => Value::Real(number as f64),
        (Value::Integer(number), from, Type::Numeric) if from.is_int() => Value::Text(number.to_string()),
        (Value::Integer(number), from, to) if from.is_int() && to.is_int() => {
            Value::Integer(in_width(number.into(), to)?)
        }
        (Value::Real(number), Type::Float8, to) if to.is_int() => {
            let rounded = number.round_ties_even();
            if rounded.abs() >= 9.3e18 {
                return out_of_range(to);
            }
            Value::Integer(in_width(rounded as i128, to)?)
        }
        (Value::Real(number), Type::Float8, Type::Numeric) => {
            // PostgreSQL keeps 15 significant digits.
            let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
            Value::Text(Decimal::read(&format!("{rounded}"))?.write())
        }
        (Value::Text(text), Type::Numeric, Type::Float8) => read(&text, Type::Float8)?,
        (Value::Text(text), Type::Numeric, to) if to.is_int() => {
            Value::Integer(in_width(Decimal::read(&text)?.to_whole()?, to)?)
        }
        (Value::Integer(micros), from, Type::Date) if from.is_moment() => {
            Value::Integer(micros.div_euclid(moments::DAY) * moments::DAY)
        }
        (Value::Integer(micros), from, to) if from.is_moment() && to.is_moment() => Value::Integer(micros),
        (Value::Text(text), Type::Jsonb, to) => match (Json::read(&text)?, to) {
            (Json::Flag(flag), Type::Flag) => Value::Integer(flag.into()),
            (Json::Number(number), Type::Numeric) => Value::Text(number),
            (Json::Number(number), to) if to.is_number() => convert(Value::Text(number), Type::Numeric, to)?,
            _ => return refuse(format!("cannot cast this jsonb value to type {}", to.name())),
        },
        (_, from, to) => return refuse(format!("cannot cast type {} to {}", from.name(), to.name())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_as_values_and_written_again() {
        let check = |text: &str, kind, expect: &str| {
            let written = read(text, kind).and_then(|value| write(&value, kind));
            assert_eq!(written.ok().as_deref(), (expect != "-").then_some(expect), "{text:?} as {kind:?}");
        };
        check(" 12 ", Type::Int4, "12");
        check("+7", Type::Int8, "7");
        check("1.5", Type::Int4, "-");
        check("2147483648", Type::Int4, "-");
        check("99999999999999999999", Type::Int8, "-");
        check("", Type::Int4, "-");
        check("0x10", Type::Int4, "-");
        check("T", Type::Flag, "true");
        check(" oFF ", Type::Flag, "false");
        check("o", Type::Flag, "-");
        check("", Type::Flag, "-");
        check("1.50", Type::Numeric, "1.50");
        check("1e15", Type::Float8, "1e+15");
        check("1e14", Type::Float8, "100000000000000");
        check("0.0001", Type::Float8, "0.0001");
        check("0.00001", Type::Float8, "1e-05");
        check("1e400", Type::Float8, "-");
        check("nan", Type::Float8, "-");
        check("0e5", Type::Float8, "0");
        check("a\0", Type::Text, "-");
        check("{D0000000-0000-4000-8000-000000000001}", Type::Uuid, "d0000000-0000-4000-8000-000000000001");
        check("d0000000000040008000000000000001", Type::Uuid, "d0000000-0000-4000-8000-000000000001");
        check("d0000000-0000-4000-8000-00000000000", Type::Uuid, "-");
        check("d0000000--0000-4000-8000-000000000001", Type::Uuid, "-");
        check("\\x00fF", Type::Bytea, "\\x00ff");
        check("a\\\\\\001", Type::Bytea, "\\x615c01");
        check("\\x0", Type::Bytea, "-");
    }
}
