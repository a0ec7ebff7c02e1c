//! Modules in the original's dialect of Lua: what they write to libraries stays in their instance, and they load code by
//! its means.

use muster_script::Limits;
use muster_script::value::Value;

use crate::matches::{Hall, run};
use crate::world::{block_on, call, load};

/// Runs a module whose function answers a text, and compares the text.
fn check(module: &str, expect: &str) {
    check_files(&[("game.lua", module)], expect);
}

fn check_files(files: &[(&str, &str)], expect: &str) {
    let functions = load(files, Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    let answer = block_on(call(&functions, "test", "")).unwrap_or_else(|failure| failure.1);
    assert_eq!(answer, expect, "{files:?}");
}

fn registered(body: &str) -> String {
    format!("local nk = require('nakama')\nnk.register_rpc(function()\n{body}\nend, 'test')")
}

#[test]
fn modules_may_write_to_libraries() {
    check(
        "function string.trim(s) return (s:gsub('^ +', '')) end local nk = require('nakama') nk.register_rpc(function() return ('  a'):trim() .. string.trim(' b') end, 'test')",
        "ab",
    );
    check(
        "table.contains = function(t, x) for _, v in ipairs(t) do if v == x then return 'yes' end end return 'no' end require('nakama').register_rpc(function() return table.contains({ 1, 2 }, 2) end, 'test')",
        "yes",
    );
    check(
        "local nk = require('nakama') nk.own = function() return nk.md5_hash('a') end nk.register_rpc(function() return nk.own() end, 'test')",
        "0cc175b9c0f1b6a831c399e269772661",
    );
    check(
        "math.random = function() return 4 end require('nakama').register_rpc(function() return tostring(math.random(1, 9)) end, 'test')",
        "4",
    );
    // Nothing in the source says that the library is written to.
    check(
        "local extend = function(t) t.own = function() return 'own' end end extend(string) require('nakama').register_rpc(function() return (''):own() end, 'test')",
        "own",
    );
    // A module that another one requires extends the library for both.
    check_files(
        &[
            ("ext.lua", "function string.twice(s) return s .. s end"),
            ("game.lua", "require('ext') require('nakama').register_rpc(function() return ('x'):twice() end, 'test')"),
        ],
        "xx",
    );
}

#[test]
fn matches_of_one_machine_do_not_see_each_others_libraries() {
    let hall = Hall::with(
        "function M.match_init(context, params)
            local word = params.word
            string.word = function() return word end
            return {}, 10, ''
        end
        function M.match_signal(context, dispatcher, tick, state, data)
            return state, ('x'):word() .. string.word()
        end",
    );
    run(async {
        for (number, word) in [(1, "one"), (2, "two")] {
            hall.create(number, Value::Record(vec![("word", Value::text(word))])).await.unwrap();
        }
        assert_eq!(hall.signal(1, "").await, Ok("oneone".to_owned()));
        assert_eq!(hall.signal(2, "").await, Ok("twotwo".to_owned()));
    });
}

#[test]
fn source_is_loaded_in_the_instance() {
    check(&registered("x = 7 return tostring(loadstring('return x')())"), "7");
    check(
        &registered(
            "local n = 0 return load(function() n = n + 1 if n == 1 then return \"return 'a' .. 'b'\" end end)()",
        ),
        "ab",
    );
    check(&registered("return tostring(loadstring('x x') == nil)"), "true");
    check(&registered("loadstring('y = 5')() return tostring(y)"), "5");
    check(
        &registered("return select(2, loadstring('\\n= 1', 'my chunk'))"),
        "[my chunk]:2: Expected identifier when parsing expression, got '='",
    );
    check(
        &registered("return (select(2, loadstring(string.rep('x', 300000))):gsub('%[.*%]', ''))"),
        ": the source has more than 262144 bytes",
    );
    check(&registered("return tostring(select(2, loadstring('\\27Lua')) ~= nil)"), "true");
}

#[test]
fn loaded_source_cannot_pose_as_a_file() {
    check(
        &registered("local f = loadstring(\"error('e')\", '@game.lua') return select(2, pcall(f))"),
        "[@game.lua]:1: e",
    );
    check(
        &registered("local f = loadstring(\"error('e')\", '=game.lua:3') return select(2, pcall(f))"),
        "[=game.lua:3]:1: e",
    );
}

#[test]
fn modules_find_each_other_by_the_old_means() {
    let old = ("old.lua", "module('old', package.seeall)\nfunction hello() return tostring('hello') end");
    check_files(&[old, ("game.lua", &registered("return require('old').hello() .. old.hello()"))], "hellohello");
    check_files(&[("part.lua", "return 'part'"), ("game.lua", &registered("return dofile('part.lua')"))], "part");
    check_files(&[("a/part.lua", "return ...")], "The game has no function of this id.");
    check(
        &registered("return tostring(package.loaded.nakama == require('nakama')) .. type(package.path)"),
        "truestring",
    );
    check(
        "package.preload.made = function() return 'made' end require('nakama').register_rpc(function() return require('made') end, 'test')",
        "made",
    );
    let (_, why) = ("", registered("return select(2, pcall(dofile, '/etc/passwd'))"));
    check(&why, "can not open file: /etc/passwd (it is none of the folder of modules)");
}

#[test]
fn old_names_and_any_comparator_work() {
    check(&registered("return math.mod(-7, 3) .. ' ' .. table.concat({ string.gfind('a b', '%a')() })"), "2 a");
    check(
        &registered(
            "local t = { 5, 3, 1, 4, 1 } table.sort(t, function(a, b) return a <= b end) return table.concat(t, ',')",
        ),
        "1,1,3,4,5",
    );
    check(
        &registered(
            "local t = {} for i = 1, 50 do t[i] = i % 7 end table.sort(t, function(a, b) return true end) local n = 0 for _, v in ipairs(t) do n = n + v end return #t .. ' ' .. n",
        ),
        "50 148",
    );
    check(&registered("return select(2, pcall(table.sort, { 2, 1 }, function() error('mine', 0) end))"), "mine");
    check(
        &registered(
            "local t = {} for i = 1, 9 do if i % 2 == 0 then goto continue end t[#t + 1] = i ::continue:: end return table.concat(t)",
        ),
        "13579",
    );
    check(&registered("print('a', nil, true, {}) return 'printed'"), "printed");
}

#[test]
fn a_goto_that_cannot_be_is_refused_with_its_place() {
    let refused =
        load(&[("bad.lua", "local i = 0\n::top::\ni = i + 1\nif i < 3 then goto top end")], Limits::default());
    let told = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(told.starts_with("bad.lua:4: goto top: only a label at the end of the loop"), "{told}");
}

#[test]
fn an_empty_interval_is_an_error_each_time() {
    check(
        &registered(
            "local told = {}
            for _, given in ipairs({ { 0 }, { 2, 1 }, { 1, 2, 3 } }) do told[#told + 1] = tostring((pcall(math.random, unpack(given)))) end
            return table.concat(told, ' ') .. ' ' .. math.random(3, 3)",
        ),
        "false false false 3",
    );
}

#[test]
fn times_are_written_as_the_original_writes_them() {
    check(&registered("return os.date('!%c|%Z|%P|%k|%%|%', 1700000000)"), "14 Nov 23 22:13 UTC|UTC|pm|%k|%|%");
    check(&registered("return os.date('!*t', 0).year .. os.date('!*t', 0).yday"), "19701");
    check(&registered("local at = 1700000000 return os.time(os.date('*t', at)) - at .. os.date('*t', at).wday"), "02");
    check(&registered("return tostring(os.date('*t').year >= 2024) .. #os.date('%Y')"), "true4");
    check(
        &registered("return select(2, pcall(os.date, '%c', {}))"),
        "bad argument #2 to 'date' (number expected, got table)",
    );
    check(&registered("return select(2, pcall(os.time, 5))"), "bad argument #1 to 'time' (table expected, got number)");
}

#[test]
fn garbage_is_counted_and_other_options_are_taken() {
    check(
        &registered(
            "local kept = string.rep('x', 2 ^ 20) return tostring(collectgarbage('count') > 1024 and #kept > 0)",
        ),
        "true",
    );
    check(
        &registered("return collectgarbage() .. collectgarbage('collect') .. collectgarbage('setpause', 100)"),
        "000",
    );
}
