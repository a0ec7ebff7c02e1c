//! The index of names. It says which language's function is called, so that a call looks its name up once and not once
//! for each language.

use std::collections::HashMap;

use muster_api::hooks::SUBJECT_COUNT;

use crate::engines::EngineFunctions;
use crate::machine::call::Sole;
use crate::machine::registered::Point;

/// The index. For each registered name it holds the number of an engine: that of the first one whose modules have it.
pub(super) struct Index {
    functions: HashMap<Box<str>, usize>,
    /// Ordered by [`Point::index`].
    hooks: Box<[Option<usize>]>,
    /// Ordered by the number of the [`Sole`].
    soles: [Option<usize>; Sole::ALL.len()],
}

impl Index {
    /// The index of the names that are registered now.
    pub(super) fn of(engines: &[Box<dyn EngineFunctions>]) -> Self {
        let mut functions = HashMap::new();
        let mut hooks = vec![None; 2 * SUBJECT_COUNT];
        let mut soles = [None; Sole::ALL.len()];
        for (number, engine) in engines.iter().enumerate() {
            engine.see_names(&mut |names| {
                for id in &names.functions {
                    functions.entry(id.as_str().into()).or_insert(number);
                }
                for point in names.hooks() {
                    hooks[point.index()].get_or_insert(number);
                }
                for sole in Sole::ALL.into_iter().filter(|sole| names.has(*sole)) {
                    soles[sole as usize].get_or_insert(number);
                }
            });
        }
        Self { functions, hooks: hooks.into(), soles }
    }

    pub(super) fn function(&self, id: &str) -> Option<usize> {
        self.functions.get(id).copied()
    }

    pub(super) fn hook(&self, point: Point) -> Option<usize> {
        self.hooks[point.index()]
    }

    pub(super) fn sole(&self, sole: Sole) -> Option<usize> {
        self.soles[sole as usize]
    }
}
