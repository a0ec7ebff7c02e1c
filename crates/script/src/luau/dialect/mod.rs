//! Source in the original's dialect, Lua 5.1 as its interpreter reads it, made into Luau. Lines stay where they are, so
//! errors name the file's own.
//!
//! - Empty statements, `;;`, are left out.
//! - A parenthesis at the beginning of a line that goes on with a call is moved to the end of the line before: Luau
//!   finds it ambiguous otherwise.
//! - `goto` to a label at the end of a loop's body becomes `continue`. Any other `goto` is refused.
//! - A function with `...` that uses `arg` in its stead gets a local variable of that name.

mod blocks;
mod lexer;

use std::collections::BTreeMap;

use blocks::{Blocks, Of};
pub(super) use lexer::{Kind, Word, words};

/// A `goto` that Luau cannot carry out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) line: u32,
    pub(super) message: String,
}

/// The source in Luau; `None` if it needs no change.
///
/// # Errors
/// For a `goto` that is no `continue`.
pub(super) fn translate(source: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let words = words(source);
    let blocks = Blocks::of(&words);
    let mut edits = Edits::default();
    gotos(&words, &blocks, &mut edits)?;
    empty_statements(&words, &blocks, &mut edits);
    calls_on_new_lines(&words, &mut edits);
    old_varargs(&words, &blocks, &mut edits);
    Ok(edits.apply(source))
}

/// Changes of a source.
#[derive(Default)]
struct Edits {
    /// Bytes that replace others: the length of those by their offset.
    replaced: BTreeMap<usize, (usize, Vec<u8>)>,
}

impl Edits {
    fn replace(&mut self, word: &Word<'_>, by: &[u8]) {
        self.replaced.insert(word.start, (word.text.len(), by.to_vec()));
    }

    fn insert(&mut self, at: usize, text: &[u8]) {
        self.replaced.entry(at).or_default().1.splice(0..0, text.iter().copied());
    }

    /// Whether a word is replaced.
    fn has(&self, word: &Word<'_>) -> bool {
        self.replaced.get(&word.start).is_some_and(|(length, _)| *length > 0)
    }

    fn apply(self, source: &[u8]) -> Option<Vec<u8>> {
        if self.replaced.is_empty() {
            return None;
        }
        let mut made = Vec::with_capacity(source.len() + 64);
        let mut from = 0;
        for (at, (length, by)) in self.replaced {
            made.extend_from_slice(&source[from..at]);
            made.extend_from_slice(&by);
            from = at + length;
        }
        made.extend_from_slice(&source[from..]);
        Some(made)
    }
}

/// Turns each `goto` into `continue`, and takes the labels out.
fn gotos(words: &[Word<'_>], blocks: &Blocks, edits: &mut Edits) -> Result<(), Refusal> {
    let is_statement = |at: usize| at == 0 || !matches!(words[at - 1].text, b"." | b":" | b"=" | b"," | b"(" | b"{");
    let is_goto = |at: &usize| {
        let is_target = || words.get(at + 1).is_some_and(|target| target.kind == Kind::Name);
        words[*at].is_name("goto") && is_target() && is_statement(*at)
    };
    let gotos: Vec<usize> = (0..words.len()).filter(is_goto).collect();
    if gotos.is_empty() {
        return Ok(());
    }
    let labels: BTreeMap<(usize, &[u8]), usize> = (0..words.len())
        .filter(|at| is_label(words, *at))
        .map(|at| ((blocks.of_word[at], words[at + 1].text), at))
        .collect();
    for at in gotos {
        let (goto, target) = (&words[at], &words[at + 1]);
        let mut nearest_loop = None;
        let label = blocks.within_function(blocks.of_word[at]).find_map(|block| {
            let is_loop = blocks.list[block].of == Of::Loop;
            nearest_loop = nearest_loop.or(is_loop.then_some(block));
            labels.get(&(block, target.text)).map(|label| (block, *label))
        });
        let why = match label {
            None => "there is no such label around it",
            Some((block, label)) if nearest_loop == Some(block) && is_last(words, label, blocks.list[block].end) => {
                edits.replace(goto, b"do continue");
                edits.replace(target, b"end");
                continue;
            }
            Some(_) => {
                "only a label at the end of the loop around it can be gone to: use `continue`, `break`, `return`, or a function"
            }
        };
        let message = format!("goto {}: {why}", String::from_utf8_lossy(target.text));
        return Err(Refusal { line: goto.line, message });
    }
    labels.values().flat_map(|label| &words[*label..label + LABEL_WORDS]).for_each(|word| edits.replace(word, b""));
    Ok(())
}

/// Number of words of a label, `::name::`.
const LABEL_WORDS: usize = 3;

/// Whether a label begins at a word of a source with `goto`. Such a source is none of Luau, where the same mark asserts
/// types.
fn is_label(words: &[Word<'_>], at: usize) -> bool {
    words
        .get(at..at + LABEL_WORDS)
        .is_some_and(|three| three[0].is_mark("::") && three[1].kind == Kind::Name && three[2].is_mark("::"))
}

/// Whether nothing but labels and semicolons stands between a label and the end of its block.
fn is_last(words: &[Word<'_>], label: usize, end: usize) -> bool {
    let mut at = label + LABEL_WORDS;
    while at < end {
        if words[at].is_mark(";") {
            at += 1;
        } else if is_label(words, at) {
            at += LABEL_WORDS;
        } else {
            return false;
        }
    }
    true
}

/// Leaves out semicolons that end no statement.
fn empty_statements(words: &[Word<'_>], blocks: &Blocks, edits: &mut Edits) {
    let is_empty_after = |at: usize, word: &Word<'_>| match word.text {
        b";" => true,
        b"do" | b"then" | b"else" | b"repeat" => word.kind == Kind::Name,
        b")" => blocks.begins_function(at + 1),
        _ => false,
    };
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.is_mark(";")) {
        // Words of a label are gone; what stands before them counts.
        let before = words[..at].iter().enumerate().rev().find(|(_, word)| !is_gone(edits, word));
        if before.is_none_or(|(at, word)| is_empty_after(at, word)) {
            edits.replace(word, b"");
        }
    }
}

/// Whether a word is replaced by nothing, other than a semicolon, which still ends the statement before.
fn is_gone(edits: &Edits, word: &Word<'_>) -> bool {
    !word.is_mark(";") && edits.replaced.get(&word.start).is_some_and(|(_, by)| by.is_empty())
}

/// Keywords behind which a parenthesis begins an expression.
const KEYWORDS: [&[u8]; 21] = [
    b"and",
    b"break",
    b"do",
    b"else",
    b"elseif",
    b"end",
    b"false",
    b"for",
    b"function",
    b"if",
    b"in",
    b"local",
    b"nil",
    b"not",
    b"or",
    b"repeat",
    b"return",
    b"then",
    b"true",
    b"until",
    b"while",
];

/// Moves parentheses that go on with a call to the line of what is called.
fn calls_on_new_lines(words: &[Word<'_>], edits: &mut Edits) {
    for pair in words.windows(2) {
        let [before, parenthesis] = pair else { continue };
        let can_be_called = match before.kind {
            Kind::Name => !KEYWORDS.contains(&before.text) && !before.is_name("continue"),
            Kind::Text => true,
            Kind::Mark => matches!(before.text, b")" | b"]" | b"}"),
            Kind::Number => false,
        };
        let is_moved = parenthesis.is_mark("(") && can_be_called && before.last_line < parenthesis.line;
        if is_moved && !edits.has(before) {
            edits.replace(parenthesis, b" ");
            edits.insert(before.end(), b"(");
        }
    }
}

/// Gives functions that use `arg` in place of `...` the variable.
fn old_varargs(words: &[Word<'_>], blocks: &Blocks, edits: &mut Edits) {
    let is_arg = |at: usize| words[at].is_name("arg") && !matches!(words[at - 1].text, b"." | b":");
    // The dots among the parameters of a function stand two words before its body.
    let is_parameter = |dots: usize| words[dots].is_mark("...") && blocks.begins_function(dots + 2);
    let functions = blocks.list.iter().enumerate().filter(|(_, block)| block.of == Of::Function && block.first > 1);
    for (function, block) in functions.filter(|(_, block)| is_parameter(block.first - 2)) {
        let own = || {
            let inside = block.first..block.end.min(words.len());
            inside.filter(|at| blocks.function_of(blocks.of_word[*at]) == function)
        };
        let uses_dots = || own().any(|at| words[at].is_mark("...") && !is_parameter(at));
        if own().any(is_arg) && !uses_dots() {
            edits.insert(words[block.first - 1].end(), b" local arg = {n = select('#', ...), ...};");
        }
    }
}

#[cfg(test)]
mod tests {
    use mlua::Lua;

    use super::*;

    fn translated(source: &str) -> String {
        let made = translate(source.as_bytes()).expect("it is translated");
        made.map_or_else(|| source.to_owned(), |made| String::from_utf8(made).expect("it is text"))
    }

    /// Runs a source, and compares its result with what the original's interpreter answers.
    fn check(source: &str, expect: &str) {
        let made = translated(source);
        assert_eq!(made.lines().count(), source.lines().count(), "{made}");
        let lua = Lua::new();
        let result: mlua::Result<mlua::Value> = lua.load(&made).set_name("=f").eval();
        let result = result.and_then(|value| value.to_string());
        assert_eq!(result.unwrap_or_else(|error| error.to_string()), expect, "{source}\n{made}");
    }

    fn check_refused(source: &str, line: u32, part: &str) {
        let refusal = translate(source.as_bytes()).expect_err(source);
        assert_eq!(refusal.line, line);
        assert!(refusal.message.contains(part), "{}", refusal.message);
    }

    #[test]
    fn source_that_both_read_the_same_way_stays_as_it_is() {
        for source in [
            "local a = 1; return a",
            "local goto_ = 1 return goto_",
            "local x = y :: number",
            "f(function() return 1 end)\nlocal t = (1)",
            "type A = { b: number }\nlocal c: A = nil",
            "for i = 1, 2 do\n  (f)(i)\nend",
            "local s = `a {1} b`",
        ] {
            assert_eq!(translate(source.as_bytes()), Ok(None), "{source}");
        }
    }

    #[test]
    fn empty_statements_are_left_out() {
        check(";; local x = 1;; return x;;", "1");
        check("do ; end repeat ; until true ; return 2", "2");
        check("local f = function(a, b) ; return a end ; return f(3)", "3");
        check("local t = { a = {} } function t.a:b() ; return 4 end return t.a:b()", "4");
        check("if true then ; elseif true then ; else ; end return 5", "5");
    }

    #[test]
    fn a_call_may_go_on_in_the_next_line() {
        check("local function f() return function(x) return x end end\nlocal y = f() -- a note\n(6)\nreturn y", "6");
        check("local f = print\nlocal t = {}\n(print)('hi')\nreturn 7", "7");
        check("local a = tostring\n(8)\nreturn a", "8");
        check("local f = function() return 9 end\nlocal x = 1\n;(print)('x') return f\n(\n)", "9");
    }

    #[test]
    fn errors_name_the_lines_of_the_file() {
        let made = translated("local f = tostring\n(1)\n;;\nerror('x')");
        let error = Lua::new().load(&made).set_name("=f").exec().expect_err("it raises an error").to_string();
        assert!(error.contains("f:4: x"), "{error}");
    }

    #[test]
    fn goto_to_the_end_of_a_loop_continues() {
        check(
            "local n = 0\nfor i = 1, 5 do\n if i % 2 == 0 then goto continue end\n n = n + i\n ::continue::\nend\nreturn n",
            "9",
        );
        check(
            "local n = 0 for i = 1, 5 do for j = 1, 5 do if j == 3 then goto out end n = n + 1 ::out:: end end return n",
            "20",
        );
        check("local n = 0 while n < 9 do n = n + 1 do goto next end n = 100 ::next::; ::other:: end return n", "9");
        // The loop's header holds a function with blocks of its own.
        check(
            "local n = 0 for _, v in ipairs((function() do n = n + 1 end return { 1, 2, 3 } end)()) do if v == 2 then goto next end n = n + v ::next:: end return n",
            "5",
        );
        check("local n = 0 repeat n = n + 1 if n > 2 then goto go_on; end ::go_on:: until n > 4 return n", "5");
        check(
            "local n = 0 for i = 1, 3 do local f = function() for j = 1, 3 do goto a ::a:: end return 1 end n = n + f() goto a ::a:: end return n",
            "3",
        );
    }

    #[test]
    fn any_other_goto_is_refused_with_its_line() {
        check_refused(
            "local i = 0\n::top::\ni = i + 1\nif i < 5 then goto top end",
            4,
            "only a label at the end of the loop",
        );
        check_refused("do goto done end ::done::", 1, "only a label at the end of the loop");
        check_refused("for i = 1, 2 do for j = 1, 2 do goto outer end ::outer:: end", 1, "only a label at the end");
        check_refused("for i = 1, 2 do while true do goto next end ::next:: end", 1, "only a label at the end");
        check_refused("for i = 1, 2 do goto nowhere end", 1, "goto nowhere: there is no such label");
        check_refused("for i = 1, 2 do f(function() goto a end) ::a:: end", 1, "there is no such label");
        check_refused("for i = 1, 2 do goto a ::a:: print(i) end", 1, "only a label at the end");
    }

    #[test]
    fn arg_holds_what_a_function_was_called_with() {
        check("local function f(...) return arg.n .. arg[1] end return f('a', 'b')", "2a");
        check("local function f(...) local x = select('#', ...) return arg end return f(1)", "nil");
        check(
            "local function f(a, ...) local g = function(...) return ... end return a + #arg + g(5) end return f(1, 2, 3)",
            "8",
        );
        check("local t = { arg = 3 } local function f(...) return t.arg end return f(1)", "3");
        check("return arg", "nil");
    }
}
