//! Cron expressions, in UTC: when the moment after or before another comes. The dialect is the original's: five fields
//! (minute, hour, day of month, month, day of week), a sixth for the year, or seven with seconds in front.
//!
//! If both days are given, one of them is enough; `*` and `?` give none. Beyond the usual there are `L` (last day of
//! the
//! month), `15W` (the working day nearest to the 15th), `LW`, `5L` (the last Friday), `5#2` (the second Friday), names
//! of
//! months and days, and `@daily` and its like.

mod calendar;
#[cfg(test)]
mod fuzz;
mod parse;
#[cfg(test)]
mod tests;

use self::calendar::{Date, days_in_month, weekday};
use crate::Result;

/// Years that an expression can name; nothing matches outside of them.
const YEARS: std::ops::RangeInclusive<i64> = 1970..=2099;

const SECONDS_PER_DAY: i64 = 86_400;
const WEEK: u32 = 7;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    seconds: u64,
    minutes: u64,
    hours: u64,
    months: u64,
    /// Whether each year of [`YEARS`] matches.
    years: Vec<bool>,
    days: Days,
}

/// The days of a month that match. Bits count from the number that is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Days {
    /// `None`: the field says nothing.
    of_month: Option<OfMonth>,
    of_week: Option<OfWeek>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfMonth {
    days: u64,
    /// Working days nearest to these.
    working: u64,
    last: bool,
    last_working: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct OfWeek {
    days: u64,
    /// The last of the month.
    last: u64,
    /// The first to the fifth of the month.
    nth: [u64; 5],
}

impl Cron {
    /// Reads an expression.
    ///
    /// # Errors
    /// `InvalidArgument` with what is wrong in which field.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text)
    }

    /// The first moment after another, both in seconds since 1970; `None` when there is none up to 2099.
    pub fn next(&self, after_sec: i64) -> Option<i64> {
        let from = after_sec.checked_add(1)?.max(0);
        let (day, time) = (from.div_euclid(SECONDS_PER_DAY), from.rem_euclid(SECONDS_PER_DAY));
        if self.matches_day(day)
            && let Some(time) = self.time_from(time)
        {
            return Some(day * SECONDS_PER_DAY + time);
        }
        let day = self.day_from(day + 1)?;
        Some(day * SECONDS_PER_DAY + self.time_from(0)?)
    }

    /// The last moment before another, both in seconds since 1970; `None` when there is none from 1970 on.
    pub fn previous(&self, before_sec: i64) -> Option<i64> {
        let until = before_sec.checked_sub(1)?;
        let (day, time) = (until.div_euclid(SECONDS_PER_DAY), until.rem_euclid(SECONDS_PER_DAY));
        if self.matches_day(day)
            && let Some(time) = self.time_until(time)
        {
            return Some(day * SECONDS_PER_DAY + time);
        }
        let day = self.day_until(day - 1)?;
        Some(day * SECONDS_PER_DAY + self.time_until(SECONDS_PER_DAY - 1)?)
    }

    fn matches_day(&self, day: i64) -> bool {
        let date = Date::of_day(day);
        self.has_month(date.year, date.month) && has(self.days_of(date.year, date.month), date.day)
    }

    fn has_month(&self, year: i64, month: u32) -> bool {
        let index = usize::try_from(year - YEARS.start()).ok();
        index.and_then(|index| self.years.get(index)).is_some_and(|matches| *matches) && has(self.months, month)
    }

    /// The matching days of a month, the first as bit 1.
    fn days_of(&self, year: i64, month: u32) -> u64 {
        let last = days_in_month(year, month);
        let first_weekday = weekday(year, month, 1);
        let all = ((1 << last) - 1) << 1;
        let of_month = self.days.of_month.as_ref().map(|days| days.in_month(last, first_weekday));
        let of_week = self.days.of_week.as_ref().map(|days| days.in_month(last, first_weekday));
        let days = match (of_month, of_week) {
            (None, None) => all,
            (of_month, of_week) => of_month.unwrap_or_default() | of_week.unwrap_or_default(),
        };
        days & all
    }

    fn day_from(&self, day: i64) -> Option<i64> {
        let start = Date::of_day(day);
        let (mut year, mut month, mut from) = (start.year, start.month, start.day);
        while year <= *YEARS.end() {
            if self.has_month(year, month) {
                let days = self.days_of(year, month) & (u64::MAX << from);
                if days != 0 {
                    return Some(Date { year, month, day: days.trailing_zeros() }.day_number());
                }
            }
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
            from = 1;
        }
        None
    }

    fn day_until(&self, day: i64) -> Option<i64> {
        // Months behind the last year are not walked through month by month.
        let end = Date { year: *YEARS.end(), month: 12, day: 31 };
        let start = Date::of_day(day.min(end.day_number()));
        let (mut year, mut month, mut until) = (start.year, start.month, start.day);
        while year >= *YEARS.start() {
            if self.has_month(year, month) {
                let days = self.days_of(year, month) & !(u64::MAX << (until + 1));
                if let Some(day) = days.checked_ilog2() {
                    return Some(Date { year, month, day }.day_number());
                }
            }
            (year, month) = if month == 1 { (year - 1, 12) } else { (year, month - 1) };
            until = 31;
        }
        None
    }

    /// The first matching second of a day at or after one.
    fn time_from(&self, second_of_day: i64) -> Option<i64> {
        let (hour, minute, second) = parts(second_of_day);
        for at_hour in hour..24 {
            if !has(self.hours, at_hour) {
                continue;
            }
            let first_minute = if at_hour == hour { minute } else { 0 };
            for at_minute in first_minute..60 {
                let is_start = at_hour == hour && at_minute == minute;
                let seconds = self.seconds & (u64::MAX << if is_start { second } else { 0 });
                if has(self.minutes, at_minute) && seconds != 0 {
                    return Some(whole(at_hour, at_minute, seconds.trailing_zeros()));
                }
            }
        }
        None
    }

    /// The last matching second of a day at or before one.
    fn time_until(&self, second_of_day: i64) -> Option<i64> {
        let (hour, minute, second) = parts(second_of_day);
        for at_hour in (0..=hour).rev() {
            if !has(self.hours, at_hour) {
                continue;
            }
            let last_minute = if at_hour == hour { minute } else { 59 };
            for at_minute in (0..=last_minute).rev() {
                let is_start = at_hour == hour && at_minute == minute;
                let seconds = self.seconds & !(u64::MAX << (if is_start { second } else { 59 } + 1));
                if let Some(at_second) = seconds.checked_ilog2().filter(|_| has(self.minutes, at_minute)) {
                    return Some(whole(at_hour, at_minute, at_second));
                }
            }
        }
        None
    }
}

impl OfMonth {
    fn in_month(&self, last: u32, first_weekday: u32) -> u64 {
        let mut days = self.days;
        if self.last {
            days |= 1 << last;
        }
        if self.last_working {
            days |= 1 << nearest_working_day(last, last, first_weekday);
        }
        for day in (1..=last).filter(|day| has(self.working, *day)) {
            days |= 1 << nearest_working_day(day, last, first_weekday);
        }
        days
    }
}

impl OfWeek {
    fn in_month(&self, last: u32, first_weekday: u32) -> u64 {
        let mut days = 0;
        for day in 1..=last {
            let weekday = (first_weekday + day - 1) % WEEK;
            let nth = self.nth[((day - 1) / WEEK) as usize];
            let is_last = day + WEEK > last && has(self.last, weekday);
            if has(self.days, weekday) || has(nth, weekday) || is_last {
                days |= 1 << day;
            }
        }
        days
    }
}

/// The day from Monday to Friday that is nearest to another of the same month.
fn nearest_working_day(day: u32, last: u32, first_weekday: u32) -> u32 {
    const SATURDAY: u32 = 6;
    const SUNDAY: u32 = 0;
    match (first_weekday + day - 1) % WEEK {
        SATURDAY if day == 1 => day + 2,
        SATURDAY => day - 1,
        SUNDAY if day == last => day - 2,
        SUNDAY => day + 1,
        _ => day,
    }
}

fn has(set: u64, number: u32) -> bool {
    set >> number & 1 == 1
}

fn parts(second_of_day: i64) -> (u32, u32, u32) {
    let second = second_of_day as u32;
    (second / 3_600, second / 60 % 60, second % 60)
}

fn whole(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3_600 + minute * 60 + second)
}
