//! What the modules of a machine register to be called, and how they do.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mlua::{Function, Lua, Result, Table, Value as LuaValue};
use muster_api::hooks::{SUBJECT_COUNT, Subject};
use muster_wire::extensions::FUNCTION_PREFIX;

/// Names that are this much alike are suggested for one that there is not.
const LIKENESS_MIN: f64 = 0.85;
/// Most names that are suggested.
const SUGGESTED_MAX: usize = 3;

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

impl When {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }
}

/// A place where a hook may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) when: When,
    pub(crate) subject: Subject,
}

impl Point {
    fn index(self) -> usize {
        let first = if self.when == When::Before { 0 } else { SUBJECT_COUNT };
        first + self.subject.index()
    }
}

/// The functions that one machine's modules registered.
#[derive(Default)]
pub(super) struct Registry {
    functions: BTreeMap<String, Function>,
    hooks: Vec<(Point, Function)>,
    farewell: Option<Function>,
    /// Modules have run. Those that run once more, for a match, say again what counts already.
    is_closed: bool,
}

/// See [`Registry`].
pub(super) type Registered = Rc<RefCell<Registry>>;

impl Registry {
    pub(super) fn function(&self, id: &str) -> Option<Function> {
        self.functions.get(id).cloned()
    }

    pub(super) fn hook(&self, point: Point) -> Option<Function> {
        self.hooks.iter().find(|(known, _)| *known == point).map(|(_, function)| function.clone())
    }

    pub(super) fn farewell(&self) -> Option<Function> {
        self.farewell.clone()
    }

    pub(super) fn names(&self) -> Names {
        let mut hooks = vec![false; 2 * SUBJECT_COUNT];
        for (point, _) in &self.hooks {
            hooks[point.index()] = true;
        }
        Names {
            functions: self.functions.keys().cloned().collect(),
            hooks: hooks.into(),
            has_farewell: self.farewell.is_some(),
        }
    }

    /// Nothing more counts.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// The last one registered counts.
    fn set_hook(&mut self, point: Point, function: Function) {
        if !self.is_closed {
            self.hooks.retain(|(known, _)| *known != point);
            self.hooks.push((point, function));
        }
    }

    fn set_function(&mut self, id: String, function: Function) {
        if !self.is_closed {
            self.functions.insert(id, function);
        }
    }

    fn set_farewell(&mut self, function: Function) {
        if !self.is_closed {
            self.farewell = Some(function);
        }
    }
}

/// What there is to be called, without the functions: the same for every machine of a program.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    /// Ids of functions, in lower case.
    pub(super) functions: BTreeSet<String>,
    /// By [`Point::index`].
    hooks: Box<[bool]>,
    pub(super) has_farewell: bool,
}

impl Names {
    pub(super) fn has_hook(&self, point: Point) -> bool {
        self.hooks.get(point.index()).is_some_and(|is_there| *is_there)
    }

    pub(super) fn hooks(&self) -> impl Iterator<Item = Point> {
        let points = Subject::operations()
            .chain(Subject::messages())
            .flat_map(|subject| [When::Before, When::After].map(|when| Point { when, subject }));
        points.filter(|point| self.has_hook(*point))
    }
}

/// Puts the functions by which modules register others into the host's module.
pub(super) fn bind_all(lua: &Lua, nk: &Table, bind: &Function, registered: &Registered) -> Result<()> {
    let put = |name: &str, run: Function| nk.raw_set(name, bind.call::<Function>(run)?);
    put("register_rpc", register_rpc(lua, registered.clone())?)?;
    put("register_shutdown", register_shutdown(lua, registered.clone())?)?;
    for (name, when, table) in [
        ("register_req_before", When::Before, Among::Operations),
        ("register_req_after", When::After, Among::Operations),
        ("register_rt_before", When::Before, Among::Messages),
        ("register_rt_after", When::After, Among::Messages),
    ] {
        put(name, register_hook(lua, registered.clone(), name, when, table)?)?;
    }
    Ok(())
}

/// Answers `true`, or `false` and what is wrong, which the prelude raises as Lua's own errors are.
type Answer = Result<(bool, LuaValue)>;

fn refused(lua: &Lua, told: impl AsRef<[u8]>) -> Answer {
    Ok((false, LuaValue::String(lua.create_string(told.as_ref())?)))
}

fn register_rpc(lua: &Lua, registered: Registered) -> Result<Function> {
    lua.create_function(move |lua, (function, id): (LuaValue, LuaValue)| {
        let (LuaValue::Function(function), LuaValue::String(id)) = (function, id) else {
            return refused(lua, "register_rpc expects a function and an id");
        };
        let id = id.to_string_lossy().to_ascii_lowercase();
        if id.is_empty() {
            return refused(lua, "register_rpc expects an id that is not empty");
        }
        if id.starts_with(FUNCTION_PREFIX) {
            return refused(lua, "register_rpc: ids that begin with muster. are built in");
        }
        registered.borrow_mut().set_function(id, function);
        Ok((true, LuaValue::Nil))
    })
}

fn register_shutdown(lua: &Lua, registered: Registered) -> Result<Function> {
    lua.create_function(move |lua, function: LuaValue| {
        let LuaValue::Function(function) = function else {
            return refused(lua, "register_shutdown expects a function");
        };
        registered.borrow_mut().set_farewell(function);
        Ok((true, LuaValue::Nil))
    })
}

fn register_hook(
    lua: &Lua,
    registered: Registered,
    registers: &'static str,
    when: When,
    among: Among,
) -> Result<Function> {
    lua.create_function(move |lua, (function, name): (LuaValue, LuaValue)| {
        let (LuaValue::Function(function), LuaValue::String(name)) = (function, name) else {
            return refused(lua, format!("{registers} expects a function and a name"));
        };
        let name = name.to_string_lossy();
        match among.find(&name) {
            Some(subject) => registered.borrow_mut().set_hook(Point { when, subject }, function),
            None => return refused(lua, format!("{registers}: {}", among.advice(when, &name))),
        }
        Ok((true, LuaValue::Nil))
    })
}

/// Among what a name is looked up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    Operations,
    Messages,
}

impl Among {
    fn subjects(self) -> Box<dyn Iterator<Item = Subject>> {
        match self {
            Self::Operations => Box::new(Subject::operations()),
            Self::Messages => Box::new(Subject::messages()),
        }
    }

    fn find(self, name: &str) -> Option<Subject> {
        self.subjects().find(|subject| subject.name().eq_ignore_ascii_case(name))
    }

    /// What to do about a name that there is not.
    fn advice(self, when: When, name: &str) -> String {
        let (what, other, others) = match self {
            Self::Operations => ("operation", Self::Messages, "rt"),
            Self::Messages => ("message", Self::Operations, "req"),
        };
        if other.find(name).is_some() {
            return format!("{name} is none of these, but register_{others}_{} takes it", when.name());
        }
        let near = self.near(name);
        let suggestion = if near.is_empty() {
            "; docs/reference/operations.md lists all".to_owned()
        } else {
            format!("; did you mean {}?", near.join(" or "))
        };
        format!("there is no {what} '{name}' that takes hooks{suggestion}")
    }

    /// The names most like one that there is not, the likest first.
    fn near(self, name: &str) -> Vec<&'static str> {
        let wanted = name.to_ascii_lowercase().replace('_', "");
        let likeness =
            |subject: Subject| (strsim::jaro_winkler(&wanted, &subject.name().to_ascii_lowercase()), subject.name());
        let mut near: Vec<_> =
            self.subjects().map(likeness).filter(|(likeness, _)| *likeness >= LIKENESS_MIN).collect();
        near.sort_by(|one, other| other.0.total_cmp(&one.0));
        // What is written otherwise in its case or underscores alone is meant.
        let enough = if near.first().is_some_and(|(likeness, _)| *likeness == 1.0) { 1 } else { SUGGESTED_MAX };
        near.into_iter().take(enough).map(|(_, name)| name).collect()
    }
}
