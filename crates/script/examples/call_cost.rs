//! The cost of a call in Lua and JavaScript as a shard makes it, with the context of a player who calls over HTTP: of a
//! function that does nothing, and of a function that reads and writes 126 bytes of JSON.
//!
//! `cargo run --release -p muster-script --example call_cost`

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for developers that prints its results")]

#[allow(dead_code, reason = "the tests use more of this module")]
#[path = "../tests/functions/world.rs"]
mod world;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use muster_api::game::{ExecutionMode, GameFunctions, Invocation};
use muster_domain::ids::{TokenId, UserId, Uuid};
use muster_domain::sessions::Claims;
use muster_script::{JsFunctions, Limits, LuaFunctions, ScriptMetrics};

const LUA: &str = "local nk = require('nakama')
    nk.register_rpc(function(_, payload) return payload end, 'nothing')
    nk.register_rpc(function(_, payload) return nk.json_encode(nk.json_decode(payload)) end, 'json')";

const JAVASCRIPT: &str = "function nothing(ctx, logger, nk, payload) { return payload; }
    function json(ctx, logger, nk, payload) { return JSON.stringify(JSON.parse(payload)); }
    function InitModule(ctx, logger, nk, initializer) {
        initializer.registerRpc('nothing', nothing);
        initializer.registerRpc('json', json);
    }";

const PAYLOAD: &str = r#"{"number":1,"player":{"name":"ann","level":12,"online":true},"items":[{"name":"sword","count":1},{"name":"arrow","count":64}]}"#;

const CALLS: u32 = 20_000;
const RUNS: usize = 9;

fn main() {
    let limits = Limits::default();
    let (program, host) = world::program(&[("game.lua", LUA)], &limits);
    let lua = LuaFunctions::new(program, host, limits, Arc::new(ScriptMetrics::default()));
    let host = Rc::new(world::host_over(world::store(), std::path::Path::new("")));
    let bundle = world::bundle(&[("index.js", JAVASCRIPT)], &host, &limits);
    let javascript = JsFunctions::new(bundle, host, limits, Arc::new(ScriptMetrics::default()));
    for id in ["nothing", "json"] {
        report("Lua", id, &lua);
        report("JavaScript", id, &javascript);
    }
}

fn report(language: &str, id: &str, functions: &impl GameFunctions) {
    let invocation = invocation();
    let mut took: Vec<f64> = (0..RUNS)
        .map(|_| {
            world::block_on(async {
                let started = Instant::now();
                for _ in 0..CALLS {
                    functions.call(id, invocation.clone()).await.unwrap();
                }
                started.elapsed().as_secs_f64() * 1e6 / f64::from(CALLS)
            })
        })
        .collect();
    took.sort_unstable_by(f64::total_cmp);
    println!("{language}, {id}: {:.2} us", took[RUNS / 2]);
}

/// The invocation for a player who calls over HTTP.
fn invocation() -> Invocation {
    let user = Claims {
        token_id: TokenId(Uuid::from_u128(1)),
        user_id: UserId(Uuid::from_u128(2)),
        username: "ann".to_owned(),
        vars: Default::default(),
        issued_at_sec: world::NOW_SEC,
        expires_at_sec: world::NOW_SEC + 60,
    };
    let headers = [("host", "127.0.0.1:7350"), ("authorization", "Bearer abc"), ("content-type", "application/json")];
    let header = |(name, value): (&str, &str)| (name.to_owned(), vec![value.to_owned()]);
    Invocation {
        mode: ExecutionMode::Rpc,
        payload: PAYLOAD.to_owned(),
        user: Some(user),
        headers: headers.map(header).into_iter().collect(),
        ..Invocation::default()
    }
}
