//! Cases of `string.format`, as the original formats them.

use mlua::Lua;

use crate::luau::builtins;

/// Expressions, and what the original's interpreter answers, behind a tab.
const CASES: &str = include_str!("cases.txt");

/// Evaluates an expression.
fn answer(expression: &str) -> String {
    let lua = Lua::new();
    builtins::replace(&lua).expect("builtins can be replaced");
    let result: mlua::Result<mlua::Value> = lua.load(format!("return {expression}")).eval();
    result.and_then(|value| value.to_string()).unwrap_or_else(|error| error.to_string())
}

#[test]
fn formats_are_those_of_the_original() {
    let cases: Vec<(&str, &str)> = CASES.lines().filter_map(|line| line.split_once('\t')).collect();
    assert!(cases.len() > 80, "{}", cases.len());
    let wrong: Vec<_> = cases.into_iter().filter(|(expression, expect)| answer(expression) != *expect).collect();
    let told: Vec<_> = wrong.iter().map(|(case, expect)| format!("{case}\n  {expect}\n  {}", answer(case))).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}

#[test]
fn tables_are_shown_by_the_text_that_they_give() {
    let own = "setmetatable({}, { __tostring = function() return 'its own' end })";
    assert_eq!(answer(&format!("string.format('%s|%10v|%q', {own}, {own}, {own})")), "its own|   its own|\"its own\"");
    assert_eq!(answer(&format!("string.format('%d', {own})")), "%!d(*lua.LTable=its own)");
    let failing = "setmetatable({}, { __tostring = function() error('mine', 0) end })";
    assert!(answer(&format!("string.format('%s', {failing})")).contains("mine"));
}

#[test]
fn braces_in_texts_are_luaus() {
    assert_eq!(answer("`{1e20} {nil} 5% {1234567.5}`"), "100000000000000000000 nil 5% 1234567.5");
}

#[test]
fn results_are_bounded() {
    let told = "string.format: the result is too long";
    for expression in [
        "string.format(string.rep('%1000000d', 20), unpack(table.create(20, 1)))",
        "string.format(string.rep('%.1000000f', 20), unpack(table.create(20, 1)))",
        "string.format(string.rep('%[1]s', 20), string.rep('x', 2 ^ 20))",
        "string.format(string.rep('%[1]x', 20), string.rep('x', 2 ^ 20))",
    ] {
        assert!(answer(expression).contains(told), "{expression}");
    }
    assert_eq!(answer("#string.format('%1000000d|%s', 1, string.rep('x', 2 ^ 20))"), "2048577");
}
