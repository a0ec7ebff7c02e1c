//! Dates as queries write them: `2024-05-06`, with a time after `T` or a space, with or without a zone. No calendar
//! beyond that.

use crate::time::Timestamp;

/// Reads a date; one without a zone is in UTC.
pub(super) fn parse(text: &str) -> Option<Timestamp> {
    let (year, rest) = digits(text, 4)?;
    let (month, rest) = digits(rest.strip_prefix('-')?, 2)?;
    let (day, rest) = digits(rest.strip_prefix('-')?, 2)?;
    if !(1..=12).contains(&month) || day < 1 || day > days_of(year, month) {
        return None;
    }
    let (micros_of_day, zone) = if rest.is_empty() { (0, rest) } else { time_of_day(rest)? };
    let seconds = days_since_epoch(year, month, day) * 86_400 - zone_seconds(zone)?;
    Some(Timestamp(seconds * 1_000_000 + micros_of_day))
}

/// `count` digits at the start of `text`, and what follows.
fn digits(text: &str, count: usize) -> Option<(i64, &str)> {
    let (head, rest) = text.split_at_checked(count)?;
    if !head.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((head.parse().ok()?, rest))
}

/// `T12:34:56.789` in microseconds, and what follows.
fn time_of_day(text: &str) -> Option<(i64, &str)> {
    let (hour, rest) = digits(text.strip_prefix(['T', 't', ' '])?, 2)?;
    let (minute, rest) = digits(rest.strip_prefix(':')?, 2)?;
    let (second, rest) = digits(rest.strip_prefix(':')?, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (mut micros, mut rest) = (((hour * 60 + minute) * 60 + second) * 1_000_000, rest);
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if length == 0 {
            return None;
        }
        let known: String = fraction[..length].chars().chain("000000".chars()).take(6).collect();
        micros += known.parse::<i64>().ok()?;
        rest = &fraction[length..];
    }
    Some((micros, rest))
}

/// Seconds east of Greenwich: nothing, `Z` or `+02:00`.
fn zone_seconds(text: &str) -> Option<i64> {
    if matches!(text, "" | "Z" | "z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
    let (minutes, rest) = digits(rest.strip_prefix(':')?, 2)?;
    (rest.is_empty() && hours <= 23 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, by counting years from March, so that the leap day comes last.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 1970-01-01 is 719,468 days after the first of March of the year 0.
    year * 365 + leap_days + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_to_the_microsecond() {
        let check = |text: &str, expect: Option<i64>| assert_eq!(parse(text).map(|at| at.0), expect, "{text}");
        check("1970-01-01", Some(0));
        check("1969-12-31T23:59:59Z", Some(-1_000_000));
        check("2024-02-29 12:00:00", Some(1_709_208_000_000_000));
        check("2024-02-29T14:00:00.25+02:00", Some(1_709_208_000_250_000));
        check("2000-03-01T00:00:00.123456789Z", Some(951_868_800_123_456));
        for wrong in ["2023-02-29", "2024-13-01", "2024-1-1", "2024-01-01T25:00:00", "2024-01-01T00:00:00.", "x", ""] {
            check(wrong, None);
        }
        check("2024-01-01+0200", None);
        check("2024-01-01T00:00:00é", None);
    }
}
