//! What a log says of its matches.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::{Error, Result, Timestamp};
use muster_live::matches::MatchId;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What;

use super::parts::Joiner;
use super::record::{Answered, Called, Origin, Snapshot, match_id};

/// What was found in a log.
#[derive(Default)]
pub(crate) struct Found {
    /// The matches that have not ended, by their ids.
    pub(crate) histories: BTreeMap<MatchId, History>,
    /// What of it cannot be read, so that nobody knows whose it is.
    pub(crate) unreadable: Option<Error>,
}

/// A match that has not ended.
pub(crate) struct History {
    /// Where it is to begin and what happened since, or why nobody knows.
    pub(crate) course: Result<Course>,
    /// Since when it cannot go on, if it could not before.
    pub(crate) stranded_at: Option<Timestamp>,
    /// The records of all that.
    pub(crate) records: Vec<wire::Record>,
}

/// Where a match is to begin, and what happened since.
pub(crate) struct Course {
    pub(crate) start: Start,
    /// What the host answered in the first callback, if the match starts with it.
    pub(crate) first_answers: Vec<Answered>,
    pub(crate) calls: Vec<(Called, Vec<Answered>)>,
}

/// Where a match is to begin.
pub(crate) enum Start {
    /// With its first callback.
    Begun { origin: Origin, params: Bytes },
    /// With all there was to it behind a call.
    Snapshot(Box<Snapshot>),
}

impl Start {
    fn of_begun(begun: wire::Begun) -> Result<Self> {
        let wire::Begun { origin, params } = begun;
        Ok(Self::Begun { origin: Origin::of_wire(origin)?, params })
    }

    fn of_snapshot(id: MatchId, snapshot: wire::Snapshot) -> Result<Self> {
        Ok(Self::Snapshot(Box::new(Snapshot::of_wire(id, snapshot)?)))
    }

    /// How many calls there were before, besides the first.
    fn calls(&self) -> u64 {
        match self {
            Self::Begun { .. } => 0,
            Self::Snapshot(snapshot) => snapshot.calls,
        }
    }
}

impl Course {
    /// Whose callbacks were called.
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
        let (call, answered) = Answered::of_wire(answered)?;
        match self.calls.last_mut() {
            Some((called, answers)) if called.call == call => answers.push(answered),
            None if call == 0 => self.first_answers.push(answered),
            // Of a call before the snapshot: it is not made again.
            _ => {}
        }
        Ok(())
    }
}

impl History {
    fn new(start: Result<Start>) -> Self {
        let course = start.map(|start| Course { start, first_answers: Vec::new(), calls: Vec::new() });
        Self { course, stranded_at: None, records: Vec::new() }
    }

    /// Takes in what happened, unless something before it cannot be understood.
    fn note(&mut self, note: impl FnOnce(&mut Course) -> Result<()>) {
        if let Ok(course) = &mut self.course
            && let Err(error) = note(course)
        {
            self.course = Err(error);
        }
    }
}

impl Found {
    fn take(&mut self, record: wire::Record) -> Result<()> {
        let id = match_id(&record.match_id)?;
        match record.what.clone() {
            Some(What::Begun(begun)) => {
                self.histories.insert(id, History::new(Start::of_begun(begun)));
            }
            Some(What::Snapshot(snapshot)) => {
                self.histories.insert(id, History::new(Start::of_snapshot(id, snapshot)));
            }
            Some(What::Called(called)) => self.note(id, |course| course.called(called)),
            Some(What::Answered(answered)) => self.note(id, |course| course.answered(answered)),
            Some(What::Ended(_)) => drop(self.histories.remove(&id)),
            Some(What::Carried(wire::Carried { records, stranded_at })) => {
                records.into_iter().try_for_each(|record| self.take(record))?;
                if let Some(history) = self.histories.get_mut(&id) {
                    history.stranded_at = stranded_at.map(Timestamp);
                }
                return Ok(());
            }
            // Joined before; of recordings; of a later release, and of no effect on what this one does.
            Some(What::Part(_) | What::Returned(_)) | None => {}
        }
        if let Some(history) = self.histories.get_mut(&id) {
            history.records.push(record);
        }
        Ok(())
    }

    fn note(&mut self, id: MatchId, note: impl FnOnce(&mut Course) -> Result<()>) {
        if let Some(history) = self.histories.get_mut(&id) {
            history.note(note);
        }
    }
}

/// Reads the records of a log in their order.
pub(crate) fn read(records: impl IntoIterator<Item = Bytes>) -> Found {
    let (mut found, mut joiner) = (Found::default(), Joiner::default());
    for record in records {
        let read = joiner.take(record).and_then(|record| record.map_or(Ok(()), |record| found.take(record)));
        if let Err(error) = read {
            found.unreadable.get_or_insert(error);
        }
    }
    found
}
