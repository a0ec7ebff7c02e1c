//! The words of a statement by PostgreSQL's rules, as far as rules about statements need them: comments nest, texts
//! have several notations, and unquoted names are in small letters. Operators come sign by sign.

use crate::{Error, Result};

/// A word of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// A name or a keyword without quotes, in small letters.
    Name(String),
    /// A name in double quotes, which is never a keyword.
    Quoted(String),
    /// A text without escapes.
    Text(&'a str),
    /// A text that may have escapes, so that its letters are not known here.
    Escaped,
    /// A number or a parameter.
    Number,
    /// Any other sign.
    Sign(char),
}

impl Word<'_> {
    /// The name, quoted or not.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name(name) | Self::Quoted(name) => Some(name),
            _ => None,
        }
    }

    /// Whether this is an unquoted word of these letters.
    pub(super) fn is(&self, keyword: &str) -> bool {
        matches!(self, Self::Name(name) if name == keyword)
    }
}

/// The words of a statement.
///
/// # Errors
/// `InvalidArgument` if a comment or a text has no end, or a name is written with escapes.
pub(super) fn words(statement: &str) -> Result<Vec<Word<'_>>> {
    let mut reader = Reader { rest: statement };
    let mut words = Vec::new();
    while let Some(word) = reader.next()? {
        words.push(word);
    }
    Ok(words)
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<Word<'a>>> {
        self.skip_blanks()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        Ok(Some(match first {
            '\'' => Word::Text(self.text()?),
            '"' => Word::Quoted(self.between('"')?.replace("\"\"", "\"")),
            '$' => self.dollar()?,
            '0'..='9' => {
                self.take(|next| next.is_ascii_digit());
                Word::Number
            }
            first if begins_name(first) => self.name_or_prefix()?,
            first => {
                self.rest = &self.rest[first.len_utf8()..];
                Word::Sign(first)
            }
        }))
    }

    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
            if let Some(comment) = self.rest.strip_prefix("--") {
                self.rest = comment.find(['\n', '\r']).map_or("", |end| &comment[end..]);
            } else if self.rest.starts_with("/*") {
                self.skip_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn skip_comment(&mut self) -> Result<()> {
        let (bytes, mut depth, mut at) = (self.rest.as_bytes(), 0_usize, 0);
        loop {
            match bytes.get(at..at + 2) {
                Some(b"/*") => (depth, at) = (depth + 1, at + 2),
                Some(b"*/") => (depth, at) = (depth - 1, at + 2),
                Some(_) => at += 1,
                None => return Err(Error::invalid("The statement has a comment without end.")),
            }
            if depth == 0 {
                self.rest = &self.rest[at..];
                return Ok(());
            }
        }
    }

    fn take(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|next: char| !keep(next)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn text(&mut self) -> Result<&'a str> {
        self.between('\'')
    }

    /// The letters between two quotes. Doubled quotes stay doubled.
    fn between(&mut self, quote: char) -> Result<&'a str> {
        let inner = &self.rest[1..];
        let mut at = 0;
        while let Some(found) = inner[at..].find(quote) {
            at += found;
            if inner[at + 1..].starts_with(quote) {
                at += 2;
                continue;
            }
            self.rest = &inner[at + 1..];
            return Ok(&inner[..at]);
        }
        Err(endless(quote))
    }

    /// Skips a text in which a backslash takes the next letter its meaning.
    fn skip_escaped(&mut self) -> Result<()> {
        let mut letters = self.rest[1..].char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => drop(letters.next()),
                '\'' if self.rest[at + 2..].starts_with('\'') => drop(letters.next()),
                '\'' => {
                    self.rest = &self.rest[at + 2..];
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(endless('\''))
    }

    /// A parameter, a text between two marks such as `$$` or `$body$`, or the sign.
    fn dollar(&mut self) -> Result<Word<'a>> {
        let behind = &self.rest[1..];
        if behind.starts_with(|next: char| next.is_ascii_digit()) {
            self.rest = behind;
            self.take(|next| next.is_ascii_digit());
            return Ok(Word::Number);
        }
        let in_tag = |next: char| begins_name(next) || next.is_ascii_digit();
        let tag_end = behind.find(|next: char| !in_tag(next)).unwrap_or(behind.len());
        if !behind[tag_end..].starts_with('$') {
            self.rest = behind;
            return Ok(Word::Sign('$'));
        }
        let (mark, inner) = self.rest.split_at(tag_end + 2);
        let end = inner.find(mark).ok_or_else(|| endless('$'))?;
        self.rest = &inner[end + mark.len()..];
        Ok(Word::Text(&inner[..end]))
    }

    /// A name, or a text with letters in front of its quote that say how it is written.
    fn name_or_prefix(&mut self) -> Result<Word<'a>> {
        let name = self.take(|next| begins_name(next) || next.is_ascii_digit() || next == '$');
        if self.rest.starts_with('\'') {
            match name {
                "e" | "E" => {
                    self.skip_escaped()?;
                    return Ok(Word::Escaped);
                }
                "b" | "B" | "x" | "X" | "n" | "N" => {
                    self.text()?;
                    return Ok(Word::Escaped);
                }
                _ => {}
            }
        }
        if matches!(name, "u" | "U") && self.rest.starts_with("&'") {
            self.rest = &self.rest[1..];
            self.text()?;
            return Ok(Word::Escaped);
        }
        if matches!(name, "u" | "U") && self.rest.starts_with("&\"") {
            return Err(Error::invalid("Game code writes names without U& in front."));
        }
        Ok(Word::Name(name.to_ascii_lowercase()))
    }
}

fn begins_name(first: char) -> bool {
    first.is_ascii_alphabetic() || first == '_' || !first.is_ascii()
}

fn endless(quote: char) -> Error {
    Error::invalid(format!("The statement has a text in {quote} without end."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(statement: &str, expect: &[Word<'_>]) {
        assert_eq!(words(statement).ok().as_deref(), Some(expect), "{statement}");
    }

    fn name(name: &str) -> Word<'static> {
        Word::Name(name.to_owned())
    }

    #[test]
    fn comments_nest() {
        check("/* /* */ SELECT 1 */ BEGIN", &[name("begin")]);
        check("/*/**/*/A--b\rC /* */d", &[name("a"), name("c"), name("d")]);
        check("1+/*a*/2--", &[Word::Number, Word::Sign('+'), Word::Number]);
        for open in ["/*", "/* /* */", "/*/"] {
            assert!(words(open).is_err(), "{open}");
        }
    }

    #[test]
    fn texts_end_where_postgresql_ends_them() {
        check("'a''b\\' c", &[Word::Text("a''b\\"), name("c")]);
        check("e'a\\'b''c' d", &[Word::Escaped, name("d")]);
        check("E'\\\\' d", &[Word::Escaped, name("d")]);
        check("x'1f' U&'\\0041' n'a'", &[Word::Escaped, Word::Escaped, Word::Escaped]);
        check("named'a'", &[name("named"), Word::Text("a")]);
        check("$$a'b$$ c", &[Word::Text("a'b"), name("c")]);
        check("$x$ $$ $x$", &[Word::Text(" $$ ")]);
        check("a$b$ $1", &[name("a$b$"), Word::Number]);
        check("\"A\"\"b\"", &[Word::Quoted("A\"b".to_owned())]);
        for open in ["'a", "'a''", "e'a\\'", "$$a", "$a$ $b$", "\"a", "U&\"a\""] {
            assert!(words(open).is_err(), "{open}");
        }
    }

    #[test]
    fn names_are_small_and_may_have_other_letters() {
        check("SeLeCT É_1\u{a0}x", &[name("select"), name("É_1\u{a0}x")]);
        check("1set_config", &[Word::Number, name("set_config")]);
        check("a . \"B\"", &[name("a"), Word::Sign('.'), Word::Quoted("B".to_owned())]);
    }
}
