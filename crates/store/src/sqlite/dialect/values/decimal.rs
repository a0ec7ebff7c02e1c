//! Exact decimals, as PostgreSQL's type `numeric` counts with them, of up to 37 digits. More digits are an error.

use std::cmp::Ordering;

use super::super::{Result, refuse};

const DIGITS_MAX: usize = 37;

/// PostgreSQL gives quotients at least so many significant digits.
const QUOTIENT_DIGITS: i32 = 16;

/// A number `mantissa / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sqlite::dialect) struct Decimal {
    mantissa: i128,
    scale: u32,
}

fn too_long<T>() -> Result<T> {
    refuse(format!("On SQLite a numeric has at most {DIGITS_MAX} digits: use PostgreSQL for more."))
}

impl Decimal {
    pub(in crate::sqlite::dialect) fn whole(number: i128) -> Result<Self> {
        Self::new(number, 0)
    }

    fn new(mantissa: i128, scale: u32) -> Result<Self> {
        if mantissa.unsigned_abs() >= 10_u128.pow(DIGITS_MAX as u32) || scale as usize > DIGITS_MAX {
            return too_long();
        }
        Ok(Self { mantissa, scale })
    }

    pub(in crate::sqlite::dialect) fn read(text: &str) -> Result<Self> {
        let wrong = || format!("invalid input syntax for type numeric: \"{}\"", super::start_of(text));
        let trimmed = text.trim_matches(super::is_blank);
        if ["nan", "infinity", "-infinity", "+infinity", "inf", "-inf", "+inf"]
            .contains(&trimmed.to_ascii_lowercase().as_str())
        {
            return refuse("On SQLite a numeric is finite.");
        }
        let (is_negative, digits) = match trimmed.strip_prefix(['-', '+']) {
            Some(digits) => (trimmed.starts_with('-'), digits),
            None => (false, trimmed),
        };
        let (digits, exponent) = digits.split_once(['e', 'E']).map_or((digits, None), |(all, exp)| (all, Some(exp)));
        let exponent: i64 = match exponent {
            None => 0,
            Some(exponent) => match exponent.parse() {
                Ok(exponent) => exponent,
                Err(_) => return refuse(wrong()),
            },
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return refuse(wrong());
        }
        let scale = fraction.len() as i64 - exponent;
        let significant = all.trim_start_matches('0');
        if significant.len() > DIGITS_MAX || scale.unsigned_abs() as usize > DIGITS_MAX {
            return too_long();
        }
        let mut mantissa: i128 = significant.parse().unwrap_or(0);
        if scale < 0 {
            let raised = 10_i128.pow(scale.unsigned_abs() as u32).checked_mul(mantissa);
            let Some(raised) = raised else { return too_long() };
            mantissa = raised;
        }
        Self::new(if is_negative { -mantissa } else { mantissa }, scale.max(0) as u32)
    }

    pub(in crate::sqlite::dialect) fn write(self) -> String {
        let digits = format!("{:0width$}", self.mantissa.unsigned_abs(), width = self.scale as usize + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.scale as usize);
        let sign = if self.mantissa < 0 { "-" } else { "" };
        if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
    }

    /// Both mantissas at the larger scale.
    fn aligned(self, other: Self) -> Option<(i128, i128, u32)> {
        let scale = self.scale.max(other.scale);
        let raise = |one: Self| one.mantissa.checked_mul(10_i128.pow(scale - one.scale));
        Some((raise(self)?, raise(other)?, scale))
    }

    pub(in crate::sqlite::dialect) fn add(self, other: Self) -> Result<Self> {
        match self.aligned(other) {
            Some((left, right, scale)) => match left.checked_add(right) {
                Some(sum) => Self::new(sum, scale),
                None => too_long(),
            },
            None => too_long(),
        }
    }

    pub(in crate::sqlite::dialect) fn negated(self) -> Self {
        Self { mantissa: -self.mantissa, ..self }
    }

    pub(in crate::sqlite::dialect) fn multiply(self, other: Self) -> Result<Self> {
        match self.mantissa.checked_mul(other.mantissa) {
            Some(product) => Self::new(product, self.scale + other.scale),
            None => too_long(),
        }
    }

    /// The place of the first group of four digits and its value, by which PostgreSQL chooses the scale of a quotient.
    fn first_group(self) -> (i32, i32) {
        let digits = self.mantissa.unsigned_abs().to_string();
        if self.mantissa == 0 {
            return (0, 0);
        }
        let before_point = digits.len() as i32 - self.scale as i32;
        let weight = (before_point - 1).div_euclid(4);
        let length = (before_point - weight * 4) as usize;
        let first: i32 = format!("{digits:0<4}")[..length].parse().unwrap_or(0);
        (weight, first)
    }

    pub(in crate::sqlite::dialect) fn divide(self, other: Self) -> Result<Self> {
        if other.mantissa == 0 {
            return refuse("division by zero");
        }
        let ((weight, first), (other_weight, other_first)) = (self.first_group(), other.first_group());
        let quotient_weight = weight - other_weight - i32::from(first <= other_first);
        let scale = (QUOTIENT_DIGITS - quotient_weight * 4).max(self.scale as i32).max(other.scale as i32).max(0);
        // The quotient of the mantissas has the difference of the scales; the rest is raised digit by digit.
        let raise = scale - self.scale as i32 + other.scale as i32;
        let (mut rest, divisor) = (self.mantissa.unsigned_abs(), other.mantissa.unsigned_abs());
        let mut quotient = rest / divisor;
        rest %= divisor;
        for _ in 0..raise {
            rest *= 10;
            let Some(raised) = quotient.checked_mul(10) else { return too_long() };
            quotient = raised + rest / divisor;
            rest %= divisor;
        }
        if rest >= divisor - rest {
            quotient += 1;
        }
        let Ok(mantissa) = i128::try_from(quotient) else { return too_long() };
        let is_negative = (self.mantissa < 0) != (other.mantissa < 0);
        Self::new(if is_negative { -mantissa } else { mantissa }, scale as u32)
    }

    /// Rounds half away from zero.
    pub(in crate::sqlite::dialect) fn rounded(self, scale: u32) -> Result<Self> {
        if scale >= self.scale {
            return self.add(Self { mantissa: 0, scale });
        }
        let step = 10_i128.pow(self.scale - scale);
        let half = if self.mantissa < 0 { -step / 2 } else { step / 2 };
        Self::new((self.mantissa + half) / step, scale)
    }

    /// The whole number below (-1), towards zero (0) or above (1).
    pub(in crate::sqlite::dialect) fn whole_towards(self, direction: i8) -> Result<Self> {
        let step = 10_i128.pow(self.scale);
        let whole = match direction {
            -1 => self.mantissa.div_euclid(step),
            0 => self.mantissa / step,
            _ => -(-self.mantissa).div_euclid(step),
        };
        Self::new(whole, 0)
    }

    pub(in crate::sqlite::dialect) fn sign(self) -> Result<Self> {
        Self::new(self.mantissa.signum(), 0)
    }

    pub(in crate::sqlite::dialect) fn to_whole(self) -> Result<i128> {
        self.rounded(0).map(|whole| whole.mantissa)
    }

    /// Refuses a number that has more digits before the point than `digits - behind`, and rounds the others.
    pub(in crate::sqlite::dialect) fn fitted(self, digits: u32, behind: u32) -> Result<Self> {
        let rounded = self.rounded(behind)?;
        if rounded.mantissa.unsigned_abs() >= 10_u128.pow(digits) {
            return refuse(format!(
                "numeric field overflow: the column has {digits} digits, {behind} behind the point"
            ));
        }
        Ok(rounded)
    }

    pub(in crate::sqlite::dialect) fn compare(self, other: Self) -> Ordering {
        match self.aligned(other) {
            Some((left, right, _)) => left.cmp(&right),
            // One is so much larger that it does not fit at the other's scale.
            None => {
                let whole = |one: Self| one.mantissa / 10_i128.pow(one.scale);
                whole(self).cmp(&whole(other))
            }
        }
    }
}

/// The order of two texts of decimals.
pub(in crate::sqlite::dialect) fn compare_texts(left: &str, right: &str) -> Ordering {
    match (Decimal::read(left), Decimal::read(right)) {
        (Ok(left), Ok(right)) => left.compare(right),
        _ => left.cmp(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::read(text).unwrap()
    }

    #[test]
    fn decimals_keep_their_digits() {
        let check = |text: &str, expect: &str| assert_eq!(decimal(text).write(), expect);
        check("1.50", "1.50");
        check("-0.001", "-0.001");
        check("1e3", "1000");
        check("1.5e-2", "0.015");
        check("-0", "0");
        check(".5", "0.5");
        for wrong in ["", "x", "1e", "1.2.3", "NaN", &"9".repeat(38), "1e99999999999999999999"] {
            assert!(Decimal::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn quotients_have_the_digits_of_postgresql() {
        let check = |left, right, expect: &str| {
            assert_eq!(decimal(left).divide(decimal(right)).map(Decimal::write).as_deref(), Ok(expect));
        };
        check("3", "2", "1.5000000000000000");
        check("10", "4", "2.5000000000000000");
        check("1", "3", "0.33333333333333333333");
        check("100000", "3", "33333.333333333333");
        check("2", "3", "0.66666666666666666667");
        check("-7", "2", "-3.5000000000000000");
    }

    #[test]
    fn order_and_rounding() {
        assert_eq!(compare_texts("1.0", "1.00"), Ordering::Equal);
        assert_eq!(compare_texts("-2", "-10"), Ordering::Greater);
        assert_eq!(compare_texts("1e30", "0.0000000001"), Ordering::Greater);
        assert_eq!(decimal("2.5").to_whole(), Ok(3));
        assert_eq!(decimal("-2.5").to_whole(), Ok(-3));
        assert_eq!(decimal("-2.5").whole_towards(1).map(Decimal::write).as_deref(), Ok("-2"));
        assert!(decimal("99.995").fitted(4, 2).is_err());
    }
}
