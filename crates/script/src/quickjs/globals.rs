//! Global objects of a context besides those of ECMAScript: bounded builtins, and `nkruntime` with the codes of errors.

use muster_wire::code::Code;
use rquickjs::{Array, Ctx, Function, Object, Result, String as JsString};

use super::host::Means;
use super::values::text;

/// Script that lets objects have properties of their own whose names a frozen prototype has. By the language an
/// assignment fails where a prototype has a read-only property of the name, which breaks code that compilers make: the
/// generators of TypeScript set `Symbol.iterator` on an object whose prototype may be `Iterator.prototype`. As
/// accessors these properties read as before, and a write defines the property on the object itself.
const OVERRIDABLE: &str = "((isAllFrozen) => {
    const { defineProperty, getOwnPropertyDescriptor } = Reflect;
    const names = [
        [Object.prototype, ['constructor', 'hasOwnProperty', 'isPrototypeOf', 'propertyIsEnumerable', 'toString',
            'toLocaleString', 'valueOf']],
        [Function.prototype, ['constructor', 'toString']],
        [Array.prototype, ['constructor', 'toString', 'toLocaleString']],
        [Date.prototype, ['constructor', 'toJSON', 'toString']],
        [Promise.prototype, ['constructor']],
        [Iterator.prototype, [Symbol.iterator]],
    ];
    const { prototype: objects } = Object;
    const { prototype: functions } = Function;
    for (const [prototype, keys] of names) {
        if (!isAllFrozen && prototype !== objects && prototype !== functions) continue;
        for (const key of keys) {
            const descriptor = getOwnPropertyDescriptor(prototype, key);
            if (!descriptor || !('value' in descriptor)) continue;
            const { value, enumerable } = descriptor;
            const accessor = {
                get() { return value; },
                set(own) {
                    if (this === prototype || this === undefined || this === null) {
                        throw new TypeError(`'${String(key)}' is read-only`);
                    }
                    defineProperty(this, key, { value: own, writable: true, enumerable: true, configurable: true });
                },
            };
            defineProperty(prototype, key, { get: accessor.get, set: accessor.set, enumerable, configurable: true });
        }
    }
})";

/// Script that makes `console`, and functions in the place of those that browsers have and this server lacks.
const CONSOLE: &str = "(logger) => {
    const show = (value) => {
        if (typeof value === 'string') return value;
        if (value instanceof Error) return value.stack ? `${value}\n${value.stack}` : String(value);
        try {
            return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
        } catch {
            return Object.prototype.toString.call(value);
        }
    };
    const writes = (level) => (...values) => logger[level]('%s', values.map(show).join(' '));
    globalThis.console = Object.freeze({
        debug: writes('debug'), error: writes('error'), info: writes('info'), log: writes('info'),
        trace: writes('debug'), warn: writes('warn'),
    });
    const timers = 'use the loop or a timer of a match, or initializer.registerSchedule';
    const instead = { fetch: 'use nk.httpRequest', setTimeout: timers, setInterval: timers };
    for (const name of Object.keys(instead)) {
        const told = `${name} is not available here: ${instead[name]}`;
        globalThis[name] = { [name]() { throw new TypeError(told); } }[name];
    }
}";

/// Script whose value is a function that freezes what all calls of a machine share, after the modules have run. That is
/// as much as the original freezes: the values of the names that the modules have declared, and the prototypes of all
/// objects and functions. Builtins and the names themselves may be written to, which later calls in the same machine
/// see. `Object.freeze` refuses some values, such as typed arrays: these stay as they are.
const FREEZE: &str = "((builtin) => {
    const { freeze } = Object;
    for (const name of Reflect.ownKeys(globalThis)) {
        if (builtin.includes(name)) continue;
        const value = globalThis[name];
        if (value === null || (typeof value !== 'object' && typeof value !== 'function')) continue;
        try { freeze(value); } catch {}
    }
    freeze(Object.prototype);
    freeze(Function.prototype);
})";

/// Script that freezes the global object, its values and their prototypes. Prototypes of errors stay open, so that
/// errors can be given names and messages of their own.
const FREEZE_ALL: &str = "(() => {
    for (const name of Reflect.ownKeys(globalThis)) {
        const value = globalThis[name];
        if (!value) continue;
        const isError = value === Error || value.__proto__ === Error;
        for (const shared of [value, !isError && value.prototype, value.__proto__]) {
            try { shared && Object.freeze(shared); } catch {}
        }
    }
})()";

/// Script that replaces builtins that could hold up their thread.
const BOUNDS: &str = include_str!("bounds.js");

/// The names of codes in the original's types.
const CODES: [(&str, Code); 16] = [
    ("CANCELLED", Code::Canceled),
    ("UNKNOWN", Code::Unknown),
    ("INVALID_ARGUMENT", Code::InvalidArgument),
    ("DEADLINE_EXCEEDED", Code::DeadlineExceeded),
    ("NOT_FOUND", Code::NotFound),
    ("ALREADY_EXISTS", Code::AlreadyExists),
    ("PERMISSION_DENIED", Code::PermissionDenied),
    ("RESOURCE_EXHAUSTED", Code::ResourceExhausted),
    ("FAILED_PRECONDITION", Code::FailedPrecondition),
    ("ABORTED", Code::Aborted),
    ("OUT_OF_RANGE", Code::OutOfRange),
    ("UNIMPLEMENTED", Code::Unimplemented),
    ("INTERNAL", Code::Internal),
    ("UNAVAILABLE", Code::Unavailable),
    ("DATA_LOSS", Code::DataLoss),
    ("UNAUTHENTICATED", Code::Unauthenticated),
];

/// Adds the global objects. In the original `nkruntime` exists only in the types for compilers. Here it is an object
/// with its constants too, for code that no compiler has processed.
pub(super) fn add<'js>(ctx: &Ctx<'js>, means: &Means) -> Result<()> {
    let means = means.clone();
    let look = Function::new(ctx.clone(), move |ctx: Ctx<'js>| means.take_a_step(&ctx))?;
    ctx.eval::<Function<'js>, _>(BOUNDS)?.call::<_, ()>((look, Function::new(ctx.clone(), is_deeper)?))?;
    let (runtime, codes) = (Object::new(ctx.clone())?, Object::new(ctx.clone())?);
    for (name, code) in CODES {
        codes.set(name, f64::from(code.number()))?;
    }
    runtime.set("Codes", codes)?;
    runtime.set("SystemUserId", "00000000-0000-0000-0000-000000000000")?;
    ctx.globals().set("nkruntime", runtime)
}

/// Whether a text in JSON has more brackets within each other than a limit.
#[expect(clippy::needless_pass_by_value, reason = "as the engine calls it")]
fn is_deeper(json: JsString<'_>, limit: usize) -> Result<bool> {
    let (mut depth, mut is_in_text, mut is_escaped) = (0_usize, false, false);
    for byte in text(&json)?.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_text,
            b'"' => is_in_text = !is_in_text,
            b'[' | b'{' if !is_in_text => depth += 1,
            b']' | b'}' if !is_in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds `console`, which writes to the log, see [`CONSOLE`].
pub(super) fn add_console<'js>(ctx: &Ctx<'js>, logger: Object<'js>) -> Result<()> {
    ctx.eval::<Function<'js>, _>(CONSOLE)?.call((logger,))
}

/// The names of all global objects, in an array. Before the modules run these are the builtins.
pub(super) fn names<'js>(ctx: &Ctx<'js>) -> Result<Array<'js>> {
    ctx.eval("Reflect.ownKeys(globalThis)")
}

/// Freezes what all calls of a machine share, see [`FREEZE`] and [`OVERRIDABLE`].
pub(super) fn freeze<'js>(ctx: &Ctx<'js>, builtin: Array<'js>) -> Result<()> {
    let freeze: Function<'js> = ctx.eval(FREEZE)?;
    ctx.eval::<Function<'js>, _>(OVERRIDABLE)?.call::<_, ()>((false,))?;
    freeze.call((builtin,))
}

/// Freezes everything but the match's state in the machine of a recorded match: what such a match keeps anywhere else
/// would be lost when it goes on at another place.
pub(super) fn freeze_all<'js>(ctx: &Ctx<'js>, nk: &Object<'js>) -> Result<()> {
    ctx.eval::<Function<'js>, _>(OVERRIDABLE)?.call::<_, ()>((true,))?;
    ctx.eval::<(), _>(FREEZE_ALL)?;
    let promises: Object<'js> = nk.get("promises")?;
    freeze_object(&promises)?;
    freeze_object(nk)
}

/// Freezes an object, but not the objects in its properties.
pub(super) fn freeze_object<'js>(object: &Object<'js>) -> Result<()> {
    let freeze: Function<'js> = object.ctx().globals().get::<_, Object<'js>>("Object")?.get("freeze")?;
    freeze.call((object.clone(),))
}
