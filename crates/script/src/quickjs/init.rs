//! `InitModule` runs once in the life of a program, as in the original. Other machines repeat it, for the functions that it
//! registers are theirs; what it asks of the host then is answered as it was the first time, and nothing happens again.

use std::cell::RefCell;
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result};

use crate::host::Effect;
use crate::value::Value;

/// What the first run was answered, in order.
pub(super) type Answers = Arc<[(&'static str, Result<Value>)]>;

/// What a machine does with calls of the host.
#[derive(Default)]
enum Stage {
    /// It carries them out.
    #[default]
    Live,
    /// It carries them out and keeps the answers.
    First(Vec<(&'static str, Result<Value>)>),
    /// It answers from what was kept; so many answers are behind it.
    Repeated(Answers, usize),
}

/// See the module.
#[derive(Default)]
pub(super) struct Init(RefCell<Stage>);

impl Init {
    /// `InitModule` begins: for the first time, or with the answers of that time.
    pub(super) fn begin(&self, answers: Option<&Answers>) {
        let stage = answers.map_or(Stage::First(Vec::new()), |answers| Stage::Repeated(answers.clone(), 0));
        self.0.replace(stage);
    }

    /// It has ended. Answers what there is to keep.
    pub(super) fn end(&self) -> Answers {
        match self.0.take() {
            Stage::First(answers) => answers.into(),
            Stage::Repeated(answers, _) => answers,
            Stage::Live => Answers::default(),
        }
    }

    pub(super) fn is_repeated(&self) -> bool {
        matches!(*self.0.borrow(), Stage::Repeated(..))
    }

    /// What a function of the host answers without being called.
    pub(super) fn answer(&self, name: &'static str, effect: Effect) -> Option<Result<Value>> {
        let mut stage = self.0.borrow_mut();
        let Stage::Repeated(answers, passed) = &mut *stage else { return None };
        let next = answers.iter().enumerate().skip(*passed).find(|(_, (known, _))| *known == name);
        match next {
            Some((index, (_, answer))) => {
                *passed = index + 1;
                Some(answer.clone())
            }
            None if effect.is_write() => {
                let told = "InitModule has run already and did not call this then: nothing happens a second time";
                Some(Err(Error::new(ErrorKind::FailedPrecondition, told)))
            }
            None => None,
        }
    }

    /// Keeps an answer, if it is the first run.
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
        assert!(init.answer("time", Effect::Chance).is_none(), "outside of InitModule calls are carried out");
        init.begin(None);
        assert!(init.answer("uuid_v4", Effect::Chance).is_none());
        init.keep("uuid_v4", &Ok(Value::text("a")));
        init.keep("storage_write", &Err(Error::invalid("no")));
        init.keep("uuid_v4", &Ok(Value::text("b")));
        let answers = init.end();
        init.begin(Some(&answers));
        assert_eq!(init.answer("storage_write", Effect::Writes), Some(Err(Error::invalid("no"))));
        assert_eq!(init.answer("uuid_v4", Effect::Chance), Some(Ok(Value::text("b"))));
        assert_eq!(init.answer("uuid_v4", Effect::Chance), None, "what has no answer is carried out");
        assert!(matches!(init.answer("wallet_update", Effect::WritesKeyed), Some(Err(_))), "but changes nothing");
        init.end();
        assert!(init.answer("storage_write", Effect::Writes).is_none());
    }
}
