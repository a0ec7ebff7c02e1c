//! Patterns of texts: wildcards, regular expressions, and words with a few letters changed. Steps are counted before
//! they are done; no pattern looks at texts over [`PATTERN_TEXT_BYTES_MAX`].

use super::work::Check;
use super::{FUZZINESS_MAX, PATTERN_TEXT_BYTES_MAX, REGEX_PROGRAM_BYTES_MAX};

/// Size of the smallest class of programs of regular expressions. Each further class is twice as large.
const SMALLEST_PROGRAM_BYTES: usize = 512;
/// Bytes of a program that take one step for each byte of a text. `regex-lite` takes up to 10 nanoseconds for a state
/// of 32 bytes.
const PROGRAM_BYTES_PER_STEP: usize = 16;
/// Bytes of a program that a letter of its expression takes at least, if the expression is long enough to matter.
const PROGRAM_BYTES_PER_LETTER: usize = 16;
/// Steps in which a regular expression begins.
const REGEX_START_STEPS: usize = 24;

/// The form that a whole text must have.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Letters, `?` for any one and `*` for any number of them.
    Wildcard(Box<[Letter]>),
    /// A regular expression, which the text must match from end to end.
    Regex(Program),
    /// A word from which at most `distance` letters may be missing, added or changed.
    Fuzzy {
        /// The word's letters.
        word: Box<[char]>,
        /// Between 1 and [`FUZZINESS_MAX`].
        distance: u8,
    },
}

/// A compiled regular expression.
#[derive(Clone, Debug)]
pub struct Program {
    regex: regex_lite::Regex,
    /// Steps for each byte of a text.
    steps: usize,
}

/// A place of a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Letter {
    /// This letter.
    Exactly(char),
    /// Any one letter.
    One,
    /// Any letters, or none.
    Any,
}

impl Pattern {
    /// A wildcard; neighbouring `*` are one.
    pub(super) fn wildcard(letters: impl IntoIterator<Item = Letter>) -> Self {
        let mut letters: Vec<Letter> = letters.into_iter().collect();
        letters.dedup_by(|next, previous| *next == Letter::Any && *previous == Letter::Any);
        Self::Wildcard(letters.into())
    }

    /// A regular expression, or what is wrong with it.
    pub(super) fn regex(expression: &str) -> Result<Self, String> {
        let whole = format!("^(?:{expression})$");
        // The library does not tell how large a program is, only whether it is larger than a limit. A long expression
        // has a large program, so that it is not read again and again.
        let least = (expression.len() * PROGRAM_BYTES_PER_LETTER).next_power_of_two();
        let mut limit = least.clamp(SMALLEST_PROGRAM_BYTES, REGEX_PROGRAM_BYTES_MAX);
        loop {
            match regex_lite::RegexBuilder::new(&whole).size_limit(limit).build() {
                Ok(regex) => return Ok(Self::Regex(Program { regex, steps: limit / PROGRAM_BYTES_PER_STEP })),
                Err(error) if limit >= REGEX_PROGRAM_BYTES_MAX => return Err(error.to_string()),
                Err(_) => limit *= 2,
            }
        }
    }

    /// A fuzzy word. `distance` is at most [`FUZZINESS_MAX`].
    pub(super) fn fuzzy(word: &str, distance: u8) -> Self {
        Self::Fuzzy { word: word.chars().collect(), distance: distance.min(FUZZINESS_MAX) }
    }

    /// Whether the whole of `text` fits. If the check may not do that much, the answer is that the text does not.
    pub(super) fn fits(&self, text: &str, check: &mut Check) -> bool {
        if text.len() > PATTERN_TEXT_BYTES_MAX {
            return false;
        }
        match self {
            Self::Wildcard(letters) => wildcard_fits(letters, text, check),
            Self::Regex(Program { regex, steps }) => {
                check.affords(REGEX_START_STEPS + steps * (text.len() + 1)) && regex.is_match(text)
            }
            Self::Fuzzy { word, distance } => is_within(word, text, usize::from(*distance), check),
        }
    }
}

/// Greedy: after a mismatch only the latest `*` takes one letter more, which suffices.
fn wildcard_fits(letters: &[Letter], text: &str, check: &mut Check) -> bool {
    let (mut place, mut rest) = (0, text.chars());
    let mut latest_star: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        if !check.affords(1) {
            return false;
        }
        let mut ahead = rest.clone();
        let next = ahead.next();
        match (letters.get(place), next) {
            (Some(Letter::Any), _) => {
                latest_star = Some((place, rest.clone()));
                place += 1;
                continue;
            }
            (Some(Letter::One), Some(_)) => {
                (place, rest) = (place + 1, ahead);
                continue;
            }
            (Some(Letter::Exactly(letter)), Some(found)) if *letter == found => {
                (place, rest) = (place + 1, ahead);
                continue;
            }
            (None, None) => return true,
            _ => {}
        }
        let Some((star, mut from)) = latest_star.take() else { return false };
        if from.next().is_none() {
            return false;
        }
        (place, rest) = (star + 1, from.clone());
        latest_star = Some((star, from));
    }
}

/// Whether at most `distance` insertions, removals and changes make `text` of `word`. Only the cells of the table that
/// lie within `distance` of its diagonal are looked at.
fn is_within(word: &[char], text: &str, distance: usize, check: &mut Check) -> bool {
    const WIDTH: usize = 2 * FUZZINESS_MAX as usize + 1;
    let far = distance + 1;
    // `row[offset]` is the distance of the text so far to the word's first `rows_done + offset - distance` letters.
    let mut row = [far; WIDTH];
    for (offset, cell) in row.iter_mut().enumerate().take(2 * distance + 1).skip(distance) {
        *cell = offset - distance;
    }
    let mut rows_done = 0;
    for found in text.chars() {
        if !check.affords(2 * distance + 2) {
            return false;
        }
        rows_done += 1;
        let mut next = [far; WIDTH];
        for offset in 0..=2 * distance {
            let Some(column) = (rows_done + offset).checked_sub(distance) else { continue };
            if column > word.len() {
                break;
            }
            let dropped = row.get(offset + 1).map_or(far, |cell| cell + 1);
            let added = offset.checked_sub(1).map_or(far, |left| next[left] + 1);
            let changed = match column.checked_sub(1) {
                Some(at) => row[offset] + usize::from(word[at] != found),
                None => far,
            };
            next[offset] = dropped.min(added).min(changed).min(far);
        }
        if next.iter().all(|cell| *cell >= far) {
            return false;
        }
        row = next;
    }
    (word.len() + distance).checked_sub(rows_done).and_then(|offset| row.get(offset)).is_some_and(|cell| *cell < far)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wildcard(text: &str) -> Pattern {
        Pattern::wildcard(text.chars().map(|letter| match letter {
            '*' => Letter::Any,
            '?' => Letter::One,
            other => Letter::Exactly(other),
        }))
    }

    #[test]
    fn wildcards_fit_whole_texts() {
        let check = |pattern: &str, text: &str, expect| {
            assert_eq!(wildcard(pattern).fits(text, &mut Check::new()), expect, "{pattern} {text}")
        };
        check("a*", "a", true);
        check("a*", "abc", true);
        check("*c", "abc", true);
        check("*b*", "abc", true);
        check("a?c", "abc", true);
        check("a?c", "ac", false);
        check("*a*b", "aXbXaXb", true);
        check("*a*b", "aXbXaX", false);
        check("?", "é", true);
        check("", "", true);
        check("**", "", true);
        check("?", "", false);
        check("a*", &"a".repeat(PATTERN_TEXT_BYTES_MAX + 1), false);
    }

    #[test]
    fn regular_expressions_fit_whole_texts_within_a_size() {
        let check = |text: &str, found: &str, expect| {
            let fits = Pattern::regex(text).expect("it is well-formed").fits(found, &mut Check::new());
            assert_eq!(fits, expect, "{text} {found}");
        };
        check("a|b", "a", true);
        check("a|b", "ab", false);
        check("[a-c]+\\d", "abc1", true);
        check(".", "é", true);
        check("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", "0b5a4e2e-7a4c-4d4a-9b7a-0123456789ab", true);
        assert!(Pattern::regex("(").is_err());
        assert!(Pattern::regex("((a{100}){100}){100}").is_err());
    }

    #[test]
    fn fuzziness_is_the_edit_distance() {
        /// The textbook's table, whole.
        fn distance(left: &str, right: &str) -> usize {
            let right: Vec<char> = right.chars().collect();
            let mut row: Vec<usize> = (0..=right.len()).collect();
            for (at, letter) in left.chars().enumerate() {
                let mut next = vec![at + 1];
                for (column, other) in right.iter().enumerate() {
                    let changed = row[column] + usize::from(letter != *other);
                    next.push(changed.min(row[column + 1] + 1).min(next[column] + 1));
                }
                row = next;
            }
            row[right.len()]
        }
        let words = ["", "a", "ab", "ba", "abc", "abd", "acd", "abcd", "bcda", "aabb", "éa", "ae", "abcde", "xabcdy"];
        for left in words {
            for right in words {
                for allowed in 1..=FUZZINESS_MAX {
                    let expect = distance(left, right) <= usize::from(allowed);
                    assert_eq!(
                        Pattern::fuzzy(left, allowed).fits(right, &mut Check::new()),
                        expect,
                        "{left} {right} {allowed}"
                    );
                }
            }
        }
    }
}
