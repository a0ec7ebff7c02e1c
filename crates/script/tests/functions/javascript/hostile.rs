//! Hostile JavaScript: objects that change while the host reads them, code that calls the host
//! from within the host's own reading, and ways out of the machine.

use std::time::Duration;

use muster_script::Limits;
use muster_wire::code::Code;

use super::{answer, load};
use crate::world::{block_on, call};

const OVER: &str = "the function used more time than it may (script.call_cpu_ms)";

/// The answer of a function with this body that may run for so long.
fn run(body: &str, call_time: Duration) -> Result<String, String> {
    let text = format!(
        "function f(ctx, logger, nk, payload) {{\n{body}\n}}
        function InitModule(ctx, logger, nk, initializer) {{
            initializer.registerRpc('f', f);
            initializer.registerRpc('fine', () => 'fine');
        }}"
    );
    let functions = load(&[("index.js", &text)], Limits { call_time, ..Limits::default() }).unwrap();
    block_on(async {
        let told = call(&functions, "f", "").await.map_err(|(_, told)| told);
        assert_eq!(call(&functions, "fine", "").await, Ok::<_, (Code, String)>("fine".to_owned()), "{body}");
        told
    })
}

#[test]
fn objects_that_change_while_the_host_reads_them_are_read_once() {
    let kept = |made: &str| {
        let body = format!("nk.localcachePut('a', {made}); return JSON.stringify(nk.localcacheGet('a'));");
        run(&body, Duration::from_secs(60))
    };
    for (made, expect) in [
        // The buffer is gone, or shorter, when the host comes to it.
        (
            "(() => { const u = new Uint8Array([65, 66]); return [{ get a() { u.buffer.transfer(0); return 1; } }, u]; })()",
            "[{\"a\":1},\"\"]",
        ),
        (
            "(() => { const b = new ArrayBuffer(4, { maxByteLength: 8 }); const u = new Uint8Array(b); return [{ get a() { b.resize(0); return 1; } }, u]; })()",
            "[{\"a\":1},\"\"]",
        ),
        ("(() => { const a = [1, 2, 3]; return [{ get a() { a.length = 0; return 1; } }, a]; })()", "[{\"a\":1},[]]"),
        (
            "(() => { const a = [0, 2, 3]; a[0] = { toJSON() { a.length = 1; return 7; } }; return a; })()",
            "[7,null,null]",
        ),
        (
            "(() => { let n = 0; return { get a() { return n += 1; }, get b() { return n += 1; } }; })()",
            "{\"a\":1,\"b\":2}",
        ),
        ("new Proxy([1, 2], { get: (of, key) => (key === 'length' ? 3 : of[key]) })", "{\"0\":1,\"1\":2}"),
        ("{ __proto__: { hidden: 1 }, own: 2 }", "{\"own\":2}"),
        ("JSON.parse('{\"__proto__\":{\"hidden\":1}}')", "{\"__proto__\":{\"hidden\":1}}"),
        ("new String('text')", "{\"0\":\"t\",\"1\":\"e\",\"2\":\"x\",\"3\":\"t\"}"),
    ] {
        assert_eq!(kept(made).as_deref(), Ok(expect), "{made}");
    }
    for (made, told) in [
        ("{ get a() { throw new Error('read'); } }", "read"),
        ("new Proxy({}, { ownKeys() { throw new Error('keys'); } })", "keys"),
        ("{ toJSON() { return { again: this }; } }", "nested too deeply"),
        ("(() => { const o = {}; o.o = o; return o; })()", "nested too deeply"),
        ("new Array(2 ** 32 - 1)", "more than 250000 values"),
        ("new Uint8Array(2 ** 24 + 1)", "more than 16777216 bytes"),
        ("(() => { const r = Proxy.revocable([], {}); r.revoke(); return r.proxy; })()", "revoked"),
    ] {
        let error = kept(made).unwrap_err();
        assert!(error.contains(told), "{made}: {error}");
    }
}

/// Whoever calls a function that writes what it read can hold its shard no longer than for a text as long that is flat.
#[test]
fn texts_of_players_have_few_brackets_within_each_other() {
    let echo = "return JSON.stringify(JSON.parse(payload));";
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let among_others = |depth: usize| format!(r#"[["a\"[[","{{"],{{"b":{}}}]"#, nested(depth));
    for fine in [nested(10_000), among_others(9_998), format!("[{}]", vec!["[]"; 5_000].join(","))] {
        assert_eq!(answer(echo, &fine), Ok(fine));
    }
    for deep in [nested(10_001), among_others(9_999), nested(100_000), "{\"a\":".repeat(50_000)] {
        let (_, told) = answer(echo, &deep).unwrap_err();
        assert!(told.contains("more than 10000 brackets within each other"), "{told}");
    }
}

#[test]
fn the_host_may_be_called_while_it_reads() {
    let body = "let n = 0;
        const value = { toJSON() { n += 1; if (n < 50) nk.localcachePut('b', value); return n; } };
        nk.localcachePut('a', value);
        return [n, nk.localcacheGet('a'), nk.localcacheGet('b')].join();";
    assert_eq!(answer(body, ""), Ok("50,50,50".to_owned()));
    let endless =
        "const value = { toJSON() { nk.localcachePut('b', value); return 1; } }; nk.localcachePut('a', value);";
    let told = run(endless, Duration::from_secs(60)).unwrap_err();
    assert!(told.contains("Maximum call stack size exceeded") || told.contains("functions of the host"), "{told}");
    // The host asks the builtin for texts with halves of characters.
    let replaced = "String.prototype.toWellFormed = function () { for (;;); }; nk.localcachePut('a', '\\ud800');";
    assert_eq!(run(replaced, Duration::from_millis(20)), Err(OVER.to_owned()));
}

#[test]
fn there_is_no_way_out_of_the_machine() {
    for (body, expect) in [
        (
            "return [typeof std, typeof os, typeof require, typeof process, typeof Worker, typeof bjson].join();",
            "undefined,undefined,undefined,undefined,undefined,undefined",
        ),
        ("return import('/etc/passwd').then(() => 'read', (e) => e.name);", "ReferenceError"),
        ("return import('std').then(() => 'read', (e) => e.name);", "ReferenceError"),
        (
            "const a = new Int32Array(new SharedArrayBuffer(8)); try { return Atomics.wait(a, 0, 0); } catch (e) { return e.message; }",
            "cannot block in this thread",
        ),
        ("return String((0, eval)('this === globalThis && typeof nk'));", "undefined"),
        ("return String(new Function('return typeof nk')());", "undefined"),
    ] {
        assert_eq!(answer(body, "").as_deref(), Ok(expect), "{body}");
    }
}

#[test]
fn what_a_call_throws_is_told_or_ends_with_its_time() {
    for thrown in [
        "{ get message() { for (;;); } }",
        "{ toString() { for (;;); } }",
        "new Proxy({}, { get() { for (;;); } })",
        "Object.defineProperty(new Error('x'), 'stack', { get() { for (;;); } })",
    ] {
        run(&format!("throw {thrown};"), Duration::from_millis(20)).unwrap_err();
    }
    let long = run("throw new Error('x'.repeat(2 ** 24));", Duration::from_secs(60)).unwrap_err();
    assert!(long.starts_with("Error: xxx"), "{}", long.len());
    run("Error.prepareStackTrace = () => { for (;;); }; throw new Error('x');", Duration::from_millis(20)).unwrap_err();
}

#[test]
fn promises_that_nothing_settles_and_queues_that_grow_end() {
    let settled = |body: &str| run(body, Duration::from_millis(50));
    assert!(settled("return new Promise(() => {});").unwrap_err().contains("nothing fulfils"));
    assert!(
        settled("return (async () => { await new Promise(() => {}); })();").unwrap_err().contains("nothing fulfils")
    );
    for body in [
        "const more = () => { Promise.resolve().then(more); Promise.resolve().then(more); }; more(); return 'x';",
        "const thenable = { then(go) { go(thenable); } }; return Promise.resolve(thenable);",
        "const all = new Array(100000).fill(1); for (;;) Promise.all(all);",
        "const registry = new FinalizationRegistry(() => { for (;;); }); for (;;) registry.register({}, 1);",
    ] {
        settled(body).expect_err(body);
    }
}
