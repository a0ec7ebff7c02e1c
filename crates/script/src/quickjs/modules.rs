//! Resolves `import` between the files of a program. Files are never read here: the program knows all imports before it
//! runs. Only names that code composes while it runs can fail to resolve.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module, Result};

use super::sources::Sources;

/// The files of the program that a machine runs; empty until a program is set.
#[derive(Clone, Default)]
pub(super) struct Imports(Rc<RefCell<Arc<Sources>>>);

impl Imports {
    /// Sets the program.
    pub(super) fn set(&self, sources: &Arc<Sources>) {
        self.0.replace(sources.clone());
    }
}

impl Resolver for Imports {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let known = self.0.borrow().import(base, name).map(ToString::to_string);
        known.ok_or_else(|| {
            let told = "only names that are written as a text are known when the program is loaded";
            Error::new_resolving_message(base, name, told)
        })
    }
}

impl Loader for Imports {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let text = self.0.borrow().get(name).map(|file| file.text.clone());
        match text {
            Some(text) => Module::declare(ctx.clone(), name, &*text),
            None => Err(Error::new_loading(name)),
        }
    }
}
