//! Calls within calls: code of modules may nest them deeply, and whoever nests them without an end gets an error.

use muster_wire::code::Code;

use super::{answer, script};
use crate::world::{block_on, call};

#[test]
fn calls_nest_as_deeply_as_code_for_the_original_does() {
    let check = |body: &str, expect: &str| assert_eq!(answer(body, "").as_deref(), Ok(expect), "{body}");
    check("const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1)); return String(deep(6000));", "6000");
    check(
        "class A { deep(n) { return n === 0 ? 0 : 1 + this.deep(n - 1); } } return String(new A().deep(6000));",
        "6000",
    );
    check(
        "const deep = (n) => { let sum = 1; if (n > 0) [n - 1].forEach((n) => { sum += deep(n); }); return sum; };
        return String(deep(2000));",
        "2001",
    );
    check(
        "const deep = (n) => (n === 0 ? 0 : [n].map((n) => [n].reduce((sum, n) => sum + deep(n - 1), 1))[0]);
        return String(deep(1000));",
        "1000",
    );
    check(
        "let list = []; for (let i = 0; i < 3000; i += 1) list = [list];
        return String(JSON.stringify(JSON.parse(JSON.stringify(list))).length);",
        "6002",
    );
}

/// Bodies of functions that nest calls until there is no room, each by another builtin that calls code of modules.
const ENDLESS: &[&str] = &[
    "const f = () => f() + 1; f();",
    "const f = () => { try { return f(); } finally { f.x = 1; } }; f();",
    "const f = function () { return f.apply(this, [].concat(1)); }; f();",
    "const f = function () { return f.call(this); }; f();",
    "const f = () => Reflect.apply(f, undefined, []); f();",
    "class F { constructor() { new F(); } } new F();",
    "class F { constructor() { Reflect.construct(F, []); } } new F();",
    "const f = () => [1].forEach(f); f();",
    "const f = () => [1].map(f); f();",
    "const f = () => [1, 2].sort(f); f();",
    "const f = () => [1, 2].reduce(f); f();",
    "const f = () => Array.from([1], f); f();",
    "const f = () => [[1]].flatMap(f); f();",
    "const f = () => new Map([[1, 1]]).forEach(f); f();",
    "const f = () => new Uint8Array(2).sort(f); f();",
    "const f = () => 'a'.replace('a', f); f();",
    "const f = () => 'a'.replace(/a/, f); f();",
    "const f = () => JSON.parse('[1]', f); f();",
    "const f = { toJSON() { return JSON.stringify(f); } }; JSON.stringify(f);",
    "const f = () => JSON.stringify([1], f); f();",
    "const f = { toString() { return [f].join(); } }; String(f);",
    "let list = []; for (let i = 0; i < 200000; i += 1) list = [list]; list.toString();",
    "let list = []; for (let i = 0; i < 200000; i += 1) list = [list]; list.flat(Infinity);",
    "const f = { valueOf() { return f + 1; } }; f + 1;",
    "const f = { [Symbol.toPrimitive]() { return `${f}`; } }; `${f}`;",
    "const f = { get x() { return f.x; } }; f.x;",
    "const f = { set x(value) { f.x = value; } }; f.x = 1;",
    "const f = new Proxy({}, { get: (of, key, self) => self[key] }); f.x;",
    "const f = new Proxy({}, { has: (of, key) => key in f }); 'x' in f;",
    "const f = new Proxy(() => 1, { apply: () => f() }); f();",
    "class F { static [Symbol.hasInstance](x) { return x instanceof F; } } ({}) instanceof F;",
    "new Function('return ' + '('.repeat(200000) + ')'.repeat(200000));",
    "new Function('return ' + '['.repeat(200000) + ']'.repeat(200000));",
    "new Function('return ' + 'a=>'.repeat(100000) + '1');",
    "new Function('{'.repeat(200000) + '}'.repeat(200000));",
    "(0, eval)('['.repeat(200000));",
    "const f = () => (0, eval)('f_()'); globalThis.f_ = f; f();",
    "function* f() { yield* f(); } f().next();",
    "function* f() { for (const x of f()) yield x; } [...f()];",
    "const f = { *[Symbol.iterator]() { yield* f; } }; [...f];",
    "const f = { [Symbol.iterator]() { return f[Symbol.iterator](); } }; const [x] = f;",
    "const f = () => Object.assign({}, { get x() { return f(); } }); f();",
    "const f = () => Object.defineProperty({}, 'x', { get value() { return f(); } }); f();",
    "const f = { get message() { return String(new Error('x', { get cause() { return f.message; } })); } }; f.message;",
    "const f = { get name() { return Error.prototype.toString.call(f); } }; Error.prototype.toString.call(f);",
    "const f = { toJSON() { return nk.jsonEncode(f); } }; nk.jsonEncode(f);",
    "const f = { get x() { logger.info('%v', f); return 1; } }; logger.info('%v', f);",
    "const f = () => [3, 2, 1].toSorted(f); f();",
    "const f = () => [1].values().map(f).toArray(); f();",
];

/// Bodies of functions that use much of the native stack, of memory or of time. QuickJS bounds some of them otherwise.
const MUCH: &[&str] = &[
    "const f = (...all) => f(...all, 1); f();",
    "let f = () => 1; for (let i = 0; i < 60000; i += 1) f = f.bind(null); f();",
    "let list = []; for (let i = 0; i < 200000; i += 1) list = [list]; JSON.stringify(list);",
    "JSON.parse('['.repeat(200000));",
    "let f = {}; for (let i = 0; i < 60000; i += 1) f = new Proxy(f, {}); f.x;",
    "let f = {}; for (let i = 0; i < 60000; i += 1) f = new Proxy(f, {}); Object.keys(f);",
    "let f = []; for (let i = 0; i < 60000; i += 1) f = new Proxy(f, {}); Array.isArray(f);",
    "let f = Function; for (let i = 0; i < 60000; i += 1) f = new Proxy(f, {}); ({}) instanceof f;",
    "new RegExp('('.repeat(60000) + ')'.repeat(60000));",
    "new RegExp('(?:'.repeat(40000) + 'a' + ')'.repeat(40000)).test('a');",
    "new Function('return ' + '-'.repeat(100000).replaceAll('-', '- ') + '1');",
    "async function f() { return f(); } f();",
    "const f = () => new Promise(f); f();",
    "const f = { get then() { return Promise.resolve(f); } }; Promise.resolve(f);",
    "let list = []; for (let i = 0; i < 200000; i += 1) list = [list]; nk.jsonEncode(list);",
    "const f = { toString() { console.log(f); return `${f}`; } }; console.log(f); `${f}`;",
    "let f = [1].values(); for (let i = 0; i < 100000; i += 1) f = f.map((x) => x); f.next();",
    "let f = [1].values(); for (let i = 0; i < 60000; i += 1) f = Iterator.from({ next: f.next.bind(f) }).filter(() => true); f.next();",
    "let f = [1, 1].values(); for (let i = 0; i < 60000; i += 1) { const inner = f; f = [1].values().flatMap(() => inner); if (i % 100) f.next(); } f.next();",
    "let f = [1].values(); for (let i = 0; i < 60000; i += 1) f = Iterator.concat(f); f.next();",
    "let f = [1].values(); for (let i = 0; i < 60000; i += 1) f = f.drop(0); f.return();",
    "let text = ''; for (let i = 0; i < 300000; i += 1) text = 'a' + text + 'b'; text.indexOf('c'); const f = () => f(); f();",
];

const TOO_DEEP: &str = "RangeError: Maximum call stack size exceeded";

#[test]
fn calls_without_an_end_are_an_error_and_nothing_else() {
    for (bodies, must_be_deep) in [(ENDLESS, true), (MUCH, false)] {
        for body in bodies {
            let text = format!(
                "function f(ctx, logger, nk) {{ {body} }}
                function caught(ctx, logger, nk) {{ try {{ f(ctx, logger, nk); return ''; }} catch (e) {{ return String(e); }} }}
                function InitModule(ctx, logger, nk, i) {{
                    i.registerRpc('caught', caught); i.registerRpc('thrown', f); i.registerRpc('echo', (c, l, n, p) => p);
                }}"
            );
            let functions = script(&text);
            block_on(async {
                for _ in 0..2 {
                    let caught = call(&functions, "caught", "").await;
                    let thrown = call(&functions, "thrown", "").await;
                    if must_be_deep {
                        assert_eq!(caught, Ok(TOO_DEEP.to_owned()), "{body}");
                        assert_eq!(thrown, Err((Code::Internal, TOO_DEEP.to_owned())), "{body}");
                    }
                    assert_eq!(call(&functions, "echo", "on").await, Ok("on".to_owned()), "{body}");
                }
            });
        }
    }
}
