//! Features of Lua that cost memory or time in every instance of a program: only programs whose source uses them get
//! them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::dialect::{Kind, Word, words};
use super::slips::Slips;
use super::vm::HOST_MODULE;

/// The libraries that game code may write to, and the host's module by its name for `require`.
pub(super) const WRITABLE: [&str; 7] = ["string", "table", "math", "os", "bit32", "utf8", HOST_MODULE];

/// Functions and tables that belong to one instance.
const OWN: [&str; 6] = ["load", "loadstring", "loadfile", "dofile", "module", "package"];

/// Functions that write to the table that they are given.
const WRITERS: [&str; 2] = ["rawset", "setmetatable"];

/// The features that a program uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// Whether modules may load source, or read `package`.
    pub(super) own_functions: bool,
    /// Libraries that modules write to. Each instance has a copy of them.
    pub(super) written: BTreeSet<&'static str>,
    /// Names of functions of the host that are not there.
    pub(super) slips: Arc<Slips>,
}

impl Uses {
    /// The same, with a copy of every library that may be written to.
    pub(super) fn with_all_written(&self) -> Self {
        Self { written: WRITABLE.into(), ..self.clone() }
    }

    /// Adds the features that a source names.
    pub(super) fn add(&mut self, source: &[u8]) {
        let words = words(source);
        let mut hosts: BTreeSet<&[u8]> = BTreeSet::new();
        for at in 0..words.len() {
            let is_field = at > 0 && (words[at - 1].is_mark(".") || words[at - 1].is_mark(":"));
            if words[at].kind != Kind::Name || is_field {
                continue;
            }
            self.own_functions |= OWN.iter().any(|name| words[at].is_name(name));
            if is_required_host(&words, at) {
                hosts.insert(words[at].text);
            }
            let library = if hosts.contains(words[at].text) {
                Some(HOST_MODULE)
            } else {
                WRITABLE.into_iter().find(|name| *name != HOST_MODULE && words[at].is_name(name))
            };
            self.written.extend(library.filter(|_| is_written(&words, at)));
        }
    }
}

/// Whether a name is given the host's module: `nk = require("nakama")`.
pub(super) fn is_required_host(words: &[Word<'_>], at: usize) -> bool {
    let is = |ahead: usize, test: &dyn Fn(&Word<'_>) -> bool| words.get(at + ahead).is_some_and(test);
    let is_host = |word: &Word<'_>| {
        let inside = word.text.get(1..word.text.len().saturating_sub(1));
        word.kind == Kind::Text && inside == Some(HOST_MODULE.as_bytes())
    };
    let behind = if is(3, &|word| word.is_mark("(")) { 4 } else { 3 };
    is(1, &|word| word.is_mark("=")) && is(2, &|word| word.is_name("require")) && is(behind, &is_host)
}

/// Whether a field of a table is set: `name.field =`, `name[…] =`, `function name.field`, `rawset(name, …)`.
fn is_written(words: &[Word<'_>], at: usize) -> bool {
    let mark = |index: usize, mark: &str| words.get(index).is_some_and(|word| word.is_mark(mark));
    let is_set = |index: usize| mark(index, "=") && !mark(index + 1, "=");
    if at > 0 && words[at - 1].is_name("function") && (mark(at + 1, ".") || mark(at + 1, ":")) {
        return true;
    }
    if at > 1 && words[at - 1].is_mark("(") && WRITERS.iter().any(|name| words[at - 2].is_name(name)) {
        return true;
    }
    if mark(at + 1, ".") {
        return is_set(at + 3);
    }
    if !mark(at + 1, "[") {
        return false;
    }
    let mut depth = 0;
    for index in at + 1..words.len() {
        depth += i32::from(mark(index, "[")) - i32::from(mark(index, "]"));
        if depth == 0 {
            return is_set(index + 1);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, own_functions: bool, written: &[&str]) {
        let mut uses = Uses::default();
        uses.add(source.as_bytes());
        let found: Vec<&str> = uses.written.iter().copied().collect();
        assert_eq!((uses.own_functions, found.as_slice()), (own_functions, written), "{source}");
    }

    #[test]
    fn writes_to_libraries_are_found() {
        check("function string.trim(s) return s end", false, &["string"]);
        check("table.contains = function() end math.random = nil", false, &["math", "table"]);
        check("string['x' .. y[1]] = 3", false, &["string"]);
        check("rawset(os, 'x', 1)", false, &["os"]);
        check("local nk = require('nakama') nk.own = 1", false, &["nakama"]);
        check("local nk = require \"nakama\" function nk.own() end", false, &["nakama"]);
    }

    #[test]
    fn reads_are_no_writes() {
        check("local s = string.format('%d', 1) if string.x == 3 then end", false, &[]);
        check("local t = { string = 1 } t.string.x = 2 local nk = require('nakama') nk.f(nk.g)", false, &[]);
        check("-- string.trim = nil", false, &[]);
        check("return table[1] == 2", false, &[]);
    }

    #[test]
    fn functions_of_instances_are_found() {
        check("local f = loadstring(x)", true, &[]);
        check("package.loaded.x = nil", true, &[]);
        check("storage.load(x) t.module = 1", false, &[]);
    }
}
