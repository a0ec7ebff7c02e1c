//! Faulty and hostile functions harm only themselves.

use std::time::Duration;

use muster_script::{JsFunctions, Limits};
use muster_wire::code::Code;

use super::load;
use crate::world::{block_on, call};

const OVER: &str = "the function used more time than it may";

fn functions(limits: Limits) -> JsFunctions {
    let text = "const functions = {
            echo: (ctx, logger, nk, payload) => payload,
            loop() { for (;;) {} },
            catcher() { for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } } },
            sorter() { [1, 2, 3].sort(() => { for (;;) {} }); },
            getter() { return JSON.stringify({ get x() { for (;;) {} } }); },
            json(ctx, logger, nk) { nk.localcachePut('x', { toJSON() { for (;;) {} } }); },
            host(ctx, logger, nk) { for (;;) { try { nk.md5Hash('x'); } catch {} } },
            many(ctx, logger, nk, count) { for (let i = 0; i < count; i += 1) nk.md5Hash('x'); return 'done'; },
            pattern() { return String(/(a+)+$/.test('a'.repeat(40) + 'b')); },
            chain() { const next = () => Promise.resolve().then(next); next(); return 'x'; },
            generator() { for (const x of (function* () { for (;;) yield 1; })()); },
            hog() { const all = []; for (;;) all.push({}); },
            text() { let text = 'x'; for (;;) text += text; },
            buffer() { return String(new ArrayBuffer(2 ** 30).byteLength); },
            deep() { const f = () => f() + 1; return f(); },
            nested() { return JSON.stringify(JSON.parse('['.repeat(100000) + ']'.repeat(100000))); },
        };
        function InitModule(ctx, logger, nk, initializer) {
            for (const name in functions) initializer.registerRpc(name, functions[name]);
        }";
    load(&[("index.js", text)], limits).unwrap()
}

#[test]
fn a_call_that_takes_too_long_ends_and_others_go_on() {
    let functions = functions(Limits { call_time: Duration::from_millis(20), ..Limits::default() });
    block_on(async {
        for id in ["loop", "catcher", "sorter", "getter", "json", "host", "pattern", "chain", "generator"] {
            assert_eq!(call(&functions, id, "").await, Err((Code::Internal, OVER.to_owned())), "{id}");
            assert_eq!(call(&functions, "echo", id).await, Ok(id.to_owned()));
        }
    });
}

#[test]
fn a_call_that_takes_too_much_memory_or_depth_ends_and_others_go_on() {
    let functions = functions(Limits { machine_bytes: 8 << 20, ..Limits::default() });
    block_on(async {
        for (id, told) in [
            ("hog", "out of memory"),
            ("text", "string too long"),
            ("buffer", "out of memory"),
            ("deep", "Maximum call stack size exceeded"),
            ("nested", "stack"),
        ] {
            let (code, message) = call(&functions, id, "").await.unwrap_err();
            assert_eq!(code, Code::Internal, "{id}");
            assert!(message.contains(told), "{id}: {message}");
            assert_eq!(call(&functions, "echo", id).await, Ok(id.to_owned()));
        }
    });
}

#[test]
fn calls_of_the_host_are_counted() {
    let functions = functions(Limits { host_calls_max: 100, ..Limits::default() });
    block_on(async {
        let text = "more than 100 functions of the host";
        assert!(matches!(call(&functions, "many", "101").await, Err((_, told)) if told.contains(text)));
        assert_eq!(call(&functions, "many", "100").await, Ok("done".to_owned()));
    });
}

#[test]
fn a_long_call_gives_others_their_turn() {
    let functions = functions(Limits { machines_max: 2, call_time: Duration::from_millis(200), ..Limits::default() });
    block_on(async {
        let long = std::pin::pin!(call(&functions, "loop", ""));
        let short = std::pin::pin!(call(&functions, "echo", "meanwhile"));
        let first = futures_util::future::select(long, short).await;
        assert!(matches!(first, futures_util::future::Either::Right((Ok(_), _))), "the short one is done first");
    });
}
