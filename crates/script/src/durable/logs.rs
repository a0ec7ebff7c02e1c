//! The logs that a shard writes, each in its [`Term`].

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use muster_domain::Timestamp;
use muster_live::matches::{LogError, MatchId, MatchLog};
use muster_live::{Epoch, Partition};

use super::journal::Journal;
use super::recording::Recorder;
use super::term::Term;

/// How often it is looked for matches that could not go on for too long.
const AGED_EVERY: Duration = Duration::from_secs(60 * 60);

/// See the module.
pub struct Logs {
    log: Rc<dyn MatchLog>,
    recorder: Option<Rc<dyn Recorder>>,
    terms: RefCell<BTreeMap<Partition, Rc<Term>>>,
    aged_at: Cell<Timestamp>,
}

impl Logs {
    /// Of a place that writes this log, and perhaps recordings besides.
    pub fn new(log: Rc<dyn MatchLog>, recorder: Option<Rc<dyn Recorder>>) -> Rc<Self> {
        let (terms, aged_at) = Default::default();
        Rc::new(Self { log, recorder, terms, aged_at })
    }

    /// Of one match.
    pub(crate) fn journal(&self, id: MatchId, term: Rc<Term>) -> Rc<Journal> {
        Journal::new(id, term, self.recorder.as_ref().and_then(|recorder| recorder.begin(id)))
    }

    pub(crate) fn log(&self) -> Rc<dyn MatchLog> {
        self.log.clone()
    }

    /// Since when this place writes a log, or the first of all epochs.
    pub(crate) fn epoch(&self, partition: Partition) -> Epoch {
        self.now(partition).map(|term| term.epoch).unwrap_or_default()
    }

    /// The term of a partition's log now.
    pub(crate) fn now(&self, partition: Partition) -> Option<Rc<Term>> {
        self.terms.borrow().get(&partition).cloned()
    }

    /// The term in which this place writes a log since an epoch: another if that is over.
    pub(crate) fn term(&self, partition: Partition, epoch: Epoch) -> Rc<Term> {
        let mut terms = self.terms.borrow_mut();
        let former = terms.get(&partition);
        if let Some(term) = former.filter(|term| term.epoch >= epoch && term.check().is_ok()) {
            return term.clone();
        }
        let epoch = former.map_or(epoch, |former| former.epoch.max(epoch));
        let left_over = former.map(|former| former.left_over()).unwrap_or_default();
        former.into_iter().for_each(|former| former.close(LogError::Lost));
        let term = Term::new((partition, epoch), self.log.clone(), left_over);
        terms.insert(partition, term.clone());
        term
    }

    /// Partitions whose logs have failed and were not taken over again.
    pub(crate) fn failed(&self) -> Vec<(Partition, Epoch)> {
        let terms = self.terms.borrow();
        terms.values().filter(|term| term.has_failed()).map(|term| (term.partition, term.epoch)).collect()
    }

    /// Whether somebody goes on with matches that were found in the log of a partition.
    pub(crate) fn is_resuming(&self, partition: Partition) -> bool {
        self.now(partition).is_some_and(|term| term.is_resuming())
    }

    /// Looks now and then for matches that could not go on for too long.
    pub(crate) fn age(&self, now: Timestamp) {
        let since = now.0.saturating_sub(self.aged_at.get().0);
        if u128::try_from(since).is_ok_and(|since| since >= AGED_EVERY.as_micros()) {
            self.aged_at.set(now);
            let terms: Vec<Rc<Term>> = self.terms.borrow().values().cloned().collect();
            terms.iter().for_each(|term| term.give_up_stranded(now));
        }
    }

    /// Another place owns a partition, or is about to.
    pub(crate) fn release(&self, partition: Partition) {
        let released = self.terms.borrow_mut().remove(&partition);
        if let Some(term) = released {
            term.close(LogError::Lost);
            self.log.release(partition);
        }
    }
}
