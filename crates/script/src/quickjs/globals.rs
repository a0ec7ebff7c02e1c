//! Global objects of a context besides those of ECMAScript: bounded builtins, and `nkruntime` with the codes of errors.

use muster_wire::code::Code;
use rquickjs::{Ctx, Function, Object, Result};

use super::host::Means;

/// Script that freezes the global object, its values and their prototypes after the modules have run, as deeply as the
/// original does. Prototypes of errors stay open, so that errors can be given names and messages of their own.
const FREEZE: &str = "(() => {
    for (const name of Reflect.ownKeys(globalThis)) {
        const value = globalThis[name];
        if (!value) continue;
        const isError = value === Error || value.__proto__ === Error;
        Object.freeze(value);
        value.prototype && !isError && Object.freeze(value.prototype);
        value.__proto__ && Object.freeze(value.__proto__);
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
    ctx.eval::<Function<'js>, _>(BOUNDS)?.call::<_, ()>((look,))?;
    let (runtime, codes) = (Object::new(ctx.clone())?, Object::new(ctx.clone())?);
    for (name, code) in CODES {
        codes.set(name, f64::from(code.number()))?;
    }
    runtime.set("Codes", codes)?;
    runtime.set("SystemUserId", "00000000-0000-0000-0000-000000000000")?;
    ctx.globals().set("nkruntime", runtime)
}

/// Freezes a context's globals, see [`FREEZE`].
pub(super) fn freeze(ctx: &Ctx<'_>) -> Result<()> {
    ctx.eval(FREEZE)
}

/// Freezes an object, but not the objects in its properties.
pub(super) fn freeze_object<'js>(object: &Object<'js>) -> Result<()> {
    let freeze: Function<'js> = object.ctx().globals().get::<_, Object<'js>>("Object")?.get("freeze")?;
    freeze.call((object.clone(),))
}
