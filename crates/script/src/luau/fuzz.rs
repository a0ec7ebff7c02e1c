//! Values that cross between Lua and the host, and sources of any bytes.

use mlua::{Lua, Value as LuaValue};
use muster_testenv::fuzz::Fuzz;

use super::dialect::{translate, words};
use super::values::{read, write};
use crate::value::fuzz::{WORDS, depth, of_bytes};
use crate::value::{DEPTH_MAX, Value};

#[test]
fn values_cross_to_lua_and_back() {
    let lua = Lua::new();
    let tried = Fuzz::new("lua-values").words(WORDS).runs(5_000).run(|input| {
        let value = of_bytes(&mut &*input, 0);
        // Lua has one type for lists and maps, and no nil in them: the first crossing decides, and the second one
        // changes nothing.
        let once = write(&lua, &value).and_then(|value| read(&lua, value)).expect("it is within all limits");
        let again = write(&lua, &once).and_then(|value| read(&lua, value)).expect("it is within all limits");
        assert_eq!(again.to_json_text(), once.to_json_text());
        assert!(depth(&once) <= DEPTH_MAX);
        !matches!(value, Value::Nil)
    });
    assert!(tried.accepted > tried.inputs / 2, "{tried:?}");
}

/// Statements of Lua that make values which are hard to read. An input is a list of their numbers.
const TABLES: &[&str] = &[
    "t[#t+1] = t",
    "t[#t+1] = {}",
    "t = {t}",
    "t.a = t.a or {}",
    "t[-1] = 1",
    "t[0] = 0",
    "t[2^53] = 1",
    "t[250000] = 1",
    "t[1/0] = 1",
    "t[1.5] = 2",
    "t[true] = 3",
    "t[{}] = 4",
    "t[print] = 5",
    "t['\\255'] = 6",
    "t['1'] = 7",
    "t[1] = nil",
    "t[3] = 'x'",
    "setmetatable(t, {__index = function() error('asked') end, __len = function() return 1e9 end})",
    "setmetatable(t, {__iter = function() error('asked') end, __metatable = false})",
    "t.f = function() end",
    "t.s = string.rep('x', 1e6)",
    "t.c = coroutine.create(print)",
    "t.n = 0/0",
    "for i = 1, 2000 do t['k' .. i] = i end",
    "for i = 1, 120 do t = {t} end",
    "table.freeze(t)",
    "t = table.clone(t)",
    "t.v = vector and vector.create(1, 2, 3)",
    "t.b = buffer and buffer.create(10)",
];

#[test]
fn whatever_tables_lua_makes_are_read_or_refused() {
    let lua = Lua::new();
    let tried = Fuzz::new("lua-tables").runs(3_000).input_bytes_max(24).run(|input| {
        let statements: Vec<_> = input.iter().map(|byte| TABLES[usize::from(*byte) % TABLES.len()]).collect();
        let source = format!("local t = {{}}\npcall(function()\n{}\nend)\nreturn t", statements.join("\n"));
        let made: LuaValue = lua.load(source).eval().expect("the source is right");
        let Ok(value) = read(&lua, made) else { return false };
        assert!(depth(&value) <= DEPTH_MAX);
        assert!(write(&lua, &value).is_ok());
        true
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}

#[test]
fn sources_of_any_bytes_are_translated_or_refused() {
    let marks = [
        "goto",
        "::",
        "continue",
        "::continue::",
        "end",
        "function",
        "...",
        "arg",
        "repeat",
        "until",
        "while",
        "do",
        "then",
        "if",
        "for",
        "return",
        ";;",
        "(",
        ")",
        "\n(",
        "--[[",
        "]]",
        "[==[",
        "]==]",
        "\"",
        "'",
        "\\\n",
        "`",
        "{",
        "}",
        "\r",
        "\0",
    ];
    let tried = Fuzz::new("lua-dialect").words(&marks).run(|input| {
        let found = words(input);
        let mut at = 0;
        for word in &found {
            assert!(word.start >= at && word.end() > word.start && word.end() <= input.len());
            assert_eq!(word.text, &input[word.start..word.end()]);
            at = word.end();
        }
        let Ok(made) = translate(input) else { return false };
        let made = made.as_deref().unwrap_or(input);
        let lines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(lines(made), lines(input));
        true
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}
