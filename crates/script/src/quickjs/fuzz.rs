//! Values that cross between JavaScript and the host.

use std::cell::Cell;
use std::rc::Rc;

use muster_testenv::fuzz::Fuzz;
use rquickjs::{Context, Runtime, Value as JsValue};

use super::values::{Unreadable, read, write};
use crate::value::fuzz::{WORDS, depth, of_bytes};
use crate::value::{DEPTH_MAX, Value};

/// A machine without the server's own objects, which ends what runs for too many steps.
fn context() -> (Runtime, Context, Rc<Cell<u32>>) {
    let runtime = Runtime::new().expect("there is memory");
    runtime.set_memory_limit(64 << 20);
    runtime.set_max_stack_size(256 << 10);
    let looks = Rc::new(Cell::new(0));
    let counted = looks.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || {
        counted.set(counted.get() + 1);
        counted.get() > 20
    })));
    let context = Context::full(&runtime).expect("there is memory");
    (runtime, context, looks)
}

#[test]
fn values_cross_to_javascript_and_back() {
    let (_runtime, context, looks) = context();
    let tried = Fuzz::new("js-values").words(WORDS).runs(5_000).run(|input| {
        looks.set(0);
        let value = of_bytes(&mut &*input, 0);
        context.with(|ctx| {
            let cross = |value: Value| match write(&ctx, value).map_err(Unreadable::from).and_then(|value| read(&value))
            {
                Ok(value) => value,
                Err(Unreadable::Told(told)) => panic!("{told}"),
                Err(Unreadable::Thrown(error)) => panic!("{error}: {:?}", ctx.catch()),
            };
            // Names of the host's records are others in JavaScript: the second crossing changes nothing.
            let once = cross(value.clone());
            let again = cross(once.clone());
            assert_eq!(again.to_json_text(), once.to_json_text());
            assert!(depth(&once) <= DEPTH_MAX);
        });
        !matches!(value, Value::Nil)
    });
    assert!(tried.accepted > tried.inputs / 2, "{tried:?}");
}

/// Expressions that are hard to read. `$` stands for another one of them. An input is a list of their numbers.
const OBJECTS: &[&str] = &[
    "1",
    "'text'",
    "null",
    "undefined",
    "10n ** 40n",
    "Symbol('s')",
    "() => 1",
    "NaN",
    "'\\ud800'",
    "'x'.repeat(2 ** 20)",
    "[$, $]",
    "{ a: $, b: $ }",
    "{ get a() { return $; } }",
    "{ get a() { throw $; } }",
    "{ toJSON() { return $; } }",
    "{ toJSON() { return this; } }",
    "{ toJSON() { throw 1; } }",
    "{ get toJSON() { return () => $; } }",
    "new Proxy({}, {})",
    "new Proxy([$], {})",
    "new Proxy($ ?? {}, { get: () => $ })",
    "new Proxy({}, { ownKeys: () => ['a', 'b'], getOwnPropertyDescriptor: () => ({ value: $, enumerable: true, configurable: true }) })",
    "new Proxy({}, { ownKeys() { throw 1; } })",
    "new Proxy([], { get: (_, key) => key === 'length' ? 2 ** 32 - 1 : $ })",
    "new Proxy([], { get: (_, key) => key === 'length' ? -1 : $ })",
    "(() => { const r = Proxy.revocable([], {}); r.revoke(); return r.proxy; })()",
    "(() => { const o = {}; o.o = o; return o; })()",
    "(() => { const a = [$]; a.push(a); return a; })()",
    "(() => { let o = $; for (let i = 0; i < 120; i += 1) o = [o]; return o; })()",
    "new Array(2 ** 32 - 1)",
    "new Array(3)",
    "Object.create($ ?? null)",
    "new Date(NaN)",
    "new Date(0)",
    "new Map([[1, $]])",
    "new Error('e')",
    "/re/g",
    "globalThis",
    "new Uint8Array([1, 2, 3])",
    "new Uint8Array(2 ** 20)",
    "new Float64Array(3)",
    "new DataView(new ArrayBuffer(8))",
    "(() => { const b = new ArrayBuffer(8); const u = new Uint8Array(b); b.transfer(); return [b, u]; })()",
    "(() => { const b = new ArrayBuffer(8, { maxByteLength: 64 }); const u = new Uint8Array(b, 4); b.resize(2); return [b, u]; })()",
    "(() => { const b = new ArrayBuffer(8, { maxByteLength: 64 }); const u = new Uint8Array(b); return [u, { get a() { b.resize(0); return 1; } }, u]; })()",
    "(() => { const b = new ArrayBuffer(64); const u = new Uint8Array(b); return [{ toJSON() { b.transfer(0); return u; } }, u]; })()",
    "(() => { const a = [1, 2, 3, $]; return [{ get a() { a.length = 0; return 1; } }, a]; })()",
    "(() => { const a = [1, { toJSON() { a.length = 1; return a; } }, 3]; return a; })()",
    "new SharedArrayBuffer(8)",
    "new Uint8Array(new SharedArrayBuffer(8))",
    "Object.defineProperty([], 'length', { writable: false })",
    "Object.assign([], { toJSON: () => 1 })",
    "new String('s')",
    "new Number(1)",
    "new Boolean(false)",
    "Object(1n)",
    "Object(Symbol())",
    "{ __proto__: $, a: 1 }",
    "{ ['__proto__']: $ }",
    "(function () { return arguments; })($, $)",
    "function* () {}",
    "Promise.resolve($)",
];

/// The expression that an input chooses.
fn expression(input: &mut &[u8], depth: usize) -> String {
    let Some((first, rest)) = input.split_first() else { return "0".to_owned() };
    *input = rest;
    let chosen = OBJECTS[usize::from(*first) % OBJECTS.len()];
    let mut parts = chosen.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(&if depth > 5 { "7".to_owned() } else { expression(input, depth + 1) });
        text.push_str(part);
    }
    format!("({text})")
}

#[test]
fn whatever_objects_javascript_makes_are_read_or_refused() {
    let (_runtime, context, looks) = context();
    let all = (0..OBJECTS.len()).map(|number| vec![number as u8, 1, 11, 2]);
    let tried = Fuzz::new("js-objects").seeds(all).runs(3_000).input_bytes_max(30).run(|mut input| {
        looks.set(0);
        let source = expression(&mut input, 0);
        context.with(|ctx| {
            let Ok(made) = ctx.eval::<JsValue<'_>, _>(source.as_str()) else {
                ctx.catch();
                return false;
            };
            match read(&made) {
                Ok(value) => {
                    assert!(depth(&value) <= DEPTH_MAX, "{source}");
                    assert!(write(&ctx, value).is_ok(), "{source}");
                    true
                }
                Err(Unreadable::Told(told)) => {
                    assert!(!told.is_empty());
                    false
                }
                Err(Unreadable::Thrown(_)) => {
                    ctx.catch();
                    false
                }
            }
        })
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}
