//! Faulty and hostile functions harm only themselves.

use std::cell::RefCell;
use std::time::Duration;

use muster_script::{Limits, LuaFunctions};
use muster_wire::code::Code;

use crate::world::{block_on, call, load};

const OVER: &str = "the function used more time than it may";

fn functions(limits: Limits) -> LuaFunctions {
    let text = "local nk = require('nakama')
        nk.register_rpc(function(_, payload) return payload end, 'echo')
        nk.register_rpc(function() while true do end end, 'loop')
        nk.register_rpc(function() while true do pcall(function() while true do end end) end end, 'catcher')
        nk.register_rpc(function() table.sort({ 1, 2, 3 }, function() while true do end end) end, 'sorter')
        nk.register_rpc(function() local t = {} while true do t[#t + 1] = {} end end, 'hog')
        nk.register_rpc(function() return string.rep('x', 2 ^ 30) end, 'repeater')
        nk.register_rpc(function() table.move({}, 1, 2 ^ 31 - 10, 2) end, 'mover')
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
        for id in ["loop", "catcher", "sorter", "pattern"] {
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
        for (id, told) in
            [("mover", "too many elements"), ("deep", "stack overflow"), ("ring", "the table is nested too deeply")]
        {
            let (_, message) = call(&functions, id, "").await.unwrap_err();
            assert!(message.contains(told), "{id}: {message}");
        }
    });
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
