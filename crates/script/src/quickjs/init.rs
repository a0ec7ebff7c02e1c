//! The first run of `InitModule` and its repetitions. `InitModule` takes effect once in the life of a program, as in
//! the original. Other machines repeat it, because the functions that it registers belong to one machine. In a
//! repetition the host answers calls as it did in the first run, and has no effect again.

use std::cell::RefCell;
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result};

use crate::host::EffectClass;
use crate::value::Value;

/// The answers of the host to the first run, in order, each with the name of the host function.
pub(super) type InitAnswers = Arc<[(&'static str, Result<Value>)]>;

/// The way in which a machine treats calls of the host.
#[derive(Default)]
enum Stage {
    /// Calls are carried out.
    #[default]
    Live,
    /// Calls are carried out, and their answers are kept.
    First(Vec<(&'static str, Result<Value>)>),
    /// Calls are answered from the kept answers, of which the first `used` have been passed.
    Repeated { answers: InitAnswers, used: usize },
}

/// The state of one machine's `InitModule`, see the module.
#[derive(Default)]
pub(super) struct Init(RefCell<Stage>);

impl Init {
    /// Begins `InitModule`: a repetition if there are answers of a first run.
    pub(super) fn begin(&self, answers: Option<&InitAnswers>) {
        let stage =
            answers.map_or(Stage::First(Vec::new()), |answers| Stage::Repeated { answers: answers.clone(), used: 0 });
        self.0.replace(stage);
    }

    /// Ends `InitModule`, and returns the answers for repetitions.
    pub(super) fn end(&self) -> InitAnswers {
        match self.0.take() {
            Stage::First(answers) => answers.into(),
            Stage::Repeated { answers, .. } => answers,
            Stage::Live => InitAnswers::default(),
        }
    }

    pub(super) fn is_repeated(&self) -> bool {
        matches!(*self.0.borrow(), Stage::Repeated { .. })
    }

    /// The answer that a call of a host function gets from the kept answers, without being carried out; `None` if it is
    /// to be carried out.
    pub(super) fn answer(&self, name: &'static str, effect: EffectClass) -> Option<Result<Value>> {
        let mut stage = self.0.borrow_mut();
        let Stage::Repeated { answers, used } = &mut *stage else { return None };
        let next = answers.iter().enumerate().skip(*used).find(|(_, (known, _))| *known == name);
        match next {
            Some((index, (_, answer))) => {
                *used = index + 1;
                Some(answer.clone())
            }
            None if effect.is_write() => {
                let told = "InitModule has run already and did not call this then: nothing happens a second time";
                Some(Err(Error::new(ErrorKind::FailedPrecondition, told)))
            }
            None => None,
        }
    }

    /// Keeps an answer of the first run.
    pub(super) fn keep(&self, name: &'static str, answer: &Result<Value>) {
        if let Stage::First(answers) = &mut *self.0.borrow_mut() {
            answers.push((name, answer.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_run_is_answered_again() {
        let init = Init::default();
        assert!(init.answer("time", EffectClass::Chance).is_none(), "outside of InitModule calls are carried out");
        init.begin(None);
        assert!(init.answer("uuid_v4", EffectClass::Chance).is_none());
        init.keep("uuid_v4", &Ok(Value::text("a")));
        init.keep("storage_write", &Err(Error::invalid("no")));
        init.keep("uuid_v4", &Ok(Value::text("b")));
        let answers = init.end();
        init.begin(Some(&answers));
        assert_eq!(init.answer("storage_write", EffectClass::Writes), Some(Err(Error::invalid("no"))));
        assert_eq!(init.answer("uuid_v4", EffectClass::Chance), Some(Ok(Value::text("b"))));
        assert_eq!(init.answer("uuid_v4", EffectClass::Chance), None, "what has no answer is carried out");
        assert!(matches!(init.answer("wallet_update", EffectClass::WritesKeyed), Some(Err(_))), "but changes nothing");
        init.end();
        assert!(init.answer("storage_write", EffectClass::Writes).is_none());
    }
}
