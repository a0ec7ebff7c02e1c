//! Behaviour that studios rely on in JavaScript.

mod bounds;
mod budgets;
mod builtins;
mod calls;
mod depth;
mod habits;
mod host;
mod hostile;
mod imports;
mod languages;
mod matches;
mod modules;
mod promises;

use std::rc::Rc;
use std::sync::Arc;

use muster_domain::ports::store::Store;
use muster_script::{Bundle, Host, JsFunctions, Limits, LoadError, ScriptMetrics};
use muster_wire::code::Code;

use crate::world::{block_on, call, host_over, store, write_all};

/// Loads files over a host.
pub fn load_over(files: &[(&str, &str)], host: &Rc<Host>, limits: Limits) -> Result<JsFunctions, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path(), files);
    let bundle = block_on(Bundle::load(folder.path(), None, host, &limits))?;
    assert!(!bundle.is_empty());
    Ok(JsFunctions::new(Arc::new(bundle), host.clone(), limits, Arc::new(ScriptMetrics::default())))
}

/// Loads files over a database of their own.
pub fn load(files: &[(&str, &str)], limits: Limits) -> Result<JsFunctions, LoadError> {
    load_over(files, &host(&store()), limits)
}

pub fn host(store: &Rc<dyn Store>) -> Rc<Host> {
    Rc::new(host_over(store.clone(), std::path::Path::new("")))
}

/// Loads one script.
pub fn script(text: &str) -> JsFunctions {
    load(&[("index.js", text)], Limits::default()).unwrap()
}

/// The error of a script that is refused.
pub fn refused(text: &str) -> String {
    load(&[("index.js", text)], Limits::default()).err().unwrap().to_string()
}

/// The answer of a function with this body to a payload.
pub fn answer(body: &str, payload: &str) -> Result<String, (Code, String)> {
    let text = format!(
        "function f(ctx, logger, nk, payload) {{\n{body}\n}}
        function InitModule(ctx, logger, nk, initializer) {{ initializer.registerRpc('f', f); }}"
    );
    block_on(call(&script(&text), "f", payload))
}
