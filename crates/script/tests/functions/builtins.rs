//! Every builtin that game code can reach, called with huge arguments: each comes to an end, and its machine takes
//! further calls. A builtin whose work has no bound holds up the test, too.

use std::time::Duration;

use muster_api::game::Invocation;
use muster_api::hooks::{HookSubject, Hooks as _};
use muster_script::value::Value as GameValue;
use muster_script::{Limits, LuaFunctions};
use muster_wire::code::Code;
use serde_json::{Value, json};

use crate::matches::{Hall, module, run};
use crate::world::{block_on, call, load};

/// The budget of a call. Many calls use it up, so it is short.
const BUDGET: Duration = Duration::from_millis(20);

/// The builtins by name, and the largest possible arguments of every kind.
const MODULE: &str = "local nk = require('nakama')
    local found, names = {}, {}
    local seen = { [nk] = true }
    local function walk(prefix, library)
        if seen[library] then return end
        seen[library] = true
        local behind = getmetatable(library)
        if type(behind) == 'table' and type(behind.__index) == 'table' then walk(prefix, behind.__index) end
        for name, value in library do
            if type(value) == 'function' then
                found[prefix .. name] = value
                table.insert(names, prefix .. name)
            elseif type(value) == 'table' then
                walk(prefix .. name .. '.', value)
            end
        end
    end
    walk('', _G)
    walk('text:', getmetatable('').__index)
    table.sort(names)

    local text = string.rep('a', 2 ^ 22)
    local pieces = string.rep('a,', 2 ^ 21)
    local list = table.freeze(table.create(500000, 7))
    local texts = table.freeze(table.create(500000, 'abcdefgh'))
    local given = {
        empty = {}, huge = 2 ^ 31 - 10, most = 2 ^ 53, less = -2 ^ 31 + 10, one = 1, million = 1000000,
        text = text, needle = string.rep('a', 2 ^ 20 - 1) .. 'b', pieces = pieces, comma = ',', nothing = '',
        list = list, texts = texts, pattern = string.rep('a?', 200) .. string.rep('a', 200), any = '.-.-.-.-b',
        format = '%99d' .. string.rep('%s', 40), pack = string.rep('d', 2 ^ 20), padded = '!16' .. string.rep('xXd', 2 ^ 18),
        same = function(...) return ... end, liar = function() return true end,
    }
    local function of(names)
        local values = {}
        for index, name in names do values[index] = given[name] end
        -- Builtins may change their first argument, which must not be frozen.
        if type(values[1]) == 'table' then values[1] = table.clone(values[1]) end
        return values
    end
    nk.register_rpc(function() return nk.json_encode(names) end, 'names')
    nk.register_rpc(function(_, payload)
        local asked = nk.json_decode(payload)
        found[asked.name](unpack(of(asked.given), 1, #asked.given))
    end, 'run')
    nk.register_rpc(function() return 'fine' end, 'fine')";

fn functions() -> LuaFunctions {
    load(&[("game.lua", MODULE)], Limits { call_time: BUDGET, ..Limits::default() }).unwrap()
}

/// Arguments for every builtin. A builtin that does not take them refuses them.
fn arguments() -> Vec<Value> {
    let first = ["text", "pieces", "list", "texts", "huge", "empty", "format", "pack", "padded", "same"];
    let others = [
        json!([]),
        json!(["huge"]),
        json!(["needle", "one", "same"]),
        json!(["comma", "nothing"]),
        json!(["nothing", "nothing"]),
        json!(["nothing", "text"]),
        json!(["comma", "text"]),
        json!(["any", "same"]),
        json!(["pattern", "text"]),
        json!(["text", "one"]),
        json!(["one", "one"]),
        json!(["one", "huge"]),
        json!(["one", "huge", "one"]),
        json!(["one", "huge", "million", "list"]),
        json!(["less", "huge"]),
        json!(["million", "list"]),
        json!(["liar"]),
        json!(["list", "texts"]),
        json!(["text", "text", "text", "text", "text"]),
        json!(["texts", "one", "million"]),
        json!(["nothing", "one", "million"]),
        json!(["most", "most", "most"]),
    ];
    let with = |first: &str| {
        let first = first.to_owned();
        let join = move |rest: &Value| {
            let mut all = vec![json!(first)];
            all.extend(rest.as_array().unwrap().iter().cloned());
            json!(all)
        };
        others.iter().map(join).collect::<Vec<_>>()
    };
    first.iter().flat_map(|first| with(first)).collect()
}

#[test]
fn every_builtin_ends_and_leaves_its_machine_fit_for_others() {
    let functions = functions();
    block_on(async {
        let names: Vec<String> = serde_json::from_str(&call(&functions, "names", "").await.unwrap()).unwrap();
        assert!(names.len() > 80, "{names:?}");
        for name in &names {
            for given in arguments() {
                let asked = json!({ "name": name, "given": given }).to_string();
                let _ = call(&functions, "run", &asked).await;
            }
            assert_eq!(call(&functions, "fine", "").await, Ok::<_, (Code, String)>("fine".to_owned()), "{name}");
        }
    });
}

/// Bodies of functions that go wrong wherever they are called.
const BOMBS: &[&str] = &[
    "while true do end",
    "while true do pcall(error) end",
    "local function deep() return deep() + 1 end deep()",
    "local function deep() return pcall(deep) and deep() end while true do deep() end",
    "string.rep('a', 4000):find('.-.-.-.-.-.-b')",
    "string.rep('a', 60):find(string.rep('a?', 60) .. string.rep('a', 60))",
    "local list = table.create(100000, 1) table.sort(list, function() return true end) while true do end",
    "local text = string.rep('a', 2 ^ 20) while true do text = text .. text end",
    "local list = {} while true do list[#list + 1] = { list } end",
    "local list = {} for _ = 1, 100000 do list = { list } end nk.json_encode(list)",
    "nk.json_decode(string.rep('[', 100000)) while true do end",
    "local list = table.create(500000, 1) while true do table.insert(list, 1, 1) end",
    "string.gsub(string.rep('a', 1000000), 'a', function(a) return string.rep(a, 1000) end)",
    "setmetatable({}, { __index = function(t, k) return t[k .. 'x'] end }).x = nil
     return setmetatable({}, { __index = function(t, k) return t[k .. 'x'] end }).x",
];

/// A module with a bomb in a function, in a hook and in a match's loop.
fn bombed(bomb: &str) -> String {
    let body = format!(
        "local function bomb() {bomb} end
        nk.register_rpc(function() bomb() return 'survived' end, 'bomb')
        nk.register_rpc(function() return 'fine' end, 'fine')
        nk.register_req_before(function(context, input) bomb() return input end, 'GetAccount')
        function M.match_loop(context, dispatcher, tick, state, messages) bomb() return state end"
    );
    module(&body)
}

#[test]
fn whatever_code_does_harms_itself_alone() {
    let limits = Limits {
        call_time: BUDGET,
        load_time: BUDGET * 5,
        tick_time_max: BUDGET,
        machine_bytes: 16 << 20,
        ..Limits::default()
    };
    for bomb in BOMBS {
        let text = bombed(bomb);
        let functions = load(&[("game.lua", &text)], limits).unwrap();
        block_on(async {
            call(&functions, "bomb", "").await.expect_err(bomb);
            let hook = HookSubject::operations().find(|subject| subject.name() == "GetAccount").unwrap();
            functions.before(hook, Invocation::default(), None).await.expect_err(bomb);
            assert_eq!(call(&functions, "fine", "").await, Ok::<_, (Code, String)>("fine".to_owned()), "{bomb}");
        });
        let hall = Hall::of(&[("game.lua", &text), ("good.lua", &module(""))], limits);
        run(async {
            hall.create(1, GameValue::Nil).await.unwrap();
            hall.pass(150).await;
            assert!(hall.list().is_empty(), "{bomb}");
            hall.create(2, GameValue::Nil).await.unwrap();
        });
        let at_load = format!("local nk = require('nakama') local function bomb() {bomb} end bomb()");
        assert!(load(&[("game.lua", &at_load)], limits).is_err(), "{bomb}");
    }
}
