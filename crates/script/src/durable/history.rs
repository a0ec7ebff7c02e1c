//! Reads a log: the matches in it that have not ended, and their histories.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::{Error, Result, Timestamp};
use muster_live::matches::MatchId;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::parts::Joiner;
use super::record::{Called, MatchOrigin, RecordedAnswer, Snapshot, match_id};

/// The contents of a log.
#[derive(Default)]
pub(crate) struct LogContents {
    /// The matches that have not ended.
    pub(crate) histories: BTreeMap<MatchId, History>,
    /// The first error of a record that cannot be read. Nobody knows which match such a record belongs to.
    pub(crate) unreadable: Option<Error>,
}

/// The history of a match that has not ended.
pub(crate) struct History {
    /// The start of the match and its calls since, or the error of the first record that cannot be read.
    pub(crate) calls: Result<CallHistory>,
    /// The moment since which the match could not go on, if a former owner failed to resume it.
    pub(crate) stranded_at: Option<Timestamp>,
    /// The records of the match in the log, from which `calls` was read.
    pub(crate) records: Vec<wire::Record>,
}

/// The start of a match, and its calls since.
pub struct CallHistory {
    pub(crate) start: Start,
    /// The answers of the host in the first callback, if the match starts with that.
    pub(crate) first_answers: Vec<RecordedAnswer>,
    /// Each call with the answers of the host in it.
    pub(crate) calls: Vec<(Called, Vec<RecordedAnswer>)>,
}

/// The point at which a match starts when it is resumed or replayed.
pub(crate) enum Start {
    /// The first callback.
    Begun { origin: MatchOrigin, params: Bytes },
    /// A snapshot.
    Snapshot(Box<Snapshot>),
}

impl Start {
    fn of_begun(begun: wire::Begun) -> Result<Self> {
        let wire::Begun { origin, params } = begun;
        Ok(Self::Begun { origin: MatchOrigin::of_wire(origin)?, params })
    }

    fn of_snapshot(id: MatchId, snapshot: wire::Snapshot) -> Result<Self> {
        Ok(Self::Snapshot(Box::new(Snapshot::of_wire(id, snapshot)?)))
    }

    /// Count of calls before the start, without the first callback.
    fn calls(&self) -> u64 {
        match self {
            Self::Begun { .. } => 0,
            Self::Snapshot(snapshot) => snapshot.calls,
        }
    }
}

impl CallHistory {
    /// The handler of the match.
    pub(crate) fn handler(&self) -> &Arc<str> {
        match &self.start {
            Start::Begun { origin, .. } => &origin.handler,
            Start::Snapshot(snapshot) => &snapshot.origin.handler,
        }
    }

    fn called(&mut self, called: wire::Called) -> Result<()> {
        let called = Called::of_wire(called)?;
        let expected = self.calls.last().map_or(self.start.calls(), |(last, _)| last.call) + 1;
        if called.call != expected {
            return Err(Error::invalid(format!("call {expected} is missing in its log: the next is {}", called.call)));
        }
        self.calls.push((called, Vec::new()));
        Ok(())
    }

    fn answered(&mut self, answered: wire::Answered) -> Result<()> {
        let (call, answered) = RecordedAnswer::of_wire(answered)?;
        match self.calls.last_mut() {
            Some((called, answers)) if called.call == call => answers.push(answered),
            None if call == 0 => self.first_answers.push(answered),
            // The call is before the snapshot, and is not repeated.
            _ => {}
        }
        Ok(())
    }
}

impl History {
    fn new(start: Result<Start>) -> Self {
        let calls = start.map(|start| CallHistory { start, first_answers: Vec::new(), calls: Vec::new() });
        Self { calls, stranded_at: None, records: Vec::new() }
    }

    /// Adds a record to the history of calls, unless an earlier one could not be read.
    fn note(&mut self, note: impl FnOnce(&mut CallHistory) -> Result<()>) {
        if let Ok(calls) = &mut self.calls
            && let Err(error) = note(calls)
        {
            self.calls = Err(error);
        }
    }
}

impl LogContents {
    fn take(&mut self, record: wire::Record) -> Result<()> {
        let id = match_id(&record.match_id)?;
        match record.what.clone() {
            Some(RecordKind::Begun(begun)) => {
                self.histories.insert(id, History::new(Start::of_begun(begun)));
            }
            Some(RecordKind::Snapshot(snapshot)) => {
                self.histories.insert(id, History::new(Start::of_snapshot(id, snapshot)));
            }
            Some(RecordKind::Called(called)) => self.note(id, |history| history.called(called)),
            Some(RecordKind::Answered(answered)) => self.note(id, |history| history.answered(answered)),
            Some(RecordKind::Ended(_)) => drop(self.histories.remove(&id)),
            Some(RecordKind::Carried(wire::Carried { records, stranded_at })) => {
                records.into_iter().try_for_each(|record| self.take(record))?;
                if let Some(history) = self.histories.get_mut(&id) {
                    history.stranded_at = stranded_at.map(Timestamp);
                }
                return Ok(());
            }
            // Parts were joined before. Returns are for recordings. Unknown records are from a later release, which may
            // only add records that this one can do without.
            Some(RecordKind::Part(_) | RecordKind::Returned(_)) | None => {}
        }
        if let Some(history) = self.histories.get_mut(&id) {
            history.records.push(record);
        }
        Ok(())
    }

    fn note(&mut self, id: MatchId, note: impl FnOnce(&mut CallHistory) -> Result<()>) {
        if let Some(history) = self.histories.get_mut(&id) {
            history.note(note);
        }
    }
}

/// Reads the records of a log in their order.
pub(crate) fn read(records: impl IntoIterator<Item = Bytes>) -> LogContents {
    let (mut contents, mut joiner) = (LogContents::default(), Joiner::default());
    for record in records {
        let read = joiner.take(record).and_then(|record| record.map_or(Ok(()), |record| contents.take(record)));
        if let Err(error) = read {
            contents.unreadable.get_or_insert(error);
        }
    }
    contents
}
