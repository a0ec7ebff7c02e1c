//! A query's text as tokens, each with its place. Knows escapes and where words end; no grammar.

use std::ops::Range;

use super::error::QueryError;
use super::pattern::Letter;

/// Characters that a backslash makes literal. Before any other character the backslash is one itself, so that `\d`
/// stays.
const ESCAPABLE: &str = " +-=&|><!(){}[]^\"~*?:\\/";

/// A piece of a query.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Plus,
    Minus,
    Colon,
    Greater,
    Less,
    Equal,
    Word(Word),
    /// In quotes, without them.
    Phrase(String),
    /// Between slashes, without them.
    Regex(String),
    /// `^2`
    Boost(f64),
    /// `~1`
    Fuzziness(f64),
}

/// Letters without a space.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Word {
    pub letters: Vec<Letter>,
    /// A backslash in it says that it is meant as a text.
    pub is_escaped: bool,
}

impl Word {
    /// The word as a text, with `*` and `?` as themselves.
    pub fn text(&self) -> String {
        let letter = |letter: &Letter| match letter {
            Letter::Exactly(letter) => *letter,
            Letter::One => '?',
            Letter::Any => '*',
        };
        self.letters.iter().map(letter).collect()
    }

    pub fn is_wildcard(&self) -> bool {
        self.letters.iter().any(|letter| !matches!(letter, Letter::Exactly(_)))
    }

    /// The number it reads as: digits, with a point and an exponent or without.
    pub fn number(&self) -> Option<f64> {
        let text = self.text();
        if self.is_escaped || !text.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return None;
        }
        text.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// A token with its place in bytes.
pub(super) type Placed = (Token, Range<u32>);

/// Every token of `source`.
pub(super) fn tokens(source: &str) -> Result<Vec<Placed>, QueryError> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let rest = lexer.rest();
        lexer.at += rest.len() - rest.trim_start().len();
        let start = lexer.at;
        let Some(token) = lexer.token()? else { return Ok(tokens) };
        // A query is at most `QUERY_BYTES_MAX` long.
        tokens.push((token, start as u32..lexer.at as u32));
    }
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn token(&mut self) -> Result<Option<Token>, QueryError> {
        let Some(first) = self.peek() else { return Ok(None) };
        let sign = match first {
            '+' => Some(Token::Plus),
            '-' => Some(Token::Minus),
            ':' => Some(Token::Colon),
            '>' => Some(Token::Greater),
            '<' => Some(Token::Less),
            '=' => Some(Token::Equal),
            _ => None,
        };
        if let Some(sign) = sign {
            self.next();
            return Ok(Some(sign));
        }
        match first {
            '"' => self.phrase().map(Some),
            '^' => Ok(Some(Token::Boost(self.suffix("a weight is a number, as in `a:b^2`")?))),
            '~' => Ok(Some(Token::Fuzziness(self.suffix("the letters that may differ are a number, as in `a:b~1`")?))),
            _ => match self.regex() {
                Some(regex) => Ok(Some(regex)),
                None => self.word().map(Some),
            },
        }
    }

    /// The meaning of a backslash before this character, once the backslash is read.
    fn escaped(&mut self) -> Result<[Option<char>; 2], QueryError> {
        match self.next() {
            Some(letter) if ESCAPABLE.contains(letter) => Ok([Some(letter), None]),
            Some(letter) => Ok([Some('\\'), Some(letter)]),
            None => Err(QueryError::at(
                self.source,
                self.at - 1,
                "a backslash at the end escapes nothing: write `\\\\` for a backslash, or leave it out",
            )),
        }
    }

    fn phrase(&mut self) -> Result<Token, QueryError> {
        let start = self.at;
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('"') => return Ok(Token::Phrase(text)),
                Some('\\') => text.extend(self.escaped()?.into_iter().flatten()),
                Some(letter) => text.push(letter),
                None => {
                    let message = "this quote is not closed: add a `\"` behind the phrase, or write `\\\"` for a quote";
                    return Err(QueryError::at(self.source, start, message));
                }
            }
        }
    }

    /// A regular expression: from slash to slash without a bare space between, and nothing but a suffix behind.
    fn regex(&mut self) -> Option<Token> {
        let body = self.rest().strip_prefix('/')?;
        let (mut expression, mut letters) = (String::new(), body.char_indices());
        while let Some((at, letter)) = letters.next() {
            match letter {
                '/' => {
                    let rest = &body[at + 1..];
                    let ends = rest.chars().next().is_none_or(|next| next.is_whitespace() || matches!(next, '^' | '~'));
                    if ends && at > 0 {
                        self.at += at + 2;
                        return Some(Token::Regex(expression));
                    }
                    expression.push('/');
                }
                '\\' => {
                    let (_, next) = letters.next()?;
                    // Escaped for the query's sake, not for the expression's.
                    if next != '/' && !next.is_whitespace() {
                        expression.push('\\');
                    }
                    expression.push(next);
                }
                letter if letter.is_whitespace() => return None,
                letter => expression.push(letter),
            }
        }
        None
    }

    fn word(&mut self) -> Result<Token, QueryError> {
        let mut word = Word::default();
        while let Some(letter) = self.peek() {
            if letter.is_whitespace() || matches!(letter, ':' | '^' | '~') {
                break;
            }
            self.next();
            match letter {
                '*' => word.letters.push(Letter::Any),
                '?' => word.letters.push(Letter::One),
                '\\' => {
                    word.is_escaped = true;
                    word.letters.extend(self.escaped()?.into_iter().flatten().map(Letter::Exactly));
                }
                letter => word.letters.push(Letter::Exactly(letter)),
            }
        }
        Ok(Token::Word(word))
    }

    /// The number behind `^` or `~`, up to a space; 1 if there is none.
    fn suffix(&mut self, message: &'static str) -> Result<f64, QueryError> {
        let start = self.at;
        self.next();
        let rest = self.rest();
        let text = &rest
            [..rest.find(|letter: char| letter.is_whitespace() || matches!(letter, '^' | '~')).unwrap_or(rest.len())];
        self.at += text.len();
        if text.is_empty() {
            return Ok(1.0);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| QueryError::at(self.source, start, message))
    }
}
