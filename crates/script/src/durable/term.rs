//! A partition's log in the hands of this place: from when it is taken over until it is given up, or fails.
//!
//! Lives of matches write by the term in which they began here. Once it is over nothing of them gets in any more, even if the
//! log is this place's again by then: that is another term.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_live::matches::{LogError, LogFuture, MatchId, MatchLog, RecordNumber};
use muster_live::{Epoch, Partition};
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What;
use tokio::sync::OnceCell;

use super::parts;
use super::record::id_bytes;

/// Matches that cannot go on are kept for so long, for a release of the modules with which they can.
pub const STRANDED_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// See the module.
pub(crate) struct Term {
    pub(crate) partition: Partition,
    pub(crate) epoch: Epoch,
    log: Rc<dyn MatchLog>,
    is_taken: OnceCell<()>,
    found: RefCell<Vec<Bytes>>,
    /// What was found is dealt with, and the first who asked has heard of it.
    pub(crate) resumed: OnceCell<()>,
    is_resuming: Cell<bool>,
    /// Nothing is trimmed before.
    is_settled: Cell<bool>,
    /// Why nothing is written any more.
    over: RefCell<Option<LogError>>,
    needed: RefCell<BTreeMap<MatchId, Need>>,
    /// Matches that run, or ran and are not known to have ended.
    lives: RefCell<BTreeSet<MatchId>>,
    /// Those of an earlier term that failed: they have ended, and the log does not say so yet.
    given_up: BTreeSet<MatchId>,
    /// Matches whose ends the log did not take yet.
    unended: RefCell<BTreeMap<MatchId, String>>,
    /// Matches that cannot go on, since when.
    stranded: RefCell<BTreeMap<MatchId, Timestamp>>,
}

/// What of the records of a match is needed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// All, those of former terms among them.
    All,
    /// From this one on.
    From(RecordNumber),
}

impl Term {
    /// Of a place that has not taken the log over yet.
    pub(super) fn new(
        (partition, epoch): (Partition, Epoch),
        log: Rc<dyn MatchLog>,
        given_up: BTreeSet<MatchId>,
    ) -> Rc<Self> {
        let (is_taken, found, resumed, is_resuming, is_settled) = Default::default();
        let (over, needed, lives, unended, stranded) = Default::default();
        Rc::new(Self {
            partition,
            epoch,
            log,
            is_taken,
            found,
            resumed,
            is_resuming,
            is_settled,
            over,
            needed,
            lives,
            given_up,
            unended,
            stranded,
        })
    }

    /// Takes the log over.
    ///
    /// # Errors
    /// When another place owns it, or it cannot be read.
    pub(crate) async fn take(&self) -> Result<(), LogError> {
        self.check()?;
        let take = async {
            let found = self.log.take_over(self.partition, self.epoch).await;
            self.found.replace(self.noted(found)?);
            Ok(())
        };
        self.is_taken.get_or_try_init(|| take).await?;
        self.check()
    }

    /// What was in it, to the first who asks.
    pub(crate) fn found(&self) -> Vec<Bytes> {
        self.found.take()
    }

    /// Says whether somebody goes on with what was found.
    pub(crate) fn set_resuming(&self, is_resuming: bool) {
        self.is_resuming.set(is_resuming);
    }

    pub(crate) fn is_resuming(&self) -> bool {
        self.is_resuming.get()
    }

    /// Whether it can be written.
    ///
    /// # Errors
    /// Why it cannot.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        self.over.borrow().clone().map_or(Ok(()), Err)
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(*self.over.borrow(), Some(LogError::Failed(_)))
    }

    /// It is over, unless it was.
    pub(crate) fn close(&self, why: LogError) {
        self.over.borrow_mut().get_or_insert(why);
    }

    fn noted<T>(&self, outcome: Result<T, LogError>) -> Result<T, LogError> {
        if let Err(error @ (LogError::Failed(_) | LogError::Lost)) = &outcome {
            self.close(error.clone());
        }
        outcome
    }

    /// Writes records of a match, all of them or, for whoever reads them, none.
    pub(super) fn append(&self, records: &[Bytes]) -> Result<RecordNumber, LogError> {
        self.check()?;
        let mut first = None;
        for record in records {
            let number = self.noted(self.log.append(self.partition, record))?;
            first.get_or_insert(number);
        }
        Ok(first.unwrap_or_default())
    }

    /// Waits until all that was written so far is there to stay, which need not begin before so long.
    pub(crate) fn synced(self: &Rc<Self>, slack: Duration) -> LogFuture<()> {
        if let Err(error) = self.check() {
            return Box::pin(std::future::ready(Err(error)));
        }
        let (its, synced) = (self.clone(), self.log.synced(self.partition, slack));
        Box::pin(async move { its.noted(synced.await) })
    }

    /// A match begins, or goes on.
    pub(crate) fn begin(&self, id: MatchId) {
        self.lives.borrow_mut().insert(id);
    }

    /// It is known to have ended, or is to go on another time.
    pub(crate) fn leave(&self, id: MatchId) {
        self.lives.borrow_mut().remove(&id);
    }

    /// Matches that have ended without the log knowing, if it had failed.
    pub(super) fn left_over(&self) -> BTreeSet<MatchId> {
        if !self.has_failed() {
            return BTreeSet::new();
        }
        self.lives.borrow().iter().chain(&self.given_up).copied().collect()
    }

    pub(crate) fn was_given_up(&self, id: MatchId) -> bool {
        self.given_up.contains(&id)
    }

    /// A match needs its records from this one on, which is kept by now. What no match needs may go.
    pub(crate) fn need(&self, id: MatchId, from: RecordNumber) {
        self.needed.borrow_mut().insert(id, Need::From(from));
        self.write_ends();
        self.trim();
    }

    /// A match needs all that there is.
    pub(crate) fn need_all(&self, id: MatchId) {
        self.needed.borrow_mut().insert(id, Need::All);
    }

    /// A match has ended. Answers whether the log takes that now; if not it does later.
    ///
    /// # Errors
    /// When the log takes nothing any more.
    pub(crate) fn end(&self, id: MatchId, why: &str) -> Result<bool, LogError> {
        self.check()?;
        self.unended.borrow_mut().insert(id, why.to_owned());
        self.write_ends();
        self.check()?;
        self.trim();
        Ok(!self.unended.borrow().contains_key(&id))
    }

    fn write_ends(&self) {
        loop {
            let next = self.unended.borrow().first_key_value().map(|(id, why)| (*id, why.clone()));
            let Some((id, why)) = next else { return };
            let record = wire::Record { match_id: id_bytes(id.0), what: Some(What::Ended(wire::Ended { why })) };
            if self.append(&[record.to_bytes().into()]).is_err() {
                // What is before its end stays until that is there.
                return;
            }
            self.unended.borrow_mut().remove(&id);
            self.needed.borrow_mut().remove(&id);
        }
    }

    /// Writes what there is of a match once more, so that it is there when what was found may go. All of it is one record:
    /// half of it would be a match that knows half of what it did. If the log does not take that, what was found stays.
    ///
    /// # Errors
    /// When the log takes nothing any more.
    pub(crate) fn carry_on(
        &self,
        id: MatchId,
        records: Vec<wire::Record>,
        stranded_at: Option<Timestamp>,
    ) -> Result<(), LogError> {
        let carried = wire::Carried { records, stranded_at: stranded_at.map(|at| at.0) };
        let record = wire::Record { match_id: id_bytes(id.0), what: Some(What::Carried(carried)) };
        let written = parts::split(&record).and_then(|parts| self.append(&parts));
        self.needed_from(id, written)?;
        if let Some(at) = stranded_at {
            self.stranded.borrow_mut().insert(id, at);
        }
        Ok(())
    }

    /// What a match needs that goes on here. What the log did not take is where it was.
    ///
    /// # Errors
    /// When the log takes nothing any more.
    pub(crate) fn needed_from(&self, id: MatchId, written: Result<RecordNumber, LogError>) -> Result<(), LogError> {
        match written {
            Ok(number) => self.need(id, number),
            Err(LogError::Refused(why)) => {
                tracing::warn!(%id, why, "a match needs its former records for longer");
                self.need_all(id);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// What was found is dealt with, and that is there to stay.
    pub(crate) fn settle(&self) {
        self.is_settled.set(true);
        self.trim();
    }

    fn trim(&self) {
        if !self.is_settled.get() || self.check().is_err() {
            return;
        }
        match self.needed.borrow().values().min() {
            None => self.log.trim(self.partition, RecordNumber(u64::MAX)),
            Some(Need::From(least)) => self.log.trim(self.partition, *least),
            Some(Need::All) => {}
        }
    }

    /// Gives up matches that could not go on for long.
    pub(super) fn give_up_stranded(&self, now: Timestamp) {
        let old: Vec<MatchId> =
            self.stranded.borrow().iter().filter(|(_, since)| is_given_up(**since, now)).map(|(id, _)| *id).collect();
        for id in old {
            tracing::error!(%id, "a durable match cannot go on for too long: it is given up");
            self.stranded.borrow_mut().remove(&id);
            // An error: the next term finds it, and how old it is.
            let _ = self.end(id, "it could not go on for too long");
        }
    }
}

/// Whether a match that cannot go on since then is kept no more.
pub(crate) fn is_given_up(since: Timestamp, now: Timestamp) -> bool {
    u128::try_from(now.0.saturating_sub(since.0)).is_ok_and(|age| age > STRANDED_KEPT.as_micros())
}
