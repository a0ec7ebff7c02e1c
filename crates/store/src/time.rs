//! Points in time as text.

/// RFC 3339 in UTC with microseconds, from microseconds since 1970.
pub(crate) fn rfc3339(micros: i64) -> String {
    let (seconds, fraction) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days are counted in eras of 400 years that begin with March, so that a leap day ends its year.
    let from_march_0000 = days + 719_468;
    let (era, day_of_era) = (from_march_0000.div_euclid(146_097), from_march_0000.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_leap_days_and_times_before_the_epoch() {
        let check = |micros, expect: &str| assert_eq!(rfc3339(micros), expect);
        check(0, "1970-01-01T00:00:00.000000Z");
        check(-1, "1969-12-31T23:59:59.999999Z");
        check(951_782_400_000_000, "2000-02-29T00:00:00.000000Z");
        check(1_709_251_199_123_456, "2024-02-29T23:59:59.123456Z");
        check(4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z");
    }
}
