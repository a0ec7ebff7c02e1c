//! Times as the protocol has them: seconds and nanoseconds in protobuf, RFC 3339 in JSON.

/// The first and last second that the protocol can express, in the years 1 to 9999.
const SECONDS_RANGE: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
const SECONDS_PER_DAY: i64 = 86_400;
const MICROSECONDS_PER_SECOND: i64 = 1_000_000;

/// A point in time, UTC.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Message)]
pub struct Timestamp {
    /// Unix seconds.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds after that second, from 0 to 999,999,999.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

impl Timestamp {
    /// The time of Unix seconds.
    #[must_use]
    pub fn from_unix_sec(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// The time of Unix milliseconds.
    #[must_use]
    pub fn from_unix_ms(milliseconds: i64) -> Self {
        let nanos = milliseconds.rem_euclid(1000) * 1_000_000;
        Self { seconds: milliseconds.div_euclid(1000), nanos: i32::try_from(nanos).unwrap_or_default() }
    }

    /// The time of Unix microseconds.
    #[must_use]
    pub fn from_unix_us(microseconds: i64) -> Self {
        let nanos = microseconds.rem_euclid(MICROSECONDS_PER_SECOND) * 1000;
        Self {
            seconds: microseconds.div_euclid(MICROSECONDS_PER_SECOND),
            nanos: i32::try_from(nanos).unwrap_or_default(),
        }
    }

    /// Unix microseconds, rounded down. Times outside of the range of `i64` become its nearest end.
    #[must_use]
    pub fn unix_us(self) -> i64 {
        self.seconds.saturating_mul(MICROSECONDS_PER_SECOND).saturating_add(i64::from(self.nanos) / 1000)
    }

    /// RFC 3339 in UTC with 0, 3, 6 or 9 digits of fraction. Times outside of the years 1 to 9999 become the nearest
    /// time inside.
    #[must_use]
    pub fn rfc3339(self) -> Rfc3339 {
        Rfc3339::new(self)
    }

    /// Reads RFC 3339 with any offset and up to 9 digits of fraction.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let (year, month, day) = (number(bytes, 0, 4)?, number(bytes, 5, 2)?, number(bytes, 8, 2)?);
        let (hour, minute, second) = (number(bytes, 11, 2)?, number(bytes, 14, 2)?, number(bytes, 17, 2)?);
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        let well_formed = separators.iter().all(|&(index, byte)| bytes.get(index) == Some(&byte));
        let date_valid = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        if !well_formed || !date_valid || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let (nanos, zone) = fraction(bytes.get(19..)?)?;
        let local = days_from_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
        let seconds = local - offset_sec(zone)?;
        SECONDS_RANGE.contains(&seconds).then_some(Self { seconds, nanos })
    }
}

/// The text of a time, without an allocation.
#[derive(Debug, Clone, Copy)]
pub struct Rfc3339 {
    bytes: [u8; 30],
    len: usize,
}

impl Rfc3339 {
    fn new(time: Timestamp) -> Self {
        let seconds = time.seconds.clamp(*SECONDS_RANGE.start(), *SECONDS_RANGE.end());
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
        let mut bytes = *b"0000-00-00T00:00:00.000000000Z";
        put(&mut bytes[0..4], year);
        put(&mut bytes[5..7], month);
        put(&mut bytes[8..10], day);
        put(&mut bytes[11..13], of_day / 3600);
        put(&mut bytes[14..16], of_day / 60 % 60);
        put(&mut bytes[17..19], of_day % 60);
        let nanos = i64::from(time.nanos.clamp(0, 999_999_999));
        put(&mut bytes[20..29], nanos);
        let fraction_end = match nanos {
            0 => 19,
            _ if nanos % 1_000_000 == 0 => 23,
            _ if nanos % 1000 == 0 => 26,
            _ => 29,
        };
        bytes[fraction_end] = b'Z';
        Self { bytes, len: fraction_end + 1 }
    }

    /// The characters, all ASCII.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Writes a number into digits, with leading zeros.
fn put(digits: &mut [u8], mut value: i64) {
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(value % 10).unwrap_or_default();
        value /= 10;
    }
}

fn number(bytes: &[u8], from: usize, len: usize) -> Option<i64> {
    let mut value = 0;
    for &byte in bytes.get(from..from + len)? {
        value = value * 10 + i64::from(char::from(byte).to_digit(10)?);
    }
    Some(value)
}

/// The nanoseconds of an optional `.digits`, and the text behind it.
fn fraction(rest: &[u8]) -> Option<(i32, &[u8])> {
    let Some((b'.', digits)) = rest.split_first().map(|(first, rest)| (*first, rest)) else {
        return Some((0, rest));
    };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=9).contains(&len) {
        return None;
    }
    let value = number(digits, 0, len)? * 10i64.pow(9 - u32::try_from(len).ok()?);
    Some((i32::try_from(value).ok()?, &digits[len..]))
}

fn offset_sec(zone: &[u8]) -> Option<i64> {
    let sign = match (zone, zone.first()?) {
        (b"Z", _) => return Some(0),
        (_, b'+') => 1,
        (_, b'-') => -1,
        _ => return None,
    };
    let (hours, minutes) = (number(zone, 1, 2)?, number(zone, 4, 2)?);
    let well_formed = zone.len() == 6 && zone[3] == b':' && hours < 24 && minutes < 60;
    well_formed.then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years begin with March here, so that the leap day is the last day of a year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}
