//! `LIKE` and the letters of other cases, as PostgreSQL has them.

use super::super::{Result, refuse};

/// Most comparisons of one character with another in one call; a pattern of many `%` could take very many.
const STEPS_MAX: usize = 20_000_000;

#[derive(Clone, Copy, PartialEq)]
enum Part {
    One(char),
    AnyOne,
    AnyRun,
}

/// Whether a text fits a pattern. `escape` is the character that takes `%` and `_` their meaning.
pub(in crate::sqlite::dialect) fn fits(text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    let mut parts = Vec::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(next) = letters.next() {
        parts.push(match next {
            next if Some(next) == escape => match letters.next() {
                Some(next) => Part::One(next),
                None => return refuse("LIKE pattern must not end with escape character"),
            },
            '%' => Part::AnyRun,
            '_' => Part::AnyOne,
            next => Part::One(next),
        });
    }
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut part) = (0, 0);
    // Where to go on when the text does not fit: behind the last run, with one more character taken by it.
    let mut again: Option<(usize, usize)> = None;
    for _ in 0..STEPS_MAX {
        let fits_here = match (parts.get(part), text.get(at)) {
            (None, None) => return Ok(true),
            (Some(Part::AnyRun), _) => {
                again = Some((at, part + 1));
                part += 1;
                continue;
            }
            (Some(Part::AnyOne), Some(_)) => true,
            (Some(Part::One(expected)), Some(found)) => expected == found,
            (_, None) => return Ok(false),
            (None, Some(_)) => false,
        };
        if fits_here {
            (at, part) = (at + 1, part + 1);
            continue;
        }
        match again {
            None => return Ok(false),
            Some((begin, next)) => {
                again = Some((begin + 1, next));
                (at, part) = (begin + 1, next);
            }
        }
    }
    refuse("The pattern of LIKE takes too long: use fewer %.")
}

/// Small letters, one for each letter, as PostgreSQL has them in a locale of UTF-8.
pub(in crate::sqlite::dialect) fn small(text: &str) -> String {
    let one = |next: char| {
        let mut small = next.to_lowercase();
        match (small.next(), small.next()) {
            (Some(small), None) => small,
            _ if next == 'İ' => 'i',
            _ => next,
        }
    };
    text.chars().map(one).collect()
}

/// Capital letters, one for each letter.
pub(in crate::sqlite::dialect) fn capital(text: &str) -> String {
    let one = |next: char| {
        let mut capital = next.to_uppercase();
        match (capital.next(), capital.next()) {
            (Some(capital), None) => capital,
            _ => next,
        }
    };
    text.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_patterns() {
        let check = |text, pattern, expect| assert_eq!(fits(text, pattern, Some('\\')), Ok(expect), "{text} {pattern}");
        check("abc", "abc", true);
        check("abc", "ABC", false);
        check("abc", "a%", true);
        check("abc", "%b%", true);
        check("abc", "_b_", true);
        check("abc", "a", false);
        check("", "%", true);
        check("", "_", false);
        check("aXbXc", "a%X_", true);
        check("50%", "50\\%", true);
        check("50x", "50\\%", false);
        check("é", "_", true);
        check("mississippi", "%iss%ip%", true);
        assert!(fits("a", "a\\", Some('\\')).is_err());
        assert_eq!(fits("a", "a\\", None), Ok(false));
        assert!(fits(&"a".repeat(100_000), &"%a".repeat(2_000), None).is_ok());
        assert_eq!((small("ÀÉİΣ").as_str(), capital("àßé").as_str()), ("àéiσ", "ÀßÉ"));
    }
}
