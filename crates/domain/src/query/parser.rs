//! From tokens to terms. Errors say at which character reading stopped, and what to write instead.

use std::ops::Bound;

use smol_str::SmolStr;

use super::clause::{Clause, Occur, Test};
use super::date;
use super::error::QueryError;
use super::lexer::{Placed, Token, Word, tokens};
use super::pattern::{Letter, Pattern};
use super::{CLAUSES_MAX, FUZZINESS_MAX, PATTERNS_MAX, QUERY_BYTES_MAX};

/// The terms of a query. None if it matches everything.
pub(super) fn parse(source: &str) -> Result<Vec<Clause>, QueryError> {
    if source.len() > QUERY_BYTES_MAX {
        let message = format!("a query has at most {QUERY_BYTES_MAX} bytes: shorten it");
        return Err(QueryError { position: 1, message });
    }
    if source.trim() == "*" {
        return Ok(Vec::new());
    }
    let tokens = tokens(source)?;
    let mut parser = Parser { source, tokens: &tokens, at: 0, patterns: 0 };
    let mut clauses = Vec::new();
    while parser.at < tokens.len() {
        if clauses.len() == CLAUSES_MAX {
            return Err(parser.error(format!("a query has at most {CLAUSES_MAX} terms: leave some out")));
        }
        clauses.push(parser.clause()?);
    }
    Ok(clauses)
}

struct Parser<'a> {
    source: &'a str,
    tokens: &'a [Placed],
    at: usize,
    patterns: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn takes(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }

    /// An error at the next token, or at the end.
    fn error(&self, message: impl Into<String>) -> QueryError {
        let byte = self.tokens.get(self.at).map_or(self.source.len(), |(_, span)| span.start as usize);
        QueryError::at(self.source, byte, message)
    }

    fn clause(&mut self) -> Result<Clause, QueryError> {
        let start = self.tokens.get(self.at).map_or(0, |(_, span)| span.start);
        let occur = match self.peek() {
            Some(Token::Plus) => Occur::Must,
            Some(Token::Minus) => Occur::MustNot,
            _ => Occur::Should,
        };
        self.at += usize::from(occur != Occur::Should);
        let (field, test) = self.field_and_test()?;
        let boost = match self.peek() {
            Some(Token::Boost(boost)) => {
                self.at += 1;
                *boost
            }
            _ => 1.0,
        };
        self.end_of_clause()?;
        let end = self.tokens.get(self.at.wrapping_sub(1)).map_or(start, |(_, span)| span.end);
        Ok(Clause { occur, field, test, boost, span: start..end })
    }

    fn field_and_test(&mut self) -> Result<(Option<SmolStr>, Test), QueryError> {
        let field = match (self.peek(), self.tokens.get(self.at + 1)) {
            (Some(Token::Word(field)), Some((Token::Colon, _))) => field.text(),
            _ => return Ok((None, self.value("a term")?)),
        };
        self.at += 2;
        let test = match self.peek() {
            Some(Token::Greater | Token::Less) => self.range()?,
            Some(Token::Minus) => self.negative_number()?,
            _ => self.value("a value")?,
        };
        Ok((Some(field.into()), test))
    }

    /// A word, phrase, pattern or number.
    fn value(&mut self, what: &str) -> Result<Test, QueryError> {
        let token = self.peek();
        self.at += 1;
        match token {
            Some(Token::Word(word)) => self.word(word),
            Some(Token::Phrase(text)) => Ok(Test::Text(text.as_str().into())),
            Some(Token::Regex(expression)) => {
                let pattern = Pattern::regex(expression);
                let test = pattern.map_err(|error| {
                    self.at -= 1;
                    self.error(format!(
                        "this regular expression is not understood ({error}); a slash in a value is `\\/`"
                    ))
                })?;
                self.pattern(test)
            }
            _ => {
                self.at -= 1;
                Err(self.error(format!(
                    "{what} is missing: write `field:value`, and put a backslash before a sign that belongs to the value"
                )))
            }
        }
    }

    fn word(&mut self, word: &Word) -> Result<Test, QueryError> {
        if let Some(Token::Fuzziness(distance)) = self.peek() {
            if word.is_wildcard() {
                return Err(self.error("a wildcard cannot be fuzzy as well: leave out `~`, or escape the `*` or `?`"));
            }
            let distance = *distance;
            if distance.fract() != 0.0 || !(0.0..=f64::from(FUZZINESS_MAX)).contains(&distance) {
                return Err(self.error(format!("at most {FUZZINESS_MAX} letters may differ: write `~1` or `~2`")));
            }
            self.at += 1;
            if distance == 0.0 {
                return Ok(Test::Text(word.text().into()));
            }
            // A whole number within the limit.
            return self.pattern(Pattern::fuzzy(&word.text(), distance as u8));
        }
        if word.letters.iter().all(|letter| *letter == Letter::Any) {
            return Ok(Test::Exists);
        }
        if word.is_wildcard() {
            return self.pattern(Pattern::wildcard(word.letters.iter().copied()));
        }
        let text = word.text().into();
        Ok(match word.number() {
            Some(number) => Test::Number { text, number, slack: 0.0 },
            None => Test::Text(text),
        })
    }

    fn pattern(&mut self, pattern: Pattern) -> Result<Test, QueryError> {
        if self.patterns == PATTERNS_MAX {
            self.at -= 1;
            return Err(self.error(format!(
                "a query has at most {PATTERNS_MAX} wildcards, regular expressions and fuzzy terms: leave some out"
            )));
        }
        self.patterns += 1;
        Ok(Test::Pattern(pattern))
    }

    fn negative_number(&mut self) -> Result<Test, QueryError> {
        let minus = self.at;
        self.at += 1;
        match self.peek() {
            Some(Token::Word(word)) if word.number().is_some() => {
                self.at += 1;
                let text = format!("-{}", word.text()).into();
                Ok(Test::Number { text, number: -word.number().unwrap_or_default(), slack: 0.0 })
            }
            _ => {
                self.at = minus;
                Err(self.error("a minus before a value is for numbers: write `\\-` for a text that starts with one"))
            }
        }
    }

    /// `>5`, `<=-2.5`, `>="2024-01-01"`.
    fn range(&mut self) -> Result<Test, QueryError> {
        let is_greater = self.peek() == Some(&Token::Greater);
        self.at += 1;
        let is_equal = self.takes(&Token::Equal);
        let place = self.at;
        let is_negative = self.takes(&Token::Minus);
        let token = self.peek();
        self.at += 1;
        let test = match token {
            Some(Token::Word(word)) => word.number().map(|number| {
                let (low, high) = bounds(if is_negative { -number } else { number }, is_greater, is_equal);
                Test::Range { low, high }
            }),
            Some(Token::Phrase(text)) if !is_negative => date::parse(text).map(|at| {
                let (low, high) = bounds(at, is_greater, is_equal);
                Test::Dates { low, high }
            }),
            _ => None,
        };
        test.ok_or_else(|| {
            self.at = place;
            self.error("a range needs a number, as in `>=5`, or a date in quotes, as in `>=\"2024-01-31\"`")
        })
    }

    /// Makes sure that a new term starts here.
    fn end_of_clause(&self) -> Result<(), QueryError> {
        let message = match self.peek() {
            Some(Token::Colon) => "a second colon: put the value in quotes, or write `\\:` for a colon in it",
            Some(Token::Boost(_)) => "a term has one weight: leave the second `^` out, or write `\\^`",
            Some(Token::Fuzziness(_)) => "`~` goes with a single word and before `^`: move it, or write `\\~`",
            Some(Token::Greater | Token::Less | Token::Equal) => {
                "a range follows a field, as in `a:>=5`: name the field, or put a backslash before the sign"
            }
            _ => return Ok(()),
        };
        Err(self.error(message))
    }
}

fn bounds<T>(at: T, is_greater: bool, is_equal: bool) -> (Bound<T>, Bound<T>) {
    let bound = if is_equal { Bound::Included(at) } else { Bound::Excluded(at) };
    if is_greater { (bound, Bound::Unbounded) } else { (Bound::Unbounded, bound) }
}
