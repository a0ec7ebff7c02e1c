//! From the text of a statement to its words, by the rules of PostgreSQL. A notation that this module does not know is
//! refused, so that no text is read in another way than PostgreSQL reads it.

use super::{Result, refuse};

/// PostgreSQL cuts longer names short.
const NAME_BYTES_MAX: usize = 63;

/// A word of a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// A name or a keyword, in small letters.
    Name(String),
    /// A name in double quotes, which is never a keyword.
    Quoted(String),
    /// A text in single quotes.
    Text(String),
    /// A number without sign, as it is written.
    Number(String),
    /// The number of a parameter.
    Parameter(usize),
    /// An operator, or a sign of punctuation.
    Sign(&'static str),
}

const OPERATORS: [&str; 23] = [
    "+", "-", "*", "/", "%", "<", ">", "=", "<=", ">=", "<>", "||", "->", "->>", "#>", "#>>", "@>", "<@", "?", "?|",
    "?&", "^", "~~",
];

const PUNCTUATION: [&str; 7] = ["(", ")", ",", ".", ";", "[", "]"];

/// The words of a statement. The last semicolons are left out.
pub(super) fn words(statement: &str) -> Result<Vec<Word>> {
    if statement.contains('\0') {
        return refuse("A statement has no null characters.");
    }
    let mut reader = Reader { rest: statement };
    let mut words = Vec::new();
    while let Some(word) = reader.next()? {
        words.push(word);
    }
    while words.last() == Some(&Word::Sign(";")) {
        words.pop();
    }
    Ok(words)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<Word>> {
        self.skip_blanks()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        Ok(Some(match first {
            '\'' => Word::Text(self.quoted('\'')?),
            '"' => Word::Quoted(in_bounds(self.quoted('"')?)?),
            '$' => self.parameter()?,
            '0'..='9' => self.number()?,
            '.' if self.rest[1..].starts_with(|next: char| next.is_ascii_digit()) => self.number()?,
            first if begins_name(first) => self.name()?,
            _ => self.sign()?,
        }))
    }

    /// Skips white space and comments. Comments between `/*` and `*/` may contain others.
    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
            if let Some(comment) = self.rest.strip_prefix("--") {
                self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest);
            } else if self.rest.starts_with("/*") {
                let mut depth = 0_usize;
                loop {
                    if self.rest.starts_with("/*") {
                        depth += 1;
                        self.rest = &self.rest[2..];
                    } else if self.rest.starts_with("*/") {
                        depth -= 1;
                        self.rest = &self.rest[2..];
                    } else if self.take_char().is_none() {
                        return refuse("syntax error: a comment has no end");
                    }
                    if depth == 0 {
                        break;
                    }
                }
            } else {
                return Ok(());
            }
        }
    }

    fn take_char(&mut self) -> Option<char> {
        let first = self.rest.chars().next()?;
        self.rest = &self.rest[first.len_utf8()..];
        Some(first)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|next: char| !keep(next)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn quoted(&mut self, quote: char) -> Result<String> {
        self.take_char();
        let mut text = String::new();
        loop {
            match self.take_char() {
                Some(next) if next != quote => text.push(next),
                Some(_) if self.rest.starts_with(quote) => {
                    self.take_char();
                    text.push(quote);
                }
                Some(_) => return Ok(text),
                None => return refuse(format!("syntax error: a text in {quote} has no end")),
            }
        }
    }

    fn parameter(&mut self) -> Result<Word> {
        self.take_char();
        let digits = self.take_while(|next| next.is_ascii_digit());
        if digits.is_empty() || self.rest.starts_with(begins_name) {
            return refuse("Texts between $$ are not translated for SQLite: write them in single quotes.");
        }
        match digits.parse() {
            Ok(number @ 1..=muster_domain::sql::SQL_PARAMETERS_MAX) => Ok(Word::Parameter(number)),
            _ => refuse(format!("there is no parameter ${digits}")),
        }
    }

    fn number(&mut self) -> Result<Word> {
        let whole = self.rest;
        self.take_while(|next| next.is_ascii_digit());
        if self.rest.starts_with('.') {
            self.take_char();
            self.take_while(|next| next.is_ascii_digit());
        }
        if self.rest.starts_with(['e', 'E']) {
            self.take_char();
            if self.rest.starts_with(['+', '-']) {
                self.take_char();
            }
            if self.take_while(|next| next.is_ascii_digit()).is_empty() {
                return refuse("syntax error: a number has an exponent without digits");
            }
        }
        let number = &whole[..whole.len() - self.rest.len()];
        if self.rest.starts_with(begins_name) || self.rest.starts_with('.') {
            return refuse(format!("syntax error: a word follows the number {number} without a blank"));
        }
        Ok(Word::Number(number.to_owned()))
    }

    fn name(&mut self) -> Result<Word> {
        let name = self.take_while(|next| begins_name(next) || next.is_ascii_digit() || next == '$');
        if self.rest.starts_with('\'') {
            return refuse(format!("Texts with {name} in front are not translated for SQLite: write '…' alone."));
        }
        Ok(Word::Name(in_bounds(name.to_ascii_lowercase())?))
    }

    /// The longest operator, as PostgreSQL finds it. One of several signs does not end in `+` or `-`, unless it has a
    /// sign that no operator of standard SQL has.
    fn sign(&mut self) -> Result<Word> {
        if let Some(sign) = PUNCTUATION.iter().find(|sign| self.rest.starts_with(**sign)) {
            self.take_char();
            return Ok(Word::Sign(sign));
        }
        if self.rest.starts_with("::") {
            self.rest = &self.rest[2..];
            return Ok(Word::Sign("::"));
        }
        let is_sign = |next: char| "+-*/<>=~!@#%^&|`?".contains(next);
        let mut sign = &self.rest[..self.rest.find(|next: char| !is_sign(next)).unwrap_or(self.rest.len())];
        for comment in ["--", "/*"] {
            sign = sign.split_once(comment).map_or(sign, |(before, _)| before);
        }
        while sign.len() > 1 && sign.ends_with(['+', '-']) && !sign.contains(|next: char| "~!@#%^&|`?".contains(next)) {
            sign = &sign[..sign.len() - 1];
        }
        if sign.is_empty() {
            let unknown = self.rest.chars().next().unwrap_or(' ').to_string();
            let advice = crate::advice::of_syntax("", &unknown).unwrap_or_default();
            return refuse(format!("syntax error at or near \"{unknown}\"{advice} (42601)"));
        }
        self.rest = &self.rest[sign.len()..];
        let known = if sign == "!=" { "<>" } else { sign };
        match OPERATORS.iter().find(|operator| **operator == known) {
            Some(operator) => Ok(Word::Sign(operator)),
            // Such an operator is an operator of its own, and a parameter in the form of another database.
            None if sign.ends_with('?') => {
                let advice = crate::advice::of_syntax("", "?").unwrap_or_default();
                refuse(format!("syntax error at or near \"{sign}\"{advice} (42601)"))
            }
            None => refuse(format!("The operator {sign} is not translated for SQLite: use PostgreSQL.")),
        }
    }
}

fn begins_name(first: char) -> bool {
    first.is_ascii_alphabetic() || first == '_' || !first.is_ascii()
}

fn in_bounds(name: String) -> Result<String> {
    if name.len() > NAME_BYTES_MAX {
        return refuse(format!("Names have at most {NAME_BYTES_MAX} bytes: shorten {name}."));
    }
    Ok(name)
}
