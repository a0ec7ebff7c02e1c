//! Words of Lua source with their places. Spaces and comments are left out. The lexer takes what it does not know as
//! single characters, since Luau itself tells what is wrong with a file.

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::luau) enum Kind {
    /// A name or keyword.
    Name,
    Number,
    Text,
    /// A punctuation mark: two characters for `::`, three for `...`, else one.
    Mark,
}

/// A word.
#[derive(Clone, Copy, Debug)]
pub(in crate::luau) struct Word<'a> {
    pub(in crate::luau) kind: Kind,
    pub(in crate::luau) text: &'a [u8],
    /// Offset of the first byte.
    pub(in crate::luau) start: usize,
    /// Line of the first byte; the first line is 1.
    pub(in crate::luau) line: u32,
    /// Line of the last byte.
    pub(in crate::luau) last_line: u32,
}

impl Word<'_> {
    /// Offset behind the last byte.
    pub(in crate::luau) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    pub(in crate::luau) fn is_mark(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark.as_bytes()
    }

    pub(in crate::luau) fn is_name(&self, name: &str) -> bool {
        self.kind == Kind::Name && self.text == name.as_bytes()
    }
}

/// All words of a source.
pub(in crate::luau) fn words(source: &[u8]) -> Vec<Word<'_>> {
    let mut lexer = Lexer { source, at: 0, line: 1 };
    let mut words = Vec::new();
    lexer.skip_shebang();
    while let Some(word) = lexer.next() {
        words.push(word);
    }
    words
}

struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> Lexer<'a> {
    fn peek(&self, ahead: usize) -> u8 {
        self.source.get(self.at + ahead).copied().unwrap_or_default()
    }

    /// Moves on to an offset, and counts the lines on the way.
    fn go_to(&mut self, end: usize) {
        let end = end.min(self.source.len());
        let lines = self.source[self.at..end].iter().filter(|byte| **byte == b'\n').count();
        self.line += u32::try_from(lines).unwrap_or(u32::MAX);
        self.at = end;
    }

    /// Offset of the first byte from here on that ends a run; the end of the source if none does.
    fn end_of_run(&self, from: usize, is_in: impl Fn(u8) -> bool) -> usize {
        let run = self.source[from.min(self.source.len())..].iter().take_while(|byte| is_in(**byte)).count();
        from + run
    }

    fn skip_shebang(&mut self) {
        if self.peek(0) == b'#' {
            self.go_to(self.end_of_run(0, |byte| byte != b'\n'));
        }
    }

    fn skip_spaces_and_comments(&mut self) {
        loop {
            self.go_to(self.end_of_run(self.at, |byte| byte.is_ascii_whitespace() || byte == 0x0b));
            if !(self.peek(0) == b'-' && self.peek(1) == b'-') {
                return;
            }
            let end = match self.long_bracket(self.at + 2) {
                Some(end) => end,
                None => self.end_of_run(self.at, |byte| byte != b'\n'),
            };
            self.go_to(end);
        }
    }

    /// Offset behind the long bracket that begins at an offset, if one does there.
    fn long_bracket(&self, start: usize) -> Option<usize> {
        let level = self.end_of_run(start + 1, |byte| byte == b'=') - (start + 1);
        if self.source.get(start) != Some(&b'[') || self.source.get(start + 1 + level) != Some(&b'[') {
            return None;
        }
        let closing = [b"]".as_slice(), &vec![b'='; level], b"]"].concat();
        let inside = start + 2 + level;
        let found = self.source[inside..].windows(closing.len()).position(|window| window == closing);
        Some(found.map_or(self.source.len(), |at| inside + at + closing.len()))
    }

    /// Offset behind a text in quotes, or behind its line if it does not end there.
    fn quoted(&self, quote: u8) -> usize {
        let mut at = self.at + 1;
        while let Some(byte) = self.source.get(at) {
            match byte {
                b'\\' => at += 1,
                b'\n' if quote != b'`' => return at,
                byte if *byte == quote => return at + 1,
                _ => {}
            }
            at += 1;
        }
        self.source.len()
    }

    fn next(&mut self) -> Option<Word<'a>> {
        self.skip_spaces_and_comments();
        let (start, line) = (self.at, self.line);
        let first = *self.source.get(start)?;
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
        let (kind, end) = match first {
            b'0'..=b'9' => (Kind::Number, self.end_of_run(start, |byte| is_word(byte) || byte == b'.')),
            byte if is_word(byte) => (Kind::Name, self.end_of_run(start, is_word)),
            b'"' | b'\'' | b'`' => (Kind::Text, self.quoted(first)),
            b'[' => match self.long_bracket(start) {
                Some(end) => (Kind::Text, end),
                None => (Kind::Mark, start + 1),
            },
            b'.' if self.peek(1) == b'.' && self.peek(2) == b'.' => (Kind::Mark, start + 3),
            b':' if self.peek(1) == b':' => (Kind::Mark, start + 2),
            _ => (Kind::Mark, start + 1),
        };
        self.go_to(end);
        Some(Word { kind, text: &self.source[start..self.at], start, line, last_line: self.line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expect: &[&str]) {
        let found: Vec<String> =
            words(source.as_bytes()).iter().map(|word| String::from_utf8_lossy(word.text).into_owned()).collect();
        assert_eq!(found, expect, "{source}");
    }

    #[test]
    fn words_stand_without_spaces_and_comments() {
        check("#!/usr/bin/lua\nlocal a = 1 -- not this\n", &["local", "a", "=", "1"]);
        check("--[==[ long ]] \n ]==] x --[[y]] z", &["x", "z"]);
        check(
            "a[b[1]] = [[text]] .. 'it\\'s' .. \"\\\"\"",
            &["a", "[", "b", "[", "1", "]", "]", "=", "[[text]]", ".", ".", "'it\\'s'", ".", ".", "\"\\\"\""],
        );
        check("f(...) ::top:: x.y 1.5e10", &["f", "(", "...", ")", "::", "top", "::", "x", ".", "y", "1.5e10"]);
        check("'not ended\nx", &["'not ended", "x"]);
        check("[[not ended", &["[[not ended"]);
        check("", &[]);
    }

    #[test]
    fn lines_are_those_of_the_source() {
        let words = words(b"a\n[[b\nc]]\n\n--[[\n]] d");
        let lines: Vec<_> = words.iter().map(|word| (word.line, word.last_line)).collect();
        assert_eq!(lines, [(1, 1), (2, 3), (6, 6)]);
    }
}
