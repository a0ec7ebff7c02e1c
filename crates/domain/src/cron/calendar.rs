//! Days since 1970 and dates of the Gregorian calendar.

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: i64,
    /// 1 to 12.
    pub(super) month: u32,
    /// 1 to 31.
    pub(super) day: u32,
}

const DAYS_PER_ERA: i64 = 146_097;
const YEARS_PER_ERA: i64 = 400;
/// From the first of March of the year 0 to 1970.
const DAYS_TO_EPOCH: i64 = 719_468;

impl Date {
    /// The date so many days after the first of January 1970. Years are counted from March on, so that the day that
    /// some
    /// of them have more is their last.
    pub(super) fn of_day(day: i64) -> Self {
        let day = day + DAYS_TO_EPOCH;
        let (era, of_era) = (day.div_euclid(DAYS_PER_ERA), day.rem_euclid(DAYS_PER_ERA));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * YEARS_PER_ERA + i64::from(month <= 2);
        Self { year, month: month as u32, day: (day_of_year - (153 * from_march + 2) / 5 + 1) as u32 }
    }

    /// How many days after the first of January 1970 it is.
    pub(super) fn day_number(self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = self.year - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(YEARS_PER_ERA), year.rem_euclid(YEARS_PER_ERA));
        let from_march = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * from_march + 2) / 5 + day - 1;
        let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * DAYS_PER_ERA + of_era - DAYS_TO_EPOCH
    }
}

/// 28 to 31.
pub(super) fn days_in_month(year: i64, month: u32) -> u32 {
    let next = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    let first = |(year, month)| Date { year, month, day: 1 }.day_number();
    (first(next) - first((year, month))) as u32
}

/// 0 is Sunday.
pub(super) fn weekday(year: i64, month: u32, day: u32) -> u32 {
    // The first of January 1970 was a Thursday.
    (Date { year, month, day }.day_number() + 4).rem_euclid(7) as u32
}
