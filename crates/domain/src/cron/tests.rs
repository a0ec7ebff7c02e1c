//! Expressions against moments that are written down, and against trying every minute.

use super::Cron;
use super::calendar::{Date, days_in_month, weekday};

/// Seconds of a date and time of day.
fn at(text: &str) -> i64 {
    let numbers: Vec<i64> = text.split([' ', '-', ':']).map(|part| part.parse().unwrap()).collect();
    let [year, month, day, hour, minute, second] = numbers[..] else { panic!("{text} is no time") };
    let date = Date { year, month: month as u32, day: day as u32 };
    date.day_number() * 86_400 + hour * 3_600 + minute * 60 + second
}

fn check(expression: &str, from: &str, next: &str, previous: &str) {
    let cron = Cron::parse(expression).unwrap();
    assert_eq!(cron.next(at(from)), Some(at(next)), "{expression} after {from}");
    assert_eq!(cron.previous(at(from)), Some(at(previous)), "{expression} before {from}");
}

#[test]
fn moments_after_and_before() {
    let noon = "2013-08-29 12:00:00";
    check("* * * * *", noon, "2013-08-29 12:01:00", "2013-08-29 11:59:00");
    check("* * * * * * *", noon, "2013-08-29 12:00:01", "2013-08-29 11:59:59");
    check("0 0 29 2 *", "2013-08-29 09:28:00", "2016-02-29 00:00:00", "2012-02-29 00:00:00");
    check("0 0 * * 1", noon, "2013-09-02 00:00:00", "2013-08-26 00:00:00");
    check("0 0 * * mon-fri", "2013-08-30 00:00:00", "2013-09-02 00:00:00", "2013-08-29 00:00:00");
    check("3-59/15 * * * *", noon, "2013-08-29 12:03:00", "2013-08-29 11:48:00");
    check("*/20 10 * * *", noon, "2013-08-30 10:00:00", "2013-08-29 10:40:00");
    check("0 0 L * *", noon, "2013-08-31 00:00:00", "2013-07-31 00:00:00");
    check("0 0 LW * *", noon, "2013-08-30 00:00:00", "2013-07-31 00:00:00");
    check("0 0 1W * *", "2013-05-20 00:00:00", "2013-06-03 00:00:00", "2013-05-01 00:00:00");
    check("0 0 15W * *", "2013-06-01 00:00:00", "2013-06-14 00:00:00", "2013-05-15 00:00:00");
    check("0 0 * * 5L", noon, "2013-08-30 00:00:00", "2013-07-26 00:00:00");
    check("0 0 * * fri#2", noon, "2013-09-13 00:00:00", "2013-08-09 00:00:00");
    check("0 0 * * 7", noon, "2013-09-01 00:00:00", "2013-08-25 00:00:00");
    check("0 0 1 * mon", noon, "2013-09-01 00:00:00", "2013-08-26 00:00:00");
    check("@daily", noon, "2013-08-30 00:00:00", "2013-08-29 00:00:00");
    check("30 5 6 7 8 ? 2010-2020/5", noon, "2015-08-07 06:05:30", "2010-08-07 06:05:30");
}

#[test]
fn years_end() {
    let cron = Cron::parse("0 0 1 1 * 2020").unwrap();
    assert_eq!(cron.next(at("2020-01-01 00:00:00")), None);
    assert_eq!(cron.previous(at("2020-01-01 00:00:00")), None);
    assert_eq!(cron.next(i64::MIN), Some(at("2020-01-01 00:00:00")));
    assert_eq!(cron.previous(4_000_000_000_000), Some(at("2020-01-01 00:00:00")));
    assert_eq!(Cron::parse("0 0 30 2 *").unwrap().next(0), None);
    assert_eq!(Cron::parse("0 0 30 2 *").unwrap().previous(at("2099-12-31 00:00:00")), None);
    let always = Cron::parse("* * * * * * *").unwrap();
    assert_eq!(always.next(at("2099-12-31 23:59:59")), None);
    assert_eq!(always.previous(0), None);
    assert_eq!((always.next(i64::MAX), always.previous(i64::MIN)), (None, None));
}

#[test]
fn what_is_wrong_is_said() {
    for (expression, told) in [
        ("", "A cron expression has 5 to 7 fields, not 0."),
        ("* * * *", "A cron expression has 5 to 7 fields, not 4."),
        ("* * * * * * * *", "A cron expression has 5 to 7 fields, not 8."),
        ("60 * * * *", "The cron expression's minute cannot be \"60\": it goes from 0 to 59."),
        ("* * * 13 *", "The cron expression's month cannot be \"13\": it goes from 1 to 12."),
        ("* * 0 * *", "The cron expression's day of month cannot be \"0\": it goes from 1 to 31."),
        ("* * * * 5#6", "The cron expression's day of week cannot be \"5#6\": which of the month is 1 to 5."),
        ("5-1 * * * *", "The cron expression's minute cannot be \"5-1\": the range ends before it begins."),
        ("*/0 * * * *", "The cron expression's minute cannot be \"*/0\": the step is a number above 0."),
        ("+5 * * * *", "The cron expression's minute cannot be \"+5\": it goes from 0 to 59."),
        ("@reboot", "There is no cron expression @reboot."),
    ] {
        assert_eq!(Cron::parse(expression).unwrap_err().message, told);
    }
    assert!(Cron::parse(&"1,".repeat(1_000)).is_err());
}

/// Whether a moment matches, worked out from the text alone, for expressions of plain lists.
struct Plain {
    text: String,
    minutes: Vec<u32>,
    hours: Vec<u32>,
    days: Vec<u32>,
    months: Vec<u32>,
    weekdays: Vec<u32>,
}

impl Plain {
    fn draw(random: &mut impl FnMut(u32) -> u32) -> Self {
        let mut list = |min: u32, max: u32| {
            let count = random(4);
            (0..count).map(|_| min + random(max - min + 1)).collect::<Vec<_>>()
        };
        let (minutes, hours, days) = (list(0, 59), list(0, 23), list(1, 31));
        let (months, weekdays) = (list(1, 12), list(0, 6));
        let field = |numbers: &Vec<u32>| match numbers.as_slice() {
            [] => "*".to_owned(),
            numbers => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
        };
        let text = [&minutes, &hours, &days, &months, &weekdays].map(field).join(" ");
        Self { text, minutes, hours, days, months, weekdays }
    }

    fn matches(&self, second: i64) -> bool {
        let has = |numbers: &[u32], number| numbers.is_empty() || numbers.contains(&number);
        let date = Date::of_day(second.div_euclid(86_400));
        let minute = (second.rem_euclid(86_400) / 60) as u32;
        let weekday = weekday(date.year, date.month, date.day);
        let is_day = match (self.days.is_empty(), self.weekdays.is_empty()) {
            (false, false) => self.days.contains(&date.day) || self.weekdays.contains(&weekday),
            _ => has(&self.days, date.day) && has(&self.weekdays, weekday),
        };
        let is_time = has(&self.minutes, minute % 60) && has(&self.hours, minute / 60);
        second % 60 == 0 && is_day && is_time && has(&self.months, date.month)
    }
}

#[test]
fn the_same_is_found_as_by_trying_every_minute() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: u32| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as u32 % below
    };
    const MINUTES_TRIED: i64 = 60 * 24 * 40;
    for _ in 0..40 {
        let plain = Plain::draw(&mut random);
        let cron = Cron::parse(&plain.text).unwrap();
        let start = at("2019-12-01 00:00:00") + i64::from(random(400 * 86_400));
        let first_minute = start.div_euclid(60) * 60;
        let after = (1..MINUTES_TRIED).map(|minutes| first_minute + minutes * 60).find(|second| plain.matches(*second));
        let found = cron.next(start);
        match after {
            Some(after) => assert_eq!(found, Some(after), "{} after {start}", plain.text),
            None => assert!(found.is_none_or(|found| found >= first_minute + MINUTES_TRIED * 60), "{}", plain.text),
        }
        let last_minute = (start - 1).div_euclid(60) * 60;
        let before = (0..MINUTES_TRIED).map(|minutes| last_minute - minutes * 60).find(|second| plain.matches(*second));
        let found = cron.previous(start);
        match before {
            Some(before) => assert_eq!(found, Some(before), "{} before {start}", plain.text),
            None => assert!(found.is_none_or(|found| found <= last_minute - MINUTES_TRIED * 60), "{}", plain.text),
        }
    }
}

#[test]
fn dates_follow_each_other() {
    let mut date = Date { year: 1969, month: 12, day: 31 };
    for day in -1..60_000 {
        assert_eq!(Date::of_day(day), date);
        assert_eq!(date.day_number(), day);
        date.day += 1;
        if date.day > days_in_month(date.year, date.month) {
            date = Date { month: date.month % 12 + 1, day: 1, year: date.year + i64::from(date.month == 12) };
        }
    }
    assert_eq!(weekday(2026, 11, 22), 0, "a Sunday");
}
