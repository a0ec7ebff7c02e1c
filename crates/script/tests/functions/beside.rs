//! Calls in Lua that are under way at the same time in one machine.

use muster_script::{Limits, LuaFunctions};

use crate::world::{block_on, call, load, most_inside};

/// A function that answers how many of its calls are under way when it ends.
const CROWD: &str = "local nk = require('nakama')
    local inside = 0
    local function crowd(_, payload)
        inside = inside + 1
        local mine = payload
        nk.storage_write({{ collection = 'c', key = payload, value = {} }})
        assert(mine == payload)
        inside = inside - 1
        return tostring(inside + 1)
    end
    nk.register_rpc(crowd, 'crowd')
    nk.register_rpc(function() nk.storage_read({}) error('no') end, 'fails')
    nk.register_rpc(function() while true do end end, 'endless')";

fn functions(directive: &str, limits: Limits) -> LuaFunctions {
    load(&[("game.lua", &format!("{directive}\n{CROWD}"))], limits).unwrap()
}

fn most_inside_of(directive: &str, limits: Limits) -> usize {
    let functions = functions(directive, limits);
    block_on(most_inside(&functions))
}

#[test]
fn calls_share_a_machine_where_their_file_says_so() {
    for directive in ["--!concurrent", "-- Ours.\n\n--!strict\n--!concurrent\r\n"] {
        let limits = Limits { machines_max: 1, ..Limits::default() };
        assert_eq!(most_inside_of(directive, limits), 20, "{directive}");
    }
}

#[test]
fn elsewhere_a_machine_has_one_call_at_a_time() {
    for directive in ["", "-- --!concurrent", "local x\n--!concurrent", "--!concurrently"] {
        assert_eq!(most_inside_of(directive, Limits::default()), 1, "{directive}");
    }
}

#[test]
fn a_function_goes_by_its_own_file() {
    let limits = Limits { machines_max: 1, ..Limits::default() };
    let both = [
        ("crowd.lua", format!("--!concurrent\n{CROWD}")),
        (
            "other.lua",
            "local nk = require('nakama')
            nk.register_rpc(function() return 'other' end, 'other')"
                .to_owned(),
        ),
    ];
    let functions = load(&both.each_ref().map(|(file, text)| (*file, text.as_str())), limits).unwrap();
    block_on(async {
        assert_eq!(most_inside(&functions).await, 20);
        assert_eq!(call(&functions, "other", "").await, Ok("other".to_owned()));
    });
}

#[test]
fn so_many_at_once_and_the_rest_wait() {
    assert_eq!(most_inside_of("--!concurrent", Limits { concurrent_max: 3, ..Limits::default() }), 3);
}

#[test]
fn whoever_fails_harms_nobody_beside_it() {
    let limits = Limits { call_time: std::time::Duration::from_millis(20), ..Limits::default() };
    let functions = functions("--!concurrent", limits);
    block_on(async {
        let (inside, failed, endless) =
            tokio::join!(most_inside(&functions), call(&functions, "fails", ""), call(&functions, "endless", ""));
        assert_eq!(inside, 20);
        assert!(failed.unwrap_err().1.ends_with("no"));
        assert!(endless.unwrap_err().1.contains("more time"));
    });
}
