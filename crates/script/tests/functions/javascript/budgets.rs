//! Faulty and hostile functions harm only themselves.

use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use muster_script::{Host, JsFunctions, Limits};
use muster_wire::code::Code;

use super::load_over;
use crate::world::{block_on, call};

const OVER: &str = "the function used more time than it may (script.call_cpu_ms)";

fn functions(limits: Limits) -> JsFunctions {
    functions_over(&super::host(&crate::world::store()), limits)
}

fn functions_over(host: &Rc<Host>, limits: Limits) -> JsFunctions {
    let text = "const functions = {
            echo: (ctx, logger, nk, payload) => payload,
            loop() { for (;;) {} },
            catcher() { for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } } },
            sorter() { [1, 2, 3].sort(() => { for (;;) {} }); },
            getter() { return JSON.stringify({ get x() { for (;;) {} } }); },
            refused() {
                const all = new Array(1e6).fill(0);
                all.push(1n);
                for (;;) { try { JSON.stringify({ all }); } catch {} }
            },
            json(ctx, logger, nk) { nk.localcachePut('x', { toJSON() { for (;;) {} } }); },
            host(ctx, logger, nk) { for (;;) { try { nk.md5Hash('x'); } catch {} } },
            many(ctx, logger, nk, count) { for (let i = 0; i < count; i += 1) nk.md5Hash('x'); return 'done'; },
            pattern() { return String(/(a+)+$/.test('a'.repeat(40) + 'b')); },
            executor() { for (;;) new Promise(() => { for (;;) {} }); },
            then() { for (;;) new Promise((go) => go({ get then() { for (;;) {} } })); },
            async beside(ctx, logger, nk) { await nk.promises.storageRead([]); await new Promise(() => {}); },
            async swallows(ctx, logger, nk) { await nk.promises.storageRead([]); functions.executor(); },
            logs(ctx, logger) {
                const text = 'ü'.repeat(2 ** 20);
                const wide = logger.withField(text, text).withFields({ ['b' + text]: text });
                wide.info('%s', text);
                const one = wide.getFields();
                const all = Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`f${i}`, i]));
                let told;
                try { logger.withFields(all); } catch (e) { told = e.message; }
                return [Object.entries(one).map(([name, value]) => [name.length, value.length]), told].join();
            },
            bytes(ctx, logger, nk) { const all = []; for (;;) all.push(nk.stringToBinary('x'.repeat(2 ** 20))); },
            uncounted(ctx, logger, nk, name) {
                const run = { logger: () => logger.withField('a', 'b'), line: () => logger.debug('x'), to: () => nk.stringToBinary(''),
                    from: () => nk.binaryToString(new ArrayBuffer(0)) }[name];
                for (let i = 0; i < 200; i += 1) run();
            },
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
    load_over(&[("index.js", text)], host, limits).unwrap()
}

#[test]
fn a_call_that_takes_too_long_ends_and_others_go_on() {
    let functions = functions(Limits { call_time: Duration::from_millis(20), ..Limits::default() });
    block_on(async {
        for id in ["loop", "catcher", "sorter", "getter", "refused", "json", "host", "pattern", "chain", "generator"] {
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
            ("nested", "brackets within each other"),
            ("bytes", "out of memory"),
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
fn what_is_not_of_the_host_table_is_counted_with_it() {
    let functions = functions(Limits { host_calls_max: 100, ..Limits::default() });
    block_on(async {
        for name in ["logger", "line", "to", "from"] {
            let (_, told) = call(&functions, "uncounted", name).await.unwrap_err();
            assert!(told.contains("more than 100 functions of the host"), "{name}: {told}");
        }
    });
}

#[test]
fn fields_of_loggers_are_cut() {
    let functions = functions(Limits::default());
    assert_eq!(block_on(call(&functions, "logs", "")), Ok("128,512,128,512,a logger has at most 32 fields".to_owned()));
}

#[test]
fn a_call_that_the_engine_does_not_end_is_given_up_with_its_machine() {
    let limits = Limits { call_time: Duration::from_millis(20), machines_max: 1, ..Limits::default() };
    let host = super::host(&crate::world::store());
    let functions = functions_over(&host, limits);
    block_on(async {
        for (count, id) in [(1, "executor"), (2, "then")] {
            assert_eq!(call(&functions, id, "").await, Err((Code::Internal, OVER.to_owned())), "{id}");
            assert_eq!(host.process.metrics.given_up.load(Relaxed), count);
            assert_eq!(call(&functions, "echo", id).await, Ok(id.to_owned()));
        }
    });
}

#[test]
fn those_beside_a_call_that_is_given_up_are_told_to_try_again() {
    let functions = functions(Limits { call_time: Duration::from_millis(20), ..Limits::default() });
    block_on(async {
        let (beside, swallows) = tokio::join!(call(&functions, "beside", ""), call(&functions, "swallows", ""));
        assert_eq!(swallows, Err((Code::Internal, OVER.to_owned())));
        assert_eq!(beside.unwrap_err().0, Code::Unavailable);
        assert!(call(&functions, "beside", "").await.unwrap_err().1.contains("nothing fulfils"));
        // This call is dropped while it runs.
        let mut forsaken = Box::pin(call(&functions, "swallows", ""));
        for _ in 0..5 {
            assert!(futures_util::poll!(&mut forsaken).is_pending());
            tokio::task::yield_now().await;
        }
        drop(forsaken);
        assert!(call(&functions, "beside", "").await.unwrap_err().1.contains("nothing fulfils"));
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
