//! Formats log lines by the verbs of the original's loggers: `%s`, `%d`, `%v` and their like.

use crate::value::{Value, whole};

/// Fills in a format. Missing arguments are marked in their place, surplus ones are appended, both as in the original.
pub(super) fn fill(format: &str, arguments: Vec<Value>) -> String {
    let mut line = String::with_capacity(format.len());
    let mut arguments = arguments.into_iter();
    let mut rest = format;
    while let Some((before, behind)) = rest.split_once('%') {
        line.push_str(before);
        let flags_end = behind.find(|letter: char| !matches!(letter, '0'..='9' | '.' | '+' | '-' | '#' | ' '));
        let Some((flags, verb)) = flags_end.and_then(|end| Some((&behind[..end], behind[end..].chars().next()?)))
        else {
            line.push_str("%!(NOVERB)");
            return line;
        };
        rest = &behind[flags.len() + verb.len_utf8()..];
        if verb == '%' {
            line.push('%');
            continue;
        }
        match arguments.next() {
            Some(argument) => line.push_str(&written(verb, flags, argument)),
            None => line.push_str(&format!("%!{verb}(MISSING)")),
        }
    }
    line.push_str(rest);
    let extra: Vec<_> = arguments.map(plain).collect();
    if !extra.is_empty() {
        line.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    line
}

fn written(verb: char, flags: &str, argument: Value) -> String {
    let (width, digits) = flags.split_once('.').unwrap_or((flags, ""));
    let text = match (verb, &argument) {
        ('f' | 'F', Value::Number(number)) => {
            let digits = digits.parse().unwrap_or(6).min(100);
            format!("{number:.digits$}")
        }
        ('e', Value::Number(number)) => format!("{number:e}"),
        ('d', Value::Number(number)) => format!("{}", number.trunc()),
        ('x', Value::Number(number)) => format!("{:x}", *number as i64),
        ('X', Value::Number(number)) => format!("{:X}", *number as i64),
        ('q', Value::Bytes(_)) => argument.into_json().to_string(),
        _ => plain(argument),
    };
    padded(text, width)
}

fn padded(text: String, flags: &str) -> String {
    const WIDTH_MAX: usize = 200;
    let digits = flags.trim_start_matches(['+', '-', '#', ' ']);
    let Ok(width) = digits.parse::<usize>() else { return text };
    let width = width.min(WIDTH_MAX);
    if flags.contains('-') {
        format!("{text:<width$}")
    } else if digits.starts_with('0') {
        format!("{text:0>width$}")
    } else {
        format!("{text:>width$}")
    }
}

/// A value in a line: texts unchanged, all else as JSON.
fn plain(value: Value) -> String {
    match value {
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Value::Number(number) => whole(number).map_or_else(|| number.to_string(), |number| number.to_string()),
        other => other.into_json().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: &str, arguments: &[serde_json::Value], expect: &str) {
        assert_eq!(fill(format, arguments.iter().cloned().map(Value::from_json).collect()), expect, "{format}");
    }

    #[test]
    fn formats_are_filled_in() {
        use serde_json::json;
        check("plain, 100%%", &[], "plain, 100%");
        check("%s has %d of %v", &[json!("ann"), json!(2), json!({ "a": [1] })], "ann has 2 of {\"a\":[1]}");
        check("%.2f %5d|%-4s|%04d", &[json!(1.5), json!(7), json!("x"), json!(42)], "1.50     7|x   |0042");
        check("%t %q %x", &[json!(true), json!("a\"b"), json!(255)], "true \"a\\\"b\" ff");
        check("%s and %s", &[json!("one")], "one and %!s(MISSING)");
        check("done", &[json!(1), json!("x")], "done%!(EXTRA 1, x)");
        check("50%", &[], "50%!(NOVERB)");
        check("ü%sö", &[json!("ä")], "üäö");
    }
}
