//! The index of names. It says which language's function is called, so that a call looks its name up once and not once
//! for each language.

use std::collections::HashMap;

use muster_api::hooks::SUBJECT_COUNT;

use crate::engines::EngineFunctions;
use crate::machine::call::SinglePurpose;
use crate::machine::registered::Point;

/// The index. For each registered name it holds the number of an engine: that of the first one whose modules have it.
pub(super) struct Index {
    functions: HashMap<Box<str>, usize>,
    /// Ordered by [`Point::index`].
    hooks: Box<[Option<usize>]>,
    /// Ordered by the number of the [`SinglePurpose`].
    by_purpose: [Option<usize>; SinglePurpose::ALL.len()],
}

impl Index {
    /// The index of the names that are registered now.
    pub(super) fn of(engines: &[Box<dyn EngineFunctions>]) -> Self {
        let mut functions = HashMap::new();
        let mut hooks = vec![None; 2 * SUBJECT_COUNT];
        let mut by_purpose = [None; SinglePurpose::ALL.len()];
        for (number, engine) in engines.iter().enumerate() {
            engine.see_names(&mut |names| {
                for id in &names.functions {
                    functions.entry(id.as_str().into()).or_insert(number);
                }
                for point in names.hooks() {
                    hooks[point.index()].get_or_insert(number);
                }
                for purpose in SinglePurpose::ALL.into_iter().filter(|purpose| names.has(*purpose)) {
                    by_purpose[purpose as usize].get_or_insert(number);
                }
            });
        }
        Self { functions, hooks: hooks.into(), by_purpose }
    }

    pub(super) fn function(&self, id: &str) -> Option<usize> {
        self.functions.get(id).copied()
    }

    pub(super) fn hook(&self, point: Point) -> Option<usize> {
        self.hooks[point.index()]
    }

    pub(super) fn of_purpose(&self, purpose: SinglePurpose) -> Option<usize> {
        self.by_purpose[purpose as usize]
    }
}
