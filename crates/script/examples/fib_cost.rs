//! The cost that a budget adds to code that keeps to the budget: `fib(22)` in Lua without an interrupt, in Lua with an
//! interrupt at every step, and in Lua and JavaScript as a shard calls it.
//!
//! `cargo run --release -p muster-script --example fib_cost`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers that prints its results")]

#[allow(dead_code, reason = "the tests use more of this module")]
#[path = "../tests/functions/world.rs"]
mod world;

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Function, Lua, LuaOptions, StdLib, VmState};
use muster_api::game::GameFunctions;
use muster_script::{JsFunctions, Limits, ScriptMetrics};

const FIB: &str = "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end";

const IN_JAVASCRIPT: &str = "
    function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    function answer() { return String(fib(22)); }
    function InitModule(ctx, logger, nk, initializer) { initializer.registerRpc('fib', answer); }
";

const RUNS: usize = 301;

fn main() {
    let bare = || Lua::new_with(StdLib::ALL_SAFE, LuaOptions::new()).unwrap();
    let quiet = bare();
    let asked = bare();
    asked.set_interrupt(|_| Ok(VmState::Continue));
    for (name, lua) in [("without an interrupt", quiet), ("mlua's interrupt at every step", asked)] {
        let fib: Function = lua.load(format!("{FIB} return function() return fib(22) end")).eval().unwrap();
        report(name, || assert_eq!(fib.call::<u32>(()).unwrap(), 17_711));
    }
    let text = format!("{FIB} require('nakama').register_rpc(function() return tostring(fib(22)) end, 'fib')");
    called("Lua", &world::load(&[("game.lua", &text)], Limits::default()).unwrap());
    let (limits, host) = (Limits::default(), Rc::new(world::host_over(world::store(), Path::new(""))));
    let bundle = world::bundle(&[("index.js", IN_JAVASCRIPT)], &host, &limits);
    called("JavaScript", &JsFunctions::new(bundle, host, limits, Arc::new(ScriptMetrics::default())));
}

fn called(language: &str, functions: &impl GameFunctions) {
    world::block_on(async {
        let mut took = Vec::new();
        for _ in 0..RUNS {
            let started = Instant::now();
            world::call(functions, "fib", "").await.unwrap();
            took.push(started.elapsed());
        }
        print(&format!("{language}, as a shard calls it"), took);
    });
}

fn report(name: &str, run: impl Fn()) {
    let time = |_| {
        let started = Instant::now();
        run();
        started.elapsed()
    };
    print(name, (0..RUNS).map(time).collect());
}

fn print(name: &str, mut took: Vec<Duration>) {
    took.sort_unstable();
    println!("{name}: {:.2} ms", took[RUNS / 2].as_secs_f64() * 1e3);
}
