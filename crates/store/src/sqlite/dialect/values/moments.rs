//! Points in time and spans, as PostgreSQL reads, writes and counts them when its time zone is UTC.

use super::super::types::Type;
use super::super::{Result, refuse};

pub(in crate::sqlite::dialect) const SECOND: i64 = 1_000_000;
pub(in crate::sqlite::dialect) const DAY: i64 = 86_400 * SECOND;

/// The last year that PostgreSQL holds.
const YEAR_MAX: i64 = 294_276;

/// Days from 1970 to a date. Years are counted from March, so that a leap day ends its year.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The date of a number of days after 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_of(next_year, next_month, 1) - days_of(year, month, 1)
}

/// Refuses a point in time that PostgreSQL does not hold, and those before our era.
pub(in crate::sqlite::dialect) fn in_range(micros: i128) -> Result<i64> {
    let (first, end) = (days_of(1, 1, 1), days_of(YEAR_MAX + 1, 1, 1));
    let is_in_range = micros >= i128::from(first) * i128::from(DAY) && micros < i128::from(end) * i128::from(DAY);
    match i64::try_from(micros) {
        Ok(micros) if is_in_range => Ok(micros),
        _ => refuse(format!("timestamp out of range: years are 1 to {YEAR_MAX}")),
    }
}

/// The point in time of a text, as a value of `kind`.
pub(in crate::sqlite::dialect) fn read_moment(text: &str, kind: Type) -> Result<i64> {
    let Some((days, time, offset)) = parts(text.trim()) else {
        return refuse(format!(
            "invalid input syntax for type {}: \"{}\"; on SQLite write it as 2026-01-31 12:00:00+00",
            kind.name(),
            super::start_of(text),
        ));
    };
    let micros = i128::from(days) * i128::from(DAY);
    in_range(match kind {
        Type::Date => micros,
        Type::Timestamp => micros + i128::from(time),
        _ => micros + i128::from(time) - i128::from(offset),
    })
}

/// Days, microseconds of the day, and the offset of the zone in microseconds.
fn parts(text: &str) -> Option<(i64, i64, i64)> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let end = text.find([' ', 'T', 't']).unwrap_or(text.len());
    let mut date = text.get(..end)?.split('-');
    let (year, month, day) = (date.next()?, date.next()?, date.next()?);
    let fits = (4..=6).contains(&year.len()) && month.len() == 2 && day.len() == 2 && date.next().is_none();
    if !fits || ![year, month, day].iter().all(|part| digits(part)) {
        return None;
    }
    let (year, month, day): (i64, i64, i64) = (year.parse().ok()?, month.parse().ok()?, day.parse().ok()?);
    if year < 1 || !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    let days = days_of(year, month, day);
    let Some(rest) = text.get(end + 1..) else { return Some((days, 0, 0)) };
    let end = rest.find(|next: char| !next.is_ascii_digit() && next != ':' && next != '.').unwrap_or(rest.len());
    let (time, zone) = rest.split_at(end);
    Some((days, time_of_day(time)?, offset(zone.trim_start())?))
}

fn time_of_day(text: &str) -> Option<i64> {
    let mut fields = text.split(':');
    let (hour, minute, second) = (fields.next()?, fields.next()?, fields.next().unwrap_or("00"));
    let (second, fraction) = second.split_once('.').unwrap_or((second, "0"));
    let is_well_formed = [hour, minute, second].iter().all(|field| field.len() == 2)
        && fields.next().is_none()
        && !fraction.is_empty()
        && [hour, minute, second, fraction].iter().all(|field| field.bytes().all(|byte| byte.is_ascii_digit()));
    let (hour, minute, second): (i64, i64, i64) = (hour.parse().ok()?, minute.parse().ok()?, second.parse().ok()?);
    if !is_well_formed || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let fraction: f64 = format!("0.{fraction}").parse().ok()?;
    Some((hour * 3_600 + minute * 60 + second) * SECOND + (fraction * SECOND as f64).round_ties_even() as i64)
}

fn offset(zone: &str) -> Option<i64> {
    if ["", "z", "utc", "gmt"].contains(&zone.to_ascii_lowercase().as_str()) {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits: String = zone.strip_prefix(['+', '-'])?.chars().filter(|next| *next != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    (hours <= 15 && minutes <= 59).then_some(sign * (hours * 60 + minutes) * 60 * SECOND)
}

/// The text of a point in time.
pub(in crate::sqlite::dialect) fn write_moment(micros: i64, kind: Type) -> String {
    let (year, month, day) = date_of(micros.div_euclid(DAY));
    let date = format!("{year:04}-{month:02}-{day:02}");
    if kind == Type::Date {
        return date;
    }
    let zone = if kind == Type::TimestampTz { "+00" } else { "" };
    let time = micros.rem_euclid(DAY);
    let (seconds, fraction) = (time / SECOND, time % SECOND);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let fraction = format!(".{fraction:06}");
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{date} {hour:02}:{minute:02}:{second:02}{fraction}{zone}")
}

/// Months and microseconds of a span. Days count as 24 hours, as they do in UTC.
pub(in crate::sqlite::dialect) fn read_span(text: &str) -> Result<(i64, i64)> {
    match span(text) {
        Some((months, micros)) => Ok((months, micros)),
        None => refuse(format!(
            "invalid input syntax for type interval: \"{}\"; on SQLite write it as 1 month 2 days 03:00:00",
            super::start_of(text)
        )),
    }
}

fn span(text: &str) -> Option<(i64, i64)> {
    let text = text.trim().to_ascii_lowercase();
    // `3days` and `3 days` are the same.
    let mut spaced = String::new();
    for next in text.chars() {
        if next.is_ascii_alphabetic() && spaced.ends_with(|last: char| last.is_ascii_digit()) {
            spaced.push(' ');
        }
        spaced.push(next);
    }
    let mut words = spaced.split_ascii_whitespace().peekable();
    words.peek()?;
    let (mut months, mut micros) = (0_i64, 0_i128);
    while let Some(word) = words.next() {
        if word.contains(':') {
            let (sign, time) = match word.strip_prefix(['-', '+']) {
                Some(time) => (if word.starts_with('-') { -1 } else { 1 }, time),
                None => (1, word),
            };
            micros += i128::from(sign * time_of_day(time)?);
            // The time stands at the end, so that its sign is its own.
            if words.next().is_some() {
                return None;
            }
            break;
        }
        let (number, unit) = (word, words.next()?);
        let unit = unit.strip_suffix('s').filter(|rest| rest.len() > 1).unwrap_or(unit);
        let per_unit = match unit {
            "year" | "yr" | "y" | "month" | "mon" => {
                let count: i64 = number.parse().ok()?;
                months = months.checked_add(count.checked_mul(if unit.starts_with('y') { 12 } else { 1 })?)?;
                continue;
            }
            "week" | "w" => 7 * DAY,
            "day" | "d" => DAY,
            "hour" | "hr" | "h" => 3_600 * SECOND,
            "minute" | "min" | "m" => 60 * SECOND,
            "second" | "sec" | "s" => SECOND,
            "millisecond" | "msec" => 1_000,
            "microsecond" | "usec" => 1,
            _ => return None,
        };
        micros += whole_micros(number, per_unit)?;
    }
    // PostgreSQL holds months in 32 bits.
    i32::try_from(months).ok()?;
    Some((months, i64::try_from(micros).ok()?))
}

/// A number of units in microseconds, if that is a whole number.
fn whole_micros(number: &str, per_unit: i64) -> Option<i128> {
    let (sign, digits) = match number.strip_prefix(['-', '+']) {
        Some(digits) => (if number.starts_with('-') { -1 } else { 1 }, digits),
        None => (1, number),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !(whole.is_empty() && fraction.is_empty())
        && whole.len() <= 15
        && fraction.len() <= 6
        && [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_number {
        return None;
    }
    let scale = 10_i128.pow(fraction.len() as u32);
    let all: i128 = format!("{whole}{fraction}").parse().ok()?;
    let micros = all * i128::from(per_unit);
    (micros % scale == 0).then_some(sign * micros / scale)
}

/// A point in time some months and microseconds later. A day that its month lacks becomes the month's last.
pub(in crate::sqlite::dialect) fn add_span(moment: i64, months: i64, micros: i64) -> Result<i64> {
    let mut moment = i128::from(moment);
    if months != 0 {
        let whole = moment as i64;
        let (year, month, day) = date_of(whole.div_euclid(DAY));
        let index = year * 12 + month - 1 + months;
        let (year, month) = (index.div_euclid(12), index.rem_euclid(12) + 1);
        if !(1..=YEAR_MAX).contains(&year) {
            return in_range(i128::MAX);
        }
        let day = day.min(days_in_month(year, month));
        moment = i128::from(days_of(year, month, day)) * i128::from(DAY) + i128::from(whole.rem_euclid(DAY));
    }
    in_range(moment + i128::from(micros))
}

/// The beginning of the unit that a point in time lies in.
pub(in crate::sqlite::dialect) fn truncate(unit: &str, micros: i64) -> Result<i64> {
    let days = micros.div_euclid(DAY);
    let (year, month, _) = date_of(days);
    let step = |step: i64| micros.div_euclid(step) * step;
    in_range(i128::from(match unit {
        "second" => step(SECOND),
        "minute" => step(60 * SECOND),
        "hour" => step(3_600 * SECOND),
        "day" => days * DAY,
        // 1970 began on a Thursday, and weeks begin on Mondays.
        "week" => (days - (days + 3).rem_euclid(7)) * DAY,
        "month" => days_of(year, month, 1) * DAY,
        "quarter" => days_of(year, (month - 1) / 3 * 3 + 1, 1) * DAY,
        "year" => days_of(year, 1, 1) * DAY,
        _ => {
            return refuse(format!(
                "The unit {unit} is not translated for SQLite: second, minute, hour, day, week, month, quarter, year are."
            ));
        }
    }))
}

/// The field of a point in time, as an exact decimal.
pub(in crate::sqlite::dialect) fn field(name: &str, micros: i64, kind: Type) -> Result<String> {
    let days = micros.div_euclid(DAY);
    let (year, month, day) = date_of(days);
    let time = micros.rem_euclid(DAY);
    let is_date = kind == Type::Date;
    let seconds = |micros: i64| {
        let sign = if micros < 0 { "-" } else { "" };
        let micros = micros.unsigned_abs();
        format!("{sign}{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    };
    Ok(match name {
        "epoch" if is_date => (micros / SECOND).to_string(),
        "epoch" => seconds(micros),
        "year" => year.to_string(),
        "quarter" => ((month - 1) / 3 + 1).to_string(),
        "month" => month.to_string(),
        "day" => day.to_string(),
        "dow" => (days + 4).rem_euclid(7).to_string(),
        "isodow" => ((days + 3).rem_euclid(7) + 1).to_string(),
        "doy" => (days - days_of(year, 1, 1) + 1).to_string(),
        "hour" if !is_date => (time / (3_600 * SECOND)).to_string(),
        "minute" if !is_date => (time / (60 * SECOND) % 60).to_string(),
        "second" if !is_date => seconds(time % (60 * SECOND)),
        _ => {
            return refuse(format!(
                "The field {name} of a {} is not translated for SQLite: epoch, year, quarter, month, day, dow, isodow, \
                 doy are, and hour, minute, second of moments with a time.",
                kind.name()
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_and_written() {
        let check = |text: &str, expect: &str| {
            let read = read_moment(text, Type::TimestampTz).map(|micros| write_moment(micros, Type::TimestampTz));
            assert_eq!(read.ok().as_deref(), (!expect.is_empty()).then_some(expect), "{text}");
        };
        check("2024-02-29", "2024-02-29 00:00:00+00");
        check("2024-02-29T23:59:59.5Z", "2024-02-29 23:59:59.5+00");
        check(" 2024-02-29 23:59:59.1234567+02 ", "2024-02-29 21:59:59.123457+00");
        check("1969-12-31 23:59 -05:30", "1970-01-01 05:29:00+00");
        check("0001-01-01", "0001-01-01 00:00:00+00");
        check("10000-01-01", "10000-01-01 00:00:00+00");
        for wrong in ["", "now", "infinity", "2023-02-29", "2024-2-9", "2024-01-01 24:00", "20240101", "2024-01-01 1"] {
            check(wrong, "");
        }
    }

    #[test]
    fn spans_are_months_and_microseconds() {
        let check = |text: &str, expect: Option<(i64, i64)>| assert_eq!(read_span(text).ok(), expect, "{text}");
        check("1 day", Some((0, DAY)));
        check("-1 year 2 months", Some((-10, 0)));
        check("1.5 hours", Some((0, 5_400 * SECOND)));
        check("2 days 01:02:03.5", Some((0, 2 * DAY + 3_723_500_000)));
        check("3days", Some((0, 3 * DAY)));
        for wrong in
            ["", "1", "day", "1 fortnight", "1.5 months", "P1D", "1 day ago", "1e9 days", "99999999999999 days"]
        {
            check(wrong, None);
        }
        assert_eq!(
            add_span(read_moment("2024-01-31", Type::Date).unwrap(), 1, 0),
            read_moment("2024-02-29", Type::Date)
        );
    }
}
