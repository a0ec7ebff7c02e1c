//! The functions that the modules of a machine register, and their names.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use muster_api::game::Occasion;
use muster_api::hooks::{HookSubject, SUBJECT_COUNT};
use muster_api::routes::{FoundRoute, Routed};
use muster_wire::extensions::FUNCTION_PREFIX;

use super::call::{Callee, SinglePurpose};
use super::near::{did_you_mean, near};
use super::routes::{Fit, ROUTES_MAX, Route};
use crate::schedules::Schedule;

/// Whether a hook runs before or after its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the subject.
    Before,
    /// After the subject.
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

/// A point at which a hook may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub(crate) when: When,
    pub(crate) subject: HookSubject,
}

impl Point {
    /// The number of the point, below twice [`SUBJECT_COUNT`].
    pub(crate) fn index(self) -> usize {
        let first = if self.when == When::Before { 0 } else { SUBJECT_COUNT };
        first + self.subject.index()
    }
}

/// The functions that the modules of one machine have registered. `F` is a function as its language holds it.
pub(crate) struct RegisteredFunctions<F> {
    functions: BTreeMap<String, F>,
    hooks: Vec<(Point, F)>,
    /// Ordered by the number of the [`SinglePurpose`].
    by_purpose: [Option<F>; SinglePurpose::ALL.len()],
    /// Ordered by the number of the [`Occasion`].
    listeners: [Vec<F>; Occasion::ALL.len()],
    schedules: Vec<(Schedule, F)>,
    /// Names of the modules that are match handlers.
    handlers: BTreeSet<String>,
    /// Names of the handlers whose matches are durable.
    durable: BTreeSet<String>,
    routes: Vec<(Route, F)>,
    /// The places at which the functions were registered, by their ids.
    places: BTreeMap<String, String>,
    /// Functions that modules called to register something for a feature that is not built yet.
    unbuilt: BTreeSet<String>,
    /// Mistakes that are told when the modules have run.
    warnings: Vec<String>,
    stage: Stage,
}

/// The stage of a machine, which decides about registrations.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// Modules run, and register functions.
    #[default]
    Loads,
    /// All modules have run. Nothing is registered any more, which is told in the log.
    Serves,
    /// Modules run for matches, and register functions once more, which is ignored.
    Repeats,
}

impl<F> Default for RegisteredFunctions<F> {
    fn default() -> Self {
        Self {
            functions: BTreeMap::new(),
            hooks: Vec::new(),
            by_purpose: [const { None }; SinglePurpose::ALL.len()],
            listeners: [const { Vec::new() }; Occasion::ALL.len()],
            schedules: Vec::new(),
            handlers: BTreeSet::new(),
            durable: BTreeSet::new(),
            routes: Vec::new(),
            places: BTreeMap::new(),
            unbuilt: BTreeSet::new(),
            warnings: Vec::new(),
            stage: Stage::default(),
        }
    }
}

/// A [`RegisteredFunctions`] that is shared by all functions of a language with which modules register.
pub(crate) type SharedFunctions<F> = Rc<RefCell<RegisteredFunctions<F>>>;

impl<F: Clone> RegisteredFunctions<F> {
    /// The function that is registered for a callee.
    pub(crate) fn find(&self, callee: Callee<'_>) -> Option<F> {
        match callee {
            Callee::Function(id) => self.functions.get(id).cloned(),
            Callee::Hook(point) => {
                self.hooks.iter().find(|(known, _)| *known == point).map(|(_, function)| function.clone())
            }
            Callee::SinglePurpose(purpose) => self.by_purpose[purpose as usize].clone(),
            Callee::Listener(occasion, index) => self.listeners[occasion as usize].get(index).cloned(),
            Callee::Schedule(index) => self.schedules.get(index).map(|(_, function)| function.clone()),
            Callee::Route(index) => self.routes.get(index).map(|(_, function)| function.clone()),
        }
    }

    /// The names of all functions. `is_concurrent` says whether a function allows other calls beside it while it waits.
    pub(crate) fn names(&self, is_concurrent: impl Fn(&F) -> bool) -> Names {
        let mut hooks = vec![false; 2 * SUBJECT_COUNT];
        for (point, _) in &self.hooks {
            hooks[point.index()] = true;
        }
        Names {
            functions: keys_of(self.functions.iter()),
            hooks: hooks.into(),
            by_purpose: SinglePurpose::ALL.map(|purpose| self.by_purpose[purpose as usize].is_some()),
            listeners: Occasion::ALL.map(|occasion| self.listeners[occasion as usize].len()),
            schedules: self.schedules.iter().map(|(schedule, _)| schedule.clone()).collect(),
            handlers: self.handlers.clone(),
            durable: self.durable.clone(),
            routes: self.routes.iter().map(|(route, _)| route.clone()).collect(),
            unbuilt: self.unbuilt.clone(),
            warnings: self.warnings.clone(),
            concurrent: Concurrent {
                functions: keys_of(self.functions.iter().filter(|(_, function)| is_concurrent(function))),
                others: self
                    .others()
                    .filter(|(_, function)| is_concurrent(function))
                    .map(|(callee, _)| callee)
                    .collect(),
            },
        }
    }

    /// All functions but those with an id.
    fn others(&self) -> impl Iterator<Item = (Callee<'static>, &F)> {
        let hooks = self.hooks.iter().map(|(point, function)| (Callee::Hook(*point), function));
        let by_purpose = SinglePurpose::ALL
            .into_iter()
            .filter_map(|purpose| Some((Callee::SinglePurpose(purpose), self.by_purpose[purpose as usize].as_ref()?)));
        let listeners = Occasion::ALL.into_iter().flat_map(|occasion| {
            let listeners = self.listeners[occasion as usize].iter().enumerate();
            listeners.map(move |(index, function)| (Callee::Listener(occasion, index), function))
        });
        let schedules =
            self.schedules.iter().enumerate().map(|(index, (_, function))| (Callee::Schedule(index), function));
        let routes = self.routes.iter().enumerate().map(|(index, (_, function))| (Callee::Route(index), function));
        hooks.chain(by_purpose).chain(listeners).chain(schedules).chain(routes)
    }

    /// Notes that a module is a match handler.
    pub(crate) fn add_handler(&mut self, handler: String) {
        self.handlers.insert(handler);
    }

    /// Makes the matches of a handler durable.
    pub(crate) fn add_durable(&mut self, handler: &str) {
        if self.stage == Stage::Loads {
            self.durable.insert(handler.to_owned());
        }
    }

    /// Notes that the modules have run: whatever is registered from now on is ignored, with a warning.
    pub(crate) fn close(&mut self) {
        self.stage = Stage::Serves;
    }

    /// Ignores everything that is registered from now on, because modules run once more for matches.
    pub(crate) fn ignore_all(&mut self) {
        self.stage = Stage::Repeats;
    }

    /// Whether modules may register something now. `registers` names the function that game code calls for this.
    pub(crate) fn is_open(&self, registers: &str) -> bool {
        if self.stage == Stage::Serves {
            let told = "nothing is registered: modules register while they are loaded, not in a call";
            tracing::warn!(function = registers, "{told}");
        }
        self.stage == Stage::Loads
    }

    /// Notes a mistake that does not keep the modules from running.
    pub(crate) fn warn(&mut self, told: String) {
        if self.stage == Stage::Loads {
            self.warnings.push(told);
        }
    }

    /// Notes a registration for a feature that is not built yet.
    pub(crate) fn add_unbuilt(&mut self, registers: &str) {
        if self.is_open(registers) {
            self.unbuilt.insert(registers.to_owned());
        }
    }

    /// Registers a hook on a subject, given by its name. The last hook registered at a point counts. `registers` names
    /// the function that game code calls for this.
    ///
    /// # Errors
    /// A sentence that says so, if no subject of this name takes hooks.
    pub(crate) fn set_hook(
        &mut self,
        registers: &str,
        when: When,
        among: Among,
        name: &str,
        function: F,
    ) -> Result<(), String> {
        let subject = among.find(name).ok_or_else(|| format!("{registers}: {}", among.advice(when, name)))?;
        if self.is_open(registers) {
            let point = Point { when, subject };
            self.hooks.retain(|(known, _)| *known != point);
            self.hooks.push((point, function));
        }
        Ok(())
    }

    /// Registers a function with an id; the last function with an id counts. `registers` names the function that game
    /// code calls for this, and `place` the place in game code.
    ///
    /// # Errors
    /// A sentence that says why no function may have this id.
    pub(crate) fn set_function(
        &mut self,
        registers: &str,
        id: &str,
        function: F,
        place: Option<String>,
    ) -> Result<(), String> {
        let id = id.to_ascii_lowercase();
        if id.is_empty() {
            return Err(format!("{registers} expects an id that is not empty"));
        }
        if id.starts_with(FUNCTION_PREFIX) {
            return Err(format!("{registers}: ids that begin with {FUNCTION_PREFIX} are built in"));
        }
        if self.is_open(registers) {
            if let Some(place) = place
                && let Some(before) = self.places.insert(id.clone(), place.clone())
            {
                let told =
                    format!("the id '{id}' is registered twice, at {before} and at {place}: the last one counts");
                self.warn(format!("{registers}: {told}"));
            }
            self.functions.insert(id, function);
        }
        Ok(())
    }

    /// Registers a listener of events; all listeners are called. `registers` names the function that game code calls
    /// for this.
    pub(crate) fn add_listener(&mut self, registers: &str, occasion: Occasion, function: F) {
        if self.is_open(registers) {
            self.listeners[occasion as usize].push(function);
        }
    }

    /// Registers a scheduled function. `registers` names the function that game code calls for this.
    ///
    /// # Errors
    /// A sentence that says why the text is no cron expression.
    pub(crate) fn add_schedule(&mut self, registers: &str, expression: &str, function: F) -> Result<(), String> {
        let ordinal = self.schedules.iter().filter(|(known, _)| known.expression == expression).count();
        let schedule = Schedule::new(expression, ordinal).map_err(|error| format!("{registers}: {}", error.message))?;
        if self.is_open(registers) {
            self.schedules.push((schedule, function));
        }
        Ok(())
    }

    /// Registers the function of a route. A route that names no methods takes all. `registers` names the function that
    /// game code calls for this.
    ///
    /// # Errors
    /// A sentence that says why: no route may have this path or method, another route takes the same requests, or there
    /// are too many routes.
    pub(crate) fn add_route(
        &mut self,
        registers: &str,
        path: &str,
        methods: &[String],
        function: F,
    ) -> Result<(), String> {
        let route = Route::new(path, methods).map_err(|why| format!("{registers}: {why}"))?;
        if !self.is_open(registers) {
            return Ok(());
        }
        if self.routes.iter().any(|(known, _)| known.is_like(&route)) {
            return Err(format!("{registers}: another route takes what '{path}' takes"));
        }
        if self.routes.len() >= ROUTES_MAX {
            return Err(format!("{registers}: there are {ROUTES_MAX} routes already"));
        }
        self.routes.push((route, function));
        Ok(())
    }

    /// Registers the one function for a purpose; the last one registered counts. `registers` names the function that
    /// game code calls for this.
    pub(crate) fn set_single_purpose(&mut self, registers: &str, purpose: SinglePurpose, function: F) {
        if self.is_open(registers) {
            self.by_purpose[purpose as usize] = Some(function);
        }
    }
}

/// The names of the functions that a program registers; they are the same for every machine of the program.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The ids of functions, in lower case.
    pub(crate) functions: BTreeSet<String>,
    /// Ordered by [`Point::index`].
    hooks: Box<[bool]>,
    /// Ordered by the number of the [`SinglePurpose`].
    by_purpose: [bool; SinglePurpose::ALL.len()],
    /// Count of listeners, by the number of the [`Occasion`].
    listeners: [usize; Occasion::ALL.len()],
    schedules: Vec<Schedule>,
    /// Names of the modules that are match handlers, in Lua.
    pub(crate) handlers: BTreeSet<String>,
    /// Names of the handlers whose matches are durable.
    pub(crate) durable: BTreeSet<String>,
    routes: Vec<Route>,
    unbuilt: BTreeSet<String>,
    warnings: Vec<String>,
    concurrent: Concurrent,
}

/// The functions that allow other calls beside them while they wait.
#[derive(Clone, Debug, Default)]
struct Concurrent {
    functions: BTreeSet<String>,
    others: Vec<Callee<'static>>,
}

fn keys_of<'a, F: 'a>(functions: impl Iterator<Item = (&'a String, &'a F)>) -> BTreeSet<String> {
    functions.map(|(id, _)| id.clone()).collect()
}

impl Names {
    /// Whether a function allows other calls beside it while it waits.
    pub(crate) fn is_concurrent(&self, callee: Callee<'_>) -> bool {
        match callee {
            Callee::Function(id) => !self.concurrent.functions.is_empty() && self.concurrent.functions.contains(id),
            other => self.concurrent.others.contains(&other),
        }
    }

    /// Whether no functions are registered, durable handlers aside.
    pub(crate) fn is_empty(&self) -> bool {
        let has_listeners = self.listeners.iter().any(|count| *count > 0);
        let has_others = self.by_purpose.contains(&true) || self.hooks.contains(&true) || !self.schedules.is_empty();
        self.functions.is_empty() && !has_listeners && !has_others && self.routes.is_empty()
    }

    pub(crate) fn has_hook(&self, point: Point) -> bool {
        self.hooks.get(point.index()).is_some_and(|is_there| *is_there)
    }

    /// Count of listeners of an occasion.
    pub(crate) fn listeners(&self, occasion: Occasion) -> usize {
        self.listeners[occasion as usize]
    }

    /// The schedules of functions, in the order in which they were registered.
    pub(crate) fn schedules(&self) -> &[Schedule] {
        &self.schedules
    }

    /// The route that takes a request. If several do, it is the one whose pattern names more of the path.
    pub(crate) fn route(&self, method: &str, path: &str) -> Routed {
        let mut best: Option<(usize, Vec<(String, String)>)> = None;
        let mut has_path = false;
        for (index, route) in self.routes.iter().enumerate() {
            match route.fit(method, path) {
                Fit::None => {}
                Fit::WrongMethod => has_path = true,
                Fit::Matches(parameters) => {
                    let is_closer = |(known, _): &(usize, _)| route.is_closer_than(&self.routes[*known]);
                    if best.as_ref().is_none_or(is_closer) {
                        best = Some((index, parameters));
                    }
                }
            }
        }
        match best {
            Some((index, parameters)) => {
                let pattern = self.routes[index].pattern().clone();
                Routed::To(FoundRoute { language: 0, index, pattern, parameters })
            }
            None if has_path => Routed::WrongMethod,
            None => Routed::Nowhere,
        }
    }

    /// Sentences on mistakes in what was registered.
    pub(crate) fn mistakes(&self) -> &[String] {
        &self.warnings
    }

    pub(crate) fn has(&self, purpose: SinglePurpose) -> bool {
        self.by_purpose[purpose as usize]
    }

    /// Warns of mistakes, and of what is registered for features that this server does not have yet.
    pub(crate) fn warn(&self) {
        for told in &self.warnings {
            tracing::warn!(told, "a mistake in game code");
        }
        for function in &self.unbuilt {
            tracing::warn!(function, "it registers for what this server does not have yet: nothing calls it");
        }
        for Point { when, subject } in self.hooks().filter(|point| !point.subject.is_built()) {
            let (hook, when) = (subject.name(), when.name());
            tracing::warn!(hook, when, "a hook is registered for what this server does not have yet: nothing calls it");
        }
    }

    pub(crate) fn hooks(&self) -> impl Iterator<Item = Point> {
        let points = HookSubject::operations()
            .chain(HookSubject::messages())
            .flat_map(|subject| [When::Before, When::After].map(|when| Point { when, subject }));
        points.filter(|point| self.has_hook(*point))
    }
}

/// The kind of subject that a name is looked up among.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Among {
    Operations,
    Messages,
}

impl Among {
    fn subjects(self) -> Box<dyn Iterator<Item = HookSubject>> {
        match self {
            Self::Operations => Box::new(HookSubject::operations()),
            Self::Messages => Box::new(HookSubject::messages()),
        }
    }

    fn find(self, name: &str) -> Option<HookSubject> {
        self.subjects().find(|subject| subject.name().eq_ignore_ascii_case(name))
    }

    /// The end of an error for an unknown name: the names that its author may have meant.
    fn advice(self, when: When, name: &str) -> String {
        let (what, other, others) = match self {
            Self::Operations => ("operation", Self::Messages, "rt"),
            Self::Messages => ("message", Self::Operations, "req"),
        };
        if other.find(name).is_some() {
            return format!("{name} is none of these, but register_{others}_{} takes it", when.name());
        }
        let near = near(name, self.subjects().map(|subject| subject.name()));
        let suggestion = did_you_mean(&near).unwrap_or_else(|| "docs/reference/operations.md lists all".to_owned());
        format!("there is no {what} '{name}' that takes hooks; {suggestion}")
    }
}
