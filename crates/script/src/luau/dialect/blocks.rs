//! Blocks of Lua source: which words open and end them, found without parsing expressions.

use super::lexer::{Kind, Word};

/// The construct that a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    /// The file, or the body of a function.
    Function,
    /// The body of `for`, `while` or `repeat`.
    Loop,
    /// A branch of `if`, or `do` on its own.
    Plain,
}

/// A block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) of: Of,
    /// The block around it; `None` for the file.
    pub(super) parent: Option<usize>,
    /// Index of the first word inside. For a function it stands behind the parameters.
    pub(super) first: usize,
    /// Index of the word that ends the block; the number of words for the file.
    pub(super) end: usize,
    /// Number of headers of `for` and `while` directly in the block whose `do` has not come yet.
    headers: usize,
}

/// The blocks of a source, and the block of each word. Words that open or end a block belong to the block around.
pub(super) struct Blocks {
    pub(super) list: Vec<Block>,
    pub(super) of_word: Vec<usize>,
}

impl Blocks {
    pub(super) fn of(words: &[Word<'_>]) -> Self {
        let mut finder = Finder { words, list: Vec::new(), of_word: vec![0; words.len()], current: 0 };
        finder.list.push(Block { of: Of::Function, parent: None, first: 0, end: words.len(), headers: 0 });
        finder.find();
        Self { list: finder.list, of_word: finder.of_word }
    }

    /// The function around a block, which may be the block itself.
    pub(super) fn function_of(&self, block: usize) -> usize {
        self.within_function(block).last().unwrap_or(block)
    }

    /// A block and those around it in the same function, from the inside. The last is the function.
    pub(super) fn within_function(&self, block: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(block), |block| {
            let Block { of, parent, .. } = self.list[*block];
            parent.filter(|_| of != Of::Function)
        })
    }

    /// Whether the body of a function begins at a word.
    pub(super) fn begins_function(&self, at: usize) -> bool {
        let is_it = |block: usize| (self.list[block].of, self.list[block].first) == (Of::Function, at);
        // Blocks stand in the order of their first words.
        let found = self.list.partition_point(|block| block.first < at);
        (found..self.list.len()).take_while(|block| self.list[*block].first == at).any(is_it)
    }
}

struct Finder<'a> {
    words: &'a [Word<'a>],
    list: Vec<Block>,
    of_word: Vec<usize>,
    current: usize,
}

impl Finder<'_> {
    fn find(&mut self) {
        let mut at = 0;
        while let Some(word) = self.words.get(at) {
            self.of_word[at] = self.current;
            if word.kind == Kind::Name && !self.is_field(at) {
                match word.text {
                    b"for" | b"while" => self.list[self.current].headers += 1,
                    b"do" => {
                        let headers = &mut self.list[self.current].headers;
                        let of = if *headers > 0 { Of::Loop } else { Of::Plain };
                        *headers -= usize::from(of == Of::Loop);
                        self.open(of, at + 1);
                    }
                    b"repeat" => self.open(Of::Loop, at + 1),
                    b"then" => self.open(Of::Plain, at + 1),
                    b"else" => {
                        self.close(at);
                        self.open(Of::Plain, at + 1);
                    }
                    b"elseif" | b"end" | b"until" => self.close(at),
                    b"function" => {
                        at = self.function(at);
                        continue;
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        // Blocks of a file that ends too early; Luau says so.
        for block in &mut self.list {
            block.end = block.end.min(self.words.len());
        }
    }

    /// Whether a name is behind a dot or colon, where keywords of Luau may stand as names of fields.
    fn is_field(&self, at: usize) -> bool {
        at.checked_sub(1).is_some_and(|before| self.words[before].is_mark(".") || self.words[before].is_mark(":"))
    }

    fn open(&mut self, of: Of, first: usize) {
        self.list.push(Block { of, parent: Some(self.current), first, end: usize::MAX, headers: 0 });
        self.current = self.list.len() - 1;
    }

    fn close(&mut self, at: usize) {
        let block = &mut self.list[self.current];
        // An `end` too many; Luau says so.
        let Some(parent) = block.parent else { return };
        block.end = at;
        self.current = parent;
        self.of_word[at] = parent;
    }

    /// Opens the block of a function, behind its parameters. Answers the index of the first word inside.
    fn function(&mut self, at: usize) -> usize {
        let opens = (at..self.words.len()).find(|index| self.words[*index].is_mark("("));
        let mut depth = 0;
        let mut inside = self.words.len();
        for index in opens.unwrap_or(self.words.len())..self.words.len() {
            depth += i32::from(self.words[index].is_mark("(")) - i32::from(self.words[index].is_mark(")"));
            self.of_word[index] = self.current;
            if depth == 0 {
                inside = index + 1;
                break;
            }
        }
        self.of_word[at..inside].fill(self.current);
        self.open(Of::Function, inside);
        inside
    }
}
