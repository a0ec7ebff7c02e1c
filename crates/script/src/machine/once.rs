//! Code that takes effect once: `InitModule` of a program, and the function that a process gives to `run_once`. Other
//! machines repeat such code, because its variables and the functions that it registers belong to one machine. In a
//! repetition the host answers calls as it did in the first run, and has no effect again.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muster_domain::{Error, ErrorKind, Result};

use crate::host::{Arguments, EffectClass, Host, HostAnswer, HostFunction};
use crate::value::Value;

/// An answer of the host, with the name of the host function.
type NamedAnswer = (&'static str, Result<Value>);

/// The answers of the host to a run, in order.
pub(crate) type Answers = Arc<[NamedAnswer]>;

/// A run of code that takes effect once.
pub(crate) struct OnceRun {
    /// The name of the code in errors.
    name: &'static str,
    /// Whether the code has run to its end before, so that nothing may have an effect again.
    is_repeated: bool,
    progress: RefCell<Progress>,
}

/// The answers of a run so far.
struct Progress {
    /// The answers of an earlier run.
    known: Answers,
    /// Count of the known answers that were given or passed over.
    passed: usize,
    /// The answers of this run. A repetition keeps none.
    given: Vec<NamedAnswer>,
}

impl OnceRun {
    /// The first run.
    pub(crate) fn first(name: &'static str) -> Rc<Self> {
        Self::new(name, Answers::default(), false)
    }

    /// A run after one that failed. It goes on where that one ended: calls that the failed run has made are answered as
    /// they were then, up to the first call that differs.
    fn resumed(name: &'static str, known: Answers) -> Rc<Self> {
        Self::new(name, known, false)
    }

    /// A repetition of a run that came to its end.
    pub(crate) fn repeated(name: &'static str, known: Answers) -> Rc<Self> {
        Self::new(name, known, true)
    }

    fn new(name: &'static str, known: Answers, is_repeated: bool) -> Rc<Self> {
        let progress = RefCell::new(Progress { known, passed: 0, given: Vec::new() });
        Rc::new(Self { name, is_repeated, progress })
    }

    /// Whether the run is a repetition, which must not write to the log.
    pub(crate) fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// The answers for repetitions.
    pub(crate) fn answers(&self) -> Answers {
        let progress = self.progress.borrow();
        if self.is_repeated { progress.known.clone() } else { progress.given.as_slice().into() }
    }

    /// Calls a host function, with the answer of the earlier run if there is one.
    ///
    /// # Errors
    /// When the function refuses, and when a call that the earlier run did not make would have an effect.
    pub(crate) fn start(
        self: &Rc<Self>,
        host: &Rc<Host>,
        function: &HostFunction,
        arguments: Arguments,
    ) -> Result<HostAnswer> {
        if function.effect == EffectClass::Pure {
            return function.begin(host, arguments);
        }
        if let Some(answer) = self.known(function.name, function.effect) {
            return answer.map(HostAnswer::Ready);
        }
        match function.begin(host, arguments) {
            Ok(HostAnswer::Pending(awaited)) => {
                let (run, name) = (self.clone(), function.name);
                Ok(HostAnswer::Pending(Box::pin(async move {
                    let answer = awaited.await;
                    run.keep(name, &answer);
                    answer
                })))
            }
            Ok(HostAnswer::Ready(value)) => {
                self.keep(function.name, &Ok(value.clone()));
                Ok(HostAnswer::Ready(value))
            }
            Err(error) => {
                self.keep(function.name, &Err(error.clone()));
                Err(error)
            }
        }
    }

    /// The answer that a call gets without being carried out; `None` if it is to be carried out.
    fn known(&self, name: &'static str, effect: EffectClass) -> Option<Result<Value>> {
        let mut progress = self.progress.borrow_mut();
        let Progress { known, passed, given } = &mut *progress;
        let next = known.iter().enumerate().skip(*passed).find(|(_, (known, _))| *known == name);
        if !self.is_repeated {
            let answer = next.filter(|(index, _)| index == passed).map(|(_, (_, answer))| answer.clone());
            *passed = if answer.is_some() { *passed + 1 } else { known.len() };
            given.extend(answer.clone().map(|answer| (name, answer)));
            return answer;
        }
        match next {
            Some((index, (_, answer))) => {
                *passed = index + 1;
                Some(answer.clone())
            }
            None if effect == EffectClass::Log => Some(Ok(Value::Nil)),
            None if effect.is_change() || effect == EffectClass::Reports => {
                let told = format!("{} has run already and did not call this then: nothing happens again", self.name);
                Some(Err(Error::new(ErrorKind::FailedPrecondition, told)))
            }
            None => None,
        }
    }

    fn keep(&self, name: &'static str, answer: &Result<Value>) {
        if !self.is_repeated {
            self.progress.borrow_mut().given.push((name, answer.clone()));
        }
    }
}

/// The function that this process has given to `run_once`: the first one, of whichever machine.
#[derive(Default)]
pub(crate) struct ProcessOnce(Mutex<Option<Record>>);

/// The answers of the host to the function.
struct Record {
    answers: Answers,
    /// Whether the function came to its end.
    is_whole: bool,
}

impl ProcessOnce {
    /// Begins the function while a program is loaded: its first run in this process, or a repetition.
    pub(crate) fn begin(&self, name: &'static str) -> Rc<OnceRun> {
        match &mut *self.locked() {
            Some(Record { answers, is_whole: true }) => OnceRun::repeated(name, answers.clone()),
            Some(Record { answers, is_whole: false }) => OnceRun::resumed(name, answers.clone()),
            record => {
                *record = Some(Record { answers: Answers::default(), is_whole: false });
                OnceRun::first(name)
            }
        }
    }

    /// Keeps the answers of a run that is no repetition. `is_whole` says that the function came to its end.
    pub(crate) fn end(&self, run: &OnceRun, is_whole: bool) {
        self.locked().replace(Record { answers: run.answers(), is_whole });
    }

    /// Whether a function may run after all programs were loaded, without being repeated anywhere: no other has run.
    pub(crate) fn claim(&self) -> bool {
        let mut record = self.locked();
        let is_first = record.is_none();
        record.get_or_insert(Record { answers: Answers::default(), is_whole: true });
        is_first
    }

    fn locked(&self) -> MutexGuard<'_, Option<Record>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answer: Option<Result<Value>>) -> String {
        match answer {
            None => "is carried out".to_owned(),
            Some(Ok(value)) => format!("{value:?}"),
            Some(Err(error)) => error.message.into_owned(),
        }
    }

    #[test]
    fn a_run_is_answered_again() {
        let first = OnceRun::first("InitModule");
        assert_eq!(told(first.known("uuid_v4", EffectClass::Chance)), "is carried out");
        first.keep("uuid_v4", &Ok(Value::Number(1.0)));
        first.keep("storage_write", &Err(Error::invalid("no")));
        first.keep("uuid_v4", &Ok(Value::Number(2.0)));
        let again = OnceRun::repeated("InitModule", first.answers());
        for (name, effect, expect) in [
            ("storage_write", EffectClass::Writes, "no"),
            ("uuid_v4", EffectClass::Chance, "Number(2.0)"),
            ("uuid_v4", EffectClass::Chance, "is carried out"),
            ("storage_read", EffectClass::Reads, "is carried out"),
            ("logger_info", EffectClass::Log, "Nil"),
            (
                "wallet_update",
                EffectClass::WritesKeyed,
                "InitModule has run already and did not call this then: nothing happens again",
            ),
        ] {
            assert_eq!(told(again.known(name, effect)), expect, "{name}");
        }
        assert_eq!(again.answers(), first.answers());
    }

    #[test]
    fn a_run_that_failed_goes_on_where_it_ended() {
        let process = ProcessOnce::default();
        let first = process.begin("run_once");
        first.keep("storage_write", &Ok(Value::Number(1.0)));
        first.keep("wallet_update", &Ok(Value::Number(2.0)));
        process.end(&first, false);
        assert!(!process.claim());
        let second = process.begin("run_once");
        assert_eq!(told(second.known("storage_write", EffectClass::Writes)), "Number(1.0)");
        assert_eq!(told(second.known("group_create", EffectClass::Writes)), "is carried out", "the code was mended");
        second.keep("group_create", &Ok(Value::Number(3.0)));
        assert_eq!(told(second.known("wallet_update", EffectClass::Writes)), "is carried out");
        process.end(&second, true);
        let third = process.begin("run_once");
        assert!(third.is_repeated());
        assert_eq!(told(third.known("group_create", EffectClass::Writes)), "Number(3.0)");
    }

    #[test]
    fn a_function_that_runs_later_is_the_only_one() {
        let process = ProcessOnce::default();
        assert!(process.claim());
        assert!(!process.claim());
        assert!(process.begin("run_once").is_repeated());
    }
}
