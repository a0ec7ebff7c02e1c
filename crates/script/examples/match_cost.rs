//! The cost of a match before anybody plays: memory and time of matches whose script has 2,000 lines, in Lua together
//! with the two modules that it requires.
//!
//! `cargo run --release -p muster-script --example match_cost`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers that prints its results")]

#[allow(dead_code, reason = "the tests use more of this module")]
#[path = "../tests/functions/world.rs"]
mod world;

use std::cell::Cell;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::Uuid;
use muster_live::Place;
use muster_live::matches::{Call, Callback, Chain, MatchId, Outcome, Timers};
use muster_live::plane::HandlerOrder;
use muster_script::value::Value;
use muster_script::{EngineMatches as _, JsMatches, Limits, LuaMatches};

/// Count of matches in Lua, where 64 matches share a machine.
const LUA_MATCHES: u32 = 1_280;
const JS_MATCHES: u32 = 128;

const CALLBACKS: [(&str, &str); 7] = [
    ("match_init", "return { count = 0 }, 10, ''"),
    ("match_join_attempt", "return state, true"),
    ("match_join", "return state"),
    ("match_leave", "return state"),
    ("match_loop", "return state"),
    ("match_signal", "return state, ''"),
    ("match_terminate", "return state"),
];

fn main() {
    let limits = Limits::default();
    let lua = [("game.lua", lua_game()), ("rules.lua", lua_module(490)), ("items.lua", lua_module(490))];
    let files: Vec<(&str, &str)> = lua.iter().map(|(name, text)| (*name, text.as_str())).collect();
    print_lines("Lua", &files);
    let (program, host) = world::program(&files, &limits);
    tokio::task::LocalSet::new().block_on(&runtime(), async {
        let begun = Rc::new(Cell::new(0));
        let counted = begun.clone();
        let matches = LuaMatches::new(program, host, limits, Arc::default(), move |_, returned| {
            assert!(matches!(returned.outcome, Outcome::Begun { .. }), "{:?}", returned.outcome);
            counted.set(counted.get() + 1);
        });
        let matches = Rc::new(matches);
        measure("Lua", LUA_MATCHES, &begun, |id| drop(matches.clone().order(init(id)))).await;
    });

    let script = js_game();
    print_lines("JavaScript", &[("index.js", &script)]);
    let (_, host) = world::program(&[], &limits);
    let bundle = world::bundle(&[("index.js", &script)], &host, &limits);
    tokio::task::LocalSet::new().block_on(&runtime(), async {
        let begun = Rc::new(Cell::new(0));
        let counted = begun.clone();
        let matches = JsMatches::new(bundle, host, limits, Arc::default(), move |_, returned| {
            assert!(matches!(returned.outcome, Outcome::Begun { .. }), "{:?}", returned.outcome);
            counted.set(counted.get() + 1);
        });
        let matches = Rc::new(matches);
        measure("JavaScript", JS_MATCHES, &begun, |id| drop(matches.clone().order(init(id)))).await;
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn init(id: u128) -> HandlerOrder {
    HandlerOrder::Call(Box::new(Call {
        id: MatchId::at(Place::new(0, 0), Uuid::from_u128(id << 64)),
        stay: 1,
        handler: "game".into(),
        tick: 0,
        tick_rate: 0,
        label: Arc::default(),
        chain: Chain::default(),
        timers: Timers::default(),
        callback: Callback::Init { params: Bytes::from(Value::Nil.encode()), created_at: Timestamp::EPOCH },
    }))
}

/// Makes matches one after the other, and keeps them all.
async fn measure(name: &str, count: u32, begun: &Cell<u32>, make: impl Fn(u128)) {
    let mut took = Vec::new();
    let mut before = 0;
    for number in 0..count {
        // The first tenth of the matches does not count, so that the first machines and their growth are left out.
        if number == count / 10 {
            before = resident_bytes();
        }
        let started = Instant::now();
        make(u128::from(number));
        while begun.get() <= number {
            tokio::task::yield_now().await;
        }
        took.push(started.elapsed());
    }
    took.sort_unstable();
    let counted = count - count / 10;
    let each = (resident_bytes() - before) / u64::from(counted);
    let median_us = took[took.len() / 2].as_secs_f64() * 1e6;
    println!("{name}: {:.1} KB a match, of {counted}; made in {median_us:.0} us", each as f64 / 1024.0);
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn print_lines(name: &str, files: &[(&str, &str)]) {
    let lines: usize = files.iter().map(|(_, text)| text.lines().count()).sum();
    println!("{name}: {lines} lines in {} files", files.len());
}

/// A module with functions of ten lines, and a table of constants of ten lines after every ninth function.
fn lua_module(lines: usize) -> String {
    let mut text = String::from("local M = {}\n");
    for number in 0..lines / 10 {
        if number % 10 == 9 {
            let rows = (0..8).map(|row| format!("    {{ name = 'row {row} of {number}', cost = {row} }},\n"));
            writeln!(text, "M.table{number} = {{\n{}}}", rows.collect::<String>()).unwrap();
        } else {
            let steps = (0..6).map(|step| format!("    if a > {step} then b = b + a * {step} end\n"));
            let steps: String = steps.collect();
            writeln!(text, "function M.f{number}(a, b)\n    local c = a + b\n{steps}    return c + b\nend").unwrap();
        }
    }
    text + "return M\n"
}

fn lua_game() -> String {
    let mut text = String::from("local rules, items = require('rules'), require('items')\n");
    text += lua_module(970).trim_end_matches("return M\n");
    for (name, body) in CALLBACKS {
        let state = if name == "match_init" { "params" } else { "dispatcher, tick, state" };
        writeln!(text, "function M.{name}(context, {state})\n    {body}\nend").unwrap();
    }
    text + "M.used = { rules, items }\nreturn M\n"
}

fn js_game() -> String {
    let mut text = String::new();
    for number in 0..196 {
        if number % 10 == 9 {
            let rows = (0..8).map(|row| format!("    {{ name: 'row {row} of {number}', cost: {row} }},\n"));
            writeln!(text, "var table{number} = [\n{}];", rows.collect::<String>()).unwrap();
        } else {
            let steps = (0..6).map(|step| format!("    if (a > {step}) {{ b = b + a * {step}; }}\n"));
            let steps: String = steps.collect();
            writeln!(text, "function f{number}(a, b) {{\n    var c = a + b;\n{steps}    return c + b;\n}}").unwrap();
        }
    }
    let answers = [
        ("matchInit", "{ state: { count: 0 }, tickRate: 10, label: '' }"),
        ("matchJoinAttempt", "{ state: state, accept: true }"),
        ("matchJoin", "{ state: state }"),
        ("matchLeave", "{ state: state }"),
        ("matchLoop", "{ state: state }"),
        ("matchSignal", "{ state: state, data: '' }"),
        ("matchTerminate", "{ state: state }"),
    ];
    for (name, answer) in answers {
        let state = if name == "matchInit" { "params" } else { "dispatcher, tick, state" };
        writeln!(text, "function {name}(ctx, logger, nk, {state}) {{\n    return {answer};\n}}").unwrap();
    }
    let named: Vec<_> = answers.iter().map(|(name, _)| format!("{name}: {name}")).collect();
    let named = named.join(", ");
    writeln!(text, "function InitModule(ctx, logger, nk, initializer) {{").unwrap();
    writeln!(text, "    initializer.registerMatch('game', {{ {named} }});\n}}").unwrap();
    text
}
