//! Slips in the names of the host's functions: `nk.storage_reed`. They are found in the source when modules are loaded,
//! and told in the log then, and in the error when the call fails. Slips in the names of a dispatcher's functions are
//! told in the error alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mlua::{Lua, Result, Table, Value as LuaValue};

use super::dialect::{Kind, Word, words};
use super::uses::is_required_host;
use crate::machine::near::{did_you_mean, near};

/// The end of Luau's error for a call of something that is not there.
const NIL_CALL: &str = "attempt to call a nil value";

/// Functions that write to the table that they are given.
const WRITERS: [&str; 2] = ["rawset", "setmetatable"];

/// The slips of a program: what to write instead, by file and line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Slips(BTreeMap<(String, u32), String>);

impl Slips {
    /// Finds the slips in sources, given as file and text. `known` are the names of the host's functions.
    pub(super) fn find<'a>(
        sources: impl Iterator<Item = (&'a str, &'a [u8])>,
        known: impl Fn() -> BTreeSet<String>,
    ) -> Self {
        let mut uses = Vec::new();
        let mut own = BTreeSet::new();
        for (file, text) in sources {
            let words = words(text);
            let hosts: BTreeSet<&[u8]> =
                (0..words.len()).filter(|at| is_required_host(&words, *at)).map(|at| words[at].text).collect();
            for at in (0..words.len()).filter(|at| hosts.contains(words[*at].text)) {
                match field(&words, at) {
                    Field::None => {}
                    // Modules may add functions under names that the source does not show.
                    Field::Any => return Self::default(),
                    Field::Written(name) => {
                        own.insert(name.to_owned());
                    }
                    Field::Read(name) => uses.push((file, words[at].line, words[at].text, name)),
                }
            }
        }
        let known = known();
        let is_slip = |name: &str| !known.contains(name) && !own.contains(name);
        let slips = uses.into_iter().filter(|(.., name)| is_slip(name)).map(|(file, line, host, name)| {
            let host = String::from_utf8_lossy(host);
            let near: Vec<String> =
                near(name, known.iter().map(String::as_str)).into_iter().map(|name| format!("{host}.{name}")).collect();
            let remedy = did_you_mean(&near).unwrap_or_else(|| "the server has no such function".to_owned());
            ((file.to_owned(), line), format!("{host}.{name}: {remedy}"))
        });
        Self(slips.collect())
    }

    /// The slips as lines with file and line.
    pub(super) fn told(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|((file, line), told)| format!("{file}:{line}: {told}"))
    }
}

/// A use of the host's module in the source.
enum Field<'a> {
    None,
    /// A field that the source does not name is written.
    Any,
    Read(&'a str),
    Written(&'a str),
}

fn field<'a>(words: &[Word<'a>], at: usize) -> Field<'a> {
    let mark = |index: usize, mark: &str| words.get(index).is_some_and(|word| word.is_mark(mark));
    if at > 0 && (mark(at - 1, ".") || mark(at - 1, ":")) {
        return Field::None;
    }
    if at > 1 && mark(at - 1, "(") && WRITERS.iter().any(|name| words[at - 2].is_name(name)) || mark(at + 1, "[") {
        return Field::Any;
    }
    let is_field = mark(at + 1, ".") || mark(at + 1, ":");
    let name = words.get(at + 2).filter(|word| is_field && word.kind == Kind::Name);
    let Some(name) = name.and_then(|word| std::str::from_utf8(word.text).ok()) else { return Field::None };
    let is_defined = at > 0 && words[at - 1].is_name("function");
    let is_assigned = mark(at + 3, "=") && !mark(at + 4, "=");
    if is_defined || is_assigned { Field::Written(name) } else { Field::Read(name) }
}

/// Lets a machine know the slips of its program.
pub(super) fn know(lua: &Lua, slips: &Arc<Slips>) {
    lua.set_app_data(slips.clone());
}

/// The name that was last looked up in vain in a dispatcher.
struct LastMissed {
    /// File and line.
    place: String,
    name: String,
    /// Names of the dispatcher's functions.
    known: Arc<[String]>,
}

/// Has names that a dispatcher lacks noted.
///
/// # Errors
/// When there is no memory for it.
pub(super) fn watch(lua: &Lua, dispatcher: &Table) -> Result<()> {
    let known = dispatcher.pairs::<String, LuaValue>().map(|pair| pair.map(|(name, _)| name));
    let known: Arc<[String]> = known.collect::<Result<Vec<_>>>()?.into();
    let missing = lua.create_function(move |lua, (_, name): (Table, LuaValue)| {
        if let (Some(name), Some(place)) = (name.as_string(), place(lua)) {
            let name = name.to_string_lossy();
            drop(lua.set_app_data(LastMissed { place, name, known: known.clone() }));
        }
        Ok(LuaValue::Nil)
    })?;
    let behavior = lua.create_table()?;
    behavior.raw_set("__index", missing)?;
    behavior.raw_set("__metatable", false)?;
    dispatcher.set_metatable(Some(behavior))
}

/// The place of the code that looked up a name.
fn place(lua: &Lua) -> Option<String> {
    const CALLER: usize = 1;
    lua.inspect_stack(CALLER, |debug| {
        let (source, line) = (debug.source(), debug.current_line());
        Some(format!("{}:{}", source.short_src?, line?))
    })?
}

/// The remedy for a name that a dispatcher lacks, if it was looked up at the place of the error.
fn remedy_of_dispatcher(lua: &Lua, place: &str) -> Option<String> {
    let missed = lua.app_data_ref::<LastMissed>().filter(|missed| missed.place == place)?;
    let near = near(&missed.name, missed.known.iter().map(String::as_str));
    let near: Vec<String> = near.into_iter().map(|name| format!("dispatcher.{name}")).collect();
    let remedy = did_you_mean(&near).unwrap_or_else(|| "the dispatcher has no such function".to_owned());
    Some(format!("dispatcher.{}: {remedy}", missed.name))
}

/// An error's text with the remedy, if a slip is at its place.
pub(super) fn with_remedy(lua: &Lua, told: String) -> String {
    let remedy = || {
        let place = told.strip_suffix(NIL_CALL)?.strip_suffix(": ")?;
        let (file, line) = place.rsplit_once(':')?;
        let slips = lua.app_data_ref::<Arc<Slips>>()?;
        let found = slips.0.get(&(file.to_owned(), line.parse().ok()?)).cloned();
        found.or_else(|| remedy_of_dispatcher(lua, place))
    };
    match remedy() {
        Some(remedy) => format!("{told} ({remedy})"),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expect: &[&str]) {
        let known = || ["storage_read", "storage_write", "time"].map(str::to_owned).into();
        let slips = Slips::find([("a.lua", source.as_bytes())].into_iter(), known);
        assert_eq!(slips.told().collect::<Vec<_>>(), expect, "{source}");
    }

    #[test]
    fn names_that_are_not_there_are_found() {
        check(
            "local nk = require('nakama')\nnk.storage_reed({})\nnk.time()",
            &["a.lua:2: nk.storage_reed: did you mean nk.storage_read?"],
        );
        check("local host = require 'nakama' host.xyz()", &["a.lua:1: host.xyz: the server has no such function"]);
        check("local nk = require('nakama') local t = { nk = {} } t.nk.abc() other.abc() -- nk.abc()", &[]);
    }

    #[test]
    fn names_that_modules_add_are_there() {
        check("local nk = require('nakama') nk.own = 1 print(nk.own)", &[]);
        check("local nk = require('nakama') function nk.own() end nk.own()", &[]);
        check("local nk = require('nakama') nk['o' .. 'wn'] = 1 nk.own()", &[]);
        check("local nk = require('nakama') rawset(nk, 'own', 1) nk.own()", &[]);
    }
}
