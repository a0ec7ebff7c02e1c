//! The log of a partition while this place may write it: from the moment that the place takes it over until it is
//! released or fails.
//!
//! A match writes only to the open log with which it began or was resumed here. Once that open log is closed, the match
//! can write nothing more. If this place takes the partition over again, it opens another log for it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_live::matches::{LogError, LogFuture, MatchId, MatchLog, RecordNumber};
use muster_live::{Epoch, Partition};
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;
use tokio::sync::OnceCell;

use super::latest_write::LoggedWrite;
use super::parts;
use super::record::id_bytes;

/// Time for which the records of a match that cannot go on are kept. If modules that fit are loaded in that time, the
/// match goes on.
pub const STRANDED_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The log of one partition, from one epoch on.
pub struct OpenLog {
    pub(crate) partition: Partition,
    pub(crate) epoch: Epoch,
    match_log: Rc<dyn MatchLog>,
    /// Set once the log is taken over.
    is_taken: OnceCell<()>,
    /// The records that the log held when it was taken over.
    found: RefCell<Vec<Bytes>>,
    /// Set once the matches in the log were resumed. Only the caller that resumed them gets their outlines.
    pub(crate) resumed: OnceCell<()>,
    is_resuming: Cell<bool>,
    /// Set once the resumed matches are durable under this place. Nothing is trimmed before.
    is_settled: Cell<bool>,
    /// The reason why the log cannot be written any more; `None` while it can.
    closed: RefCell<Option<LogError>>,
    /// The records that each match needs.
    needed: RefCell<BTreeMap<MatchId, Need>>,
    /// Matches that run here, and those whose end is not known to be in the log.
    running: RefCell<BTreeSet<MatchId>>,
    /// Matches of an earlier open log, which has failed. They have ended, but the log does not say so yet.
    given_up: BTreeSet<MatchId>,
    /// Matches whose end the log has not taken yet.
    unended: RefCell<BTreeMap<MatchId, wire::Ended>>,
    /// Matches whose end is in the log, and of which the database may have writes. The end stays in the log until these
    /// are forgotten, since a match in the database that no log has is taken for a lost one.
    ended: RefCell<Vec<MatchId>>,
    /// Matches that the log had when it was taken over, also those that have ended.
    known: RefCell<BTreeSet<MatchId>>,
    /// Matches that cannot go on, each with the moment since which it cannot.
    stranded: RefCell<BTreeMap<MatchId, Timestamp>>,
}

/// The records that a match needs, so that the log must not be trimmed of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    /// All records, including those of former owners.
    All,
    /// Records from this one on.
    From(RecordNumber),
}

impl OpenLog {
    /// A log that this place has not taken over yet.
    pub(super) fn new(
        partition: Partition,
        epoch: Epoch,
        match_log: Rc<dyn MatchLog>,
        given_up: BTreeSet<MatchId>,
    ) -> Rc<Self> {
        Rc::new(Self {
            partition,
            epoch,
            match_log,
            is_taken: OnceCell::default(),
            found: RefCell::default(),
            resumed: OnceCell::default(),
            is_resuming: Cell::default(),
            is_settled: Cell::default(),
            closed: RefCell::default(),
            needed: RefCell::default(),
            running: RefCell::default(),
            given_up,
            unended: RefCell::default(),
            ended: RefCell::default(),
            known: RefCell::default(),
            stranded: RefCell::default(),
        })
    }

    /// Takes the log over, unless it is taken over already.
    ///
    /// # Errors
    /// When another place owns the log, or it cannot be read.
    pub(crate) async fn take(&self) -> Result<(), LogError> {
        self.check()?;
        let take = async {
            let found = self.match_log.take_over(self.partition, self.epoch).await;
            self.found.replace(self.noted(found)?);
            Ok(())
        };
        self.is_taken.get_or_try_init(|| take).await?;
        self.check()
    }

    /// The records that the log held when it was taken over. Only the first caller gets them.
    pub(crate) fn found(&self) -> Vec<Bytes> {
        self.found.take()
    }

    /// Notes whether the matches in the log are being resumed.
    pub(crate) fn set_resuming(&self, is_resuming: bool) {
        self.is_resuming.set(is_resuming);
    }

    pub(crate) fn is_resuming(&self) -> bool {
        self.is_resuming.get()
    }

    /// Checks that the log can be written.
    ///
    /// # Errors
    /// The reason why the log cannot be written.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        self.closed.borrow().clone().map_or(Ok(()), Err)
    }

    pub(crate) fn has_failed(&self) -> bool {
        matches!(*self.closed.borrow(), Some(LogError::Failed(_)))
    }

    /// Closes the log, unless it is closed already.
    pub(crate) fn close(&self, why: LogError) {
        self.closed.borrow_mut().get_or_insert(why);
    }

    /// Closes the log if the outcome says that the log has failed or is lost.
    fn noted<T>(&self, outcome: Result<T, LogError>) -> Result<T, LogError> {
        if let Err(error @ (LogError::Failed(_) | LogError::Lost)) = &outcome {
            self.close(error.clone());
        }
        outcome
    }

    /// Writes one record of a match, which is given in parts. A reader takes it only with all its parts. Answers the
    /// number of the first part.
    pub(super) fn append(&self, parts: &[Bytes]) -> Result<RecordNumber, LogError> {
        self.check()?;
        let mut first = None;
        for part in parts {
            let number = self.noted(self.match_log.append(self.partition, part))?;
            first.get_or_insert(number);
        }
        Ok(first.unwrap_or_default())
    }

    /// Resolves when everything that was written so far is durable. The log may wait for `slack` before it syncs.
    pub(crate) fn synced(self: &Rc<Self>, slack: Duration) -> LogFuture<()> {
        if let Err(error) = self.check() {
            return Box::pin(std::future::ready(Err(error)));
        }
        let (log, synced) = (self.clone(), self.match_log.synced(self.partition, slack));
        Box::pin(async move { log.noted(synced.await) })
    }

    /// Notes that a match runs here.
    pub(crate) fn begin(&self, id: MatchId) {
        self.running.borrow_mut().insert(id);
    }

    /// Notes the matches that the log had when it was taken over.
    pub(crate) fn set_known(&self, known: BTreeSet<MatchId>) {
        self.known.replace(known);
    }

    /// Whether the log has or had the match since this place took it over.
    pub(crate) fn knows(&self, id: MatchId) -> bool {
        self.known.borrow().contains(&id) || self.running.borrow().contains(&id) || self.ended.borrow().contains(&id)
    }

    /// Notes that a match does not run here any more: its end is in the log, or it is resumed later.
    pub(crate) fn leave(&self, id: MatchId) {
        self.running.borrow_mut().remove(&id);
    }

    /// Matches that have ended although no record says so, because the log has failed.
    pub(super) fn left_over(&self) -> BTreeSet<MatchId> {
        if !self.has_failed() {
            return BTreeSet::new();
        }
        self.running.borrow().iter().chain(&self.given_up).copied().collect()
    }

    pub(crate) fn was_given_up(&self, id: MatchId) -> bool {
        self.given_up.contains(&id)
    }

    /// Notes the number of the first record that a match needs, and trims records that no match needs. Once the log is
    /// settled, a record that replaces earlier ones must be durable before its number is noted.
    pub(crate) fn need(&self, id: MatchId, from: RecordNumber) {
        self.needed.borrow_mut().insert(id, Need::From(from));
        self.write_ends();
        self.trim();
    }

    /// Notes that a match needs all records of the log.
    pub(crate) fn need_all(&self, id: MatchId) {
        self.needed.borrow_mut().insert(id, Need::All);
    }

    /// Writes that a match has ended. Answers whether the log takes that now; if not, it does so later.
    ///
    /// # Errors
    /// When the log is closed.
    pub(crate) fn end(&self, id: MatchId, why: &str, latest_write: LoggedWrite) -> Result<bool, LogError> {
        self.check()?;
        let ended = wire::Ended { why: why.to_owned(), latest_write: latest_write.to_wire() };
        self.unended.borrow_mut().insert(id, ended);
        self.write_ends();
        self.check()?;
        self.trim();
        Ok(!self.unended.borrow().contains_key(&id))
    }

    fn write_ends(&self) {
        loop {
            let next = self.unended.borrow().first_key_value().map(|(id, ended)| (*id, ended.clone()));
            let Some((id, ended)) = next else { return };
            let may_have_written = LoggedWrite::of_wire(ended.latest_write.as_ref()) != LoggedWrite::None;
            let record = wire::Record { match_id: id_bytes(id.0), what: Some(RecordKind::Ended(ended)) };
            let Ok(number) = self.append(&[record.to_bytes().into()]) else {
                // The records of the match stay until its end is written.
                return;
            };
            self.unended.borrow_mut().remove(&id);
            if may_have_written {
                self.needed.borrow_mut().insert(id, Need::From(number));
                self.ended.borrow_mut().push(id);
            } else {
                self.needed.borrow_mut().remove(&id);
            }
        }
    }

    /// Takes the matches whose end is in the log and whose writes are to be forgotten.
    pub(crate) fn take_ended(&self) -> Vec<MatchId> {
        self.ended.take()
    }

    /// Notes that the writes of an ended match are forgotten, so that its end need not stay in the log.
    pub(crate) fn forgotten(&self, id: MatchId) {
        // A match with the same id may have been made meanwhile, whose records are needed.
        if !self.running.borrow().contains(&id) {
            self.needed.borrow_mut().remove(&id);
            self.trim();
        }
    }

    /// Writes the records of a resumed match once more, so that the log can be trimmed of the former ones. All of them
    /// are one record, since a reader must not find half of them. If the log refuses it for its size, the former
    /// records stay.
    ///
    /// # Errors
    /// When the log is closed.
    pub(crate) fn carry_on(
        &self,
        id: MatchId,
        records: Vec<wire::Record>,
        stranded: Option<(Timestamp, &str)>,
    ) -> Result<(), LogError> {
        let stranded_at = stranded.map(|(since, _)| since);
        let why = stranded.map(|(_, why)| why.to_owned()).unwrap_or_default();
        let carried = wire::Carried { records, stranded_at: stranded_at.map(|at| at.0), why };
        let record = wire::Record { match_id: id_bytes(id.0), what: Some(RecordKind::Carried(carried)) };
        let written = parts::split(&record).and_then(|parts| self.append(&parts));
        self.needed_from(id, written)?;
        if let Some(at) = stranded_at {
            self.stranded.borrow_mut().insert(id, at);
        }
        Ok(())
    }

    /// Notes the record that a resumed match needs first. If the log refused that record, the match needs its former
    /// ones.
    ///
    /// # Errors
    /// When the log is closed.
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

    /// Notes that the resumed matches are durable under this place, and trims the log.
    pub(crate) fn settle(&self) {
        self.is_settled.set(true);
        self.trim();
    }

    fn trim(&self) {
        if !self.is_settled.get() || self.check().is_err() {
            return;
        }
        match self.needed.borrow().values().min() {
            None => self.match_log.trim(self.partition, RecordNumber(u64::MAX)),
            Some(Need::From(least)) => self.match_log.trim(self.partition, *least),
            Some(Need::All) => {}
        }
    }

    /// Ends matches that could not go on for more than [`STRANDED_KEPT`]. Answers whether there are such.
    pub(super) fn give_up_stranded(&self, now: Timestamp) -> bool {
        let old: Vec<MatchId> =
            self.stranded.borrow().iter().filter(|(_, since)| is_given_up(**since, now)).map(|(id, _)| *id).collect();
        let are_any = !old.is_empty();
        for id in old {
            tracing::error!(%id, "a durable match cannot go on for too long: it is given up");
            self.stranded.borrow_mut().remove(&id);
            // If that fails, the next owner finds in the log since when the match cannot go on, and ends it.
            let _ = self.end(id, "it could not go on for too long", LoggedWrite::Untold);
        }
        are_any
    }
}

/// Whether a match that cannot go on since `since` is kept no longer.
pub(crate) fn is_given_up(since: Timestamp, now: Timestamp) -> bool {
    u128::try_from(now.0.saturating_sub(since.0)).is_ok_and(|age| age > STRANDED_KEPT.as_micros())
}
