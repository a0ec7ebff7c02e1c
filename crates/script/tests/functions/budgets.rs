//! Faulty and hostile functions harm only themselves.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use muster_script::{Limits, LuaFunctions, ScriptMetrics};
use muster_wire::code::Code;

use crate::world::{block_on, call, host_over, load, load_in, store, write_all};

const OVER: &str = "the function used more time than it may (script.call_cpu_ms)";

fn functions(limits: Limits) -> LuaFunctions {
    let text = "local nk = require('nakama')
        nk.register_rpc(function(_, payload) return payload end, 'echo')
        nk.register_rpc(function() while true do end end, 'loop')
        nk.register_rpc(function() while true do pcall(function() while true do end end) end end, 'catcher')
        nk.register_rpc(function() table.sort({ 1, 2, 3 }, function() while true do end end) end, 'sorter')
        nk.register_rpc(function() local t = {} while true do t[#t + 1] = {} end end, 'hog')
        nk.register_rpc(function() return string.rep('x', 2 ^ 30) end, 'repeater')
        nk.register_rpc(function() table.move({}, 1, 2 ^ 31 - 10, 2) end, 'mover')
        nk.register_rpc(function() table.move({}, 1e10, -2, 0) end, 'wrapped')
        nk.register_rpc(function() table.move({}, 0 / 0, 1, 0) end, 'nothing')
        nk.register_rpc(function()
            local all = string.rep('a', 2 ^ 21)
            return string.find(all, string.rep('a', 2 ^ 20 - 1) .. 'b', '1', true)
        end, 'numeral')
        local depth, t = 0
        t = setmetatable({}, { __index = pcall, __call = function(self)
            if depth < 60 then depth += 1 local _ = self.a _ = self.b depth -= 1 end
        end })
        nk.register_rpc(function() depth = 0 local _ = t.x end, 'metamethod')
        local function handle() local _ = t[handle] _ = t[handle] end
        nk.register_rpc(function()
            depth = 0
            getmetatable(t).__index = xpcall
            local _ = t[function() local _ = t.x end] _ = t[handle]
            while true do xpcall(error, function() while true do end end) end
        end, 'handler')
        nk.register_rpc(function(_, payload)
            local told = { pcall(function(...) return select('#', ...), ... end, 1, nil) }
            local _, why = pcall(error, { payload })
            local caught = { xpcall(function(...) error(... .. '!') end, function(e) return e:gsub('^.-: ', '') end, 'x') }
            local given = select('#', xpcall(function(...) return ... end, error, 1, 2, nil))
            return table.concat({ tostring(told[1]), told[2], told[3], why[1], tostring(caught[1]), caught[2], given,
                select(2, pcall(pcall)), select(2, pcall(xpcall, error)) }, ' ')
        end, 'catches')
        nk.register_rpc(function() local function f() return f() + 1 end return f() end, 'deep')
        nk.register_rpc(function() return string.find(string.rep('a', 3000), '.-.-.-.-.-b') end, 'pattern')
        nk.register_rpc(function() local t = {} t.t = t return nk.json_encode(t) end, 'ring')";
    load(&[("game.lua", text)], limits).unwrap()
}

fn short() -> Limits {
    Limits { call_time: Duration::from_millis(20), ..Limits::default() }
}

#[test]
fn a_call_that_takes_too_long_ends_and_its_machine_goes_on() {
    let functions = functions(short());
    block_on(async {
        for id in ["loop", "catcher", "sorter", "pattern", "metamethod", "handler"] {
            assert_eq!(call(&functions, id, "").await, Err((Code::Internal, OVER.to_owned())), "{id}");
            assert_eq!(call(&functions, "echo", id).await, Ok(id.to_owned()));
        }
    });
}

#[test]
fn a_call_that_takes_too_much_memory_ends_and_its_machine_goes_on() {
    let limits = Limits { machine_bytes: 8 << 20, ..Limits::default() };
    let functions = functions(limits);
    block_on(async {
        for (id, told) in [("hog", "not enough memory"), ("repeater", "not enough memory")] {
            let (code, message) = call(&functions, id, "").await.unwrap_err();
            assert_eq!(code, Code::Internal, "{id}");
            assert!(message.contains(told), "{id}: {message}");
            assert_eq!(call(&functions, "echo", id).await, Ok(id.to_owned()));
        }
    });
}

#[test]
fn builtins_with_huge_arguments_end_in_errors() {
    let functions = functions(Limits::default());
    block_on(async {
        for (id, told) in [
            ("mover", "too many elements"),
            ("wrapped", "too many elements"),
            ("nothing", "too many elements"),
            ("deep", "stack overflow"),
            ("ring", "the table is nested too deeply"),
        ] {
            let (_, message) = call(&functions, id, "").await.unwrap_err();
            assert!(message.contains(told), "{id}: {message}");
        }
    });
}

#[test]
fn errors_are_caught_as_ever() {
    let functions = functions(Limits::default());
    let told = "true 2 1 it false x! 4 missing argument #1 missing argument #2 to 'xpcall' (function expected)";
    assert_eq!(block_on(call(&functions, "catches", "it")), Ok(told.to_owned()));
}

#[test]
fn a_long_text_is_found_from_a_numeral_on() {
    assert_eq!(block_on(call(&functions(Limits::default()), "numeral", "")), Ok(String::new()));
}

#[test]
fn a_long_call_lets_others_through() {
    let functions = functions(short());
    let ended = RefCell::new(Vec::new());
    block_on(async {
        let long = async {
            let result = call(&functions, "loop", "").await;
            ended.borrow_mut().push("loop");
            result
        };
        let short = async {
            let result = call(&functions, "echo", "hello").await;
            ended.borrow_mut().push("echo");
            result
        };
        let (long, short) = tokio::join!(long, short);
        assert_eq!(long.unwrap_err().1, OVER);
        assert_eq!(short.unwrap(), "hello");
    });
    assert_eq!(*ended.borrow(), ["echo", "loop"]);
}

#[test]
fn calls_wait_for_a_machine_and_too_many_are_refused() {
    let functions = functions(Limits { machines_max: 1, waiting_max: 1, ..short() });
    block_on(async {
        let (long, waits, refused) =
            tokio::join!(call(&functions, "loop", ""), call(&functions, "echo", "1"), call(&functions, "echo", "2"));
        assert_eq!(long.unwrap_err().1, OVER);
        assert_eq!(waits, Ok("1".to_owned()));
        assert_eq!(refused.unwrap_err().0, Code::Unavailable);
    });
}

/// The answer of a function with this body within limits, and the counters afterwards.
fn answer_within(limits: Limits, body: &str) -> (Result<String, String>, Arc<ScriptMetrics>) {
    let text = format!("local nk = require('nakama')\nnk.register_rpc(function(context, payload)\n{body}\nend, 'f')");
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path(), &[("game.lua", &text)]);
    let host = host_over(store(), folder.path());
    let metrics = host.process.metrics.clone();
    let functions = load_in(folder.path(), host, limits).unwrap();
    (block_on(call(&functions, "f", "")).map_err(|(_, told)| told), metrics)
}

#[test]
fn a_call_uses_so_many_functions_of_the_host_and_no_more() {
    let limits = Limits { host_calls_max: 100, ..Limits::default() };
    let (answer, metrics) = answer_within(limits, "for _ = 1, 100 do nk.time() end return 'fine'");
    assert_eq!((answer, metrics.over_host_calls.load(Relaxed)), (Ok("fine".to_owned()), 0));
    let (answer, metrics) = answer_within(
        limits,
        "local refused = 0
        for _ = 1, 200 do if not pcall(nk.time) then refused = refused + 1 end end
        local _, why = pcall(nk.storage_read, {})
        return refused .. why",
    );
    assert_eq!(answer.unwrap(), "100the call used more than 100 functions of the host (script.host_calls)");
    assert_eq!(metrics.over_host_calls.load(Relaxed), 1);
}

#[test]
fn a_call_logs_so_much_and_no_more() {
    let limits = Limits { log_bytes_max: 1_000, ..Limits::default() };
    let (answer, metrics) = answer_within(limits, "for _ = 1, 30 do nk.logger_info(string.rep('x', 100)) end");
    assert_eq!(answer, Ok(String::new()));
    assert_eq!(metrics.log_lines_dropped.load(Relaxed), 24);
}

#[test]
fn values_that_cross_have_an_end() {
    let within = |body: &str| answer_within(Limits::default(), body).0;
    assert_eq!(within("return #nk.json_encode(table.create(200000, 1)) .. ''"), Ok("400001".to_owned()));
    for (body, told) in [
        ("nk.json_encode(table.create(300000, 1))", "more than 250000 values"),
        ("nk.json_decode('[' .. string.rep('1,', 300000) .. '1]')", "more than 250000 values"),
        ("local t = string.rep('x', 2 ^ 20) nk.json_encode(table.create(20, t))", "more than 16777216 bytes of texts"),
        ("local t = {} for _ = 1, 20 do t = { t, t } end nk.json_encode(t)", "more than 250000 values"),
    ] {
        let refused = within(body).unwrap_err();
        assert!(refused.contains(told), "{body}: {refused}");
    }
}

#[test]
fn a_machine_whose_modules_fill_it_is_replaced() {
    let text = "kept = {}
        local nk = require('nakama')
        nk.register_rpc(function() while true do kept[#kept + 1] = string.rep('x', 1000) .. #kept end end, 'keep')
        nk.register_rpc(function() return #kept .. string.rep('x', 2 ^ 20):sub(1, 1) end, 'count')";
    let functions = load(&[("game.lua", text)], Limits { machine_bytes: 8 << 20, ..Limits::default() }).unwrap();
    block_on(async {
        for _ in 0..3 {
            let (_, told) = call(&functions, "keep", "").await.unwrap_err();
            assert!(told.contains("not enough memory"), "{told}");
            assert_eq!(call(&functions, "count", "").await, Ok("0x".to_owned()));
        }
    });
}
