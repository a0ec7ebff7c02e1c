//! The initializer: the object by whose methods `InitModule` registers functions, hooks, listeners, schedules, routes
//! and matches.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::{Rc, Weak};

use muster_api::game::Occasion;
use muster_api::hooks::HookSubject;
use muster_wire::code::Code;
use rquickjs::function::{Opt, Rest};
use rquickjs::{Ctx, Function, Object, Persistent, Result, Value as JsValue};

use super::errors::throw;
use super::host::Means;
use super::slips;
use super::surface::camel_case;
use super::values::{self, kind, text};
use crate::host::pending as pending_functions;
use crate::machine::call::{SinglePurpose, listener_name};
use crate::machine::registered::{Among, RegisteredFunctions, When};

/// A function of JavaScript that is kept between calls.
pub(super) type SavedFunction = Persistent<Function<'static>>;

/// Everything that `InitModule` registered in one machine.
#[derive(Default)]
pub(super) struct InitRegistrations {
    pub(super) functions: RegisteredFunctions<SavedFunction>,
    /// Match handlers by name.
    pub(super) matches: BTreeMap<String, Callbacks>,
}

impl InitRegistrations {
    /// Ends registration: later calls of the methods have no effect.
    pub(super) fn close(&mut self) {
        self.functions.close();
    }
}

/// The callbacks of a match handler.
#[derive(Clone)]
pub(super) struct Callbacks {
    /// The required callbacks, in the order of [`CALLBACKS`].
    pub(super) required: [SavedFunction; 7],
    /// The callback for timers.
    pub(super) timer: Option<SavedFunction>,
    /// The callback that takes over a match of an earlier generation of code.
    pub(super) migrate: Option<SavedFunction>,
}

/// Name of the callback for timers.
pub(super) const TIMER: &str = "matchTimer";

/// Name of the callback that takes over a match of an earlier generation of code.
pub(super) const MIGRATE: &str = "matchMigrate";

/// Names of the required callbacks.
pub(super) const CALLBACKS: [&str; 7] =
    ["matchInit", "matchJoinAttempt", "matchJoin", "matchLeave", "matchLoop", "matchTerminate", "matchSignal"];

/// Methods of the original's initializer that are not built, and that the host table does not list either.
const PENDING_HERE: [&str; 4] = [
    "registerPurchaseNotificationApple",
    "registerPurchaseNotificationGoogle",
    "registerSubscriptionNotificationApple",
    "registerSubscriptionNotificationGoogle",
];

/// The registrations that methods write to. The reference is weak because functions that JavaScript holds must not own
/// values of JavaScript: those would never be collected.
type WeakRegistrations = Weak<RefCell<InitRegistrations>>;

pub(super) fn initializer<'js>(
    ctx: &Ctx<'js>,
    means: &Means,
    registered: &Rc<RefCell<InitRegistrations>>,
) -> Result<Object<'js>> {
    let initializer = Object::new(ctx.clone())?;
    let to = Rc::downgrade(registered);
    initializer.set("registerRpc", register_rpc(ctx, to.clone())?)?;
    for occasion in Occasion::ALL {
        let method = camel_case(&format!("register_{}", listener_name(occasion)));
        initializer.set(method.clone(), register_listener(ctx, to.clone(), method, occasion)?)?;
    }
    initializer.set("registerSchedule", register_schedule(ctx, to.clone())?)?;
    initializer.set("registerHttp", register_http(ctx, to.clone())?)?;
    for purpose in SinglePurpose::ALL {
        let method = camel_case(&format!("register_{}", purpose.name()));
        initializer.set(method.clone(), register_single_purpose(ctx, to.clone(), method, purpose)?)?;
    }
    initializer.set("registerMatch", register_match(ctx, to.clone())?)?;
    for (method, when) in [("registerRtBefore", When::Before), ("registerRtAfter", When::After)] {
        initializer.set(method, register_message_hook(ctx, to.clone(), method, when)?)?;
    }
    for subject in HookSubject::operations() {
        for (prefix, when) in [("registerBefore", When::Before), ("registerAfter", When::After)] {
            let method = format!("{prefix}{}", subject.name());
            initializer.set(method.clone(), register_hook(ctx, to.clone(), method, when, subject.name())?)?;
        }
    }
    for method in not_built() {
        initializer.set(method.clone(), unbuilt(ctx, to.clone(), method)?)?;
    }
    initializer.set("getConfig", get_config(ctx, means.clone())?)?;
    slips::watch(ctx, &initializer, "initializer")?;
    Ok(initializer)
}

/// Names of the methods for features that are not built yet.
fn not_built() -> impl Iterator<Item = String> {
    let listed = pending_functions().map(|function| function.name).filter(|name| name.starts_with("register_"));
    listed.map(camel_case).chain(PENDING_HERE.map(str::to_owned))
}

/// Names of all methods.
pub(super) fn names() -> Vec<String> {
    let plain = ["registerRpc", "registerSchedule", "registerHttp", "registerMatch", "getConfig"];
    let mut names: Vec<String> = plain.map(str::to_owned).into();
    names.extend(["registerRtBefore", "registerRtAfter"].map(str::to_owned));
    names.extend(Occasion::ALL.map(|occasion| camel_case(&format!("register_{}", listener_name(occasion)))));
    names.extend(SinglePurpose::ALL.map(|purpose| camel_case(&format!("register_{}", purpose.name()))));
    for prefix in ["registerBefore", "registerAfter"] {
        names.extend(HookSubject::operations().map(|subject| format!("{prefix}{}", subject.name())));
    }
    names.extend(not_built());
    names
}

fn refused(ctx: &Ctx<'_>, told: &str) -> rquickjs::Error {
    throw(ctx, Code::InvalidArgument, told)
}

/// A method's argument that must be a function.
fn function<'js>(ctx: &Ctx<'js>, method: &str, given: Option<JsValue<'js>>) -> Result<SavedFunction> {
    match given.as_ref().and_then(JsValue::as_function) {
        Some(function) => Ok(Persistent::save(ctx, function.clone())),
        None => {
            let got = given.as_ref().map_or("undefined", kind);
            Err(refused(ctx, &format!("{method} expects a function, got {got}: is it defined where it is used?")))
        }
    }
}

/// A method's first argument, which must be a string.
fn id<'js>(ctx: &Ctx<'js>, method: &str, given: Option<JsValue<'js>>) -> Result<String> {
    match given.as_ref().and_then(JsValue::as_string) {
        Some(id) => text(id),
        None => {
            let got = given.as_ref().map_or("undefined", kind);
            Err(refused(ctx, &format!("{method} expects a string as its first argument, got {got}")))
        }
    }
}

/// Writes to the registrations, if their machine still exists.
fn set(
    ctx: &Ctx<'_>,
    to: &WeakRegistrations,
    write: impl FnOnce(&mut InitRegistrations) -> std::result::Result<(), String>,
) -> Result<()> {
    let Some(registered) = to.upgrade() else { return Ok(()) };
    let written = write(&mut registered.borrow_mut());
    written.map_err(|why| refused(ctx, &why))
}

/// A method that notes that something is registered for a feature which is not built yet.
fn unbuilt<'js>(ctx: &Ctx<'js>, to: WeakRegistrations, method: String) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, _: Rest<JsValue<'js>>| {
        set(&ctx, &to, |registered| {
            registered.functions.add_unbuilt(&method);
            Ok(())
        })
    })
}

fn register_rpc<'js>(ctx: &Ctx<'js>, to: WeakRegistrations) -> Result<Function<'js>> {
    const METHOD: &str = "registerRpc";
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, Opt(first): Opt<JsValue<'js>>, Opt(second): Opt<JsValue<'js>>| {
        let (id, function) = (id(&ctx, METHOD, first)?, function(&ctx, METHOD, second)?);
        let place = slips::place_of_caller(&ctx);
        set(&ctx, &to, |registered| registered.functions.set_function(METHOD, &id, function, place))
    })
}

fn register_listener<'js>(
    ctx: &Ctx<'js>,
    to: WeakRegistrations,
    method: String,
    occasion: Occasion,
) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, Opt(first): Opt<JsValue<'js>>| {
        let function = function(&ctx, &method, first)?;
        set(&ctx, &to, |registered| {
            registered.functions.add_listener(&method, occasion, function);
            Ok(())
        })
    })
}

fn register_schedule<'js>(ctx: &Ctx<'js>, to: WeakRegistrations) -> Result<Function<'js>> {
    const METHOD: &str = "registerSchedule";
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, Opt(first): Opt<JsValue<'js>>, Opt(second): Opt<JsValue<'js>>| {
        let (expression, function) = (id(&ctx, METHOD, first)?, function(&ctx, METHOD, second)?);
        set(&ctx, &to, |registered| registered.functions.add_schedule(METHOD, &expression, function))
    })
}

fn register_http<'js>(ctx: &Ctx<'js>, to: WeakRegistrations) -> Result<Function<'js>> {
    const METHOD: &str = "registerHttp";
    let run = move |ctx: Ctx<'js>,
                    Opt(first): Opt<JsValue<'js>>,
                    Opt(second): Opt<JsValue<'js>>,
                    Rest(more): Rest<JsValue<'js>>| {
        let (path, function) = (id(&ctx, METHOD, first)?, function(&ctx, METHOD, second)?);
        let method = |given: JsValue<'js>| match given.as_string() {
            Some(method) => text(method),
            None => Err(refused(&ctx, &format!("{METHOD} expects methods to be strings, got {}", kind(&given)))),
        };
        let methods = more.into_iter().map(method).collect::<Result<Vec<_>>>()?;
        set(&ctx, &to, |registered| registered.functions.add_route(METHOD, &path, &methods, function))
    };
    Function::new(ctx.clone(), run)
}

fn register_single_purpose<'js>(
    ctx: &Ctx<'js>,
    to: WeakRegistrations,
    method: String,
    purpose: SinglePurpose,
) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, Opt(first): Opt<JsValue<'js>>| {
        let function = function(&ctx, &method, first)?;
        set(&ctx, &to, |registered| {
            registered.functions.set_single_purpose(&method, purpose, function);
            Ok(())
        })
    })
}

fn register_message_hook<'js>(
    ctx: &Ctx<'js>,
    to: WeakRegistrations,
    method: &'static str,
    when: When,
) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, Opt(first): Opt<JsValue<'js>>, Opt(second): Opt<JsValue<'js>>| {
        let (name, function) = (id(&ctx, method, first)?, function(&ctx, method, second)?);
        if let Some(operation) = HookSubject::operations().find(|known| known.name().eq_ignore_ascii_case(&name)) {
            let (operation, takes) = (operation.name(), method.replace("Rt", ""));
            return Err(refused(&ctx, &format!("{method}: {operation} is an operation: {takes}{operation} takes it")));
        }
        set(&ctx, &to, |registered| registered.functions.set_hook(method, when, Among::Messages, &name, function))
    })
}

fn register_hook<'js>(
    ctx: &Ctx<'js>,
    to: WeakRegistrations,
    method: String,
    when: When,
    name: &'static str,
) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, Opt(first): Opt<JsValue<'js>>| {
        let function = function(&ctx, &method, first)?;
        set(&ctx, &to, |registered| registered.functions.set_hook(&method, when, Among::Operations, name, function))
    })
}

fn register_match<'js>(ctx: &Ctx<'js>, to: WeakRegistrations) -> Result<Function<'js>> {
    const METHOD: &str = "registerMatch";
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, Opt(first): Opt<JsValue<'js>>, Opt(second): Opt<JsValue<'js>>| {
        let name = id(&ctx, METHOD, first)?;
        let Some(handler) = second.as_ref().and_then(JsValue::as_object) else {
            return Err(refused(&ctx, "registerMatch expects an object of functions as its second argument"));
        };
        let mut callbacks = Vec::with_capacity(CALLBACKS.len());
        let mut missing = Vec::new();
        for called in CALLBACKS {
            let found: JsValue<'js> = handler.get(called)?;
            match found.as_function() {
                Some(function) => callbacks.push(Persistent::save(&ctx, function.clone())),
                None => missing.push(format!("{called}, got {}", kind(&found))),
            }
        }
        if !missing.is_empty() {
            let (functions, missing) =
                (if missing.len() == 1 { "a function" } else { "functions" }, missing.join("; "));
            return Err(refused(&ctx, &format!("registerMatch: the match '{name}' needs {functions} {missing}")));
        }
        let is_durable = handler.get::<_, JsValue<'js>>("durable")?.as_bool() == Some(true);
        let Ok(required) = callbacks.try_into() else { return Ok(()) };
        let optional = |called: &str| -> Result<Option<SavedFunction>> {
            let found: JsValue<'js> = handler.get(called)?;
            Ok(found.as_function().map(|function| Persistent::save(&ctx, function.clone())))
        };
        let callbacks = Callbacks { required, timer: optional(TIMER)?, migrate: optional(MIGRATE)? };
        set(&ctx, &to, |registered| {
            if is_durable {
                registered.functions.add_durable(&name);
            }
            if registered.functions.is_open(METHOD) {
                registered.matches.insert(name, callbacks);
            }
            Ok(())
        })
    })
}

fn get_config<'js>(ctx: &Ctx<'js>, means: Means) -> Result<Function<'js>> {
    Function::new(ctx.clone(), move |ctx: Ctx<'js>| values::write(&ctx, means.host.process.config.clone()))
}
