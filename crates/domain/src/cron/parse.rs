//! Reading cron expressions.

use super::{Cron, Days, OfMonth, OfWeek, YEARS};
use crate::{Error, Result};

/// Longer expressions are refused: none that means something is.
const TEXT_BYTES_MAX: usize = 1_024;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
/// Names are known by so many letters, too.
const NAME_LETTERS: usize = 3;

/// Values that a field may hold.
struct Field {
    name: &'static str,
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const SECOND: Field = Field { name: "second", min: 0, max: 59, names: &[] };
const MINUTE: Field = Field { name: "minute", min: 0, max: 59, names: &[] };
const HOUR: Field = Field { name: "hour", min: 0, max: 23, names: &[] };
const DAY: Field = Field { name: "day of month", min: 1, max: 31, names: &[] };
const MONTH: Field = Field { name: "month", min: 1, max: 12, names: &MONTHS };
/// Sunday is 0 and 7.
const WEEKDAY: Field = Field { name: "day of week", min: 0, max: 7, names: &WEEKDAYS };
const YEAR: Field = Field { name: "year", min: *YEARS.start() as u32, max: *YEARS.end() as u32, names: &[] };

pub(super) fn parse(text: &str) -> Result<Cron> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(Error::invalid(format!("A cron expression has at most {TEXT_BYTES_MAX} bytes.")));
    }
    let lower = text.trim().to_ascii_lowercase();
    let spelled = predefined(&lower)?.unwrap_or(&lower);
    let fields: Vec<_> = spelled.split_whitespace().collect();
    let (second, rest, year) = match fields.as_slice() {
        rest if rest.len() == 5 => ("0", rest, "*"),
        [rest @ .., year] if rest.len() == 5 => ("0", rest, *year),
        [second, rest @ .., year] if rest.len() == 5 => (*second, rest, *year),
        _ => return Err(Error::invalid(format!("A cron expression has 5 to 7 fields, not {}.", fields.len()))),
    };
    let [minute, hour, day, month, weekday] = rest else {
        return Err(Error::invalid("A cron expression has 5 to 7 fields."));
    };
    let mut years = vec![false; (YEAR.max - YEAR.min + 1) as usize];
    YEAR.read(year, |number| years[(number - YEAR.min) as usize] = true)?;
    let days = Days { of_month: day_of_month(day)?, of_week: day_of_week(weekday)? };
    Ok(Cron {
        seconds: SECOND.set(second)?,
        minutes: MINUTE.set(minute)?,
        hours: HOUR.set(hour)?,
        months: MONTH.set(month)?,
        years,
        days,
    })
}

fn predefined(text: &str) -> Result<Option<&'static str>> {
    Ok(Some(match text {
        "@annually" | "@yearly" => "0 0 1 1 *",
        "@monthly" => "0 0 1 * *",
        "@weekly" => "0 0 * * 0",
        "@daily" => "0 0 * * *",
        "@hourly" => "0 * * * *",
        "@minutely" => "* * * * *",
        _ if text.starts_with('@') => return Err(Error::invalid(format!("There is no cron expression {text}."))),
        _ => return Ok(None),
    }))
}

fn is_any(text: &str) -> bool {
    matches!(text, "*" | "?")
}

fn day_of_month(text: &str) -> Result<Option<OfMonth>> {
    if is_any(text) {
        return Ok(None);
    }
    let mut days = OfMonth::default();
    for item in text.split(',') {
        if item == "l" {
            days.last = true;
        } else if item == "lw" || item == "wl" {
            days.last_working = true;
        } else if let Some(day) = item.strip_suffix('w') {
            days.working |= 1 << DAY.number(day)?;
        } else {
            DAY.read_item(item, &mut |day| days.days |= 1 << day)?;
        }
    }
    Ok(Some(days))
}

fn day_of_week(text: &str) -> Result<Option<OfWeek>> {
    if is_any(text) {
        return Ok(None);
    }
    let mut days = OfWeek::default();
    for item in text.split(',') {
        if let Some((day, nth)) = item.split_once('#') {
            let day = WEEKDAY.number(day)? % super::WEEK;
            let nth = nth.parse::<usize>().ok().and_then(|nth| nth.checked_sub(1));
            let nth = nth.and_then(|nth| days.nth.get_mut(nth));
            *nth.ok_or_else(|| WEEKDAY.wrong(item, "which of the month is 1 to 5"))? |= 1 << day;
        } else if let Some(day) = item.strip_suffix('l') {
            days.last |= 1 << (WEEKDAY.number(day)? % super::WEEK);
        } else {
            WEEKDAY.read_item(item, &mut |day| days.days |= 1 << (day % super::WEEK))?;
        }
    }
    Ok(Some(days))
}

impl Field {
    fn set(&self, text: &str) -> Result<u64> {
        let mut set = 0;
        self.read(text, |number| set |= 1 << number)?;
        Ok(set)
    }

    fn read(&self, text: &str, mut add: impl FnMut(u32)) -> Result<()> {
        text.split(',').try_for_each(|item| self.read_item(item, &mut add))
    }

    /// A number, a range, or steps through one.
    fn read_item(&self, item: &str, add: &mut impl FnMut(u32)) -> Result<()> {
        let (range, step) = match item.split_once('/') {
            Some((range, step)) => {
                let step = step.parse::<u32>().ok().filter(|step| *step > 0);
                (range, Some(step.ok_or_else(|| self.wrong(item, "the step is a number above 0"))?))
            }
            None => (item, None),
        };
        let (first, last) = if is_any(range) {
            (self.min, self.max)
        } else if let Some((first, last)) = range.split_once('-') {
            (self.number(first)?, self.number(last)?)
        } else {
            let first = self.number(range)?;
            (first, if step.is_some() { self.max } else { first })
        };
        if first > last {
            return Err(self.wrong(item, "the range ends before it begins"));
        }
        (first..=last).step_by(step.unwrap_or(1) as usize).for_each(add);
        Ok(())
    }

    fn number(&self, text: &str) -> Result<u32> {
        if let Some(index) = self.names.iter().position(|name| text == *name || text == &name[..NAME_LETTERS]) {
            return Ok(index as u32 + self.min);
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| is_number && (self.min..=self.max).contains(number));
        number.ok_or_else(|| self.wrong(text, &format!("it goes from {} to {}", self.min, self.max)))
    }

    fn wrong(&self, text: &str, why: &str) -> Error {
        Error::invalid(format!("The cron expression's {} cannot be \"{text}\": {why}.", self.name))
    }
}
